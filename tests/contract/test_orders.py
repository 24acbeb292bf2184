"""The orders: each whole or not at all to every reader, each access pattern, and what each costs."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any

import pytest

from benchmarks.metering import Meter
from quarterhour.aws.entity import Values
from quarterhour.aws.items import to_item
from quarterhour.aws.parking import Parking
from quarterhour.aws.tables import BATCH_WRITE
from quarterhour.ledger.recording.service import Recorder
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock, iso_millis, using
from quarterhour.model.errors import ConflictError, InvalidError, NotFoundError, UnavailableError
from quarterhour.model.instants import ALWAYS
from quarterhour.orders.api import OrderWithItems
from quarterhour.orders.billing.service import Biller
from quarterhour.orders.keys import QUEUE_SHARDS
from quarterhour.orders.order import Order
from quarterhour.orders.plan import INDEX_LAG, OrderHeader, claim, items
from quarterhour.orders.queries import OrderQueries
from quarterhour.orders.service import OrderService
from quarterhour.orders.store import OrderStore
from quarterhour.registry.rate_cards.plan import RateCards
from quarterhour.web.paging import Paging
from quarterhour_tools.emulator.dynamodb.sizes import item_size, read_units
from tests.contract.metered import Record, cost, metered
from tests.contract.paging import Read, everything
from tests.contract.storage import Storage
from tests.support.builders import MACHINE
from tests.support.customers import token, tokens
from tests.support.events import ABSENT
from tests.support.orders import change as change_record
from tests.support.orders import item, step
from tests.support.orders import order as sent_order

SECONDS = 20
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Desk:
    """Orders on an engine, with a meter on what they cost."""

    storage: Storage
    store: OrderStore
    queries: OrderQueries
    meter: Meter

    def create(self, one: Order, at: datetime | None = None) -> OrderHeader:
        """Create an order, now or at an instant."""
        with using(ManualClock(at or clock.now())):
            header, _ = OrderService(self.store, tokens).create(one, SECONDS)
        return header

    def change(self, one: str, before: str, after: str) -> OrderHeader:
        return OrderService(self.store, tokens).change(one, step(before, after))

    def order(self, one: str, limit: int = 1000, token: str | None = None) -> OrderWithItems:
        return self.queries.order([one], Paging.of("order", limit, token))

    def of_customer(self, customer: str, start: datetime, end: datetime, limit: int = 100) -> list[str]:
        return names(lambda paging: self.queries.of_customer([customer], start, end, paging), limit)

    def bought(self, customer: str, product: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        with using(ManualClock(clock.now() + INDEX_LAG)):
            return everything(lambda paging: self.queries.items_of_customer([customer], product, paging), limit)

    def queue(self, status: str, start: datetime, end: datetime, limit: int = 100) -> list[str]:
        return names(lambda paging: self.queries.queue(status, start, end, paging), limit)

    def half_written(self, one: Order, written: int, at: datetime | None = None) -> None:
        """Leave an order as a process that died: claimed, with so many items written."""
        header = claim(one, at or clock.now())
        for values in chain([header.values()], list(items(one, header))[:written]):
            self.storage.write(values)


def stored_header(header: OrderHeader) -> Values:
    """Return a header with its history, as the stream shows it."""
    return {**header.values(), "history": [entry._asdict() for entry in header.history]}


def names(read: Read, limit: int) -> list[str]:
    return [str(one["order"]) for one in everything(read, limit)]


@pytest.fixture(scope="module")
def desk(storage: Storage) -> Desk:
    """The orders' stores with a client that is metered."""
    own = metered(storage)
    store = OrderStore(own.storage.dynamodb, own.storage.dynamodb, storage.entity_table, storage.workers)
    return Desk(own.storage, store, OrderQueries(own.storage.entities, token), own.meter)


def order(*sent: object, **changed: object) -> Order:
    """Return a valid order as it is stored, with its customer's token."""
    one = sent_order(*sent, **changed)
    return replace(one, customer=one.customer and token(one.customer))


def many(own: str, number: int, **changed: object) -> Order:
    """Return an order of so many items."""
    return order(*[item(product=f"P-{line:04d}") for line in range(number)], order=own, customer=own, **changed)


# ---------------------------------------------------------------- create


@pytest.mark.parametrize("number", [1, 10, 100, 1000])
def test_an_order_costs_two_write_units_an_item_and_four_for_itself(
    desk: Desk, own: str, number: int, record_property: Record
) -> None:
    one = many(own, number)
    desk.meter.take()
    desk.create(one)
    bill = desk.meter.take()
    batches = -(-number // BATCH_WRITE)
    assert (bill.write_units, bill.read_units) == (2 * number + 4, 0)
    assert bill.calls == {"dynamodb.PutItem": 1, "dynamodb.BatchWriteItem": batches, "dynamodb.UpdateItem": 1}
    record_property(f"create an order of {number} items", cost(bill))
    assert [one["line"] for one in desk.order(own)["items"]] == list(range(1, number + 1))


def test_a_guests_order_is_in_fewer_indexes_and_costs_less(desk: Desk, own: str, record_property: Record) -> None:
    one = order(*[item()] * 10, order=own, customer=ABSENT)
    desk.meter.take()
    desk.create(one)
    bill = desk.meter.take()
    assert bill.write_units == 10 + 3
    record_property("create a guest's order of 10 items", cost(bill))


def test_an_order_sent_again_is_returned_as_it_is(desk: Desk, own: str, at: datetime, record_property: Record) -> None:
    one = many(own, 100)
    first = desk.create(one)
    paid = desk.change(own, "open", "paid")
    desk.meter.take()
    with using(ManualClock(at + timedelta(days=3))):
        header, created = OrderService(desk.store, tokens).create(one, SECONDS)
    bill = desk.meter.take()
    assert (header, created) == (paid, False)
    assert header.placed_at == first.placed_at == iso_millis(at)
    assert (bill.write_units, bill.read_units, bill.calls.total()) == (1, 0, 1)
    record_property("an order of 100 items sent again", cost(bill))


def test_other_content_under_the_same_id_is_a_conflict_and_changes_nothing(desk: Desk, own: str) -> None:
    desk.create(order(order=own))
    before = desk.order(own)
    with pytest.raises(ConflictError, match="other content"):
        desk.create(order(item(amount="99"), order=own))
    assert desk.order(own) == before


@pytest.mark.parametrize("written", [0, 7, 60])
def test_an_incomplete_order_is_not_shown_until_a_retry_completes_it(
    desk: Desk, own: str, at: datetime, written: int, record_property: Record
) -> None:
    one = many(own, 60)
    desk.half_written(one, written, at - MINUTE)
    with pytest.raises(NotFoundError):
        desk.order(own)
    assert desk.bought(own) == []
    assert desk.of_customer(own, *ALWAYS) == []
    assert own not in desk.queue("open", *ALWAYS)
    with pytest.raises(NotFoundError):
        desk.change(own, "open", "paid")

    desk.meter.take()
    header = desk.create(one)
    bill = desk.meter.take()
    assert header.placed_at == iso_millis(at - MINUTE)
    assert len(desk.order(own)["items"]) == len(desk.bought(own)) == 60
    # Only what was missing is written: a failed claim, the items left, the commit.
    assert bill.write_units == 1 + 2 * (60 - written) + 3
    record_property(f"complete an order of 60 items, {written} written before", cost(bill))


def test_an_incomplete_order_keeps_its_first_content(desk: Desk, own: str) -> None:
    desk.half_written(many(own, 3), 2)
    with pytest.raises(ConflictError):
        desk.create(many(own, 2))
    desk.create(many(own, 3))
    assert desk.order(own)["lines"] == 3


def test_two_senders_of_one_order_complete_it_together(desk: Desk, own: str, at: datetime) -> None:
    one = many(own, 30)
    header = claim(one, at)
    assert desk.store.claim(header, lambda: True).applied
    desk.store.write(items(one, header), lambda: True)
    first, second = (desk.store.commit(header, lambda: True) for _ in range(2))
    assert (first.applied, second.applied) == (True, False)
    assert first.header == second.header
    assert desk.create(one) == first.header


def test_nothing_is_shown_of_an_order_without_time_to_complete_it(desk: Desk, own: str) -> None:
    with pytest.raises(UnavailableError):
        OrderService(desk.store, tokens).create(many(own, 30), 0)
    with pytest.raises(NotFoundError):
        desk.order(own)


# ---------------------------------------------------------------- one order


@pytest.mark.parametrize("number", [1, 10, 100, 400])
def test_an_order_is_read_with_its_items(
    desk: Desk, own: str, at: datetime, number: int, record_property: Record
) -> None:
    one = many(own, number)
    desk.create(one)
    desk.meter.take()
    found = desk.order(own)
    bill = desk.meter.take()
    assert (found["lines"], len(found["items"]), found["next"]) == (number, number, None)
    size = sum(item_size(to_item(values)) for values in items(one, claim(one, at)))
    assert (bill.read_units, bill.calls.total()) == (1 + read_units(size, consistent=True), 2)
    record_property(f"read an order of {number} items", cost(bill))


@pytest.mark.parametrize("limit", [1, 7, 30, 31])
def test_an_orders_items_come_page_by_page(desk: Desk, own: str, limit: int) -> None:
    desk.create(many(own, 30))
    lines, token = [], None
    while True:
        page = desk.order(own, limit, token)
        assert page["order"] == own
        lines += [one["line"] for one in page["items"]]
        token = page["next"]
        if token is None:
            break
    assert lines == list(range(1, 31))


def test_an_order_is_found_by_any_of_its_spellings(desk: Desk, own: str) -> None:
    desk.create(order(order=own))
    assert desk.queries.order([f"{own}%", own], Paging.of("order", 10, None))["order"] == own


# ---------------------------------------------------------------- a customer's


@pytest.fixture
def history(desk: Desk, own: str, at: datetime) -> list[str]:
    """A customer's orders, a day each, the oldest first, and those of a customer whose name begins the same."""
    found = []
    for number in (4, 0, 3, 1, 2):
        product = "tea" if number % 2 else "teapot"
        sent = [item(product=product), item(product="cup", amount=str(number))]
        desk.create(order(*sent, order=f"{own}-{number}", customer=own), at + timedelta(days=number))
        found.append(f"{own}-{number}")
    desk.create(order(order=f"{own}-x", customer=f"{own}0"))
    return sorted(found)


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_a_customers_orders_come_by_date(desk: Desk, own: str, at: datetime, history: list[str], limit: int) -> None:
    assert desk.of_customer(own, *ALWAYS, limit) == history
    assert desk.of_customer(own, at + timedelta(days=1), at + timedelta(days=4), limit) == history[1:4]


def test_a_customers_orders_cost_a_query(desk: Desk, own: str, history: list[str], record_property: Record) -> None:
    desk.meter.take()
    assert desk.of_customer(own, *ALWAYS) == history
    bill = desk.meter.take()
    assert (bill.read_units, bill.calls) == (0.5, {"dynamodb.Query": 1})
    record_property("5 orders of a customer", cost(bill))


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_a_customers_items_come_by_product_and_then_by_date(
    desk: Desk, own: str, history: list[str], limit: int
) -> None:
    with using(ManualClock(clock.now() + timedelta(days=5))):
        found = [(one["product"], one["order"]) for one in desk.bought(own, limit=limit)]
    cups = [("cup", name) for name in history]
    teas = [("tea", name) for name in history[1::2]]
    assert found == cups + teas + [("teapot", name) for name in history[::2]]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_customers_items_of_one_product_are_those_alone(
    desk: Desk, own: str, history: list[str], limit: int, record_property: Record
) -> None:
    with using(ManualClock(clock.now() + timedelta(days=5))):
        desk.meter.take()
        found = desk.bought(own, "tea", limit)
        bill = desk.meter.take()
    assert [one["order"] for one in found] == history[1::2]
    assert found[0] == {
        "order": history[1],
        "placed_at": found[0]["placed_at"],
        "line": 1,
        "agency": "42",
        "product": "tea",
        "amount": "12.50",
    }
    if limit == 100:
        # A query, and each order's header: what is not there whole is left out.
        assert (bill.read_units, bill.calls) == (2.5, {"dynamodb.Query": 1, "dynamodb.BatchGetItem": 1})
        record_property("2 items of a customer by product, of 2 orders", cost(bill))


def test_the_items_of_a_long_order_cost_one_header(desk: Desk, own: str, record_property: Record) -> None:
    desk.create(many(own, 200))
    desk.meter.take()
    assert len(desk.bought(own, limit=1000)) == 200
    bill = desk.meter.take()
    assert bill.calls["dynamodb.BatchGetItem"] == 1
    record_property("200 items of a customer, of one order", cost(bill))


def test_a_listing_shows_an_order_on_all_of_its_pages_or_on_none(desk: Desk, own: str, at: datetime) -> None:
    desk.create(many(f"{own}-1", 4, currency="GBP"))
    late = order(item(product="P-0000"), item(product="P-9999"), order=f"{own}-2", customer=f"{own}-1")
    with using(ManualClock(at + INDEX_LAG)):
        request = Paging.of("request", 2, None)
        first = request.body(desk.queries.items_of_customer([f"{own}-1"], None, request))
        desk.create(late)
    with using(ManualClock(at + timedelta(hours=1))):
        request = Paging.of("request", 100, first["next"])
        rest = request.body(desk.queries.items_of_customer([f"{own}-1"], None, request))
        assert [one["order"] for one in first["items"] + rest["items"]] == [f"{own}-1"] * 4
        assert len(desk.bought(f"{own}-1")) == 6


def test_a_token_of_other_bounds_is_refused(desk: Desk, own: str, at: datetime, history: list[str]) -> None:
    request = Paging.of("request", 1, None)
    end = at + timedelta(days=9)
    token = request.body(desk.queries.of_customer([own], at, end, request))["next"]
    assert history
    with pytest.raises(InvalidError):
        desk.queries.of_customer([own], at + timedelta(days=1), end, Paging.of("request", 1, token))


# ---------------------------------------------------------------- the status


def test_a_status_changes_from_the_one_before_and_its_history_is_kept(
    desk: Desk, own: str, at: datetime, record_property: Record
) -> None:
    desk.create(order(order=own, customer=own))
    for number, (before, after, units) in enumerate(
        [("open", "paid", 4), ("paid", "shipped", 4), ("shipped", "delivered", 3)], 1
    ):
        with using(ManualClock(at + number * MINUTE)):
            desk.meter.take()
            changed = desk.change(own, before, after)
            bill = desk.meter.take()
        assert changed.status == after
        assert (bill.write_units, bill.calls.total()) == (units, 1)
        record_property(f"{before} to {after}", cost(bill))
    history = [(one["status"], one["at"]) for one in desk.order(own)["history"]]
    statuses = ("open", "paid", "shipped", "delivered")
    assert history == [(status, iso_millis(at + number * MINUTE)) for number, status in enumerate(statuses)]


def test_a_repeated_change_returns_the_order_as_it_is(desk: Desk, own: str) -> None:
    desk.create(order(order=own))
    desk.change(own, "open", "paid")
    shipped = desk.change(own, "paid", "shipped")
    assert desk.change(own, "open", "paid") == desk.change(own, "paid", "shipped") == shipped


def test_a_change_from_another_status_is_a_conflict(desk: Desk, own: str) -> None:
    desk.create(order(order=own))
    desk.change(own, "open", "cancelled")
    with pytest.raises(ConflictError, match="is cancelled, not open"):
        desk.change(own, "open", "paid")
    with pytest.raises(NotFoundError, match="no order"):
        desk.change(f"{own}-x", "open", "paid")


# ---------------------------------------------------------------- the queue


@pytest.mark.parametrize("limit", [1, 2, 7, 100])
def test_the_oldest_orders_of_a_status_come_first_from_all_shards(
    desk: Desk, own: str, at: datetime, limit: int, record_property: Record
) -> None:
    orders = [f"{own}-{limit}-{number:02d}" for number in range(12)]
    for number, one in reversed(list(enumerate(orders))):
        desk.create(order(order=one, placed_at=(at + number * MINUTE).isoformat()))
    start, end = at + 2 * MINUTE, at + 9 * MINUTE
    assert desk.queue("open", start, end, limit) == orders[2:9]
    desk.change(orders[3], "open", "paid")
    desk.change(orders[4], "open", "cancelled")
    assert desk.queue("paid", start, end, limit) == [orders[3]]
    assert desk.queue("open", start, end, limit) == [orders[2], *orders[5:9]]
    desk.meter.take()
    desk.queue("open", start, end, 100)
    bill = desk.meter.take()
    assert (bill.read_units, bill.calls.total()) == (0.5 * QUEUE_SHARDS, QUEUE_SHARDS)
    if limit == 100:
        record_property("the queue of open orders, 5 of them", cost(bill))


def test_all_orders_of_one_instant_are_listed(desk: Desk, own: str, at: datetime) -> None:
    orders = [f"{own}-{number}" for number in range(9)]
    for one in orders:
        desk.create(order(order=one, placed_at=at.isoformat()))
    for limit in (1, 2, 4):
        assert desk.queue("open", at, at + MINUTE, limit) == orders
    assert desk.queue("open", at + timedelta(milliseconds=1), at + MINUTE) == []
    assert desk.queue("open", at - MINUTE, at) == []


# ---------------------------------------------------------------- billing


def test_many_orders_are_billed_in_parallel_each_item_once(
    desk: Desk, own: str, at: datetime, record_property: Record
) -> None:
    storage = desk.storage
    settings = RecordingSettings(1, Decimal("0.10"), timedelta(seconds=120), timedelta(seconds=30), None)
    recorder = Recorder(
        lambda: settings, storage.claims, storage.segments, lambda *_: RateCards({}, {}), lambda *_: {}, tokens
    )
    parking = Parking(storage.sqs, storage.stack.ref("ParkedQueue"), "billing")
    biller = Biller(desk.store, recorder, parking, storage.workers)
    orders = [f"{own}-{number}" for number in range(12)]
    records = []
    for number, one in enumerate(orders):
        desk.create(order(item(), item(), order=one))
        records.append(change_record(number, stored_header(desk.change(one, "open", "paid"))))
    recorder.record([], "warm", SECONDS)
    for again in (False, True):
        desk.meter.take()
        assert biller.apply(records, f"request-{again}", SECONDS) == {"batchItemFailures": []}
        bill = desk.meter.take()
        record_property(f"bill 12 orders of 2 items{' again' * again}", cost(bill))
    end = at + MINUTE
    found = everything(lambda paging: storage.events.events(at, end, {}, paging, lambda: SECONDS, MACHINE), 100)
    assert sorted(one["id"] for one in found) == sorted(f"{one}:{line}" for one in orders for line in (1, 2))
