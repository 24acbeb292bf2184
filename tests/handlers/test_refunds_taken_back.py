"""Refunds that are taken back: the bank has returned them, or a dispute was won."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from quarterhour_tools.emulator.faults import FaultKind, Killed
from tests.support.events import refund, rerating, sale, void
from tests.support.requests import post, put
from tests.support.system import World, faulty, opened
from tests.support.tables import ledger

BACK = void("back", "r1", reason="the bank returned it")


@pytest.fixture
def world() -> Iterator[World]:
    with opened() as world:
        yield world


def verdict(world: World, *sent: dict[str, Any]) -> list[str]:
    """Return the verdict of each event, with the problem of a rejected one."""
    items = post(world, list(sent)).json()["items"]
    return [one["errors"][0]["problem"] if one["verdict"] == "rejected" else one["verdict"] for one in items]


def figures(world: World) -> dict[str, float]:
    """Return net and commission of the account of all events here."""
    world.drain()
    account = world.read("/accounts/42/GBP")
    return {name: float(account[name]) for name in ("events", "net", "commission")}


def put_rate_card(world: World, seen: int = 0, **charge: str) -> None:
    charges = [{"name": "commission", "percent": "10", "fixed": "1.00", **charge}]
    content = {"valid_from": "2026-01-01T00:00:00Z", "rules": [{"currency": "GBP", "charges": charges}]}
    put(world, "/documents/rate-card:42", {"seen": seen, "content": content})


@pytest.mark.parametrize("together", [True, False], ids=["in one request", "one by one"])
def test_a_sale_whose_refund_was_taken_back_is_refunded_again(world: World, *, together: bool) -> None:
    put_rate_card(world)
    sent = [sale(amount="100.00"), refund("r1", "-100.00"), BACK, refund("r2", "-100.00")]
    verdicts = verdict(world, *sent) if together else [verdict(world, one)[0] for one in sent]
    assert verdicts == ["recorded"] * 4
    assert figures(world) == {"events": 4, "net": 0, "commission": 0}
    assert verdict(world, *sent) == ["duplicate"] * 4
    story = world.read("/events/shop/order-1/story")
    assert [
        (one["id"], one["amount"], one["left_after"], float(one["commission_after"])) for one in story["items"]
    ] == [
        ("order-1", "100.00", "100.00", 11.0),
        ("r1", "-100.00", "0.00", 0.0),
        ("back", "100.00", "100.00", 11.0),
        ("r2", "-100.00", "0.00", 0.0),
    ]
    assert world.read("/events/shop/back/story") == story, "it leads to the story of the sale"
    explained = world.read("/events/shop/back/explain")
    assert explained["terms"] == {"from": "refund", "refund": "r1"}
    assert [(one["name"], float(one["gives"])) for one in explained["steps"]] == [
        ("after", 0.0),
        ("before", 11.0),
        ("refund", 11.0),
    ]


def test_parts_that_are_refunded_after_one_was_taken_back_give_back_the_commission_exactly(world: World) -> None:
    put_rate_card(world, percent="1", fixed="0.01")
    assert verdict(
        world,
        sale(amount="3.00"),
        refund("r1", "-1.00"),
        refund("r2", "-1.00"),
        BACK,
        refund("r3", "-1.50"),
        refund("r4", "-0.50"),
        refund("r5", "-0.01"),
    ) == [*["recorded"] * 6, "is -0.01, more than is left of the sale"]
    assert figures(world) == {"events": 6, "net": 0, "commission": 0}


def test_a_refund_is_taken_back_once_and_only_by_a_void_of_its_account(world: World) -> None:
    assert verdict(world, sale(amount="10.00"), refund("r1", "-4.00"), refund("nothing", "0")) == ["recorded"] * 3
    assert verdict(
        world,
        void("v1", "r1", agency="7"),
        BACK,
        void("v2", "r1"),
        void("v3", "back"),
        void("v4", "nothing"),
        refund("r2", "-1", "r1"),
    ) == [
        "is a refund of another account",
        "recorded",
        "was voided before, by shop#back",
        "is no sale and no refund, but sale.voided",
        "gave back nothing",
        "is no sale, but sale.refunded",
    ]
    assert figures(world)["net"] == 10


def test_a_refund_that_names_no_sale_is_taken_back_at_its_own_terms(world: World) -> None:
    put_rate_card(world)
    assert verdict(world, refund("r1", "-50.00", None), BACK, void("v2", "r1")) == [
        "recorded",
        "recorded",
        "was voided before, by shop#back",
    ]
    assert figures(world) == {"events": 2, "net": 0, "commission": 0}
    assert [one["id"] for one in world.read("/events/shop/back/story")["items"]] == ["r1", "back"]


def test_a_refund_that_was_taken_back_is_charged_by_no_other_rate_card(world: World) -> None:
    put_rate_card(world, refund="keep_fixed")
    assert verdict(world, refund("r1", "-50.00", None)) == ["recorded"]
    assert figures(world)["commission"] == -5
    put_rate_card(world, 1, percent="20", fixed="3.00")
    assert verdict(world, BACK, rerating(of="r1", version=2)) == [
        "recorded",
        "changes nothing: the commission of what is left is 0.00000000 already",
    ]
    assert figures(world) == {"events": 2, "net": 0, "commission": 0}


def test_a_void_of_a_refund_that_is_not_recorded_yet_is_held_and_posted_after_it(world: World) -> None:
    assert verdict(world, BACK, void("other", "r2")) == ["held", "held"]
    assert verdict(world, refund("r1", "-4.00")) == ["held"]
    world.stack.invoke("watch", {})
    assert ledger(world) == []
    assert verdict(world, sale(amount="10.00")) == ["recorded"]
    world.stack.invoke("watch", {})
    world.stack.invoke("watch", {})
    assert figures(world) == {"events": 3, "net": 10, "commission": 1}
    assert [one["id"] for one in world.read("/held")["items"]] == ["other"]


def test_what_a_voided_sale_has_left_after_its_refund_was_taken_back_can_be_given_back(world: World) -> None:
    """The void reversed what was left then. The kept fee, which it gave back, is not given back twice."""
    put_rate_card(world, refund="keep_fixed")
    sent = [sale(amount="100.00"), refund("r1", "-30.00"), void("v1"), BACK]
    assert verdict(world, *sent) == ["recorded"] * 4
    assert figures(world) == {"events": 4, "net": 30, "commission": 3}
    assert verdict(world, refund("r2", "-10.00"), void("v2"), void("v3"), refund("r3", "-1")) == [
        "recorded",
        "recorded",
        "was voided before, by shop#v2",
        "was voided, by shop#v2",
    ]
    assert figures(world) == {"events": 6, "net": 0, "commission": 0}


def test_a_refund_is_taken_back_at_the_terms_in_force_of_a_rerated_sale(world: World) -> None:
    put_rate_card(world)
    assert verdict(world, sale(amount="100.00"), refund("r1", "-40.00")) == ["recorded"] * 2
    put_rate_card(world, 1, percent="5", fixed="0.50")
    assert verdict(world, rerating(version=2), BACK) == ["recorded"] * 2
    assert figures(world) == {"events": 4, "net": 100, "commission": 5.5}


def test_the_events_of_one_request_find_the_refund_in_the_ledger(world: World) -> None:
    """Refunds of several sales share a segment, which is appended whole before a void takes one of them back."""
    sold = [sale(f"s{number}", "10.00") for number in range(3)]
    refunds = [refund(f"r{number}", "-4.00", f"s{number}") for number in range(3)]
    assert verdict(world, *sold) == ["recorded"] * 3
    assert verdict(world, *refunds, BACK, refund("r9", "-10.00", "s1")) == ["recorded"] * 5
    assert sorted(float(one["amount"]) for one in ledger(world)) == [-10, -4, -4, -4, 4, 10, 10, 10]


@pytest.mark.slow
def test_a_crash_at_any_call_takes_a_refund_back_once() -> None:
    for calls in range(12):
        with faulty() as (world, faults):
            post(world, [sale(amount="10.00"), refund("r1", "-4.00")])
            faults.arm(FaultKind.KILL_BEFORE, calls)
            with suppress(Killed), faults.at_work():
                post(world, [BACK, refund("r2", "-10.00")])
            faults.disarm()
            world.clock.advance(timedelta(hours=1))
            assert set(verdict(world, BACK, refund("r2", "-10.00"))) <= {"recorded", "duplicate"}
            assert figures(world) == {"events": 4, "net": 0, "commission": 0}


@pytest.mark.parametrize("after", range(6))
def test_a_refund_and_a_void_of_another_at_once_both_count(after: int) -> None:
    with faulty() as (world, faults):
        post(world, [sale(amount="10.00"), refund("r1", "-4.00")])
        faults.meanwhile(after, lambda: post(world, refund("r2", "-6.00")))
        with faults.at_work():
            post(world, BACK)
        faults.disarm()
        assert set(verdict(world, BACK, refund("r2", "-6.00"))) <= {"recorded", "duplicate"}
        assert figures(world) == {"events": 4, "net": 4, "commission": 0.4}
        story = world.read("/events/shop/order-1/story")["items"]
        assert [float(one["left_after"]) for one in story] in ([10, 6, 10, 4], [10, 6, 0, 4])
