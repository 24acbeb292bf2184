"""The writer of sealed files refuses what is no posting, and names it."""

import pytest

from quarterhour.model.errors import LedgerItemError
from quarterhour.reports.writer import SealedFileWriter
from tests.support.builders import AT
from tests.support.cases import cases
from tests.support.sealing import line

POSTING = line(AT, "a")
PLACE = f"{POSTING['quarter_hour']} {POSTING['position']}"
REQUIRED = (*("recorded_at", "source", "id", "type", "agency", "currency", "amount", "commission_rate", "commission"),)


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in POSTING.items() if key != name}


NO_POSTINGS: dict[str, tuple[dict[str, str], str]] = {
    **{f"no {name}": (without(name), name) for name in REQUIRED},
    "a position that is too long": ({**POSTING, "position": POSTING["position"] + "1"}, "position"),
    **{
        f"the {name} {text!r}": ({**POSTING, name: text}, name)
        for name in ("amount", "commission")
        for text in ("ten", "", "NaN", "sNaN", "Infinity", "-Infinity")
    },
}


@cases(("posting", "reason"), NO_POSTINGS.values(), ids=NO_POSTINGS)
def test_values_of_no_posting_are_refused_with_its_partition_position_and_reason(
    posting: dict[str, str], reason: str
) -> None:
    with SealedFileWriter() as writer, pytest.raises(LedgerItemError) as error:
        writer.write([posting])
    assert PLACE in str(error.value)
    assert reason in str(error.value)


def test_a_posting_without_a_position_is_named_by_its_partition() -> None:
    with SealedFileWriter() as writer, pytest.raises(LedgerItemError, match=r"202610230130#00 \? "):
        writer.write([without("position")])
