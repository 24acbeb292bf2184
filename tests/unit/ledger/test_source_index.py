"""The source index: chunks of the positions of a source's events."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger import source_index
from quarterhour.ledger.source_index import SourceIndex, chunk, chunks_between, keys_in, merged
from quarterhour.model.identifiers import Identity, Partition, Position
from quarterhour.model.quarter_hours import QuarterHour
from tests.support.builders import QUARTER_HOUR, identities, instants


def place(identity: Identity, at: datetime, shard: int) -> source_index.LedgerKey:
    return str(Partition(QuarterHour.at(at), shard)), str(Position.of(identity, at))


@given(st.lists(st.tuples(identities, st.integers(0, 899_999), st.integers(0, 63)), min_size=1, max_size=20), instants)
def test_a_chunk_holds_every_place_it_was_made_from(events: list[tuple[Identity, int, int]], at: datetime) -> None:
    start = QuarterHour.at(at).start
    places = sorted(
        (
            place(identity, start.replace(microsecond=0) + millis * (QuarterHour.at(at).end - start) / 900_000, shard)
            for identity, millis, shard in events
        ),
        key=lambda one: one[1],
    )
    made = chunk("shop", places)
    assert list(keys_in(made)) == places
    assert made["sk"] == places[0][1]


@given(first=instants, low=instants, high=instants)
def test_every_chunk_that_can_hold_a_position_is_in_range(first: datetime, low: datetime, high: datetime) -> None:
    position = str(Position.of(Identity("shop", "1"), first))
    range_ = chunks_between(
        "shop", str(Position.of(Identity("shop", "2"), low)), str(Position.of(Identity("a", "b"), high))
    )
    assert range_.pk == "SOURCE#shop"
    if QuarterHour.at(first) >= QuarterHour.at(low) and first < high:
        assert range_.low <= position <= range_.high
    if QuarterHour.at(first) < QuarterHour.at(low):
        assert not range_.low <= position


@given(
    st.lists(st.tuples(identities, st.integers(0, 899), st.integers(0, 15)), max_size=30),
    st.integers(1, 4),
    st.integers(1, 5),
)
def test_chunks_of_parts_that_overlap_are_read_in_the_order_of_positions(
    events: list[tuple[Identity, int, int]], parts: int, length: int
) -> None:
    places = sorted({place(one, QUARTER_HOUR.start + timedelta(seconds=at), shard) for one, at, shard in events})
    chunks = [
        chunk("shop", some)
        for part in range(parts)
        for own in [sorted((one for one in places if int(one[0][-2:]) % parts == part), key=lambda one: one[1])]
        for some in (own[first : first + length] for first in range(0, len(own), length))
    ]
    found = list(merged(sorted(chunks, key=lambda one: str(one["sk"]))))
    assert [position for _, position in found] == sorted(position for _, position in places)
    assert sorted(found) == places


def test_a_chunk_that_was_written_twice_repeats_its_keys_in_order() -> None:
    twice = [chunk("shop", [place(Identity("shop", "1"), QUARTER_HOUR.start, 3)])] * 2
    assert list(merged(twice)) == [key for one in twice for key in keys_in(one)]


def indexed(sources: Sequence[str], waiting: int, patch: pytest.MonkeyPatch) -> list[list[dict[str, Any]]]:
    """Index an event of each of these sources in turn; return the chunks of each take."""
    patch.setattr(source_index, "MAX_PENDING", waiting)
    kept: list[list[dict[str, Any]]] = []
    index = SourceIndex()
    for number, source in enumerate(sources):
        partition, position = place(
            Identity(source, str(number)), QUARTER_HOUR.start.replace(second=number), number % 2
        )
        index.add({"source": source, "quarter_hour": partition, "position": position})
        if index.is_full:
            kept.append(index.take())
    kept += [index.take(), index.take()]
    return [chunks for chunks in kept if chunks]


def test_a_full_index_is_taken_and_no_place_is_written_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = indexed(["a", "b", "a", "a", "c", "a", "b"], 3, monkeypatch)
    assert [[(one["pk"], len(list(keys_in(one)))) for one in chunks] for chunks in kept] == [
        [("SOURCE#a", 2), ("SOURCE#b", 1)],
        [("SOURCE#a", 2), ("SOURCE#c", 1)],
        [("SOURCE#b", 1)],
    ]


def test_an_empty_index_makes_no_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    assert indexed([], 3, monkeypatch) == []


def test_the_largest_chunk_fits_into_an_item() -> None:
    many = chunk("s" * 200, [place(Identity("s", "1"), QUARTER_HOUR.start, 63)] * source_index.MAX_PENDING)
    assert len(many["places"]) < 390_000
