"""Reading events, with any filter, from the indexes and from the ledger, over tables in memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Item, to_item
from quarterhour.aws.workers import Workers
from quarterhour.ledger.events.event import REFUND, SALE, Event
from quarterhour.ledger.keys import CHECKPOINT_KEY, SHARDS_KEY
from quarterhour.ledger.postings.segments import SegmentKey, packed, postings_of, segment_item, segment_of
from quarterhour.ledger.reading import event_pages, sealed_index
from quarterhour.ledger.reading.queries import LedgerQueries
from quarterhour.ledger.reading.sealed_index import EventIndex
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.instants import ALWAYS
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.web.paging import RESERVE_SECONDS, Paging
from tests.support import customers
from tests.support.builders import AT, MACHINE, claim, event, utc

SHARDS: Final = 3
NOW: Final = utc("02:10")
_KEYS: Final = {"Ledger": ("quarter_hour", "position"), "Entity": ("pk", "sk")}
_FILTERS: Final = ("source", "agency", "type", "order_id", "customer")


class Tables:
    """Two tables in memory with DynamoDB's reading calls; BatchGetItem returns items in no order, as DynamoDB does.

    Each call takes ``seconds`` by the clock.
    """

    def __init__(self) -> None:
        self.items: dict[str, dict[tuple[str, str], Item]] = {"Ledger": {}, "Entity": {}}
        self.seconds = 0.0
        self.calls: list[str] = []

    def put(self, table: str, *entries: Mapping[str, Any]) -> None:
        for values in entries:
            item = to_item(values)
            self.items[table][self._place(table, item)] = item

    @staticmethod
    def _place(table: str, item: Item) -> tuple[str, str]:
        partition, sort = _KEYS[table]
        return item[partition]["S"], item[sort]["S"]

    def _called(self, operation: str, table: str) -> None:
        self.calls.append(f"{operation} {table}")
        clock.sleep(self.seconds)

    def get_item(self, **request: Any) -> dict[str, Any]:
        table = request["TableName"]
        self._called("GetItem", table)
        item = self.items[table].get(self._place(table, request["Key"]))
        return {"Item": item} if item else {}

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        ((table, keys),) = request["RequestItems"].items()
        self._called("BatchGetItem", table)
        places = sorted((self._place(table, key) for key in keys["Keys"]), key=lambda one: one[1], reverse=True)
        return {"Responses": {table: [self.items[table][one] for one in places if one in self.items[table]]}}

    def query(self, **request: Any) -> dict[str, Any]:
        table = request["TableName"]
        self._called("Query", table)
        values = request["ExpressionAttributeValues"]
        partition, low, high = (one["S"] for one in list(values.values())[:3])
        after = self._place(table, request["ExclusiveStartKey"])[1] if "ExclusiveStartKey" in request else ""
        places = sorted(one for one in self.items[table] if one[0] == partition and low <= one[1] <= high)
        found = [self.items[table][one] for one in places if one[1] > after]
        page = found[: request["Limit"]]
        answer = {"Items": page}
        if page == found:
            return answer
        return {**answer, "LastEvaluatedKey": {name: page[-1][name] for name in _KEYS[table]}}


class PassingClock(ManualClock):
    """A clock on which waiting takes its time."""

    def sleep(self, seconds: float) -> None:
        self.advance(timedelta(seconds=seconds))


@pytest.fixture
def tables() -> Iterator[Tables]:
    with clock.using(ManualClock(NOW)):
        yield Tables()


def alone(one: Event, at: datetime) -> dict[str, str]:
    """Return the posting of an event that is alone in its segment."""
    return ledger_values(one, claim(one, at, shards=SHARDS))


def record(
    tables: Tables, instants: Sequence[datetime], source: str = "shop", agency: str = "42"
) -> list[dict[str, str]]:
    found = []
    for number, instant in enumerate(instants):
        one = replace(event(), identity=Identity(source, f"e{number}"), account=Account(agency, "GBP"))
        found.append(alone(one, instant))
    put_alone(tables, found)
    return found


def put_alone(tables: Tables, postings: Iterable[dict[str, str]]) -> None:
    """Put each posting into a segment of its own."""
    for item in map(segment_of, ([one] for one in postings)):
        tables.items["Ledger"][item["quarter_hour"]["S"], item["position"]["S"]] = item


def write_index(tables: Tables, events: Sequence[Mapping[str, str]]) -> None:
    """Write the index of each quarter-hour, as the run does that seals it."""
    index = EventIndex()

    def write() -> None:
        tables.put("Entity", *index.take())

    before = ""
    for one in events:
        quarter_hour, _ = one["quarter_hour"].split("#")
        if index.is_full or quarter_hour != before:
            write()
        before = quarter_hour
        index.add([one])
    write()


def seal(tables: Tables, through: str) -> None:
    sealed = QuarterHour.at(utc(through))
    tables.put("Entity", {**CHECKPOINT_KEY, "sealed_through": str(sealed)}, {**SHARDS_KEY, "shards": SHARDS})


def first_recorded(tables: Tables) -> datetime | None:
    """Return the start of the first sealed quarter-hour, as the first run tells it."""
    sealed = tables.items["Entity"][CHECKPOINT_KEY["pk"], CHECKPOINT_KEY["sk"]]["sealed_through"]["S"]
    recorded = sorted(one for one, _ in tables.items["Ledger"] if one[:12] <= sealed)
    return QuarterHour.parse(recorded[0][:12]).start if recorded else None


def all_pages(
    tables: Tables,
    limit: int,
    only: Mapping[str, str],
    span: tuple[datetime, datetime] = ALWAYS,
    seconds: Callable[[], Callable[[], float]] = lambda: lambda: 29.0,
) -> Iterator[tuple[list[str], bool]]:
    """Yield the ids of each page, and whether another page follows.

    ``seconds`` is called for each request, and returns what tells its remaining seconds.
    """
    client: Any = tables
    queries = LedgerQueries(
        client, "Ledger", EntityReader(client, "Entity"), Workers(1), lambda: first_recorded(tables), customers.token
    )
    token = None
    for _ in range(1000):
        paging = Paging.of("request", limit, token)
        body = paging.body(queries.events(*span, only, paging, seconds(), MACHINE))
        token = body["next"]
        yield [one["id"] for one in body["items"]], token is not None
        if token is None:
            return
    raise AssertionError("the pages have no end")


def read(tables: Tables, limit: int, **only: str) -> list[str]:
    """Read all pages, and return the ids in the order in which they are shown."""
    return [id_ for ids, _ in all_pages(tables, limit, only or {"source": "shop"}) for id_ in ids]


LIMITS: Final = [1, 2, 3, 100]


@pytest.mark.parametrize("limit", LIMITS)
def test_each_event_is_shown_once_though_its_index_was_written_before_the_checkpoint(
    tables: Tables, limit: int
) -> None:
    """A run writes the index of a quarter-hour first and moves the checkpoint last; here it is between the two."""
    events = record(tables, [utc("01:30") + timedelta(minutes=7 * number) for number in range(5)])
    write_index(tables, events)
    seal(tables, through="01:30")
    assert read(tables, limit) == ["e0", "e1", "e2", "e3", "e4"]
    assert read(tables, limit, agency="42") == ["e0", "e1", "e2", "e3", "e4"]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_sources_events_are_sorted_by_time_though_dynamodb_returns_them_in_any_order(
    tables: Tables, limit: int
) -> None:
    events = record(tables, [AT + timedelta(seconds=number) for number in range(7)])
    write_index(tables, events)
    seal(tables, through="01:30")
    assert read(tables, limit) == [f"e{number}" for number in range(7)]


@pytest.mark.parametrize("limit", LIMITS)
def test_events_that_are_not_sealed_yet_are_filtered_from_the_ledger(tables: Tables, limit: int) -> None:
    record(tables, [utc("01:50") + timedelta(seconds=10 * number) for number in range(4)])
    record(tables, [utc("01:50") + timedelta(seconds=10 * number + 5) for number in range(4)], "another")
    seal(tables, through="01:30")
    assert read(tables, limit) == ["e0", "e1", "e2", "e3"]


def test_a_month_of_other_agencies_events_is_not_read(tables: Tables) -> None:
    """What an agency's page reads follows the agency's own events, not the quarter-hours or the events of others."""
    start = NOW - timedelta(days=30)
    others = record(tables, [start + timedelta(hours=number) for number in range(700)], agency="other")
    own = record(tables, [start + timedelta(days=10 * number) for number in range(3)], "till")
    write_index(tables, sorted([*others, *own], key=lambda one: one["position"]))
    sealed = QuarterHour.at(NOW).previous
    seal(tables, through="01:45")
    ((ids, more),) = all_pages(tables, 100, {"agency": "42"}, (start, sealed.end))
    assert (ids, more) == (["e0", "e1", "e2"], False)
    assert tables.calls == ["GetItem Entity", "Query Entity", "BatchGetItem Ledger"]


def test_before_the_first_event_nothing_is_searched(tables: Tables) -> None:
    assert read(tables, 10, agency="42") == []
    assert tables.calls == ["GetItem Entity"]


def test_a_full_page_of_one_agency_fetches_no_event_beyond_it(tables: Tables) -> None:
    events = record(tables, [AT + timedelta(seconds=number) for number in range(300)])
    write_index(tables, events)
    seal(tables, through="01:30")
    assert next(all_pages(tables, 100, {"agency": "42"})) == ([f"e{number}" for number in range(100)], True)
    assert tables.calls == ["GetItem Entity", "Query Entity", "BatchGetItem Ledger"]


# ---------------------------------------------------------------- laws


@dataclass(frozen=True)
class Case:
    """A ledger, of which a part is sealed; a filter, and limits."""

    events: tuple[tuple[int, str, str, str, str | None, str | None], ...]
    sealed: int
    parts: int
    memory: int
    chunk: int
    together: int
    span: tuple[int, int]
    only: Mapping[str, str]
    limit: int
    at_once: int
    size: int
    seconds_a_call: float
    seconds: float


@st.composite
def cases(draw: st.DrawFn) -> Case:
    orders = st.sampled_from([None, "o1", "o2"])
    names = st.sampled_from(["ann", "bob"])
    events = draw(
        st.lists(
            st.tuples(
                st.sampled_from([0, 3, 900, 905, 5_000]) | st.integers(0, 3 * 3600),
                st.sampled_from(["shop", "till"]),
                st.sampled_from(["42", "43"]),
                st.sampled_from([SALE, REFUND]),
                orders,
                st.none() | names.map(customers.token),
            ),
            max_size=25,
        )
    )
    sealed = draw(st.integers(-1, 11))
    only = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "agency": st.sampled_from(["42", "43", "44"]),
                "source": st.sampled_from(["shop", "till", "fair"]),
                "type": st.sampled_from([SALE, REFUND]),
                "order_id": st.sampled_from(["o1", "o2", "o3"]),
                "customer": names,
            },
        )
    )
    low, high = sorted(draw(st.tuples(st.integers(-1000, 4 * 3600), st.integers(-1000, 4 * 3600))))
    return Case(
        tuple(events),
        sealed,
        parts=draw(st.integers(1, SHARDS)),
        memory=draw(st.sampled_from([1, 600, 1 << 20])),
        together=draw(st.sampled_from([0, 1, 3, 25])),
        chunk=draw(st.sampled_from([1, 50, 12_000])),
        span=(low, high),
        only=only,
        limit=draw(st.sampled_from([1, 2, 5, 100])),
        at_once=draw(st.sampled_from([1, 4, 1000])),
        size=draw(st.sampled_from([1, 700, 1 << 20])),
        seconds_a_call=draw(st.sampled_from([0.0, 0.5, 3.0])),
        seconds=draw(st.sampled_from([0.0, 12.0, 29.0])),
    )


START: Final = utc("00:00")


def quarter_hour(number: int) -> QuarterHour:
    return QuarterHour.at(START + number * timedelta(minutes=15))


def recorded(case: Case) -> list[dict[str, str]]:
    found = []
    for number, (at, source, agency, type_, order, customer) in enumerate(case.events):
        one = replace(
            event(),
            identity=Identity(source, f"e{number}"),
            account=Account(agency, "GBP"),
            type=type_,
            details={name: text for name, text in (("order_id", order), ("customer", customer)) if text},
        )
        found.append(alone(one, START + timedelta(seconds=at)))
    return sorted(found, key=lambda one: one["position"])


def stored(tables: Tables, events: Sequence[dict[str, str]], together: int) -> list[dict[str, str]]:
    """Store events of a quarter-hour in segments of so many, or (0) each by itself; return them in their order.

    A segment has the instant of its first event, so only events of one instant stay as they are: others are moved.
    """
    if not together:
        put_alone(tables, events)
        return list(events)
    found = []
    for (partition, instant), same in groupby(events, key=lambda one: (one["quarter_hour"], one["recorded_at"])):
        for some in batched(same, together):
            position = Position.parse(some[0]["position"]).of_item
            key = SegmentKey(Partition.parse(partition), position)
            rows = [one for posting in some for one in (posting, None)]
            item = segment_item(key, len(some), packed(rows))
            tables.items["Ledger"][partition, str(position)] = item
            found += postings_of(item)
            assert all(one["recorded_at"] == instant for one in found[-len(some) :])
    return sorted(found, key=lambda one: one["position"])


def batched(some: Iterable[dict[str, str]], most: int) -> Iterator[list[dict[str, str]]]:
    rest = list(some)
    return (rest[at : at + most] for at in range(0, len(rest), most))


def index_parts(tables: Tables, case: Case, events: Sequence[dict[str, str]]) -> None:
    """Write what reports have written of these events: each part's chunks."""
    for part in range(case.parts):
        own = [one for one in events if int(one["quarter_hour"][-2:]) % case.parts == part]
        sealed = [one for one in own if one["quarter_hour"] < str(quarter_hour(case.sealed + 1))]
        write_index(tables, sealed)


@given(cases())
def test_the_pages_of_any_filter_are_all_matching_events_once_and_in_order(case: Case) -> None:
    tables = Tables()
    tables.seconds = case.seconds_a_call
    events = recorded(case)
    events = stored(tables, events, case.together)
    passing = PassingClock(START + timedelta(hours=4))
    out_of_time: list[bool] = []

    def new_request() -> Callable[[], float]:
        out_of_time.clear()
        end = clock.now() + timedelta(seconds=case.seconds)

        def remaining() -> float:
            left = (end - clock.now()).total_seconds()
            out_of_time.append(left < RESERVE_SECONDS)
            return left

        return remaining

    with pytest.MonkeyPatch.context() as patch, clock.using(passing):
        patch.setattr(sealed_index, "MAX_PENDING", case.memory)
        patch.setattr(sealed_index, "MAX_CHUNK", case.chunk)
        patch.setattr(event_pages, "MAX_BYTES", case.size)
        for name in ("EXAMINED_AT_ONCE", "FETCHED_AT_ONCE"):
            patch.setattr(f"quarterhour.ledger.reading.queries.{name}", case.at_once)
        index_parts(tables, case, events)
        sealed_through = str(quarter_hour(case.sealed))
        tables.put("Entity", {**CHECKPOINT_KEY, "sealed_through": sealed_through}, {**SHARDS_KEY, "shards": SHARDS})
        low, high = (START + timedelta(seconds=at) for at in case.span)
        found: list[str] = []
        for ids, more in all_pages(tables, case.limit, case.only, (low, high), new_request):
            assert len(ids) <= case.limit
            if more and len(ids) < case.limit and out_of_time[-1:] != [True]:
                assert ids, "a page is empty though there was time"
                assert case.size < 1 << 20, "a page is short though there was time"
            found += ids
    assert found == [
        one["id"]
        for one in events
        if low <= START + timedelta(seconds=case.events[int(one["id"][1:])][0]) < high
        and all(one.get(name) in {value, customers.token(value)} for name, value in case.only.items())
    ]
