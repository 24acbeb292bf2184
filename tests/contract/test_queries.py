"""Reading back: totals by quarter-hour and day, events by instant; page by page, and never what has expired."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, Final

import pytest

from benchmarks.marketplace import days_before, fill
from quarterhour.aws.entity import Range
from quarterhour.counters.distinct import marker_sets
from quarterhour.counters.keys import account_pk
from quarterhour.counters.overview import OverviewQueries
from quarterhour.counters.plan import Retention, changes, with_difference
from quarterhour.counters.queries import CounterQueries
from quarterhour.counters.spans import calendar_spans
from quarterhour.counters.windows import Window
from quarterhour.ledger.keys import CHECKPOINT_KEY
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.model.clock import ManualClock, iso_millis, using
from quarterhour.model.errors import NotFoundError
from quarterhour.model.identifiers import Account
from quarterhour.model.money import ZERO
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import LENGTH, QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.registry.agencies.queries import AgencyQueries
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.snapshots.keys import WINDOW_SHARDS
from quarterhour.web.paging import Page, Paging
from tests.contract.metered import Record, cost, metered
from tests.contract.paging import everything
from tests.contract.storage import Storage
from tests.support.builders import MACHINE, claim, event
from tests.support.counted import planned

KEPT = Retention(timedelta(days=35), timedelta(days=800))
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
SHARDS = 3


@pytest.fixture
def account(own: str) -> Account:
    """An account of the test's own."""
    return Account(own, "GBP")


ONE: Final = Totals(1, ZERO, ZERO, ZERO)


def count(storage: Storage, account: Account, at: datetime) -> None:
    """Count one event of nothing, and let all windows leave."""
    storage.counters.write(planned(storage.counters, account, at, ONE))


# ---------------------------------------------------------------- counters


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_quarter_hours_are_in_order_with_all_that_is_counted_of_them(
    storage: Storage, account: Account, at: datetime, limit: int
) -> None:
    for number in (0, 0, 1, 1, 2, 5, 6, 6):
        count(storage, account, at + number * LENGTH)
    for number in (1, 2):
        count_now(storage, account, at + number * LENGTH)
    start, end = (QuarterHour.at(at + number * LENGTH).start for number in (1, 6))
    found = everything(
        lambda paging: CounterQueries(storage.entities).quarter_hours(account, start, end, paging), limit
    )
    assert [one["events"] for one in found] == [3, 2, 1]
    assert [one["quarter_hour"] for one in found] == [str(QuarterHour.at(at + number * LENGTH)) for number in (1, 2, 5)]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_days_are_in_order_with_their_customers(storage: Storage, own: str, at: datetime, limit: int) -> None:
    account = Account(f"{own}-{limit}", "GBP")
    for number in range(4):
        count(storage, account, at + number * DAY)
    for marker_set in marker_sets(account, (at + DAY).date(), {"ann", "bob"}, KEPT):
        storage.counters.count_new(marker_set)
    first, end = at.date(), (at + 3 * DAY).date()
    found = everything(lambda paging: CounterQueries(storage.entities).days(account, first, end, paging), limit)
    assert [(one["day"], one["customers"]) for one in found] == [
        ((at + number * DAY).date().isoformat(), customers) for number, customers in ((0, 0), (1, 2), (2, 0))
    ]


def test_a_page_of_the_overview_makes_one_call_an_account(
    storage: Storage, own: str, at: datetime, record_property: Record
) -> None:
    accounts = [Account(own, currency) for currency in ("EUR", "GBP", "USD")]
    month = Period.of(at)
    fill(storage.stack, accounts, days_before(month.next.first_day, 60))
    one = metered(storage)
    overview = overview_of(one.storage)
    bodies: list[Any] = []
    bill = one.bill(
        lambda: bodies.append(overview.page(month, own, Paging.of("request", 100, None), lambda: float("inf")))
    )
    record_property("a page of 3 accounts", cost(bill))
    # The list of accounts; account items, registrations, periods.
    partitions, batches = WINDOW_SHARDS, 3
    assert bill.calls == {"dynamodb.Query": partitions + len(accounts), "dynamodb.BatchGetItem": batches}
    (body,) = bodies
    assert [item["currency"] for item in body["items"]] == ["EUR", "GBP", "USD"]
    for item in body["items"]:
        totals = everything(partial(_periods_of, storage, Account(own, item["currency"]), month), 10)
        assert [item["before"]["net"], item["now"]["net"]] == [period["net"] for period in totals[-2:]]


@pytest.mark.parametrize("name", ["month", "year"])
def test_an_overview_of_spans_makes_at_most_two_calls_an_account(
    storage: Storage, own: str, name: str, record_property: Record
) -> None:
    days, calls, units = {"month": (46, 2, 7), "year": (715, 1, 26)}[name]
    accounts = [Account(f"{own}-{name}", currency) for currency in ("EUR", "GBP", "USD")]
    now = datetime(2026, 12, 16, 14, 37, tzinfo=UTC)
    fill(storage.stack, accounts, days_before(date(2026, 12, 17), days))
    one = metered(storage)
    overview = overview_of(one.storage)
    bodies: list[Any] = []
    spans, paging = calendar_spans(name, now), Paging.of("request", 100, None)
    with using(ManualClock(now)):
        bill = one.bill(lambda: bodies.append(overview.compared(spans, f"{own}-{name}", paging, lambda: float("inf"))))
    record_property(f"3 accounts, {name}", cost(bill))
    partitions, batches = WINDOW_SHARDS, 2  # The list; account items, registrations.
    # Days, and the quarter-hours of 16 November; those of 16 December 2025 have expired.
    queries = partitions + calls * len(accounts)
    assert bill.calls == {"dynamodb.Query": queries, "dynamodb.BatchGetItem": batches}
    assert bill.read_units / len(accounts) <= units
    assert [item["currency"] for item in bodies[0]["items"]] == ["EUR", "GBP", "USD"]


def overview_of(storage: Storage) -> OverviewQueries:
    registered = AgencyQueries(DocumentQueries(storage.entities)).registered_among
    return OverviewQueries(CounterQueries(storage.entities), storage.workers, KEPT, registered)


def _periods_of(storage: Storage, account: Account, month: Period, paging: Paging) -> Page[Any]:
    return CounterQueries(storage.entities).periods(account, month.previous, month.next, paging)


def test_the_list_shows_each_account_once(storage: Storage, own: str, at: datetime) -> None:
    accounts = [Account(own, currency) for currency in ("EUR", "GBP", "USD")]
    for account in (*accounts, accounts[1]):
        count_now(storage, account, at)
    queries = CounterQueries(storage.entities)
    for limit in (1, 2):
        found = everything(lambda paging: queries.accounts(own, None, paging, lambda: float("inf")), limit)
        assert [(one["currency"], one["events"]) for one in found] == [("EUR", 1), ("GBP", 2), ("USD", 1)]


def count_now(storage: Storage, account: Account, at: datetime) -> None:
    """Count one event of nothing."""
    before, quarter_hour = storage.counters.account(account), QuarterHour.at(at)
    more: Any = {"customers": (), "watermarks": Window(), "last_updated": iso_millis(at)}
    after = with_difference(before, quarter_hour, {Period.of(quarter_hour.day): ONE}, **more)
    storage.counters.write(changes(before, after, [], {}, KEPT)[1])


def test_what_is_open_and_what_has_left_are_read_together(storage: Storage, account: Account, at: datetime) -> None:
    queries, quarter_hour = CounterQueries(storage.entities), QuarterHour.at(at)
    count(storage, account, at)
    count_now(storage, account, at)
    count_now(storage, account, at + LENGTH)
    paging = Paging.of("request", 10, None)
    found = queries.quarter_hours(account, quarter_hour.start, quarter_hour.start + 3 * LENGTH, paging)
    assert [one["events"] for one in found.items] == [2, 1]
    days = queries.days(account, at.date(), at.date() + 2 * DAY, Paging.of("request", 10, None))
    assert sum(one["events"] for one in days.items) == 3


def test_an_agency_has_accounts_once_an_event_of_it_is_counted(
    storage: Storage, account: Account, at: datetime
) -> None:
    queries = CounterQueries(storage.entities)
    assert not queries.has_accounts(account.agency)
    count(storage, account, at)
    assert queries.has_accounts(account.agency)
    assert not queries.has_accounts(account.agency[:-1]), "the beginning of a name"


def test_an_account_is_found_by_any_of_its_spellings_or_not_at_all(
    storage: Storage, account: Account, at: datetime
) -> None:
    queries = CounterQueries(storage.entities)
    count(storage, account, at)
    found, latest = queries.find([f"{account.agency}%", account.agency], "GBP")
    assert (found, queries.totals(found, latest)["events"]) == (account, 1)
    with pytest.raises(NotFoundError):
        queries.find([account.agency], "EUR")


@pytest.mark.parametrize("falling", [False, True], ids=["rising", "falling"])
def test_a_range_includes_its_bounds_and_continues_after_an_item(
    storage: Storage, account: Account, *, falling: bool
) -> None:
    pk = account_pk(account)
    for sk in ("a", "b#1", "b#10", "b#2", "b#é", "c"):
        storage.write({"pk": pk, "sk": sk})
    whole = ["b#1", "b#10", "b#2", "b#é", "c"]
    order = whole[::-1] if falling else whole
    for after in (None, *order):
        found = storage.entities.read(Range(pk, "b", "c", descending=falling, after=after), 2)
        assert [one["sk"] for one in found] == order[order.index(after) + 1 if after else 0 :]


def test_expired_items_that_still_exist_are_not_shown(storage: Storage, account: Account, at: datetime) -> None:
    pk, now = account_pk(account), int(at.timestamp())
    for sk, expires in (("a", None), ("b", now - 1), ("c", now), ("d", now + 60)):
        storage.write({"pk": pk, "sk": sk, "expires_at": expires})
    assert [one["sk"] for one in storage.entities.read(Range(pk, "a", "d"), 10)] == ["a", "d"]
    assert storage.entities.get({"pk": pk, "sk": "b"}) is None
    assert storage.entities.get({"pk": pk, "sk": "d"})


# ---------------------------------------------------------------- events


@pytest.fixture
def recorded(storage: Storage, own: str, at: datetime) -> list[str]:
    """The ids of an event every five minutes for an hour, over three shards, in the order of their positions."""
    ids = [f"{own}-{number}" for number in range(12)]
    instants = [at - timedelta(hours=1) + number * 5 * MINUTE for number in range(12)]
    claims = [claim(event(id_), instant, shards=SHARDS) for id_, instant in zip(ids, instants, strict=True)]
    storage.segments.prepare(SHARDS, QuarterHour.at(at - timedelta(hours=2)))
    storage.post(ledger_values(event(one.identity.id), one) for one in claims)
    return ids


def read(storage: Storage, start: datetime, end: datetime, limit: int, **only: str) -> list[dict[str, Any]]:
    return everything(lambda paging: storage.events.events(start, end, only, paging, lambda: 29.0, MACHINE), limit)


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_events_of_all_shards_are_in_the_order_of_recording(
    storage: Storage, recorded: list[str], at: datetime, limit: int
) -> None:
    found = read(storage, at - timedelta(minutes=50), at - timedelta(minutes=10), limit)
    assert [one["id"] for one in found] == recorded[2:10]


@pytest.mark.parametrize("limit", [1, 100])
def test_events_can_be_filtered_by_agency(
    storage: Storage, recorded: list[str], own: str, at: datetime, limit: int
) -> None:
    start, end = at - timedelta(hours=1), at
    storage.write({**CHECKPOINT_KEY, "sealed_through": str(QuarterHour.at(at - timedelta(hours=2)))})
    assert [one["id"] for one in read(storage, start, end, limit, agency="42")] == recorded
    assert read(storage, start, end, limit, agency=own) == []
