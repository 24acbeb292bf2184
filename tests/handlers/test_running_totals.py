"""Sales whose amount is that of an item so far: an edit that raises it is recorded once, in whatever order it comes."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from tests.support.events import refund, sale
from tests.support.requests import post, verdicts
from tests.support.system import World, faulty, opened
from tests.support.tables import ledger


@pytest.fixture
def world() -> Iterator[World]:
    with opened() as world:
        yield world


def total(amount: str, id_: str = "o:1", **facts: Any) -> dict[str, Any]:
    return {**sale(id_, amount, **facts), "runningtotal": "yes"}


def back(id_: str, amount: str, of: str = "o:1") -> dict[str, Any]:
    return {**refund(id_, amount, of=of), "runningtotal": "yes"}


def void(id_: str, of: str = "o:1") -> dict[str, Any]:
    event = refund(id_, "0", of=of)
    data = {name: text for name, text in event["data"].items() if name != "amount"} | {"reason": "cancelled"}
    return {**event, "type": "sale.voided", "data": data, "runningtotal": "yes"}


def amounts(world: World) -> dict[str, str]:
    return {one["id"]: one["amount"] for one in ledger(world)}


def net(world: World) -> Decimal:
    return sum((Decimal(one["amount"]) for one in ledger(world)), Decimal(0))


def test_what_a_total_is_more_is_recorded_and_less_is_a_duplicate(world: World) -> None:
    for amount, verdict in (("20", "recorded"), ("30", "recorded"), ("20", "duplicate"), ("30", "duplicate")):
        assert verdicts(post(world, total(amount))) == [verdict]
    assert verdicts(post(world, [total("45"), total("31"), total("45")])) == ["recorded", "duplicate", "duplicate"]
    assert amounts(world) == {"o:1": "20", "o:1:edit:1": "10", "o:1:edit:2": "15"}


@pytest.mark.parametrize("order", list(permutations(("20", "30", "45"))))
def test_the_highest_total_counts_in_whatever_order(world: World, order: tuple[str, ...]) -> None:
    for amount in (*order, *order):
        post(world, total(amount))
    assert net(world) == 45


def test_another_fact_than_the_amount_is_a_conflict(world: World) -> None:
    assert verdicts(post(world, [total("20"), sale("p", "20")])) == ["recorded"] * 2
    for other in (total("30", product="X"), total("30", currency="USD"), {**total("30"), "subject": "43"}):
        assert verdicts(post(world, other)) == ["conflict"]
    assert verdicts(post(world, [sale("p", "30"), sale("o:1", "30")])) == ["conflict"] * 2
    assert net(world) == 40


def test_an_edit_has_the_rest_of_the_tax(world: World) -> None:
    assert verdicts(post(world, total("20", tax="2"))) == ["recorded"]
    assert verdicts(post(world, total("30", tax="3.50"))) == ["recorded"]
    assert {one["id"]: one["tax"] for one in ledger(world)} == {"o:1": "2", "o:1:edit:1": "1.50"}


def test_a_void_is_of_all_that_edits_have_added(world: World) -> None:
    post(world, [total("20"), total("30")])
    for verdict in ("recorded", "duplicate"):
        assert verdicts(post(world, [total("45"), void("v")])) == [verdict] * 2
    assert net(world) == 0
    assert verdicts(post(world, total("30"))) == ["duplicate"], "an amount from before comes later"
    assert net(world) == 0


def test_a_refund_of_more_than_one_of_the_sales_is_recorded_once(world: World) -> None:
    post(world, [total("20"), total("30")])
    for verdict in ("recorded", "duplicate", "duplicate"):
        assert verdicts(post(world, back("r", "-30"))) == [verdict]
    assert net(world) == 0
    post(world, total("20", "o:2"))
    assert verdicts(post(world, [back("s", "-30", "o:2"), back("t", "-5", "o:2")])) == ["rejected", "recorded"]
    assert net(world) == 15


def test_a_refund_that_was_held_may_be_of_all_that_edits_have_added(world: World) -> None:
    assert verdicts(post(world, back("r", "-30"))) == ["held"]
    assert verdicts(post(world, total("20"))) == ["recorded"]
    assert verdicts(post(world, back("r", "-30"))) == ["held"], "more than is left of the sale"
    assert verdicts(post(world, total("30"))) == ["recorded"]
    world.stack.invoke("watch", {})
    assert verdicts(post(world, back("r", "-30"))) == ["duplicate"]
    assert net(world) == 0


def test_totals_from_many_senders_at_once_while_the_tables_fail() -> None:
    chance = random.Random(5)  # noqa: S311 - the same each time
    with faulty("throttle=0.1,reset-after=0.1,statements-after=0.1,seed=3") as (world, faults):
        events = [total(str(amount), f"o:{number}") for number in range(6) for amount in (10, 20, 35)] * 3
        chance.shuffle(events)
        with faults.at_work(), ThreadPoolExecutor(6) as threads:
            list(threads.map(lambda one: post(world, one), events))
        for one in events:
            assert verdicts(post(world, one)) in (["recorded"], ["duplicate"])
        assert net(world) == 6 * 35
