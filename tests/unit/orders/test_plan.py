"""What is stored of an order, and how its status may change."""

from datetime import timedelta
from itertools import pairwise, product

import pytest

from quarterhour.model.errors import InvalidError
from quarterhour.orders import keys
from quarterhour.orders.plan import (
    NEXT,
    WORK,
    OrderHeader,
    StatusChange,
    claim,
    committed,
    facts,
    items,
    shown_item,
    shown_order,
)
from tests.support.builders import AT
from tests.support.events import ABSENT
from tests.support.orders import WHOLE_WAY, header, item, order, read, step, stored

PLACED = "2026-10-23T01:30:12.345Z"


def test_a_claim_is_listed_nowhere_and_shows_nothing() -> None:
    claimed = claim(order(), AT)
    assert claimed.placed_at == PLACED
    assert not claimed.is_complete
    assert not [name for name in claimed.values() if name.startswith("gsi")]


def test_a_committed_order_is_listed_by_its_customer_and_in_the_queue_of_the_open_ones() -> None:
    values = header(order(), "open")
    assert OrderHeader.of(values).is_complete
    assert (values["gsi1pk"], values["gsi1sk"]) == ("CUSTOMER#ann", f"ORDER#{PLACED}#1001")
    assert values["gsi2pk"] in keys.queue_partitions("open")
    assert values["gsi2sk"] == f"{PLACED}#1001"


def test_a_guests_order_waits_in_the_queue_and_stands_under_no_customer() -> None:
    guest = order(customer=ABSENT)
    values = header(guest, "open")
    assert "gsi1pk" not in values
    assert values["gsi2pk"]
    assert "gsi1pk" not in stored(guest)[0]


def test_an_order_is_complete_from_the_instant_of_its_commit() -> None:
    claimed = claim(order(), AT)
    whole = OrderHeader.of({**claimed.values(), **committed(claimed, AT + timedelta(seconds=2))})
    assert not whole.was_complete(PLACED)
    assert whole.was_complete("2026-10-23T01:30:14.345Z")


def test_items_are_the_same_bytes_however_late_they_are_written() -> None:
    one = order(item(), item(product="B-1"))
    first = claim(one, AT)
    assert list(items(one, first)) == stored(one)
    assert [values["sk"] for values in stored(one)] == ["ITEM#0001", "ITEM#0002"]
    assert stored(one)[1]["gsi1sk"] == f"ITEM#B-1#{PLACED}#1001#0002"


def test_the_time_that_a_sender_gives_is_that_of_the_order() -> None:
    assert claim(order(placed_at="2020-02-29T12:00:00Z"), AT).placed_at == "2020-02-29T12:00:00.000Z"


def test_what_is_shown_holds_no_keys() -> None:
    one = order(item(quantity="2"))
    shown = shown_order(read(one, "open"))
    assert shown == {
        "order": "1001",
        "customer": "ann",
        "currency": "GBP",
        "placed_at": PLACED,
        "status": "open",
        "history": [{"status": "open", "at": PLACED}],
        "lines": 1,
        "total": "12.50",
    }
    assert shown_item(stored(one)[0]) == {
        "line": 1,
        "agency": "42",
        "product": "A-7",
        "amount": "12.50",
        "quantity": "2",
    }
    assert facts({"pk": "x", "gsi2sk": "y", "amount": "1"}) == {"amount": "1"}


# ---------------------------------------------------------------- the status


@pytest.mark.parametrize(("before", "after"), list(product(NEXT, NEXT)))
def test_a_status_is_followed_by_what_may_follow_it_alone(before: str, after: str) -> None:
    if after in NEXT[before]:
        assert step(before, after) == StatusChange(before, after)
    else:
        with pytest.raises(InvalidError):
            step(before, after)


@pytest.mark.parametrize(
    ("sent", "field", "expected"),
    [
        ({"to": "paid"}, "from", "one of open, paid, shipped"),
        ({"from": "writing", "to": "open"}, "from", "one of open, paid, shipped"),
        ({"from": "open"}, "to", "one of paid, cancelled"),
        ({"from": "open", "to": ["paid"]}, "to", "one of paid, cancelled"),
        ({"from": "paid", "to": "open"}, "to", "one of shipped, cancelled"),
        ({"from": "open", "to": "paid", "why": "x"}, "why", "one of from, to"),
    ],
)
def test_what_no_status_can_be_is_told_with_what_it_could(sent: dict[str, object], field: str, expected: str) -> None:
    with pytest.raises(InvalidError) as refused:
        StatusChange.of(sent)
    (problem,) = refused.value.problems
    assert (problem.field, problem.expected) == (field, expected)


def test_no_status_comes_twice_so_a_step_that_was_taken_is_known_for_ever() -> None:
    done = read(order(), *WHOLE_WAY)
    for before, after in pairwise(WHOLE_WAY):
        assert step(before, after).is_in(done)
    assert not step("open", "cancelled").is_in(done)
    assert not step("shipped", "cancelled").is_in(done)


@pytest.mark.parametrize("status", NEXT)
def test_an_order_waits_in_a_queue_while_something_is_left_to_do(status: str) -> None:
    taken = StatusChange("open", status).queue("1001")
    assert (taken is not None) == (status in WORK)
    assert taken is None or taken in keys.queue_partitions(status)


# ---------------------------------------------------------------- keys


def test_keys_come_back_as_what_they_were_made_of() -> None:
    assert keys.order_of(keys.order_pk("1001")) == "1001"
    assert keys.line_of(keys.item_sk(1000)) == 1000
    bought = keys.Bought("A-7", PLACED, "1001", 7)
    assert bought.key == {"pk": "ORDER#1001", "sk": "ITEM#0007"}


@pytest.mark.parametrize("sk", ["", "order", "ITEM#", "ITEM#1", "ITEM#00001", "ITEM#\u0660\u0660\u0660\u0661"])
def test_what_is_no_item_is_refused(sk: str) -> None:
    with pytest.raises(ValueError, match="no item"):
        keys.line_of(sk)


def test_a_products_bounds_hold_its_items_and_those_of_no_other() -> None:
    low, high = keys.bought_bounds("A")
    for product_, within in (("A", True), ("A!", False), ("A$", False), ("AB", False), ("A ", False)):
        assert (low <= str(keys.Bought(product_, PLACED, "1001", 1)) <= high) is within
    low, high = keys.bought_bounds(None)
    assert low <= str(keys.Bought("~", PLACED, "1001", 1)) <= high
    assert not low <= keys.placed_sk(PLACED, "1001") <= high


def test_the_orders_of_a_status_are_spread_over_its_partitions() -> None:
    used = {keys.queue_pk("open", str(number)) for number in range(100)}
    assert sorted(used) == keys.queue_partitions("open")
