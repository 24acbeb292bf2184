"""What is stored of an order, and how its status may change."""

from datetime import timedelta
from itertools import pairwise, product

import pytest

from quarterhour.model.errors import InvalidError
from quarterhour.orders import keys
from quarterhour.orders.plan import (
    TRANSITIONS,
    UNFINISHED,
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
from tests.support.cases import cases
from tests.support.events import ABSENT
from tests.support.orders import WHOLE_WAY, header, item, order, read, step, stored

PLACED = "2026-10-23T01:30:12.345Z"


def test_a_claim_is_in_no_index_and_not_complete() -> None:
    claimed = claim(order(), AT)
    assert claimed.placed_at == PLACED
    assert not claimed.is_complete
    assert not [name for name in claimed.values() if name.startswith("gsi")]


def test_a_committed_order_is_listed_by_its_customer_and_in_the_queue_of_open_orders() -> None:
    values = header(order(), "open")
    assert OrderHeader.of(values).is_complete
    assert (values["gsi1pk"], values["gsi1sk"]) == ("CUSTOMER#ann", f"ORDER#{PLACED}#1001")
    assert values["gsi2pk"] in keys.queue_partitions("open")
    assert values["gsi2sk"] == f"{PLACED}#1001"


def test_a_guests_order_is_in_the_queue_and_under_no_customer() -> None:
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


def test_items_have_the_same_bytes_at_any_time() -> None:
    one = order(item(), item(product="B-1"))
    first = claim(one, AT)
    assert list(items(one, first)) == stored(one)
    assert [values["sk"] for values in stored(one)] == ["ITEM#0001", "ITEM#0002"]
    assert stored(one)[1]["gsi1sk"] == f"ITEM#B-1#{PLACED}#1001#0002"


def test_an_order_is_placed_at_the_instant_that_its_sender_gives() -> None:
    assert claim(order(placed_at="2020-02-29T12:00:00Z"), AT).placed_at == "2020-02-29T12:00:00.000Z"


def test_shown_orders_and_items_hold_no_keys() -> None:
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


@cases(("before", "after"), list(product(TRANSITIONS, TRANSITIONS)))
def test_a_status_may_be_followed_only_by_its_transitions(before: str, after: str) -> None:
    if after in TRANSITIONS[before]:
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
def test_a_bad_status_is_refused_with_the_possible_ones(sent: dict[str, object], field: str, expected: str) -> None:
    with pytest.raises(InvalidError) as refused:
        StatusChange.of(sent)
    (problem,) = refused.value.problems
    assert (problem.field, problem.expected) == (field, expected)


def test_an_order_is_in_each_status_at_most_once() -> None:
    done = read(order(), *WHOLE_WAY)
    for before, after in pairwise(WHOLE_WAY):
        assert step(before, after).is_in(done)
    assert not step("open", "cancelled").is_in(done)
    assert not step("shipped", "cancelled").is_in(done)


@pytest.mark.parametrize("status", TRANSITIONS)
def test_an_order_is_in_a_queue_until_its_last_status(status: str) -> None:
    taken = StatusChange("open", status).queue("1001")
    assert (taken is not None) == (status in UNFINISHED)
    assert taken is None or taken in keys.queue_partitions(status)


# ---------------------------------------------------------------- keys


def test_keys_are_parsed_to_their_parts() -> None:
    assert keys.order_of(keys.order_pk("1001")) == "1001"
    assert keys.line_of(keys.item_sk(1000)) == 1000
    bought = keys.CustomerItemKey("A-7", PLACED, "1001", 7)
    assert bought.table_key == {"pk": "ORDER#1001", "sk": "ITEM#0007"}


@pytest.mark.parametrize("sk", ["", "order", "ITEM#", "ITEM#1", "ITEM#00001", "ITEM#\u0660\u0660\u0660\u0661"])
def test_the_key_of_no_item_is_refused(sk: str) -> None:
    with pytest.raises(ValueError, match="no item"):
        keys.line_of(sk)


def test_the_bounds_of_a_product_hold_its_items_alone() -> None:
    low, high = keys.customer_item_bounds("A")
    for product_, within in (("A", True), ("A!", False), ("A$", False), ("AB", False), ("A ", False)):
        assert (low <= str(keys.CustomerItemKey(product_, PLACED, "1001", 1)) <= high) is within
    low, high = keys.customer_item_bounds(None)
    assert low <= str(keys.CustomerItemKey("~", PLACED, "1001", 1)) <= high
    assert not low <= keys.placed_sk(PLACED, "1001") <= high


def test_the_orders_of_a_status_are_spread_over_its_partitions() -> None:
    used = {keys.queue_pk("open", str(number)) for number in range(100)}
    assert sorted(used) == keys.queue_partitions("open")
