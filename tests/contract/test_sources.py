"""The index of a source: its events by time, from the index and from the ledger, each once."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from quarterhour.aws.entity import CHECKPOINT_KEY, SHARDS_KEY
from quarterhour.ledger import event_pages, source_index
from quarterhour.ledger.event import Event
from quarterhour.ledger.plan import ledger_values
from quarterhour.ledger.queries import LedgerQueries
from quarterhour.ledger.source_index import SourceIndex
from quarterhour.model.identifiers import Identity
from quarterhour.model.instants import ALWAYS
from quarterhour.model.quarter_hours import LENGTH, QuarterHour
from quarterhour.web.paging import Paging
from tests.contract.metered import Metered, Record, cost, metered
from tests.contract.storage import Storage
from tests.support.builders import claim, event

SHARDS = 3
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def desk(storage: Storage) -> Metered:
    return metered(storage)


def of(source: str, number: int) -> Event:
    """Return an event of a source."""
    return replace(event(), identity=Identity(source, f"{source}-{number}"))


def record(desk: Metered, source: str, instants: Sequence[datetime]) -> list[dict[str, str]]:
    """Record an event of a source at each instant; return them in the order of their positions."""
    found = []
    for number, instant in enumerate(instants):
        one = of(source, number)
        found.append((QuarterHour.at(instant), ledger_values(one, claim(one, instant, shards=SHARDS))))
    desk.storage.ledger.append(found, lambda _: True)
    return sorted((values for _, values in found), key=lambda values: values["position"])


def seal(desk: Metered, events: Sequence[dict[str, str]], through: datetime, times: int = 1) -> None:
    """Write the index of the events up to a quarter-hour, as a report does that seals it, ``times`` times."""
    quarter_hour = QuarterHour.at(through)
    for _ in range(times):
        index = SourceIndex()
        before = None
        for one in sorted(events, key=lambda values: values["position"]):
            if one["quarter_hour"] > f"{quarter_hour}#99":
                break
            if before and one["quarter_hour"].split("#")[0] != before:
                desk.storage.reports.projections.write(index.take())
            before = one["quarter_hour"].split("#")[0]
            index.add(one)
        desk.storage.reports.projections.write(index.take())
    desk.storage.write({**CHECKPOINT_KEY, "sealed_through": str(quarter_hour)})
    desk.storage.write({**SHARDS_KEY, "shards": SHARDS})


def read(desk: Metered, source: str, start: datetime, end: datetime, limit: int = 100) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    token = None
    while True:
        paging = Paging.of("request", limit, token)
        body = paging.body(desk.storage.events.of_source(source, start, end, paging))
        assert len(body["items"]) <= limit
        found += body["items"]
        token = body["next"]
        if token is None:
            return found


def ids(events: Sequence[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in events]


@pytest.fixture
def device(desk: Metered, own: str, at: datetime) -> list[dict[str, str]]:
    """A device with an event every 5 minutes for an hour, and a second one whose name begins with the first one's.

    All but the last quarter-hour are sealed.
    """
    start = at - timedelta(hours=1)
    events = record(desk, own, [start + 5 * number * MINUTE for number in range(12)])
    others = record(desk, f"{own}-2", [start + number * MINUTE for number in range(60)])
    seal(desk, [*events, *others], at - 2 * LENGTH, times=2)
    return events


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_a_sources_events_are_in_the_order_of_time_sealed_or_not(
    desk: Metered, own: str, at: datetime, device: list[dict[str, str]], limit: int
) -> None:
    assert ids(read(desk, own, at - timedelta(hours=2), at + MINUTE, limit)) == ids(device)
    assert ids(read(desk, own, *ALWAYS, limit)) == ids(device)
    assert ids(read(desk, f"{own}-1", *ALWAYS, limit)) == []


@pytest.mark.parametrize("limit", [1, 100])
def test_before_after_and_between_are_exact_to_the_millisecond(
    desk: Metered, own: str, at: datetime, device: list[dict[str, str]], limit: int
) -> None:
    start = at - timedelta(hours=1)
    for first, last in ((0, 12), (3, 7), (7, 7), (2, 11), (11, 12)):
        low, high = start + 5 * first * MINUTE, start + 5 * last * MINUTE
        assert ids(read(desk, own, low, high, limit)) == ids(device)[first:last]
        after = low + timedelta.resolution
        assert ids(read(desk, own, after, ALWAYS[1], limit)) == ids(device)[first + 1 :]
        assert ids(read(desk, own, ALWAYS[0], high, limit)) == ids(device)[:last]


def test_an_event_is_returned_with_all_its_ledger_attributes(
    desk: Metered, own: str, at: datetime, device: list[dict[str, str]]
) -> None:
    (shown,) = read(desk, own, at - timedelta(hours=1), at - timedelta(minutes=56))
    assert shown == {
        "partition": device[0]["quarter_hour"],
        **{name: value for name, value in device[0].items() if name not in {"quarter_hour", "schema"}},
    }


def test_before_the_first_report_events_are_found_in_the_ledger_without_an_index(
    desk: Metered, own: str, at: datetime
) -> None:
    events = record(desk, own, [at])
    seal(desk, [], at - LENGTH)
    assert ids(read(desk, own, *ALWAYS)) == ids(events)
    desk.storage.forget(CHECKPOINT_KEY["pk"])
    assert read(desk, own, *ALWAYS) == []


def test_overlapping_chunks_return_each_event_once(
    desk: Metered, own: str, at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quarter-hour is sealed several times with different sizes of chunks."""
    start = QuarterHour.at(at).start
    events = record(desk, own, [start + timedelta(seconds=number) for number in range(40)])
    for waiting in (7, 16, 5000):
        monkeypatch.setattr(source_index, "MAX_PENDING", waiting)
        seal(desk, events, at)
    for limit in (1, 7, 100):
        assert ids(read(desk, own, *ALWAYS, limit)) == ids(events)
    assert ids(read(desk, own, start + timedelta(seconds=20), ALWAYS[1])) == ids(events)[20:]


def test_events_sealed_between_two_pages_are_returned_once(
    desk: Metered, own: str, at: datetime, device: list[dict[str, str]]
) -> None:
    paging = Paging.of("request", 100, None)
    first = paging.body(desk.storage.events.of_source(own, *ALWAYS, paging))
    seal(desk, device, at - LENGTH)
    rest = desk.storage.events.of_source(own, *ALWAYS, Paging.of("request", 100, first["next"]))
    assert 0 < len(first["items"]) < len(device)
    assert ids([*first["items"], *rest.items]) == ids(device)


def test_a_page_of_large_events_ends_where_it_is_full(
    desk: Metered, own: str, device: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_pages, "MAX_BYTES", 700)
    first = desk.storage.events.of_source(own, *ALWAYS, Paging.of("request", 100, None))
    assert 0 < len(first.items) < len(device)
    assert ids(read(desk, own, *ALWAYS)) == ids(device)


# ---------------------------------------------------------------- cost


@pytest.mark.parametrize(("events", "sources", "units"), [(1000, 1, 31), (1000, 10, 40), (60, 60, 60)])
def test_the_index_costs_a_write_unit_for_thirty_events_and_at_most_one_for_each(  # noqa: PLR0913, PLR0917 - a case
    desk: Metered, own: str, at: datetime, events: int, sources: int, units: int, record_property: Record
) -> None:
    start = QuarterHour.at(at).start
    facts = []
    for number in range(events):
        one = of(f"{own}-{number % sources}", number)
        facts.append(ledger_values(one, claim(one, start + number * timedelta(milliseconds=100), shards=SHARDS)))
    bill = desk.bill(lambda: seal_all(desk, facts))
    assert (bill.write_units, bill.read_units) == (units, 0)
    record_property(f"index {events} events of {sources} sources", cost(bill))


def seal_all(desk: Metered, facts: Sequence[dict[str, str]]) -> None:
    index = SourceIndex()
    for one in facts:
        index.add(one)
        if index.is_full:
            desk.storage.reports.projections.write(index.take())
    desk.storage.reports.projections.write(index.take())


def test_reading_an_index_costs_by_its_own_events_and_not_those_of_others(
    desk: Metered, own: str, at: datetime, record_property: Record
) -> None:
    start = at - timedelta(hours=1)
    events = record(desk, own, [start + number * MINUTE for number in range(45)])
    others = record(desk, f"{own}-2", [start + timedelta(seconds=10 * number) for number in range(270)])
    seal(desk, [*events, *others], at - LENGTH)

    def all_of_them() -> None:
        assert ids(read(desk, own, start, at - LENGTH)) == ids(events)

    bill = desk.bill(all_of_them)
    assert bill.read_units == 1 + 1 + 45
    assert bill.calls == {"dynamodb.GetItem": 1, "dynamodb.Query": 1, "dynamodb.BatchGetItem": 1}
    record_property("45 events of a source among 315, sealed", cost(bill))


def test_the_chunks_of_a_source_are_in_the_order_of_time(desk: Metered, own: str, at: datetime) -> None:
    record(desk, own, [at])
    whole = LedgerQueries(desk.storage.dynamodb, desk.storage.ledger_table, desk.storage.entities, desk.storage.workers)
    seal(desk, record(desk, f"{own}-3", [at - number * MINUTE for number in range(50)]), at)
    found = whole.of_source(f"{own}-3", *ALWAYS, Paging.of("request", 100, None)).items
    assert all(one["position"] < other["position"] for one, other in pairwise(found))
