"""What is due, what waits, and which items a sealed file may replace."""

from datetime import UTC, datetime

import pytest

from quarterhour.aws.items import Item
from quarterhour.ledger.postings.segments import (
    SegmentKey,
    archived_item,
    count_of,
    packed,
    part_of,
    postings_of,
    segment_item,
    unarchived_item,
    void_item,
)
from quarterhour.maintenance.archive.plan import (
    PartFile,
    checked,
    days_late,
    last_due,
    sealed_parts,
    unproven,
    unsealed,
)
from quarterhour.model.errors import LedgerItemError, SealedFileError
from quarterhour.model.identifiers import Partition, Position
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.keys import Part
from quarterhour.reports.plan import Plan, SealedFile

QUARTER_HOUR = QuarterHour.parse("202610230130")
AT = datetime(2026, 10, 23, 1, 31, tzinfo=UTC)
PART = Part(QUARTER_HOUR, 3)
OCTOBER = Period(2026, 10)
END_OF_OCTOBER = QuarterHour.parse("202610312345")


def key(letter: str) -> SegmentKey:
    return SegmentKey(Partition(QUARTER_HOUR, 0), Position(AT, letter * 16))


def row(id_: str, **more: str) -> dict[str, str]:
    """Return a posting as its segment holds it."""
    return {"source": "shop", "id": id_, "amount": "1.00", "period": "2026-10", **more}


SEGMENT = segment_item(key("A"), 2, packed([row("e1"), None, row("e2", unregistered="1")]))
VOID = void_item(key("B"))
SINGLE = segment_item(key("C"), 1, packed([row("e3")]))
KEPT = segment_item(key("D"), 1, packed([row("e4", recorded_by="fay")]))
ITEMS = [SEGMENT, VOID, SINGLE, KEPT]


def lines() -> list[dict[str, str]]:
    """Return the lines of the items, with empty cells and without what no line holds."""
    postings = [posting for item in ITEMS for posting in postings_of(item)]
    found = []
    for posting in postings:
        unregistered = posting.pop("unregistered", None)
        posting.pop("recorded_by", None)
        found.append({**posting, "customer": "", "flag": "unregistered agency" if unregistered else ""})
    return found


def test_an_item_is_replaced_if_its_lines_give_back_all_of_it() -> None:
    pairs = list(checked(PART, ITEMS, lines()))
    replaced = [archived for _, archived in pairs]
    assert [bool(one) for one in replaced] == [True, False, True, False], "not the void, nor what an operator recorded"
    assert [item for item, _ in pairs] == ITEMS
    for item, archived in pairs:
        if archived:
            assert (count_of(archived), part_of(archived)) == (count_of(item), 3)
            with pytest.raises(LedgerItemError, match="archived"):
                postings_of(archived)
            whole = unarchived_item(archived, postings_of(item))
            assert postings_of(whole) == postings_of(item)
            with pytest.raises(LedgerItemError, match="in the sealed file"):
                unarchived_item(archived, postings_of(item)[1:])


def test_what_is_archived_already_is_compared_by_its_key_and_count_alone() -> None:
    archived = [archived_item(SEGMENT, 2, 3), VOID, SINGLE, KEPT]
    assert [bool(one) for _, one in checked(PART, archived, lines())] == [False, False, True, False]
    with pytest.raises(SealedFileError, match="does not hold the postings of the ledger item"):
        list(checked(PART, [archived_item(SEGMENT, 3, 3), VOID, SINGLE, KEPT], lines()))


@pytest.mark.parametrize(
    ("items", "sealed"),
    [
        (ITEMS, lines()[1:]),
        (ITEMS, lines()[:-1]),
        (ITEMS[1:], lines()),
        (ITEMS[:-1], lines()),
        (ITEMS, [{**lines()[0], "amount": "1.01"}, *lines()[1:]]),
        (ITEMS, [lines()[1], lines()[0], *lines()[2:]]),
        ([archived_item(SEGMENT, 2, 3), *ITEMS[1:]], [{**lines()[0], "quarter_hour": "202610230130#01"}, *lines()[1:]]),
    ],
    ids=["line lost", "last line lost", "item lost", "last item lost", "other amount", "other order", "other shard"],
)
def test_a_file_that_contradicts_the_ledger_replaces_nothing_from_there_on(
    items: list[Item], sealed: list[dict[str, str]]
) -> None:
    with pytest.raises(SealedFileError, match="lines-03"):
        list(checked(PART, items, sealed))


def test_the_manifest_must_name_the_files_that_the_run_has_sealed() -> None:
    plan = Plan(
        QUARTER_HOUR, QUARTER_HOUR.next, "2026-10-23T02:03:00.000Z", "1", 1, ("", ""), (QUARTER_HOUR, QUARTER_HOUR.next)
    )
    run = {"sealed": {str(QUARTER_HOUR): [4, "abc", 99]}}
    file = {"key": Part(QUARTER_HOUR).lines_key, "sha256": "abc", "size": 99}
    manifest = {"quarter_hours": [{"files": [file]}, {"files": []}]}
    assert sealed_parts(plan, run, manifest) == [PartFile(Part(QUARTER_HOUR), SealedFile(4, "abc", 99))]
    for other in ([{**file, "sha256": "other"}], [], [file, {**file, "key": "another"}]):
        with pytest.raises(SealedFileError, match="names other files"):
            sealed_parts(plan, run, {"quarter_hours": [{"files": other}]})


def test_a_month_is_due_once_so_many_whole_months_have_passed() -> None:
    assert last_due(datetime(2026, 12, 1, tzinfo=UTC), 1) == END_OF_OCTOBER
    assert last_due(datetime(2026, 11, 30, 23, 59, tzinfo=UTC), 1) < END_OF_OCTOBER
    assert last_due(datetime(2027, 11, 15, tzinfo=UTC), 12) == END_OF_OCTOBER
    assert last_due(datetime(2026, 12, 1, tzinfo=UTC), 1200) < END_OF_OCTOBER
    assert days_late(QUARTER_HOUR, datetime(2026, 12, 5, tzinfo=UTC), 1) == 4
    assert days_late(END_OF_OCTOBER, datetime(2026, 12, 5, tzinfo=UTC), 1) == 0


@pytest.mark.parametrize("sealed_through", [None, END_OF_OCTOBER.previous])
def test_a_month_waits_until_it_is_sealed_to_its_end(sealed_through: QuarterHour | None) -> None:
    assert unsealed(OCTOBER, sealed_through) == "2026-10 is not sealed to its end"
    assert unsealed(OCTOBER, END_OF_OCTOBER) is None


def test_a_month_waits_until_its_quarter_hours_are_verified() -> None:
    assert unproven({"proofs": {"202610230130": "verified"}}) is None
    assert unproven({"proofs": {"202610230130": "verified", "202610230145": "drift"}}) == (
        "the proof of 202610230145 is drift"
    )
