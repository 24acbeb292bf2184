"""Bills: which changes of an order make it due, and the events of its bills."""

from typing import Any

import pytest

from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.model.errors import FieldProblem
from quarterhour.orders.billing.plan import batches, bills, events, is_incomplete, refusal
from tests.support.orders import change, header, item, order, stored

TEA = item(product="tea", quantity="2", unit_price="6.25", location="GB#London", commission_rate="0.125")
TWO = order(TEA, item(agency="7", amount="0"))


def events_of(*statuses: str) -> list[Event]:
    (bill,), _ = bills([change(1, header(TWO, *statuses))])
    found = events(bill, stored(TWO))
    assert not [one for one in found if isinstance(one, Rejection)]
    return [one for one in found if isinstance(one, Event)]


@pytest.mark.parametrize(
    ("statuses", "due"),
    [
        (("open",), False),
        (("open", "paid"), True),
        (("open", "paid", "shipped"), False),
        (("open", "paid", "shipped", "delivered"), False),
        (("open", "cancelled"), False),
        (("open", "paid", "cancelled"), True),
        (("open", "paid", "shipped", "cancelled"), True),
    ],
    ids=str,
)
def test_an_order_is_due_when_it_becomes_paid_and_when_it_is_cancelled_after_that(
    statuses: tuple[str, ...], *, due: bool
) -> None:
    found, poison = bills([change(1, header(order(), *statuses))])
    assert (len(found), poison) == (due, [])


@pytest.mark.parametrize("name", ["INSERT", "REMOVE"])
def test_only_a_modification_makes_an_order_due(name: str) -> None:
    assert bills([change(1, header(order(), "open", "paid"), name)]) == ([], [])


def test_changes_of_other_items_are_skipped() -> None:
    account = {"pk": "ACCOUNT#42#GBP", "sk": "latest", "status": "paid"}
    assert bills([change(1, account), change(2, {**stored(order())[0], "status": "paid"})]) == ([], [])


def test_each_item_is_a_sale_with_the_fields_of_order_and_item() -> None:
    first, second = events_of("open", "paid")
    assert (str(first.identity), str(second.identity)) == ("orders#1001:1", "orders#1001:2")
    assert (first.type, str(first.account), str(first.amount)) == ("sale.recorded", "42#GBP", "12.50")
    assert (str(first.commission_rate), second.commission_rate) == ("0.125", None)
    assert str(first.time) == "2026-10-23 01:30:12.345000+00:00"
    assert dict(first.details) == {
        "product": "tea",
        "quantity": "2",
        "unit_price": "6.25",
        "customer": "ann",
        "order_id": "1001",
        "line": "1",
        "location": "GB#London",
    }
    assert str(second.account) == "7#GBP"


def test_each_refund_is_at_the_instant_of_the_cancellation_and_at_the_commission_rate_of_its_sale() -> None:
    first, second = events_of("open", "paid", "cancelled")
    assert (first.identity.id, second.identity.id) == ("1001:1:refund", "1001:2:refund")
    assert (first.type, str(first.amount), str(second.amount)) == ("sale.refunded", "-12.50", "0")
    assert first.linked_to == events_of("open", "paid")[0].identity
    assert first.commission_rate is None
    assert str(first.time) == "2026-10-23 01:32:12.345000+00:00"
    assert (first.details["location"], first.details["customer"]) == ("GB#London", "ann")


def test_no_two_lines_of_any_orders_share_an_identity() -> None:
    ids = []
    for name in ("a", "a:1", "a:1:refund"):
        one = order(item(), item(), order=name)
        for statuses in (("open", "paid"), ("open", "paid", "cancelled")):
            (bill,), _ = bills([change(1, header(one, *statuses))])
            ids += [event.identity for event in events(bill, stored(one)) if isinstance(event, Event)]
    assert len(set(ids)) == len(ids) == 12


# ---------------------------------------------------------------- what cannot be billed


def damaged(**values: object) -> dict[str, Any]:
    return change(1, {**header(order(), "open", "paid"), **values})


@pytest.mark.parametrize(
    "record",
    [
        damaged(history=[]),
        damaged(history=None),
        damaged(status="open"),
        damaged(lines=None),
        damaged(lines="many"),
        {**damaged(), "dynamodb": {"SequenceNumber": "1", "Keys": damaged()["dynamodb"]["Keys"]}},
    ],
    ids=["no entry", "no history", "another status", "no lines", "odd lines", "no image"],
)
def test_a_change_that_can_never_be_billed_is_poison_and_the_others_are_due(record: dict[str, Any]) -> None:
    found, poison = bills([record, change(2, header(order(), "open", "paid"))])
    assert [bill.record["dynamodb"]["SequenceNumber"] for bill in found] == ["2"]
    assert [one.record for one in poison] == [record]
    assert poison[0].reason


def test_an_order_that_lacks_an_item_is_not_billed_in_part() -> None:
    (bill,), _ = bills([change(1, header(TWO, "open", "paid"))])
    with pytest.raises(ValueError, match="1 items where 2 should be"):
        events(bill, stored(TWO)[:1])


# ---------------------------------------------------------------- batches


def test_bills_are_in_the_order_of_the_stream() -> None:
    records = [change(seq, header(order(order=str(seq)), "open", "paid")) for seq in (10, 9, 11)]
    found, _ = bills(records)
    assert [bill.header.order for bill in found] == ["9", "10", "11"]


def cut(*orders: tuple[str, int], most: int = 4) -> list[list[str]]:
    records = [
        change(seq, header(order(*[item()] * lines, order=name), "open", "paid"))
        for seq, (name, lines) in enumerate(orders)
    ]
    return [[bill.header.order for bill in some] for some in batches(bills(records)[0], most)]


def test_small_orders_share_a_batch_and_a_large_order_has_its_own() -> None:
    assert cut(("a", 1), ("b", 3), ("c", 1), ("d", 9), ("e", 4)) == [["a", "b"], ["c"], ["d"], ["e"]]
    assert cut() == []


def test_two_changes_of_one_order_are_never_in_one_batch() -> None:
    assert cut(("a", 1), ("b", 1), ("a", 1)) == [["a", "b"], ["a"]]


# ---------------------------------------------------------------- outcomes


def outcome(verdict: Verdict, *problems: FieldProblem) -> Outcome:
    return Outcome("orders", "1001:1", verdict, problems=problems)


def test_unavailable_events_make_a_bill_incomplete_and_rejected_ones_give_the_reason() -> None:
    fine = [outcome(Verdict.RECORDED), outcome(Verdict.DUPLICATE)]
    assert (is_incomplete(fine), refusal(fine)) == (False, "")
    assert is_incomplete([*fine, outcome(Verdict.UNAVAILABLE)])
    problem = FieldProblem("data.amount", "is too much", "less")
    refused = [*fine, outcome(Verdict.REJECTED, problem)]
    assert (is_incomplete(refused), refusal(refused)) == (False, "1001:1: data.amount is too much")
