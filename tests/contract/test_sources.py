"""The index of events: those of a source or an agency by time, from the index and from the ledger, each once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import pytest

from quarterhour.ledger.events.event import Event
from quarterhour.ledger.keys import CHECKPOINT_KEY, SHARDS_KEY
from quarterhour.ledger.reading import event_pages, sealed_index
from quarterhour.ledger.reading.sealed_index import EventIndex
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.instants import ALWAYS
from quarterhour.model.quarter_hours import LENGTH, QuarterHour
from quarterhour.web.paging import Page, Paging
from tests.contract.metered import Metered, Record, cost, metered
from tests.contract.paging import everything
from tests.contract.storage import Storage
from tests.support.builders import MACHINE, claim, event
from tests.support.customers import token

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
        found.append(ledger_values(one, claim(one, instant, shards=SHARDS)))
    desk.storage.post(found)
    return sorted(found, key=lambda values: values["position"])


def seal(desk: Metered, events: Sequence[dict[str, str]], through: datetime, times: int = 1) -> None:
    """Write the index of the events up to a quarter-hour, as a report does that seals it, ``times`` times."""
    quarter_hour = QuarterHour.at(through)
    sealed = sorted((one for one in events if one["quarter_hour"] < str(quarter_hour.next)), key=itemgetter("position"))
    for _ in range(times):
        for _, some in groupby(sealed, lambda one: one["quarter_hour"][:12]):
            index = EventIndex()
            index.add(some)
            desk.storage.reports.projections.write(index.take())
    desk.storage.write({**CHECKPOINT_KEY, "sealed_through": str(quarter_hour)})
    desk.storage.write({**SHARDS_KEY, "shards": SHARDS})


def read(storage: Storage, source: str, start: datetime, end: datetime, limit: int = 100) -> list[dict[str, Any]]:
    """Return the events of a source."""
    return matching(storage, (start, end), limit, source=source)


def matching(storage: Storage, span: tuple[datetime, datetime], limit: int, **only: str) -> list[dict[str, Any]]:
    """Return the events that a filter selects."""
    return everything(lambda paging: page(storage, *span, only, paging), limit)


def page(storage: Storage, start: datetime, end: datetime, only: Mapping[str, str], paging: Paging) -> Page[Any]:
    return storage.events.events(start, end, only, paging, lambda: 29.0, MACHINE)


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
    assert ids(read(desk.free, own, at - timedelta(hours=2), at + MINUTE, limit)) == ids(device)
    assert ids(read(desk.free, own, *ALWAYS, limit)) == ids(device)
    assert ids(read(desk.free, f"{own}-1", *ALWAYS, limit)) == []


@pytest.mark.parametrize("limit", [1, 100])
def test_before_after_and_between_are_exact_to_the_millisecond(
    desk: Metered, own: str, at: datetime, device: list[dict[str, str]], limit: int
) -> None:
    start = at - timedelta(hours=1)
    for first, last in ((0, 12), (3, 7), (7, 7), (2, 11), (11, 12)):
        low, high = start + 5 * first * MINUTE, start + 5 * last * MINUTE
        assert ids(read(desk.free, own, low, high, limit)) == ids(device)[first:last]
        after = low + timedelta.resolution
        assert ids(read(desk.free, own, after, ALWAYS[1], limit)) == ids(device)[first + 1 :]
        assert ids(read(desk.free, own, ALWAYS[0], high, limit)) == ids(device)[:last]


def test_an_event_is_returned_with_all_its_ledger_attributes(
    desk: Metered, own: str, at: datetime, device: list[dict[str, str]]
) -> None:
    (shown,) = read(desk.free, own, at - timedelta(hours=1), at - timedelta(minutes=56))
    assert shown == {
        "partition": device[0]["quarter_hour"],
        **{name: value for name, value in device[0].items() if name not in {"quarter_hour", "schema"}},
    }


def test_before_the_first_report_events_are_found_in_the_ledger_without_an_index(
    desk: Metered, own: str, at: datetime
) -> None:
    events = record(desk, own, [at])
    seal(desk, [], at - LENGTH)
    assert ids(read(desk.free, own, *ALWAYS)) == ids(events)
    desk.storage.forget(CHECKPOINT_KEY["pk"])
    assert read(desk.free, own, *ALWAYS) == []


def test_overlapping_chunks_return_each_event_once(
    desk: Metered, own: str, at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quarter-hour is sealed several times with different sizes of chunks."""
    start = QuarterHour.at(at).start
    events = record(desk, own, [start + timedelta(seconds=number) for number in range(40)])
    for length in (7 * 25, 16 * 25, 12_000):
        monkeypatch.setattr(sealed_index, "MAX_CHUNK", length)
        seal(desk, events, at)
    for limit in (1, 7, 100):
        assert ids(read(desk.free, own, *ALWAYS, limit)) == ids(events)
    assert ids(read(desk.free, own, start + timedelta(seconds=20), ALWAYS[1])) == ids(events)[20:]


def test_events_sealed_between_two_pages_are_returned_once(
    desk: Metered, own: str, at: datetime, device: list[dict[str, str]]
) -> None:
    for limit in range(1, len(device)):
        paging = Paging.of("request", limit, None)
        first = paging.body(page(desk.free, *ALWAYS, {"source": own}, paging))
        seal(desk, device, at - LENGTH)
        rest = page(desk.free, *ALWAYS, {"source": own}, Paging.of("request", 100, first["next"]))
        assert len(first["items"]) == limit
        assert ids([*first["items"], *rest.items]) == ids(device)
        desk.storage.write({**CHECKPOINT_KEY, "sealed_through": str(QuarterHour.at(at - 2 * LENGTH))})


def test_a_page_of_large_events_ends_where_it_is_full(
    desk: Metered, own: str, device: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_pages, "MAX_BYTES", 700)
    first = page(desk.free, *ALWAYS, {"source": own}, Paging.of("request", 100, None))
    assert 0 < len(first.items) < len(device)
    assert ids(read(desk.free, own, *ALWAYS)) == ids(device)


# ---------------------------------------------------------------- cost


@pytest.mark.parametrize(
    ("events", "names", "units"),
    [(1000, 1, 2 * 28), (1000, 5, 2 * 5 * 6), (60, 60, 2 * 60)],
    ids=["one", "few", "each"],
)
def test_the_index_costs_at_most_0_03_write_units_an_event_or_one_for_each_source_and_agency(  # noqa: PLR0913, PLR0917 - a case
    desk: Metered, own: str, at: datetime, events: int, names: int, units: int, record_property: Record
) -> None:
    start = QuarterHour.at(at).start
    facts = []
    for number in range(events):
        name = f"{own}-{number % names}"
        one = replace(of(name, number), account=Account(name, "GBP"))
        facts.append(ledger_values(one, claim(one, start + number * timedelta(milliseconds=100), shards=SHARDS)))
    bill = desk.bill(lambda: seal_all(desk, facts))
    assert (bill.write_units, bill.read_units) == (units, 0)
    assert events < 1000 or bill.write_units / 2 <= 0.03 * events
    record_property(f"index {events} events of {names} sources and agencies", cost(bill))


def seal_all(desk: Metered, facts: Sequence[dict[str, str]]) -> None:
    index = EventIndex()
    for one in facts:
        index.add([one])
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
        assert ids(read(desk.storage, own, start, at - LENGTH)) == ids(events)

    bill = desk.bill(all_of_them)
    assert bill.read_units == 1 + 1 + 45
    assert bill.calls == {"dynamodb.GetItem": 1, "dynamodb.Query": 1, "dynamodb.BatchGetItem": 1}
    record_property("45 events of a source among 315, sealed", cost(bill))


def test_the_chunks_of_a_source_are_in_the_order_of_time(desk: Metered, own: str, at: datetime) -> None:
    record(desk, own, [at])
    seal(desk, record(desk, f"{own}-3", [at - number * MINUTE for number in range(50)]), at)
    found = page(desk.free, *ALWAYS, {"source": f"{own}-3"}, Paging.of("request", 100, None)).items
    assert all(one["position"] < other["position"] for one, other in pairwise(found))


# ---------------------------------------------------------------- agencies and other filters


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_an_agencys_events_are_all_found_whether_in_the_index_or_not(
    desk: Metered, own: str, at: datetime, limit: int
) -> None:
    """The last quarter-hour is not sealed."""
    start = at - timedelta(hours=1)
    events = [
        replace(one, account=Account(own if number % 3 else f"{own}-2", "GBP"))
        for number in range(30)
        for one in [of(f"{own}-{limit}", number)]
    ]
    found = [
        ledger_values(one, claim(one, start + 2 * number * MINUTE, shards=SHARDS)) for number, one in enumerate(events)
    ]
    desk.storage.post(found)
    seal(desk, found, at - LENGTH)
    own_events = [one for one in found if one["agency"] == own]
    assert ids(matching(desk.free, (start, at + MINUTE), limit, agency=own)) == ids(own_events)
    one = own_events[-1]
    for only in (
        {"agency": own, "source": one["source"]},
        {"source": one["source"], "type": one["type"], "agency": own},
    ):
        assert ids(matching(desk.free, (start, at + MINUTE), limit, **only)) == ids(own_events)


@pytest.mark.parametrize("limit", [1, 100])
def test_events_are_filtered_by_what_they_have(desk: Metered, own: str, at: datetime, limit: int) -> None:
    source = f"{own}-{limit}"
    events = [
        replace(of(source, number), details={"customer": token(f"{source}-{number % 2}"), "order_id": str(number)})
        for number in range(9)
    ]
    found = [ledger_values(one, claim(one, at + number * MINUTE, shards=SHARDS)) for number, one in enumerate(events)]
    desk.storage.post(found)
    desk.storage.write({**CHECKPOINT_KEY, "sealed_through": str(QuarterHour.at(at - LENGTH))})
    desk.storage.write({**SHARDS_KEY, "shards": SHARDS})
    span = at, at + 10 * MINUTE
    assert ids(matching(desk.free, span, limit, customer=f"{source}-1")) == ids(found[1::2])
    assert ids(matching(desk.free, span, limit, customer=f"{source}-0", order_id="4")) == ids(found[4:5])
    assert ids(matching(desk.free, span, limit, type="sale.refunded", source=source)) == []
