"""The billing of orders: each item once when it is paid, its refund once when it is cancelled after that."""

import json
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from quarterhour.aws.streams import Record
from quarterhour.customers.keys import is_token
from quarterhour_tools.errors import ToolError
from quarterhour_tools.operations.bill import bill, find_changes
from tests.handlers.desk import billed, change, paid, place
from tests.support.events import ABSENT, refund
from tests.support.orders import item
from tests.support.requests import post, verdicts
from tests.support.system import START, World, faulty, opened
from tests.support.tables import deliver, items, ledger, number, parked, stream

TEA = item(product="tea", amount="10.00", location="GB#London", commission_rate="0.125")
CUP = item(product="cup", amount="2.50", agency="7")


def changes(world: World) -> list[dict[str, Any]]:
    """Return the stream's records of the orders themselves, all of them."""
    return [one for one in stream(world, "EntityTable") if one["dynamodb"]["Keys"]["sk"]["S"] == "order"]


def lived(world: World) -> list[dict[str, Any]]:
    """Let orders be created, paid, shipped and cancelled, and return the records of that."""
    paid(world, "1001", TEA, CUP)
    paid(world, "1002", TEA)
    place(world, "1003", TEA)
    change(world, "1003", "open", "cancelled")
    change(world, "1001", "paid", "shipped")
    world.clock.advance(timedelta(minutes=1))
    change(world, "1002", "paid", "cancelled")
    records = changes(world)
    assert len(records) == 11
    return records


ALL = {"1001:1": "10.00", "1001:2": "2.50", "1002:1": "10.00", "1002:1:refund": "-10.00"}


def test_a_paid_order_is_posted_item_by_item_with_all_its_fields(world: World) -> None:
    paid(world, "1001", TEA, CUP)
    world.drain()
    tea, cup = sorted(ledger(world), key=lambda one: one["id"])
    assert (tea["source"], tea["id"], tea["type"], tea["agency"]) == ("orders", "1001:1", "sale.recorded", "42")
    assert (tea["amount"], tea["commission_rate"], tea["commission"]) == ("10.00", "0.125", "1.25000")
    assert (tea["product"], tea["location"]) == ("tea", "GB#London")
    assert is_token(tea["customer"])
    assert (tea["order_id"], tea["line"]) == ("1001", "1")
    assert (cup["agency"], cup["commission_rate"]) == ("7", "0.10")
    assert world.read("/accounts/42/GBP")["gross"] == "10.00"


def test_the_refund_of_an_order_that_is_cancelled_on_a_later_day_has_the_tax_point_of_its_sale(world: World) -> None:
    paid(world, "1001", TEA)
    world.drain()
    world.clock.advance(timedelta(days=3))
    change(world, "1001", "paid", "cancelled")
    world.drain()
    points = {one["id"]: one["tax_point"] for one in ledger(world)}
    assert points == dict.fromkeys(("1001:1", "1001:1:refund"), f"{START:%Y-%m-%d}")


def test_open_and_never_paid_orders_are_not_posted(world: World) -> None:
    place(world, "1001", TEA)
    place(world, "1002", TEA)
    change(world, "1002", "open", "cancelled")
    world.drain()
    assert ledger(world) == []


def test_a_cancelled_order_is_refunded_at_the_rate_of_its_sale(world: World) -> None:
    paid(world, "1001", TEA, CUP)
    world.pass_time(hours=1)
    change(world, "1001", "paid", "cancelled")
    world.drain()
    refunds = {one["id"]: one for one in ledger(world) if one["type"] == "sale.refunded"}
    assert refunds.keys() == {"1001:1:refund", "1001:2:refund"}
    tea = refunds["1001:1:refund"]
    assert (tea["amount"], tea["commission"], tea["refers_to"]) == ("-10.00", "-1.25000", "1001:1")
    assert (tea["location"], tea["time"]) == ("GB#London", "2026-10-23T02:30:00Z")
    assert world.read("/accounts/42/GBP")["net"] == "0.00"


def given_back(world: World, id_: str, amount: str, of: str = "1001:1") -> list[str]:
    """Give a part of an order's item back by hand, and return the verdict."""
    return verdicts(post(world, {**refund(id_, amount, of=of), "source": "orders"}))


@pytest.mark.parametrize(
    ("parts", "rest"),
    [(["-4"], "-6.00"), (["-4", "-5.999"], "-0.001"), (["-10"], "0.00"), (["-7.50", "-2.50"], "0.00")],
)
def test_a_cancelled_order_is_refunded_the_rest(world: World, parts: list[str], rest: str) -> None:
    paid(world, "1001", TEA, CUP)
    world.drain()
    for number_, amount in enumerate(parts):
        assert given_back(world, f"part-{number_}", amount) == ["recorded"]
    change(world, "1001", "paid", "cancelled")
    world.drain()
    assert billed(world)["1001:1:refund"] == rest
    assert billed(world)["1001:2:refund"] == "-2.50"
    account = world.read("/accounts/42/GBP")
    assert Decimal(account["net"]) == Decimal(account["commission"]) == 0
    assert given_back(world, "later", "-0.01") == ["rejected"]
    before = billed(world)
    assert deliver(world, "billing", changes(world)) == []
    assert (billed(world), parked(world, "ParkedQueue")) == (before, [])


@pytest.mark.slow
def test_another_refund_may_be_posted_at_any_call_of_the_billing_of_a_cancelled_order() -> None:
    met = 0
    with faulty() as (world, faults):
        for point in range(20):
            order = f"o{point}"
            paid(world, order, TEA)
            world.drain()
            change(world, order, "paid", "cancelled")
            due = changes(world)[-1:]

            def other(order: str = order) -> None:
                given_back(world, f"{order}-part", "-4", f"{order}:1")

            faults.meanwhile(point, other)
            with faults.at_work():
                assert deliver(world, "billing", due) == []
            faults.disarm()
            back = {id_: amount for id_, amount in billed(world).items() if id_.startswith(order)}
            assert back.pop(f"{order}:1") == "10.00"
            assert back in ({f"{order}-part": "-4", f"{order}:1:refund": "-6.00"}, {f"{order}:1:refund": "-10.00"})
            met += f"{order}-part" in back
        assert 0 < met < 20, "before the refund's claim as well as after it"
        assert parked(world, "ParkedQueue") == []


def test_a_refund_of_the_rest_whose_append_was_lost_is_completed_with_what_it_had_claimed(world: World) -> None:
    paid(world, "1001", TEA)
    world.drain()
    given_back(world, "part", "-4")
    change(world, "1001", "paid", "cancelled")
    world.drain()
    (rest,) = [one for one in ledger(world) if one["id"] == "1001:1:refund"]
    key = {name: {"S": rest[name]} for name in ("quarter_hour", "position")}
    world.stack.dynamodb.delete_item(TableName=world.stack.ref("LedgerTable"), Key=key)
    world.clock.advance(timedelta(hours=1))
    assert deliver(world, "billing", changes(world)) == []
    assert billed(world)["1001:1:refund"] == "-6.00"
    assert parked(world, "ParkedQueue") == []


@pytest.mark.parametrize(
    "cuts",
    [
        [(0, 11)],
        [(at, at + 1) for at in range(11)],
        [(0, 11), (0, 11)],
        [(0, 3), (0, 11), (2, 7), (6, 11)],
        [(0, 8), (5, 11), (0, 2)],
    ],
)
def test_each_item_is_posted_once_in_any_batches_and_redeliveries(world: World, cuts: list[tuple[int, int]]) -> None:
    records = lived(world)
    for start, end in cuts:
        assert deliver(world, "billing", records[start:end]) == []
    assert billed(world) == ALL


@pytest.mark.parametrize("seed", range(4))
def test_throttling_conflicts_and_lost_answers_post_nothing_twice_and_park_nothing(seed: int) -> None:
    with faulty(f"throttle=0.2,conflict=0.2,cancel=0.2,reset-after=0.2,unprocessed=0.2,seed={seed}") as (world, faults):
        records = lived(world)
        start = 0
        with faults.at_work():
            while start < len(records):
                failed = deliver(world, "billing", records[start:])
                start = [number(one) for one in records].index(failed[0]) if failed else len(records)
        assert faults.struck
        assert billed(world) == ALL
        assert parked(world, "ParkedQueue") == []


def test_a_batch_that_fails_names_its_first_order_and_no_refund_goes_before_its_sale() -> None:
    with faulty("throttle=1") as (world, faults):
        records = lived(world)
        due = [one for one in records if one["dynamodb"]["NewImage"]["status"]["S"] == "paid"]
        with faults.at_work():
            assert deliver(world, "billing", records) == [number(due[0])]
        assert (ledger(world), parked(world, "ParkedQueue")) == ([], [])
        assert deliver(world, "billing", records) == []
        assert billed(world) == ALL


def test_a_function_that_runs_out_of_time_continues_in_the_next_delivery(world: World) -> None:
    records = lived(world)
    answer = world.stack.invoke("billing", {"Records": records}, seconds=0)
    (failed,) = answer["batchItemFailures"]
    assert failed["itemIdentifier"] in {number(one) for one in records}
    assert ledger(world) == []
    assert deliver(world, "billing", records) == []
    assert billed(world) == ALL


@pytest.mark.slow
def test_a_thousand_items_are_posted_and_refunded(world: World) -> None:
    paid(world, "1001", *[item(amount="0.10", agency=str(one % 3)) for one in range(1000)])
    world.drain()
    assert len(ledger(world)) == 1000
    change(world, "1001", "paid", "cancelled")
    world.drain()
    assert len(billed(world)) == 2000
    assert world.read("/accounts/1/GBP")["net"] == "0.00"


# ---------------------------------------------------------------- what can never be billed


def without_item(world: World, line: int) -> None:
    key = {"pk": {"S": "ORDER#1001"}, "sk": {"S": f"ITEM#{line:04d}"}}
    world.stack.dynamodb.delete_item(TableName=world.stack.ref("EntityTable"), Key=key)


def test_an_order_that_lacks_an_item_is_parked_whole_and_the_others_are_posted(world: World) -> None:
    records = lived(world)
    without_item(world, 2)
    assert deliver(world, "billing", records) == []
    (message,) = parked(world, "ParkedQueue")
    assert "1 items where 2 should be" in message["reason"]
    assert message["record"]["dynamodb"]["NewImage"]["pk"] == {"S": "ORDER#1001"}
    assert billed(world) == {id_: amount for id_, amount in ALL.items() if not id_.startswith("1001")}


def test_a_rejected_item_is_parked_with_the_reason_and_the_rest_of_its_order_is_posted(world: World) -> None:
    paid(world, "1001", TEA, CUP)
    world.drain()
    world.stack.dynamodb.update_item(
        TableName=world.stack.ref("IdentityTable"),
        Key={"event": {"S": "orders#1001:1"}},
        UpdateExpression="SET account = :other",
        ExpressionAttributeValues={":other": {"S": "another#GBP"}},
    )
    change(world, "1001", "paid", "cancelled")
    world.drain()
    (message,) = parked(world, "ParkedQueue")
    assert message["reason"].startswith("1001:1:refund: data.refers_to")
    assert billed(world)["1001:2:refund"] == "-2.50"
    assert "1001:1:refund" not in billed(world)


def test_a_refund_right_after_an_order_is_paid_is_held_until_its_sale_is_billed(world: World) -> None:
    paid(world, "1001", TEA)
    assert given_back(world, "part", "-4") == ["held"]
    world.drain()
    assert billed(world) == {"1001:1": "10.00"}
    assert given_back(world, "part", "-4") == ["recorded"]
    assert billed(world) == {"1001:1": "10.00", "part": "-4"}


def test_a_refund_that_is_billed_before_its_sale_is_held_and_posted_with_it(world: World) -> None:
    paid(world, "1001", TEA)
    change(world, "1001", "paid", "cancelled")
    records = changes(world)
    assert deliver(world, "billing", records[-1:]) == []
    assert (billed(world), parked(world, "ParkedQueue")) == ({}, [])
    assert deliver(world, "billing", records) == []
    assert billed(world) == {"1001:1": "10.00", "1001:1:refund": "-10.00"}


def test_a_shops_refund_right_after_an_order_is_paid_is_held_and_posted_once_it_is_billed(world: World) -> None:
    paid(world, "1001", TEA)
    assert verdicts(post(world, refund("back", "-4", of="1001:1", refers_to_source="orders"))) == ["held"]
    world.drain()
    assert world.stack.invoke("watch", {})["held"]["posted"] == 1
    assert billed(world) == {"1001:1": "10.00", "back": "-4"}
    world.drain()
    assert world.read("/accounts/42/GBP")["net"] == "6.00"


def test_an_item_that_conflicts_with_a_billed_one_parks_the_order(world: World) -> None:
    paid(world, "1001", TEA)
    records = changes(world)
    assert deliver(world, "billing", records) == []
    world.stack.dynamodb.update_item(
        TableName=world.stack.ref("EntityTable"),
        Key={"pk": {"S": "ORDER#1001"}, "sk": {"S": "ITEM#0001"}},
        UpdateExpression="SET amount = :other",
        ExpressionAttributeValues={":other": {"S": "11.00"}},
    )
    assert deliver(world, "billing", records) == []
    assert billed(world) == {"1001:1": "10.00"}
    (message,) = parked(world, "ParkedQueue")
    assert "recorded before with other content" in message["reason"]


def test_a_parked_order_is_billed_once_the_cause_is_fixed(world: World) -> None:
    records = lived(world)
    lost = next(one for one in items(world, "EntityTable") if (one["pk"], one["sk"]) == ("ORDER#1001", "ITEM#0002"))
    without_item(world, 2)
    assert deliver(world, "billing", records) == []
    assert world.stack.invoke("billing", {}) == {"billing": {"applied": 0, "kept": 1}}
    values = {name: {"S": value} for name, value in lost.items()}
    world.stack.dynamodb.put_item(TableName=world.stack.ref("EntityTable"), Item=values)
    assert deliver(world, "billing", records) == []
    assert billed(world) == ALL


@pytest.mark.parametrize("change_", [{"eventName": "INSERT"}, {"eventName": "REMOVE"}])
def test_only_changes_of_orders_are_billed_even_if_a_filter_lets_others_through(
    world: World, change_: dict[str, object]
) -> None:
    records = [{**one, **change_} for one in lived(world)]
    assert deliver(world, "billing", records) == []
    assert (ledger(world), parked(world, "ParkedQueue")) == ([], [])
    assert all(number(one) < number(other) for one, other in pairwise(records))


# ---------------------------------------------------------------- what was lost


def lives(world: World) -> None:
    """Let orders go all the ways that there are, and billing miss all of it."""
    for order, way in {
        "shipped": ("paid", "shipped"),
        "delivered": ("paid", "shipped", "delivered"),
        "returned": ("paid", "shipped", "cancelled"),
        "dropped": ("cancelled",),
        "open": (),
    }.items():
        guest: dict[str, Any] = {"customer": ABSENT}
        place(world, order, TEA, CUP, **guest)
        for before, after in pairwise(("open", *way)):
            assert change(world, order, before, after).status == 200


OWED = {
    **{f"{order}:1": "10.00" for order in ("shipped", "delivered", "returned")},
    **{f"{order}:2": "2.50" for order in ("shipped", "delivered", "returned")},
    "returned:1:refund": "-10.00",
    "returned:2:refund": "-2.50",
}


def park(world: World, order: str) -> None:
    """Park the header of an order as it is."""
    raw = world.stack.dynamodb.get_item(
        TableName=world.stack.ref("EntityTable"), Key={"pk": {"S": f"ORDER#{order}"}, "sk": {"S": "order"}}
    )["Item"]
    record = {"eventName": "MODIFY", "dynamodb": {"Keys": {}, "NewImage": raw}}
    world.stack.engine.sqs().send_message(
        QueueUrl=world.stack.ref("ParkedQueue"),
        MessageBody=json.dumps({"by": "billing", "reason": "by hand", "record": record}),
    )


def test_parked_orders_are_billed_in_any_later_status(world: World) -> None:
    lives(world)
    for order in ("shipped", "delivered", "returned"):
        park(world, order)
        park(world, order)
    assert world.stack.invoke("billing", {}) == {"billing": {"applied": 6, "kept": 0}}
    assert billed(world) == OWED


@pytest.mark.parametrize("order", ["open", "dropped"])
def test_a_parked_order_without_a_bill_stays_parked(world: World, order: str) -> None:
    lives(world)
    park(world, order)
    for _ in range(2):  # it is not hidden from the second run
        assert world.stack.invoke("billing", {}) == {"billing": {"applied": 0, "kept": 1}}
    assert ledger(world) == []


def test_a_parked_order_whose_sales_may_be_forgotten_stays_parked() -> None:
    with opened({"DedupRetentionDays": 30}) as world:
        paid(world, "1001", TEA)
        park(world, "1001")
        world.clock.advance(timedelta(days=30))
        assert world.stack.invoke("billing", {}) == {"billing": {"applied": 0, "kept": 1}}
        assert ledger(world) == []


def test_all_lost_changes_of_orders_are_found_and_billed(world: World) -> None:
    lives(world)
    start = world.clock.now()
    table = world.stack.ref("EntityTable")

    def give(records: Sequence[Record]) -> dict[str, Any]:
        answer: dict[str, Any] = world.stack.invoke("billing", {"Records": list(records)})
        return answer

    assert find_changes(world.stack.dynamodb, table, start - timedelta(days=1), start) == []
    lost = find_changes(world.stack.dynamodb, table, start, start + timedelta(days=1))
    assert bill(lost, give) == len(lost) == 5
    assert (billed(world), parked(world, "ParkedQueue")) == (OWED, [])
    world.drain()
    assert bill(lost, give) == 5
    assert billed(world) == OWED


def test_billing_that_makes_no_progress_is_reported(world: World) -> None:
    lives(world)
    lost = find_changes(world.stack.dynamodb, world.stack.ref("EntityTable"), START, START + timedelta(days=1))
    answers = iter([["3"], ["4"], ["4"]])

    def give(records: Sequence[Record]) -> dict[str, Any]:
        assert records
        return {"batchItemFailures": [{"itemIdentifier": number} for number in next(answers)]}

    with pytest.raises(ToolError, match="after 3 of 5"):
        bill(lost, give)
