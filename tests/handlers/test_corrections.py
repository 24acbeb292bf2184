"""Corrections: voids, adjustments and refunds of sales of any source, and the story of a sale."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from quarterhour_tools.emulator.faults import FaultKind, Killed
from tests.support.events import adjustment, refund, rerating, sale, void
from tests.support.requests import post
from tests.support.system import World, faulty, opened
from tests.support.tables import ledger, put_postings


@pytest.fixture
def world() -> Any:
    with opened() as world:
        yield world


def verdict(world: World, *sent: dict[str, Any]) -> list[str]:
    """Return the verdict of each event, with the problem of a rejected one."""
    items = post(world, list(sent)).json()["items"]
    return [one["errors"][0]["problem"] if one["verdict"] == "rejected" else one["verdict"] for one in items]


def test_a_void_reverses_what_is_left_of_a_sale_in_all_figures(world: World) -> None:
    assert verdict(world, sale(amount="10.00", commission_rate="0.1"), refund("r", "-4.00"), void()) == ["recorded"] * 3
    world.drain()
    account = world.read("/accounts/42/GBP")
    assert [account[name] for name in ("events", "gross", "refunds", "net")] == [3, "10.00", "-10.00", "0.00"]
    assert float(account["commission"]) == 0
    assert verdict(world, void(), void("v2"), refund("r2", "0")) == [
        "duplicate",
        "was voided before, by shop#v1",
        "was voided, by shop#v1",
    ]


def test_every_correction_has_the_tax_point_of_its_sale_whatever_its_own_time() -> None:
    with opened({"time_zone": "Europe/Amsterdam"}) as world:
        sold = [sale(id_, "10.00", commission_rate="0.1") | {"time": "2026-10-04T22:30:00Z"} for id_ in "ab"]
        assert verdict(world, *sold) == ["recorded"] * 2
        world.pass_time(minutes=20)
        later = {"time": "2026-10-20T12:00:00Z"}
        corrections = [
            refund("r", "-4.00", "a") | later,
            adjustment("c", "-0.10", "a"),
            void("v", "b"),
            refund("alone", "-1.00", None) | later,
        ]
        assert verdict(world, *corrections) == ["recorded"] * 4
        assert verdict(world, *corrections) == ["duplicate"] * 4
        points = {id_: world.read(f"/events/shop/{id_}")["tax_point"] for id_ in ("a", "r", "c", "v", "alone")}
        assert points == {**dict.fromkeys("arcv", "2026-10-05"), "alone": "2026-10-20"}


def test_a_void_of_what_is_no_sale_is_rejected_with_the_reason(world: World) -> None:
    assert verdict(world, sale(amount="10"), refund("r", "-10"), sale("b", "5"), void("vb", "b")) == ["recorded"] * 4
    assert verdict(
        world, void("v1"), void("v2", "vb"), void("v3", "r"), void("v4", "b", agency="7"), void("v5", "v5")
    ) == [
        "was refunded whole, so nothing is left to void",
        "is no sale and no refund, but sale.voided",
        "recorded",
        "is a sale of another account",
        "is the event itself",
    ]


def test_one_sale_voided_twice_in_one_request_is_voided_once(world: World) -> None:
    assert verdict(world, void("v1"), void("v2"), sale()) == ["recorded", "was voided before, by shop#v1", "recorded"]


def test_a_free_sale_can_be_voided(world: World) -> None:
    assert verdict(world, sale(amount="0"), void(), void("v2")) == [
        "recorded",
        "recorded",
        "was voided before, by shop#v1",
    ]


def test_the_story_of_a_sale_shows_what_is_left_after_each_step(world: World) -> None:
    till = {"source": "till"}
    refunded = {**refund("order-1", "-2.50", refers_to_source="shop", reason="broken"), **till}
    for sent in (
        sale(amount="10.00", commission_rate="0.2"),
        refunded,
        adjustment("a1", "0.25", "order-1", reason="courier"),
        void(),
    ):
        assert verdict(world, sent) == ["recorded"]
        world.pass_time(minutes=20)
    story = world.read("/events/shop/order-1/story")
    assert [
        (one["source"], one["id"], one["left_after"], float(one["commission_after"])) for one in story["items"]
    ] == [
        ("shop", "order-1", "10.00", 2.0),
        ("till", "order-1", "7.50", 1.5),
        ("shop", "a1", "7.50", 1.75),
        ("shop", "v1", "0.00", 0.25),
    ]
    assert [one.get("reason") for one in story["items"]] == [None, "broken", "courier", "sold twice"]
    assert (story["id"], story["left"], float(story["commission"]), story["next"]) == ("order-1", "0.00", 0.25, None)
    for path in ("/events/till/order-1/story", "/events/shop/v1/story", "/events/shop/a1/story"):
        assert world.read(path) == story, "a correction leads to the story of its sale"


def test_a_story_is_read_page_by_page(world: World) -> None:
    refunds = [refund(f"r{number}", "-1") for number in range(5)]
    assert verdict(world, sale(amount="10.00"), *refunds) == ["recorded"] * 6
    whole = world.read("/events/shop/order-1/story")["items"]
    assert len(whole) == 6
    assert world.all("/events/shop/order-1/story", limit=4) == whole


def test_a_story_has_corrections_of_one_instant_in_the_order_in_which_the_ledger_applied_them(world: World) -> None:
    refunds = [refund(f"r{number}", "-1.00") for number in range(6)]
    sent = [sale(amount="10.00"), *refunds, void()]
    for one in (*sent[:4], adjustment("a1", "0.25", "order-1"), *sent[4:]):
        assert verdict(world, one) == ["recorded"]
    story = world.read("/events/shop/order-1/story")["items"]
    assert [(one["id"], one["left_after"]) for one in story] == [
        ("order-1", "10.00"),
        *((f"r{number}", f"{9 - number}.00") for number in range(3)),
        ("a1", "7.00"),
        *((f"r{number}", f"{9 - number}.00") for number in range(3, 6)),
        ("v1", "0.00"),
    ]


def test_a_story_has_a_refund_that_moved_before_the_void_that_came_after_it() -> None:
    with faulty() as (world, faults):
        post(world, sale(amount="10.00"))
        faults.arm(FaultKind.KILL_BEFORE, 3)  # claimed, and not appended
        with suppress(Killed), faults.at_work():
            post(world, refund("r1", "-4.00"))
        assert [call.operation for call, _ in faults.struck] == ["PutItem"]
        assert verdict(world, void()) == ["recorded"]
        world.clock.advance(timedelta(hours=1))
        assert verdict(world, refund("r1", "-4.00")) == ["duplicate"]
        story = world.read("/events/shop/order-1/story")["items"]
    assert [(one["id"], one["left_after"]) for one in story] == [("order-1", "10.00"), ("r1", "6.00"), ("v1", "0.00")]
    assert story[1]["recorded_at"] > story[2]["recorded_at"]


def test_corrections_that_refer_to_each_other_are_refused_as_a_circle(world: World) -> None:
    assert verdict(world, refund("a", "-1", "b"), void("b", "a")) == ["held", "refers back to this event"]
    assert verdict(world, adjustment("c", "1", "a")) == ["is a held event, and no sale"]


def test_corrections_that_refer_to_each_other_and_are_sent_at_once_wait_with_the_reason() -> None:
    with faulty() as (world, faults):
        post(world, sale())
        faults.meanwhile(1, lambda: post(world, void("b", "a")))  # after a was looked for, before it is held
        with faults.at_work():
            post(world, refund("a", "-1", "b"))
        world.stack.invoke("watch", {})
        problems = {one["id"]: one["problems"][0]["problem"] for one in world.read("/held")["items"]}
    assert problems == {"a": "refers back to this event", "b": "refers back to this event"}


def test_the_story_of_an_event_that_no_other_refers_to_is_the_event(world: World) -> None:
    assert verdict(world, adjustment("a1", "-1")) == ["recorded"]
    story = world.read("/events/shop/a1/story")
    assert [one["id"] for one in story["items"]] == ["a1"]
    assert "left" not in story


def test_an_adjustment_of_another_accounts_sale_and_of_no_sale_is_rejected(world: World) -> None:
    assert verdict(world, sale()) == ["recorded"]
    other = adjustment("a1", "1", "order-1", agency="7")
    assert verdict(world, other, adjustment("a2", "1", "a2"), adjustment("a3", "1", "order-1")) == [
        "is a sale of another account",
        "is the event itself",
        "recorded",
    ]
    assert verdict(world, adjustment("a4", "1", "a3")) == ["is no sale, but adjustment.recorded"]


def test_an_adjustment_of_commission_alone_may_correct_a_refund_without_a_sale(world: World) -> None:
    assert verdict(world, refund("r", "-10", of=None), refund("named", "-10", of=None, commission_rate="0.1")) == [
        "recorded",
        "recorded",
    ]
    assert verdict(
        world,
        adjustment("a1", "-1", "r"),
        adjustment("a2", "-1", "r", agency="7"),
        adjustment("a3", "-1", "named"),
        sale("a4", "-1", "adjustment.recorded", refers_to="r"),
        void("v", "r"),
    ) == ["recorded", *["is no sale, but sale.refunded"] * 3, "recorded"]


def test_corrections_of_events_in_an_item_that_cannot_be_read_are_unavailable_and_lose_nothing(world: World) -> None:
    recorded = [sale(), refund("r", "-10", of=None)]
    (receipt, _) = [one["receipt"] for one in post(world, recorded).json()["items"]]
    others = [sale("order-2"), refund("r2", "-1", "order-2")]
    assert verdict(world, others[0]) == ["recorded"]
    sent = [refund("r1", "-1"), void(), adjustment("a1", "-1", "r"), others[1], sale("new")]
    table, client = world.stack.ref("LedgerTable"), world.stack.dynamodb
    key = {"quarter_hour": {"S": receipt["partition"]}, "position": {"S": receipt["position"].rpartition(".")[0]}}
    whole = client.get_item(TableName=table, Key=key)["Item"]
    client.put_item(TableName=table, Item={**whole, "count": {"N": "3"}})
    assert verdict(world, *sent) == [*["unavailable"] * 3, "recorded", "recorded"]
    assert verdict(world, *recorded, *sent) == [*["unavailable"] * 5, "duplicate", "duplicate"]
    client.put_item(TableName=table, Item=whole)
    assert verdict(world, *recorded, *sent) == [*["duplicate"] * 2, *["recorded"] * 3, *["duplicate"] * 2]


@pytest.mark.parametrize("lacking", ["source", "id", "agency", "currency", "amount", "type", "period"])
def test_a_posting_that_lacks_a_value_fails_no_request(world: World, lacking: str) -> None:
    recorded = sale(commission_rate="0.1")
    assert verdict(world, recorded) == ["recorded"]
    (posting,) = ledger(world)
    put_postings(world, {name: value for name, value in posting.items() if name != lacking})
    corrections = [refund("r1", "-1"), void(), adjustment("a1", "-1", "order-1"), rerating()]
    assert verdict(world, *corrections, sale("new")) == [*["unavailable"] * 4, "recorded"]
    put_postings(world, posting)
    assert verdict(world, recorded, *corrections[:2]) == ["duplicate", "recorded", "recorded"]
