"""What follows from sealed lines beside their files: the log of each source, and the sales by place."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger import source_index
from quarterhour.ledger.source_index import SourceIndex, chunk, chunks_between, keys_in
from quarterhour.locations.keys import below, location_of, read_place, sales_key
from quarterhour.locations.plan import by_place, cut, levels, sales
from quarterhour.model.identifiers import Identity, Partition, Position
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from tests.support.builders import QUARTER, currencies, identities, instants, names

parts = names
locations = st.lists(parts, min_size=1, max_size=4).map("#".join)
days = st.dates(date(2000, 1, 1), date(2999, 12, 31))

# ---------------------------------------------------------------- the log of a source


def place(identity: Identity, at: datetime, shard: int) -> source_index.LedgerKey:
    return str(Partition(QuarterHour.at(at), shard)), str(Position.of(identity, at))


@given(st.lists(st.tuples(identities, st.integers(0, 899_999), st.integers(0, 63)), min_size=1, max_size=20), instants)
def test_a_chunk_tells_every_place_that_it_was_made_of(told: list[tuple[Identity, int, int]], at: datetime) -> None:
    start = QuarterHour.at(at).start
    places = sorted(
        (
            place(identity, start.replace(microsecond=0) + millis * (QuarterHour.at(at).end - start) / 900_000, shard)
            for identity, millis, shard in told
        ),
        key=lambda one: one[1],
    )
    made = chunk("shop", places)
    assert list(keys_in(made)) == places
    assert made["sk"] == places[0][1]


@given(first=instants, low=instants, high=instants)
def test_every_chunk_that_can_name_a_position_is_looked_at(first: datetime, low: datetime, high: datetime) -> None:
    stands = str(Position.of(Identity("shop", "1"), first))
    wanted = chunks_between(
        "shop", str(Position.of(Identity("shop", "2"), low)), str(Position.of(Identity("a", "b"), high))
    )
    assert wanted.pk == "SOURCE#shop"
    if QuarterHour.at(first) >= QuarterHour.at(low) and first < high:
        assert wanted.low <= stands <= wanted.high
    if QuarterHour.at(first) < QuarterHour.at(low):
        assert not wanted.low <= stands


def noted(sources: Sequence[str], waiting: int, patch: pytest.MonkeyPatch) -> list[list[dict[str, Any]]]:
    """Note an event of each of these sources in turn; return what was handed on at a time."""
    patch.setattr(source_index, "MAX_PENDING", waiting)
    kept: list[list[dict[str, Any]]] = []
    noting = SourceIndex()
    for number, source in enumerate(sources):
        partition, position = place(Identity(source, str(number)), QUARTER.start.replace(second=number), number % 2)
        noting.add({"source": source, "quarter_hour": partition, "position": position})
        if noting.is_full:
            kept.append(noting.take())
    kept += [noting.take(), noting.take()]
    return [chunks for chunks in kept if chunks]


def test_no_more_waits_than_may_and_nothing_is_told_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = noted(["a", "b", "a", "a", "c", "a", "b"], 3, monkeypatch)
    assert [[(one["pk"], len(list(keys_in(one)))) for one in chunks] for chunks in kept] == [
        [("SOURCE#a", 2), ("SOURCE#b", 1)],
        [("SOURCE#a", 2), ("SOURCE#c", 1)],
        [("SOURCE#b", 1)],
    ]


def test_nothing_to_tell_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert noted([], 3, monkeypatch) == []


def test_the_largest_chunk_fits_into_an_item() -> None:
    many = chunk("s" * 200, [place(Identity("s", "1"), QUARTER.start, 63)] * source_index.MAX_PENDING)
    assert len(many["places"]) < 390_000


# ---------------------------------------------------------------- sales by place


@given(days, locations, currencies)
def test_a_location_comes_back_from_its_key(day: date, location: str, currency: str) -> None:
    key = sales_key(day, location, currency, "2026-10-23T0130-0230")
    assert location_of(key["sk"]) == (location, currency)


@given(days, locations, locations)
def test_a_place_holds_what_is_called_so_or_lies_below_it(day: date, location: str, at: str) -> None:
    key = sales_key(day, location, "EUR", "2026-10-23T0130-0230")
    wanted = below(day, at)
    inside = location == at or location.startswith(f"{at}#")
    assert (key["pk"] == wanted.pk and wanted.low <= key["sk"] <= wanted.high) == inside
    whole = below(day, "")
    assert whole.low <= key["sk"] <= whole.high


@given(st.dictionaries(st.tuples(locations, currencies), st.integers(1, 9), max_size=12), st.integers(1, 5))
def test_places_add_up_at_every_level(sold: dict[tuple[str, str], int], level: int) -> None:
    places = {key: Totals(events, Decimal(events)) for key, events in sold.items()}
    items = sorted(sales(date(2026, 10, 23), "2026-10-23T0130-0230", places), key=lambda values: str(values["sk"]))
    found = list(by_place(items, level))
    wanted: dict[tuple[str, str], int] = {}
    for (location, currency), events in sold.items():
        wanted[cut(location, level), currency] = wanted.get((cut(location, level), currency), 0) + events
    assert {(one.place, currency): totals.events for one in found for currency, totals in one.totals.items()} == wanted
    assert len({one.place for one in found}) == len(found), "a place is told once"


def test_a_location_that_is_no_deeper_stands_for_itself() -> None:
    assert [cut("BR#SP#campinas", level) for level in (1, 2, 3, 9)] == [
        "BR",
        "BR#SP",
        "BR#SP#campinas",
        "BR#SP#campinas",
    ]
    assert [levels(one) for one in ("", "BR", "BR#SP")] == [0, 1, 2]


@pytest.mark.parametrize("bad", ["", "#", "GB#", "#GB", "GB##London", "a\nb", "x" * 201])
def test_what_can_be_no_place_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_place(bad)
