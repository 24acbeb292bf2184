"""Segments: postings in one item and back, and the ledger items that cannot be read."""

import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.items import Item, binary
from quarterhour.ledger.postings.segments import (
    MAX_BYTES,
    MAX_POSTINGS,
    SegmentKey,
    archived_item,
    packed,
    parts,
    posting_at,
    postings_of,
    segment_item,
    segment_of,
    void_item,
)
from quarterhour.model.errors import LedgerItemError
from quarterhour.model.identifiers import Identity, Partition, Position
from tests.support.builders import AT, QUARTER_HOUR, posting_values
from tests.support.cases import cases

KEY = SegmentKey(Partition(QUARTER_HOUR, 3), Position.of(Identity("a", "request").hash, AT))
PLACE = f"{KEY.partition} {KEY.position}"
texts = st.dictionaries(st.text(min_size=1, max_size=9), st.text(max_size=20), max_size=4)


def row(number: int, **more: str) -> dict[str, str]:
    """Return a posting as it is planned: its key follows from its segment."""
    return posting_values(id=f"order-{number}", **more)


def segment(*rows: dict[str, str] | None) -> Item:
    return segment_item(KEY, sum(one is not None for one in rows), packed(rows))


def test_postings_are_read_from_a_segment_at_its_position_and_their_index() -> None:
    first, third = postings_of(segment(row(1), None, row(3)))
    assert first == {**row(1), **KEY.values, "position": f"{KEY.position}.0000"}
    assert third == {**row(3), **KEY.values, "position": f"{KEY.position}.0002"}
    assert third["recorded_at"] == "2026-10-23T01:30:12.345Z"


@given(st.lists(st.none() | texts, min_size=1, max_size=30))
def test_a_segment_holds_exactly_what_was_put_into_it(rows: list[dict[str, str] | None]) -> None:
    own = {"source": "shop", "id": "order-1"}
    rows = [None if row is None else {**own, **{f"x{name}": text for name, text in row.items()}} for row in rows]
    kept = {index: row for index, row in enumerate(rows) if row is not None}
    found = postings_of(segment(*rows)) if kept else []
    assert {int(one["position"][-4:]) for one in found} == kept.keys()
    for one in found:
        index = int(one["position"][-4:])
        assert {name: text for name, text in one.items() if name not in KEY.values and name != "recorded_at"} == kept[
            index
        ]


def test_a_void_holds_no_posting() -> None:
    assert postings_of(void_item(KEY)) == []


def test_a_posting_that_was_parked_alone_keeps_its_position_in_the_segment() -> None:
    _, second = postings_of(segment(row(1), row(2)))
    assert postings_of(segment_of([second])) == [second]


def test_a_segment_is_made_of_its_postings_again() -> None:
    item = segment(None, row(1), None, None, row(2))
    assert segment_of(postings_of(item)) == item


def test_a_posting_is_found_by_its_position() -> None:
    item = segment(row(1), row(2))
    found = posting_at(item, f"{KEY.position}.0001")
    assert found
    assert found["id"] == "order-2"
    assert posting_at(item, f"{KEY.position}.0002") is None
    assert posting_at(void_item(KEY), f"{KEY.position}.0000") is None


def test_the_same_postings_give_the_same_bytes() -> None:
    assert packed([row(1), None, row(2)]) == packed([row(1), None, row(2)])


@pytest.mark.parametrize("count", [1, MAX_POSTINGS, MAX_POSTINGS + 1, 3 * MAX_POSTINGS])
def test_a_segment_has_at_most_500_postings(count: int) -> None:
    cut = list(parts([row(number) for number in range(count)]))
    assert [one["id"] for some, _ in cut for one in some] == [f"order-{number}" for number in range(count)]
    assert max(len(some) for some, _ in cut) <= MAX_POSTINGS
    assert len(cut) == -(-count // MAX_POSTINGS)


def test_a_segment_has_at_most_64_kilobytes() -> None:
    digits = "".join(f"{number * 7919 % 9973:x}" for number in range(4_000))
    rows = [row(number, extra=digits[number * 7 :]) for number in range(MAX_POSTINGS)]
    cut = list(parts(rows))
    assert [one for some, _ in cut for one in some] == rows
    assert 1 < len(cut) < MAX_POSTINGS
    assert max(len(events) for _, events in cut) <= MAX_BYTES
    for some, events in cut:
        assert [one["id"] for one in postings_of(segment_item(KEY, len(some), events))] == [one["id"] for one in some]


def test_what_compresses_well_is_cut_so_that_it_can_be_read() -> None:
    rows = [row(number, extra="x" * 40_000) for number in range(MAX_POSTINGS)]
    cut = list(parts(rows))
    assert sum(len(postings_of(segment_item(KEY, len(some), events))) for some, events in cut) == MAX_POSTINGS
    assert max(len(zlib.decompress(events)) for _, events in cut) <= 8 << 20


def test_a_single_posting_may_be_longer() -> None:
    digits = "".join(f"{number * 7919 % 9973:x}" for number in range(60_000))
    ((some, events),) = parts([row(1, extra=digits)])
    assert len(events) > MAX_BYTES
    assert postings_of(segment_item(KEY, len(some), events))[0]["extra"] == digits


GOOD = segment(row(1), row(2))
EVENTS = packed([row(1), row(2)])


def with_events(content: bytes, count: int = 2) -> Item:
    return {**GOOD, "count": {"N": str(count)}, "events": binary(content)}


def with_json(value: object, count: int = 2) -> Item:
    return with_events(zlib.compress(json.dumps(value).encode()), count)


def with_columns(**columns: list[object]) -> Item:
    return with_json({"source": ["shop", "shop"], "id": ["a", "b"], **columns})


BAD: dict[str, tuple[Any, str]] = {
    "a count that is too low": (with_events(EVENTS, 1), "holds 2 postings, and says 1"),
    "a count that is too high": (with_events(EVENTS, 3), "holds 2 postings, and says 3"),
    "a count of 0 with postings": (with_events(EVENTS, 0), "0 postings"),
    "a negative count": (with_events(EVENTS, -1), "-1 postings"),
    "a count above the highest": (with_events(EVENTS, MAX_POSTINGS + 1), "501 postings"),
    "a count of many digits": ({**GOOD, "count": {"N": "9" * 38}}, "postings in a segment"),
    "a count that is no number": ({**GOOD, "count": {"S": "2"}}, "'N'"),
    "no count": ({name: value for name, value in GOOD.items() if name != "count"}, "count"),
    "no postings": ({name: value for name, value in GOOD.items() if name != "events"}, "events"),
    "bytes that are cut off": (with_events(EVENTS[:-7]), "cut off"),
    "bytes that others follow": (with_events(EVENTS + b"more"), "followed by others"),
    "bytes of another format": (with_events(b"\x1f\x8b\x08\x00" + bytes(20)), "header"),
    "no bytes": (with_events(b""), "cut off"),
    "damaged bytes": (with_events(EVENTS[:20] + b"\xff\xff" + EVENTS[22:]), ""),
    "text": ({**GOOD, "events": {"S": "postings"}}, "not binary"),
    "bytes that are not base64": ({**GOOD, "events": {"B": "%%%"}}, "base64"),
    "400 KB of foreign bytes": (with_events(bytes(range(256)) * 1_600), ""),
    "a bomb": (with_events(zlib.compress(b"[" + bytes(64 << 20), 1)), "more than"),
    "a bomb of one posting": (with_events(zlib.compress(b" " * (1 << 20)), 1), "more than 409,600"),
    "brackets without an end": (with_events(zlib.compress(b"[" * 300_000)), ""),
    "no JSON": (with_events(zlib.compress(b"postings")), ""),
    "no columns": (with_json([row(1), row(2)]), "other values"),
    "a number": (with_json(2), "other values"),
    "no names": (with_json({}), "other values"),
    "a column that is no list": (with_json({"source": 2}), "other values"),
    "a posting with a number": (with_columns(quantity=["1", 2]), "other values"),
    "a posting with its own key": (with_columns(position=["elsewhere", None]), "other values"),
    "columns of different lengths": (with_columns(reason=["gone"]), "other values"),
    "more indexes than a position can have": (
        with_json({name: ["a", "b", *[None] * 500] for name in ("source", "id")}),
        "other values",
    ),
    "a posting without an id": (with_columns(id=["a", None]), "without an identity"),
    "a posting without a source": (with_columns(source=[None, "shop"]), "without an identity"),
    "the schema of a later version": ({**GOOD, "schema": {"S": "2"}}, "the schema 2 is unknown: use the version"),
    "an unknown schema": ({**GOOD, "schema": {"S": "one"}}, "the schema one is unknown"),
    "a schema that is a number": ({**GOOD, "schema": {"N": "1"}}, "unknown"),
    "an archived item": (archived_item(GOOD, 2, None), "it is archived"),
    "no schema": ({name: value for name, value in GOOD.items() if name != "schema"}, "schema"),
    "an attribute of another item": ({**GOOD, "agency": {"S": "42"}}, "agency"),
    "the position of a posting": ({**GOOD, "position": {"S": f"{KEY.position}.0001"}}, "key"),
}


@cases(("item", "reason"), BAD.values(), ids=BAD)
def test_an_item_that_cannot_be_read_is_named_with_its_partition_position_and_reason(item: Item, reason: str) -> None:
    with pytest.raises(LedgerItemError) as error:
        postings_of(item)
    names = [item[name]["S"] for name in ("quarter_hour", "position")]
    assert " ".join(names) in str(error.value)
    assert reason in str(error.value)


def test_an_item_without_a_position_is_named_by_its_partition() -> None:
    item = {name: value for name, value in GOOD.items() if name != "position"}
    with pytest.raises(LedgerItemError, match=r"202610230130#03 \? "):
        postings_of(item)
