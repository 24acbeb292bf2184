"""The writer of sealed files refuses ledger items that are no postings, and names them."""

from typing import Any

import pytest

from quarterhour.model.errors import LedgerItemError
from quarterhour.reports.plan import SCHEMA
from quarterhour.reports.writer import SealedFileWriter
from tests.support.builders import AT
from tests.support.sealing import line

POSTING = line(AT, "a")
PLACE = f"{POSTING['quarter_hour']['S']} {POSTING['position']['S']}"
REQUIRED = (
    *("recorded_at", "source", "id", "type", "agency", "currency", "amount", "commission_rate", "commission", "schema"),
)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in POSTING.items() if key != name}


NO_POSTINGS: dict[str, tuple[dict[str, Any], str]] = {
    **{f"no {name}": (without(name), name) for name in REQUIRED},
    "an attribute that is a number": ({**POSTING, "quantity": {"N": "2"}}, "quantity"),
    "an attribute that is a list": ({**POSTING, "type": {"L": []}}, "type"),
    "an unknown schema": ({**POSTING, "schema": {"S": "99"}}, "schema '99'"),
    **{
        f"the {name} {text!r}": ({**POSTING, name: {"S": text}}, name)
        for name in ("amount", "commission")
        for text in ("ten", "", "NaN", "sNaN", "Infinity", "-Infinity")
    },
}


@pytest.mark.parametrize(("item", "reason"), NO_POSTINGS.values(), ids=NO_POSTINGS)
def test_an_item_that_is_no_posting_is_refused_with_its_partition_position_and_reason(
    item: dict[str, Any], reason: str
) -> None:
    with SealedFileWriter(SCHEMA) as writer, pytest.raises(LedgerItemError) as error:
        writer.write(item)
    assert PLACE in str(error.value)
    assert reason in str(error.value)


def test_an_item_without_a_position_is_named_by_its_partition() -> None:
    with SealedFileWriter(SCHEMA) as writer, pytest.raises(LedgerItemError, match=r"202610230130#00 \? "):
        writer.write(without("position"))
