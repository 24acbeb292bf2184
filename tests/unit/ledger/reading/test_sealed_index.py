"""The index of events by source and by agency: chunks of their ledger keys."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.items import to_item
from quarterhour.ledger.postings.segments import LedgerKey
from quarterhour.ledger.reading import sealed_index
from quarterhour.ledger.reading.sealed_index import EventIndex, chunks_between, keys_in, merged
from quarterhour.model.identifiers import MAX_SHARDS, Identity, Partition, Position
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour_tools.emulator.dynamodb.sizes import item_size, item_write_units
from tests.support.builders import QUARTER_HOUR, identities, instants
from tests.support.cases import cases

Values = dict[str, Any]


def place(identity: Identity, at: datetime, shard: int, index: int = 0) -> LedgerKey:
    position = replace(Position.of(identity.hash, at), index=index)
    return str(Partition(QuarterHour.at(at), shard)), str(position)


def facts(key: LedgerKey, source: str = "shop", agency: str = "42") -> dict[str, str]:
    partition, position = key
    return {"source": source, "agency": agency, "quarter_hour": partition, "position": position}


def chunks_of(events: Iterable[Mapping[str, str]]) -> list[Values]:
    """Return the chunks of events of one quarter-hour, as the run writes them that seals it."""
    index = EventIndex()
    kept: list[Values] = []
    for one in events:
        index.add([one])
        if index.is_full:
            kept += index.take()
    return [*kept, *index.take(), *index.take()]


def by_name(chunks: Iterable[Values], pk: str) -> list[Values]:
    return sorted((one for one in chunks if one["pk"] == pk), key=lambda one: str(one["sk"]))


indexes = st.lists(st.integers(0, 499), min_size=1, max_size=5, unique=True).map(sorted)
"""The indexes of those postings of a segment that have the name."""


@given(
    st.lists(
        st.tuples(identities, st.integers(0, 899_999), st.integers(0, 63), indexes),
        min_size=1,
        max_size=20,
        unique_by=lambda one: one[:2],
    ),
    instants,
)
def test_the_chunks_hold_every_key_they_were_made_from(
    events: list[tuple[Identity, int, int, list[int]]], at: datetime
) -> None:
    start = QuarterHour.at(at).start
    keys = sorted(
        (
            place(identity, start + timedelta(milliseconds=millis), shard, index)
            for identity, millis, shard, some in events
            for index in some
        ),
        key=lambda one: one[1],
    )
    made = chunks_of(map(facts, keys))
    for pk in ("SOURCE#shop", "AGENCY#42"):
        (chunk,) = by_name(made, pk)
        assert list(keys_in(chunk)) == keys
        assert chunk["sk"] == keys[0][1]


def test_the_postings_of_one_segment_take_two_characters_each_after_the_first() -> None:
    segment = [place(Identity("shop", "1"), QUARTER_HOUR.start, 0, index) for index in range(500)]
    (chunk,) = by_name(chunks_of(map(facts, segment)), "AGENCY#42")
    assert len(chunk["packed"]) == 24 + 2 * 500
    assert list(keys_in(chunk)) == segment


@given(first=instants, low=instants, high=instants)
def test_every_chunk_that_can_hold_a_position_is_in_range(first: datetime, low: datetime, high: datetime) -> None:
    position = str(Position.of(Identity("shop", "1").hash, first))
    range_ = chunks_between(
        "source",
        "shop",
        str(Position.of(Identity("shop", "2").hash, low)),
        str(Position.of(Identity("a", "b").hash, high)),
    )
    assert range_.pk == "SOURCE#shop"
    if QuarterHour.at(first) >= QuarterHour.at(low) and first < high:
        assert range_.low <= position <= range_.high
    if QuarterHour.at(first) < QuarterHour.at(low):
        assert not range_.low <= position


def test_a_source_and_an_agency_of_one_name_have_chunks_of_their_own() -> None:
    assert chunks_between("agency", "shop", "2026-10-23T01:30:00.000Z", "9").pk == "AGENCY#shop"


@given(
    st.lists(st.tuples(identities, st.integers(0, 899), st.integers(0, 15)), max_size=30),
    st.integers(1, 4),
    st.integers(1, 5),
)
def test_chunks_of_parts_that_overlap_are_read_in_the_order_of_positions(
    events: list[tuple[Identity, int, int]], parts: int, length: int
) -> None:
    places = sorted({place(one, QUARTER_HOUR.start + timedelta(seconds=at), shard) for one, at, shard in events})
    own = [
        sorted((one for one in places if int(one[0][-2:]) % parts == part), key=lambda one: one[1])
        for part in range(parts)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealed_index, "MAX_CHUNK", length)
        chunks = by_name((one for some in own for one in chunks_of(map(facts, some))), "AGENCY#42")
    found = list(merged(chunks))
    assert [position for _, position in found] == sorted(position for _, position in places)
    assert sorted(found) == places


def test_a_chunk_that_was_written_twice_repeats_its_keys_in_order() -> None:
    twice = by_name(chunks_of([facts(place(Identity("shop", "1"), QUARTER_HOUR.start, 3))]) * 2, "SOURCE#shop")
    assert list(merged(twice)) == [key for one in twice for key in keys_in(one)]


def in_turn(names: Sequence[str]) -> list[dict[str, str]]:
    """Return an event of each of these agencies in turn."""
    return [
        facts(
            place(Identity(name, str(number)), QUARTER_HOUR.start + timedelta(milliseconds=number), number % 2),
            agency=name,
        )
        for number, name in enumerate(names)
    ]


@pytest.mark.parametrize("memory", [1, 700, 1 << 20])
@pytest.mark.parametrize("length", [1, 50, 12_000])
def test_no_key_is_written_twice_however_little_memory_there_is(
    memory: int, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_index, "MAX_PENDING", memory)
    monkeypatch.setattr(sealed_index, "MAX_CHUNK", length)
    events = in_turn(["a", "b", "a", "a", "c", "a", "b"])
    chunks = chunks_of(events)
    assert len({(one["pk"], one["sk"]) for one in chunks}) == len(chunks)
    for name in "abc":
        kept = [list(keys_in(one)) for one in by_name(chunks, f"AGENCY#{name}")]
        assert max(map(len, kept)) <= max(1, length // len("330123454JzHX4k3uVijmhMx"))
        assert [key for keys in kept for key in keys] == [
            (one["quarter_hour"], one["position"]) for one in events if one["agency"] == name
        ]


def test_an_empty_index_makes_no_chunk() -> None:
    assert chunks_of([]) == []


# ---------------------------------------------------------------- cost


def units_an_event(agencies: int, each: int, parts: int = 1, agency: str = "agency") -> float:
    """Return the write units an event for the chunks of agencies that have as many events each in a quarter-hour."""
    events = in_turn([f"{agency}-{number % agencies}" for number in range(agencies * each)])
    chunks = [
        to_item(one)
        for part in range(parts)
        for one in chunks_of(events[part::parts])
        if one["pk"].startswith("AGENCY#")
    ]
    assert sum(len(list(keys_in(one))) for one in map(plain, chunks)) == len(events)
    return sum(item_write_units(None, one, ()) for one in chunks) / len(events)


def plain(item: Mapping[str, Any]) -> Values:
    return {name: value["S"] for name, value in item.items()}


@cases("each", [200, 211, 251, 499, 501, 999])
@cases("agency", ["42", "a" * 150])
def test_an_agency_with_hundreds_of_events_in_a_quarter_hour_costs_at_most_0_03_units_an_event(
    each: int, agency: str
) -> None:
    assert units_an_event(3, each, agency=agency) <= 0.03


def test_a_few_agencies_do_not_make_each_others_chunks_small() -> None:
    """The keys of one agency wait for each other, however many events of others are between them."""
    assert units_an_event(100, 300) <= 0.03


def test_eight_parts_write_chunks_of_their_own() -> None:
    assert units_an_event(8, 300 * 8, parts=8) <= 0.03


def test_the_largest_chunk_is_twelve_kilobytes() -> None:
    largest = max(chunks_of(in_turn(["a"] * 1_000)), key=lambda one: len(one["packed"]))
    assert item_size(to_item(largest)) < 12 << 10


def test_each_shard_has_a_character() -> None:
    keys = [
        place(Identity("shop", str(shard)), QUARTER_HOUR.start + timedelta(milliseconds=shard), shard)
        for shard in range(MAX_SHARDS)
    ]
    (chunk,) = by_name(chunks_of(map(facts, keys)), "SOURCE#shop")
    assert list(keys_in(chunk)) == keys
