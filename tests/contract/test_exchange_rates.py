"""Exchange rates: entered once each, and read as of any instant, in windows, and all at once."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any

import pytest

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import to_item
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock, iso_millis, iso_seconds, using
from quarterhour.model.errors import ConflictError, InvalidError, NotFoundError
from quarterhour.model.instants import ALWAYS
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.exchange_rates import api
from quarterhour.registry.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES, ExchangeRate, ExchangeRateRequest
from quarterhour.registry.exchange_rates.keys import rate_pk
from quarterhour.registry.exchange_rates.queries import ExchangeRateQueries
from quarterhour.registry.exchange_rates.service import ExchangeRateService
from quarterhour.registry.exchange_rates.store import ExchangeRateStore
from quarterhour.reports.base_currency import Pins
from quarterhour.snapshots.layers import LAYERS, Layer
from quarterhour.snapshots.plan import snapshots
from quarterhour.snapshots.queries import SnapshotQueries
from quarterhour.web.paging import Page, Paging
from tests.contract.metered import Metered, Record, cost, metered
from tests.contract.paging import everything
from tests.contract.storage import Storage
from tests.support.builders import change_record

CHANGE, FIVE_MINUTES, HOUR = LAYERS
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
EUR = "EUR"
RUN = "2026-10-23T0130-0230"
_codes = count()


@pytest.fixture(scope="module")
def desk(storage: Storage) -> Metered:
    return metered(storage)


@pytest.fixture
def currency() -> str:
    """A currency that no other test uses."""
    number = next(_codes)
    return "Q" + chr(ord("A") + number // 26) + chr(ord("A") + number % 26)


def rates(desk: Metered) -> ExchangeRateQueries:
    return ExchangeRateQueries(desk.storage.entities)


def service(entities: EntityReader, base: str = EUR) -> ExchangeRateService:
    return ExchangeRateService(ExchangeRateQueries(entities), store(entities), base)


def store(entities: EntityReader) -> ExchangeRateStore:
    return ExchangeRateStore(entities.client, entities.table)


def windows(desk: Metered) -> SnapshotQueries[api.ExchangeRateState, api.ExchangeRate, api.ExchangeRateSnapshot]:
    return SnapshotQueries(desk.storage.entities, EXCHANGE_RATE_STATES)


def rate_request(units: str, at: datetime | None) -> ExchangeRateRequest:
    return ExchangeRateRequest(Decimal(units), "ECB", at)


def enter(desk: Metered, currency: str, entered: ExchangeRateRequest, base: str) -> dict[str, Any]:
    return service(desk.storage.entities, base).enter(currency, entered)[0]


def enter_and_keep(desk: Metered, currency: str, entered: ExchangeRateRequest) -> None:
    """Enter a rate, and write the snapshots of the one before, as the snapshots function does."""
    before = rates(desk).latest(currency)
    after = enter(desk, currency, entered, EUR)
    change = change_record(1, to_item(before) if before else None, to_item(after))
    found, poison = snapshots([change], LAYERS, clock.now())
    assert not poison
    for one in found:
        desk.storage.snapshots.put(one.values)


# ---------------------------------------------------------------- entering


def test_a_rate_comes_into_force_with_one_transaction(
    desk: Metered, currency: str, at: datetime, record_property: Record
) -> None:
    first = desk.bill(lambda: enter(desk, currency, rate_request("1.0842", at), EUR))
    assert (first.write_units, first.read_units) == (6, 1)
    assert first.calls == {"dynamodb.GetItem": 1, "dynamodb.TransactWriteItems": 1}
    with using(ManualClock(at + MINUTE)):
        second = desk.bill(lambda: enter(desk, currency, rate_request("1.09", at + MINUTE), EUR))
    assert (second.write_units, second.read_units) == (6, 2)
    record_property("enter a rate", cost(second))
    latest = rates(desk).latest(currency)
    assert latest
    assert (latest["version"], latest["last_updated"]) == (2, iso_millis(at + MINUTE))
    assert ExchangeRate.of(latest) == ExchangeRate(Decimal("1.09"), "ECB", EUR, at + MINUTE)


def test_a_rate_entered_again_changes_nothing_at_any_time(
    desk: Metered, currency: str, at: datetime, record_property: Record
) -> None:
    first = enter(desk, currency, rate_request("1.0842", at - MINUTE), EUR)
    enter(desk, currency, rate_request("1.09", at), EUR)
    latest = rates(desk).latest(currency)
    again = desk.bill(lambda: enter(desk, currency, rate_request("1.08420", at - MINUTE), EUR))
    assert (again.write_units, again.read_units) == (0, 2)
    record_property("enter a rate again", cost(again))
    values, is_new = service(desk.storage.entities).enter(currency, rate_request("1.0842", at - MINUTE))
    assert (values["version"], is_new) == (first["version"], False)
    assert rates(desk).latest(currency) == latest


def test_entering_the_rate_in_force_without_an_instant_changes_nothing(
    desk: Metered, currency: str, at: datetime
) -> None:
    first = enter(desk, currency, rate_request("1.0842", None), EUR)
    with using(ManualClock(at + MINUTE)):
        assert enter(desk, currency, rate_request("1.0842", None), EUR)["last_updated"] == first["last_updated"]
        other = enter(desk, currency, rate_request("1.09", None), EUR)
    assert (other["version"], other["last_updated"]) == (2, iso_millis(at + MINUTE))


def test_a_past_rate_is_never_changed(desk: Metered, currency: str, at: datetime) -> None:
    enter(desk, currency, rate_request("1.0842", at), EUR)
    before = rates(desk).latest(currency)
    with pytest.raises(ConflictError):
        enter(desk, currency, rate_request("1.09", at), EUR)
    with pytest.raises(ConflictError):
        enter(desk, currency, rate_request("1.0842", at), "USD")
    assert rates(desk).latest(currency) == before


def test_the_base_currency_has_no_exchange_rate(desk: Metered, at: datetime) -> None:
    with pytest.raises(InvalidError, match="is EUR, the base currency"):
        enter(desk, EUR, rate_request("1", at), EUR)
    assert rates(desk).latest(EUR) is None


# ---------------------------------------------------------------- adding an earlier rate


def in_force(desk: Metered, currency: str, *instants: datetime) -> list[str | None]:
    """Return the units in force at some instants."""
    found = (rates(desk).as_of(currency, at) for at in instants)
    return [one["units_per_base"] if one else None for one in found]


def convert(desk: Metered, currency: str, quarter_hour: QuarterHour) -> Pins:
    """Pin the rate of a currency for a quarter-hour, as the report of ``RUN`` does."""
    return desk.storage.reports.pins.pinned_or_pin(RUN, quarter_hour, EUR, [currency])


def test_an_earlier_rate_is_added_in_any_order_while_no_report_has_used_a_later_one(
    desk: Metered, currency: str, at: datetime, record_property: Record
) -> None:
    latest = enter(desk, currency, rate_request("1.04", at), EUR)
    for minutes, units in ((30, "1.01"), (10, "1.03")):
        enter(desk, currency, rate_request(units, at - minutes * MINUTE), EUR)
    bill = desk.bill(lambda: enter(desk, currency, rate_request("1.02", at - 20 * MINUTE), EUR))
    assert (bill.write_units, bill.read_units) == (4, 4)
    record_property("add an earlier rate", cost(bill))
    instants = (at - minutes * MINUTE for minutes in (31, 30, 20, 15, 10, 0))
    assert in_force(desk, currency, *instants) == [None, "1.01", "1.02", "1.02", "1.03", "1.04"]
    assert rates(desk).latest(currency) == latest
    again = service(desk.storage.entities).enter(currency, rate_request("1.02", at - 20 * MINUTE))
    assert again == (rates(desk).as_of(currency, at - 20 * MINUTE), False)
    with pytest.raises(ConflictError, match=r"has published 1\.02"):
        enter(desk, currency, rate_request("1.05", at - 20 * MINUTE), EUR)


def test_an_earlier_rate_is_refused_from_the_last_quarter_hour_that_a_report_has_converted(
    desk: Metered, currency: str, at: datetime, record_property: Record
) -> None:
    quarter_hour = QuarterHour.at(at - DAY)
    enter(desk, currency, rate_request("1.01", at - 2 * DAY), EUR)
    enter(desk, currency, rate_request("1.04", at), EUR)
    pinned = convert(desk, currency, quarter_hour)
    convert(desk, currency, quarter_hour.previous)
    moment = timedelta(milliseconds=1)
    for when in (at - 3 * DAY, at - 2 * DAY + moment, quarter_hour.start, quarter_hour.end - moment):
        with pytest.raises(ConflictError, match=f"the report {RUN} relies on the exchange rates of {currency} until"):
            enter(desk, currency, rate_request("1.02", when), EUR)
    enter(desk, currency, rate_request("1.03", quarter_hour.end), EUR)
    assert in_force(desk, currency, quarter_hour.start, quarter_hour.end, at) == ["1.01", "1.03", "1.04"]
    bill = desk.bill(lambda: convert(desk, currency, quarter_hour.next))
    assert (bill.write_units, bill.read_units) == (2, 2)
    record_property("pin the rate of a currency that was converted", cost(bill))
    assert convert(desk, currency, quarter_hour) == pinned


def test_a_report_that_found_no_rate_relies_on_none(desk: Metered, currency: str, at: datetime) -> None:
    quarter_hour = QuarterHour.at(at - DAY)
    assert convert(desk, currency, quarter_hour) == {currency: None}
    enter(desk, currency, rate_request("1.04", at), EUR)
    enter(desk, currency, rate_request("1.01", at - 2 * DAY), EUR)
    assert in_force(desk, currency, at - DAY) == ["1.01"]
    assert convert(desk, currency, quarter_hour) == {currency: None}


class Racing:
    """A client with another writer between its reading and its writing, once."""

    def __init__(self, client: Any, come: Callable[[], object], before: str = "transact_write_items") -> None:
        self._client = client
        self._before = before
        self._come: Callable[[], object] | None = come

    def __getattr__(self, operation: str) -> Any:
        come, self._come = (self._come, None) if operation == self._before else (None, self._come)
        if come:
            come()
        return getattr(self._client, operation)


def test_a_request_that_lost_a_race_is_planned_again(desk: Metered, currency: str, at: datetime) -> None:
    storage = desk.storage

    def racing(come: Callable[[], object]) -> ExchangeRateService:
        client: Any = Racing(storage.dynamodb, come)
        return service(EntityReader(client, storage.entity_table))

    other = rate_request("1.07", at - 2 * MINUTE)
    values, is_new = racing(lambda: enter(desk, currency, other, EUR)).enter(
        currency, rate_request("1.08", at - MINUTE)
    )
    assert (values["version"], is_new) == (2, True)
    with pytest.raises(ConflictError):
        racing(lambda: enter(desk, currency, rate_request("1.10", at), EUR)).enter(currency, rate_request("1.09", at))
    same = rate_request("1.10", at)
    assert racing(lambda: None).enter(currency, same) == (rates(desk).as_of(currency, at), False)
    between = rate_request("1.075", at - 1.5 * MINUTE)
    late = racing(lambda: convert(desk, currency, QuarterHour.at(at)))
    with pytest.raises(ConflictError, match=f"the report {RUN} relies on"):
        late.enter(currency, between)


def test_a_report_pins_the_earlier_rate_that_was_added_while_it_ran(desk: Metered, currency: str, at: datetime) -> None:
    """The addition comes after the report has read the rate in force, and before it has stored that it uses it."""
    quarter_hour = QuarterHour.at(at - DAY)
    enter(desk, currency, rate_request("1.01", at - 2 * DAY), EUR)
    enter(desk, currency, rate_request("1.04", at), EUR)
    added = rate_request("1.02", quarter_hour.start)
    client: Any = Racing(desk.storage.dynamodb, lambda: enter(desk, currency, added, EUR), before="put_item")
    pins = replace(desk.storage.reports.pins, client=client).pinned_or_pin(RUN, quarter_hour, EUR, [currency])
    assert pins[currency] == ExchangeRate(Decimal("1.02"), "ECB", EUR, quarter_hour.start)


# ---------------------------------------------------------------- reading


@pytest.fixture
def history(desk: Metered, currency: str, at: datetime) -> str:
    """A currency whose rate has changed every 5 minutes, 12 times: 1.01, 1.02, …; its windows are kept."""
    for number in range(12):
        when = at + 5 * number * MINUTE
        with using(ManualClock(when)):
            enter_and_keep(desk, currency, rate_request(f"1.{number + 1:02d}", when))
    return currency


def test_the_rate_in_force_at_any_instant_is_the_newest_entered_by_then(
    desk: Metered, history: str, at: datetime, record_property: Record
) -> None:
    expected = {-1: None, 0: "1.01", 4: "1.01", 5: "1.02", 59: "1.12", 10**6: "1.12"}
    found = {minutes: rates(desk).as_of(history, at + minutes * MINUTE) for minutes in expected}
    assert {minutes: one and one["units_per_base"] for minutes, one in found.items()} == expected
    assert rates(desk).as_of(history, at + 5 * MINUTE - timedelta(milliseconds=1))["units_per_base"] == "1.01"  # type: ignore[index]
    assert rates(desk).in_force(history, at + 5 * MINUTE)["units_per_base"] == "1.02"
    assert rates(desk).in_force(history)["units_per_base"] == "1.12"
    with pytest.raises(NotFoundError, match="entered as of"):
        rates(desk).in_force(history, at - MINUTE)
    bill = desk.bill(lambda: rates(desk).as_of(history, at))
    assert (bill.read_units, bill.calls.total()) == (1, 1)
    record_property("a rate as of an instant, exact", cost(bill))
    bill = desk.bill(lambda: rates(desk).latest(history))
    assert (bill.read_units, bill.calls.total()) == (1, 1)
    record_property("a rate now", cost(bill))


def test_the_snapshots_of_a_rate_are_read_as_those_of_an_account(
    desk: Metered, history: str, at: datetime, record_property: Record
) -> None:
    pk, queries = rate_pk(history), windows(desk)

    def units(read: Callable[[Paging], Page[Any]], limit: int = 100) -> list[str]:
        return [one["units_per_base"] for one in everything(read, limit)]

    assert queries.at(pk, FIVE_MINUTES, at + 7 * MINUTE)["units_per_base"] == "1.02"
    assert units(lambda paging: queries.last(pk, FIVE_MINUTES, paging), 5)[:3] == ["1.12", "1.11", "1.10"]
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    of_date = units(lambda paging: queries.span(pk, FIVE_MINUTES, midnight, midnight + timedelta(days=1), paging), 5)
    assert of_date == [f"1.{number:02d}" for number in range(1, 13)]
    for what, bill in {
        "a rate as of a window": desk.bill(lambda: queries.at(pk, FIVE_MINUTES, at)),
        "the last 12 windows of a rate": desk.bill(
            lambda: queries.last(pk, FIVE_MINUTES, Paging.of("request", 12, None))
        ),
    }.items():
        assert (bill.read_units, bill.calls.total()) == (1.5, 2)
        record_property(what, cost(bill))


def test_all_entered_rates_are_listed_by_their_instants(
    desk: Metered, history: str, at: datetime, record_property: Record
) -> None:
    store = rates(desk)

    def units(read: Callable[[Paging], Page[Any]], limit: int = 100) -> list[str]:
        return [one["units_per_base"] for one in everything(read, limit)]

    whole = [f"1.{number:02d}" for number in range(1, 13)]
    for limit in (1, 5, 12, 100):
        assert units(lambda paging: store.last(history, paging), limit) == whole[::-1]
        assert units(lambda paging: store.span(history, *ALWAYS, paging), limit) == whole
    between = partial(store.span, history)
    assert units(lambda paging: between(at + 5 * MINUTE, at + 15 * MINUTE, paging)) == ["1.02", "1.03"]
    moment = timedelta(microseconds=1)
    assert units(lambda paging: between(at + moment, at + 5 * MINUTE + moment, paging)) == ["1.02"]
    assert units(lambda paging: between(at, at, paging)) == []
    bill = desk.bill(lambda: store.last(history, Paging.of("request", 5, None)))
    assert (bill.read_units, bill.calls.total()) == (0.5, 1)
    record_property("the last 5 rates entered", cost(bill))


@pytest.mark.parametrize(("layer", "before"), [(FIVE_MINUTES, "1.11"), (CHANGE, "1.11"), (HOUR, "1.09")])
def test_a_trend_compares_with_the_window_before(  # noqa: PLR0913, PLR0917 - what a case says
    desk: Metered, currency: str, at: datetime, layer: Layer, before: str, record_property: Record
) -> None:
    hour = at.replace(minute=0, second=0, microsecond=0) - 100 * DAY
    for minutes, units in ((0, "1.08"), (59, "1.09"), (60, "1.10"), (65, "1.11")):
        enter(desk, currency, rate_request(units, hour + minutes * MINUTE), EUR)
    latest = enter(desk, currency, rate_request("1.12", hour + 70 * MINUTE), EUR)
    found = rates(desk).before_window(layer, latest)
    assert found
    comparison = windows(desk).compared(layer, latest, found)
    change = str(Decimal("1.12") - Decimal(before))
    figure = {"now": "1.12", "before": before, "change": change, "trend": "up"}
    assert (comparison["trend"], comparison["figures"]) == ("up", {"units_per_base": figure})
    bill = desk.bill(lambda: rates(desk).before_window(layer, latest))
    assert (bill.read_units, bill.calls.total()) == (1, 1)
    record_property("a rate's trend", cost(bill))


def test_the_first_rate_has_no_rate_before_it(desk: Metered, currency: str, at: datetime) -> None:
    assert rates(desk).before_window(CHANGE, enter(desk, currency, rate_request("1.08", at), EUR)) is None


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_window_lists_the_rates_that_changed_in_it(
    desk: Metered, at: datetime, limit: int, record_property: Record
) -> None:
    codes = [f"W{letter}{chr(ord('A') + limit % 26)}" for letter in "ABCDE"]
    for code in codes:
        enter_and_keep(desk, code, rate_request("2", at))
    found: list[str] = []
    token = None
    while True:
        paging = Paging.of("request", limit, token)
        body = windows(desk).window(FIVE_MINUTES, at, paging, lambda: 30.0)
        assert body["window"] == iso_seconds(at.replace(second=0, microsecond=0))
        found += [one["currency"] for one in body["items"]]
        token = body["next"]
        if token is None:
            break
    assert sorted(found) == codes
    bill = desk.bill(lambda: windows(desk).window(FIVE_MINUTES, at, Paging.of("request", 100, None), lambda: 30.0))
    currencies = len(everything(windows(desk).latest, 100))
    assert bill.read_units == 2 * 4 * 0.5 + currencies, "the index of latest and of the window; each latest rate"
    assert bill.calls == {"dynamodb.Query": 8, "dynamodb.BatchGetItem": 4}
    record_property("all rates of a window", cost(bill))


def test_all_rates_in_force_are_listed_once_each(
    desk: Metered, currency: str, at: datetime, record_property: Record
) -> None:
    enter(desk, currency, rate_request("2", at), EUR)
    found = everything(windows(desk).latest, 3)
    assert [one["units_per_base"] for one in found if one["currency"] == currency] == ["2"]
    assert len({one["currency"] for one in found}) == len(found)
    bill = desk.bill(lambda: windows(desk).latest(Paging.of("request", 100, None)))
    assert (bill.read_units, bill.calls.total()) == (2, 4)
    record_property("all rates now", cost(bill))


def test_expired_snapshots_are_not_shown_but_the_history_stays(desk: Metered, currency: str, at: datetime) -> None:
    enter_and_keep(desk, currency, rate_request("3", at - timedelta(days=400)))
    with pytest.raises(NotFoundError):
        windows(desk).at(rate_pk(currency), HOUR, at)
    found = rates(desk).as_of(currency, at - timedelta(days=399))
    assert found
    assert found["units_per_base"] == "3"


# ---------------------------------------------------------------- pinned for the reports


def test_the_first_pinned_rates_stay(desk: Metered, currency: str, at: datetime, record_property: Record) -> None:
    quarter_hour, pins = QuarterHour.at(at), desk.storage.reports.pins
    enter(desk, currency, rate_request("1.5", at), EUR)
    found = store(desk.storage.entities).in_force(currency, quarter_hour.end, EUR)
    assert found == ExchangeRate(Decimal("1.5"), "ECB", EUR, at)
    first = {currency: found, "ZZZ": None}
    bill = desk.bill(lambda: pins.pin(quarter_hour, EUR, first))
    assert (bill.write_units, bill.read_units) == (1, 0)
    record_property("pin the rates of a quarter-hour", cost(bill))
    with using(ManualClock(at + MINUTE)):
        other = {currency: replace(found, units_per_base=Decimal(9)), "ZZZ": found}
        assert pins.pin(quarter_hour, EUR, other) == pins.pinned(quarter_hour, EUR) == first
    assert pins.pinned(quarter_hour, "USD") == {}
    assert pins.pin(quarter_hour, "USD", {}) == {}


def test_a_rate_counts_in_a_quarter_hour_if_it_was_in_force_before_its_end_and_of_the_same_base(
    desk: Metered, currency: str, at: datetime
) -> None:
    quarter_hour, found = QuarterHour.at(at), store(desk.storage.entities)
    with using(ManualClock(quarter_hour.end)):
        enter(desk, currency, rate_request("1.5", quarter_hour.end), EUR)
    assert found.in_force(currency, quarter_hour.end, EUR) is None
    assert found.in_force(currency, quarter_hour.next.end, EUR)
    assert found.in_force(currency, quarter_hour.next.end, "USD") is None
