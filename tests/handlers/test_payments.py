"""Payments: recorded, counted, sealed and shown as separate totals."""

import csv
import io
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from quarterhour.proof.reports import verify
from tests.handlers.desk import send
from tests.support.events import adjustment, payment, refund, rerating, void
from tests.support.requests import account, post, receipt, verdicts
from tests.support.system import World, opened

KEY = "reports/2026/10/23/0130-0145/summary.csv"


@pytest.fixture
def world() -> Iterator[World]:
    with opened({"base_currency": "EUR"}) as world:
        yield world


@pytest.fixture
def paid(world: World) -> World:
    """A sale, a payment by the agency, and one to it."""
    world.sell("80.00", customer="ann", location="GB#London")
    assert verdicts(post(world, [payment("p1", "100.00", reason="transfer 8"), payment("p2", "-25.5")])) == [
        "recorded",
        "recorded",
    ]
    world.pass_time(minutes=20)
    return world


def figures(shown: dict[str, Any]) -> list[Any]:
    return [shown[name] for name in ("events", "gross", "refunds", "net", "payments")]


def test_a_payment_with_more_decimals_than_its_currency_is_rejected_and_a_sale_keeps_them(world: World) -> None:
    sent = [payment("p1", "10.005", currency="EUR"), payment("p2", "1.5", currency="JPY")]
    items = post(world, sent).json()["items"]
    assert [(one["verdict"], one["errors"][0]["field"], one["errors"][0]["problem"]) for one in items] == [
        ("rejected", "data.amount", "is 10.005"),
        ("rejected", "data.amount", "is 1.5"),
    ]
    world.sell("100.55", currency="JPY")
    world.drain()
    assert world.read(account(currency="JPY"))["gross"] == "100.55"


def test_payments_are_totals_of_their_own_wherever_totals_are_shown(paid: World) -> None:
    expected = [3, "80.00", "0", "80.00", "74.50"]
    assert figures(paid.read(account())) == expected
    span = {"from_": "2026-10-23", "to": "2026-10-24"}
    for part in ("quarter-hours", "days", "snapshots"):
        layer = {"layer": "1h"} if part == "snapshots" else {}
        (one,) = paid.all(account(part=part), **layer, **span)
        assert figures(one) == expected, part
    assert [figures(one) for one in paid.all(account(part="periods"))] == [expected]
    assert paid.read(account())["customers"] == 1
    assert paid.read(account(part="trend"))["figures"]["payments"]["now"] == "74.50"


def test_payments_are_sealed_and_proven_and_are_no_sales_of_a_place(paid: World) -> None:
    assert (paid.report()["lines"], paid.report()["drift"]) == (3, 0)
    (run,) = paid.read("/reports")["items"]
    assert paid.read(f"/reports/{run['run']}")["proofs"] == {"202610230130": "verified"}
    (sealed,) = paid.read(f"/reports/{run['run']}")["manifest"]["accounts"]
    assert (sealed["payments"], sealed["periods"]["2026-10"]["payments"]) == ("74.50", "74.50")
    with paid.stack.bucket.open(KEY) as file:
        (row,) = csv.DictReader(io.StringIO(file.read().decode(), newline=""))
    assert [row[name] for name in ("gross", "net", "payments")] == ["80.00", "80.00", "74.50"]
    assert "payments_in_base_rounded_half_even" in row
    (location,) = paid.read("/locations", from_="2026-10-23", to="2026-10-24")["items"]
    assert "payments" not in location["sales"][0]
    found = verify(paid.stack.bucket.open, list(paid.stack.bucket.keys()))
    assert found.problems == []


def test_a_payment_is_explained_and_has_a_story_of_its_own(paid: World) -> None:
    explained = paid.read("/events/shop/p1/explain")
    assert explained["terms"] == {"from": "payment", "note": "a payment bears no commission"}
    assert (explained["amount"], float(explained["commission"])) == ("100.00", 0)
    (step,) = paid.read("/events/shop/p1/story")["items"]
    assert (step["type"], step["reason"], float(step["commission_after"])) == ("payment.recorded", "transfer 8", 0)
    assert [one["id"] for one in paid.all("/events", from_="2026-10-23", to="2026-10-24", type="payment.recorded")]


@pytest.mark.parametrize(
    "correction",
    [void(of="p1"), refund("r1", "-1", "p1"), adjustment("a1", "1", "p1"), rerating(of="p1")],
    ids=lambda sent: str(sent["type"]),
)
def test_a_payment_is_corrected_by_a_payment_of_the_opposite_sign_alone(
    paid: World, correction: dict[str, Any]
) -> None:
    (item,) = post(paid, [correction]).json()["items"]
    assert item["verdict"] == "rejected"
    assert "payment.recorded" in item["errors"][0]["problem"]
    assert verdicts(post(paid, payment("p3", "-100.00", reason="p1 was a mistake"))) == ["recorded"]
    paid.drain()
    assert paid.read(account())["payments"] == "-25.50"


def test_a_payment_sent_again_is_a_duplicate_and_with_another_amount_a_conflict(world: World) -> None:
    first = post(world, payment())
    assert receipt(post(world, payment())) == receipt(first)
    assert verdicts(post(world, payment(amount="100.01"))) == ["conflict"]


def test_a_payment_of_an_agency_that_is_not_registered_is_held_and_posted_once_it_is() -> None:
    with opened({"agency_policy": "registered"}) as world:
        (item,) = post(world, payment()).json()["items"]
        assert (item["verdict"], item["held"]["reason"]) == ("held", "unregistered_agency")
        registered = {"seen": 0, "content": {"legal_name": "Nord & Sons"}}
        assert send(world, "PUT", "/agencies/42", registered).status == 201
        assert world.stack.invoke("watch", {})["held"]["posted"] == 1
        world.drain()
        assert figures(world.read(account())) == [1, "0", "0", "0", "100.00"]


def test_lost_counters_of_payments_are_rebuilt(paid: World) -> None:
    paid.report()
    before = paid.read(account())
    table, key = paid.stack.ref("EntityTable"), {"pk": {"S": "ACCOUNT#42#GBP"}, "sk": {"S": "latest"}}
    paid.stack.dynamodb.update_item(
        TableName=table,
        Key=key,
        UpdateExpression="SET payments = :wrong",
        ExpressionAttributeValues={":wrong": {"S": "1"}},
    )
    paid.clock.advance(timedelta(days=5))
    assert paid.stack.invoke("repair", {"action": "rebuild", "account": "42#GBP"})["repaired"] == 1
    assert paid.read(account())["payments"] == before["payments"] == "74.50"
