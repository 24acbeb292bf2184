"""Orders under death at every AWS call: each whole or not at all to every reader, and billed once."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from quarterhour_tools.emulator.faults import FaultKind
from tests.invariants.crashing import Crashes, Numbers
from tests.invariants.orders import OrderBook, order
from tests.invariants.trial import Trial, on_trial

LONG = [f"{line}.5" for line in range(60)]
"""The amounts of an order that takes three batches."""


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial() as made:
        yield made


@pytest.fixture
def book(place: Trial) -> OrderBook:
    return OrderBook(place)


def created_in_the_end(book: OrderBook) -> None:
    """Send again what has no answer: each order is whole or not at all before, and whole then."""
    book.look()
    book.create_again()
    book.look()
    assert book.sent.keys() == book.taken.keys()
    book.close()


def bill(place: Trial, repeat: int = 1) -> None:
    """Deliver to the billing all that its streams hold, so many times over."""
    for lane in place.lanes.values():
        if lane.function == "billing":
            place.deliver(lane, lane.left, repeat=repeat)


def billed_in_the_end(place: Trial, book: OrderBook, repeat: int = 1) -> None:
    """Deliver once more, and hold the ledger to the orders."""
    bill(place, repeat)
    book.expect()
    book.close()


def test_the_creation_of_an_order_may_die_at_any_call(
    place: Trial, book: OrderBook, number: Numbers, crashes: Crashes
) -> None:
    def act(_: Trial) -> None:
        n = number()
        book.create(order(f"o{n}", *LONG, customer=f"c{n}"))

    crashes.at_each_call(
        "creation of an order",
        place,
        lambda place: place.stack.cold_start("write"),
        act,
        lambda _: created_in_the_end(book),
    )


def test_the_completion_of_an_incomplete_order_may_die_at_any_call(
    place: Trial, book: OrderBook, number: Numbers, crashes: Crashes
) -> None:
    def prepare(place: Trial) -> None:
        n = number()
        place.faults.arm(FaultKind.KILL_AFTER, 1)
        book.create(order(f"o{n}", *LONG, customer=f"c{n}"))
        place.faults.struck.pop()

    crashes.at_each_call(
        "completion of an order", place, prepare, lambda _: book.create_again(), lambda _: created_in_the_end(book)
    )


def test_a_change_of_status_may_die_at_any_call(
    place: Trial, book: OrderBook, number: Numbers, crashes: Crashes
) -> None:
    def prepare(_: Trial) -> None:
        book.create(order(f"o{number()}", "1.5", "2"))

    def act(_: Trial) -> None:
        for id_ in book.sent:
            book.change(id_, "open", "paid")
            book.change(id_, "paid", "cancelled")

    def recover(_: Trial) -> None:
        for id_ in book.sent:
            assert book.change(id_, "open", "paid") == 200
            assert book.change(id_, "paid", "cancelled") == 200
            assert book.change(id_, "open", "paid") == 200
        book.look()
        book.expect()
        book.close()

    crashes.at_each_call("change of status", place, prepare, act, recover)


def test_the_billing_of_orders_may_die_at_any_call(
    place: Trial, book: OrderBook, number: Numbers, crashes: Crashes
) -> None:
    place.lanes_a_stream = 1

    def prepare(place: Trial) -> None:
        n = number()
        kept, cancelled = f"k{n}", f"c{n}"
        book.create(order(kept, "10.00", "0.001"))
        book.create(order(cancelled, "7.5"))
        for id_ in (kept, cancelled):
            assert book.change(id_, "open", "paid") == 200
        assert book.change(cancelled, "paid", "cancelled") == 200
        place.read_streams()

    crashes.at_each_call(
        "billing",
        place,
        prepare,
        lambda place: bill(place, repeat=2),
        lambda place: billed_in_the_end(place, book, repeat=2),
    )


def test_the_refund_of_the_rest_may_die_at_any_call(
    place: Trial, book: OrderBook, number: Numbers, crashes: Crashes
) -> None:
    place.lanes_a_stream = 1

    def prepare(place: Trial) -> None:
        id_ = f"r{number()}"
        book.create(order(id_, "10.00", "7.5"))
        assert book.change(id_, "open", "paid") == 200
        place.read_streams()
        bill(place)
        assert book.give_back(id_, "-4") == book.give_back(id_, "-7.5", line=2) == ["recorded"]
        assert book.change(id_, "paid", "cancelled") == 200
        place.read_streams()

    crashes.at_each_call("refund of the rest", place, prepare, bill, lambda place: billed_in_the_end(place, book))


def test_refunds_follow_sales_that_were_posted_the_day_before(place: Trial, book: OrderBook) -> None:
    book.create(order("o1", "10.00", "0.001", "0"))
    book.change("o1", "open", "paid")
    place.drain()
    place.clock.advance(timedelta(days=1))
    book.change("o1", "paid", "shipped")
    book.change("o1", "shipped", "cancelled")
    place.drain()
    book.expect()
    place.check()
    assert len(place.ledger()) == 6
