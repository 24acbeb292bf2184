"""Held events: listed, posted by the watch, released or discarded by an operator."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from quarterhour.model import clock
from quarterhour.model.periods import Calendar, Period
from quarterhour_tools.emulator.faults import FaultKind, Faults, Killed
from tests.handlers.desk import billed, paid, send
from tests.support.events import adjustment, payment, refund, sale, view, void
from tests.support.orders import item
from tests.support.requests import post, verdicts
from tests.support.system import World, faulty, opened
from tests.support.tables import items, ledger

BY = {"by": "ann", "reason": "sent by a test"}


def watch(world: World) -> dict[str, Any]:
    """Let the watch tick; return what it did with held events."""
    result: dict[str, Any] = world.stack.invoke("watch", {})["held"]
    return result


def decide(world: World, action: str, id_: str, source: str = "shop") -> Any:
    return world.stack.invoke("repair", {"action": action, "source": source, "id": id_, **BY})


def listed(world: World, **query: str) -> list[str]:
    return [one["id"] for one in world.read("/held", **query)["items"]]


def in_ledger(world: World) -> dict[str, str]:
    return {one["id"]: one.get("refers_to", "") for one in ledger(world)}


def test_the_watch_posts_a_refund_once_its_sale_is_recorded(world: World) -> None:
    post(world, refund("r1", "-2"))
    assert watch(world) == {"posted": 0, "left": 1, "complete": True}
    post(world, sale())
    assert watch(world) == {"posted": 1, "left": 0, "complete": True}
    assert in_ledger(world) == {"order-1": "", "r1": "order-1"}
    assert (watch(world)["left"], listed(world)) == (0, [])
    assert verdicts(post(world, refund("r1", "-2"))) == ["duplicate"]


@pytest.mark.parametrize("discarded", [False, True])
def test_an_event_that_is_held_or_discarded_is_no_recorded_event(world: World, *, discarded: bool) -> None:
    post(world, refund("r1", "-2"))
    if discarded:
        decide(world, "discard", "r1")
    for path in ("/events/shop/r1", "/events/shop/r1/story", "/events/shop/r1/explain"):
        assert world.missing(path)
    message = {"id": "m-1", "user": "ann", "text": "Where is it?"}
    assert send(world, "POST", "/threads/lines/shop%23r1/messages", message).status == 404


def test_the_item_of_a_held_event_is_deleted_once() -> None:
    with faulty() as (world, faults):
        post(world, refund("r1", "-2"))
        post(world, sale())
        with faults.at_work():
            assert watch(world)["posted"] == 1
        assert [call.operation for call in faults.calls].count("DeleteItem") == 1


def test_names_of_any_length_are_held_posted_and_found_in_the_story(world: World) -> None:
    long = "😀" * 200
    late = refund(long, "-2") | {"source": long}
    late["data"] |= {"refers_to_source": "shop"}
    post(world, late)
    assert (verdicts(post(world, sale())), watch(world)["posted"]) == (["recorded"], 1)
    story = world.read("/events/shop/order-1/story")
    assert [one["id"] for one in story["items"]] == ["order-1", long]


def test_a_held_event_that_fails_does_not_stop_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    post(world, [refund("r1", "-2"), refund("r2", "-3")])
    post(world, sale())
    plain = Calendar.period_of

    def period_of(self: Calendar, at: datetime | None, recorded_at: datetime) -> tuple[Period, bool]:
        if at == world.clock.now():
            raise OverflowError
        return plain(self, at, recorded_at)

    broken = refund("r0", "-1", of="order-2") | {"time": world.clock.now().isoformat()}
    post(world, broken)
    post(world, sale("order-2"))
    monkeypatch.setattr(Calendar, "period_of", period_of)
    assert watch(world)["posted"] == 2
    assert listed(world) == ["r0"]


def test_a_held_event_is_listed_with_its_reason_and_content(world: World) -> None:
    post(world, refund("r1", "-2"))
    (one,) = world.read("/held")["items"]
    assert (one["source"], one["id"], one["status"], one["reason"]) == ("shop", "r1", "held", "unknown_sale")
    assert one["held_at"] == "2026-10-23T01:30:00.000Z"
    assert [problem["field"] for problem in one["problems"]] == ["data.refers_to"]
    assert (
        one["event"].items()
        >= {"type": "sale.refunded", "agency": "42", "amount": "-2", "refers_to": "order-1"}.items()
    )


def test_held_events_are_listed_by_age_agency_and_reason_page_by_page(world: World) -> None:
    for number in range(7):
        post(world, refund(f"r{number}", "-1", of="none", agency=str(number % 2)))
        world.clock.advance(timedelta(minutes=1))
    assert listed(world) == [f"r{number}" for number in range(7)]
    assert listed(world, agency="1") == ["r1", "r3", "r5"]
    assert listed(world, reason="unregistered_agency") == []
    assert listed(world, before="2026-10-23T01:32:00Z") == ["r0", "r1"]
    for query in ({}, {"agency": "0"}):
        page = world.read("/held", limit="2", **query)
        pages = list(page["items"])
        while page["next"]:
            page = world.read("/held", limit="2", next=page["next"], **query)
            pages += page["items"]
        assert [one["id"] for one in pages] == listed(world, **query)


def test_a_refund_of_a_sale_that_is_forgotten_is_held_with_a_text_that_says_so() -> None:
    with opened({"DedupRetentionDays": 30}) as world:
        (item,) = post(world, refund("r1", "-2")).json()["items"]
        (problem,) = item["held"]["problems"]
        assert "of more than 30 days ago, which is forgotten" in problem["problem"]
        assert "an adjustment without refers_to" in problem["expected"]
        assert watch(world)["posted"] == 0
        assert [one["problems"] for one in world.read("/held")["items"]] == [[problem]]
        decide(world, "release", "r1")
        assert watch(world)["posted"] == 1


def test_a_refund_of_more_than_its_sale_stays_listed_with_the_reason(world: World) -> None:
    post(world, refund("r1", "-99"))
    post(world, sale())
    for _ in range(2):
        assert watch(world) == {"posted": 0, "left": 1, "complete": True}
    (one,) = world.read("/held")["items"]
    assert [problem["field"] for problem in one["problems"]] == ["data.amount"]
    assert in_ledger(world) == {"order-1": ""}


def test_old_events_that_wait_for_ever_do_not_keep_newer_ones_from_being_posted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        post(world, refund(f"old-{number}", "-1", of="none"))
        world.clock.advance(timedelta(seconds=1))
    post(world, refund("r1", "-2"))
    post(world, sale())
    watch(world)
    post(world, refund("r2", "-2", of="later"))
    post(world, sale("later"))
    monkeypatch.setattr("quarterhour.ledger.held.service.AT_ONCE", 2)
    monkeypatch.setattr("quarterhour.ledger.held.service.MOST", 2)
    assert sum(watch(world)["posted"] for _ in range(4)) == 1
    assert in_ledger(world)["r2"] == "later"
    assert listed(world) == [f"old-{number}" for number in range(5)]


def test_a_released_refund_is_posted_without_its_sale(world: World) -> None:
    post(world, refund("r1", "-2"))
    assert decide(world, "release", "r1") == {"released": "shop#r1"}
    assert world.read("/held")["items"][0]["released"]["by"] == "ann"
    assert watch(world)["posted"] == 1
    assert in_ledger(world) == {"r1": ""}
    assert verdicts(post(world, refund("r1", "-2"))) == ["duplicate"]
    assert verdicts(post(world, sale())) == ["recorded"]
    assert listed(world) == []


def test_a_discarded_event_is_never_posted_and_rejected_with_the_reason(world: World) -> None:
    post(world, refund("r1", "-2"))
    for _ in range(2):
        assert decide(world, "discard", "r1") == {"discarded": "shop#r1"}
    post(world, sale())
    assert watch(world) == {"posted": 0, "left": 0, "complete": True}
    (item,) = post(world, refund("r1", "-2")).json()["items"]
    assert item["verdict"] == "rejected"
    assert "sent by a test" in item["errors"][0]["problem"]
    assert verdicts(post(world, refund("r1", "-3"))) == ["conflict"]
    assert in_ledger(world) == {"order-1": ""}
    assert listed(world) == []
    (one,) = world.read("/held", status="discarded")["items"]
    assert one["discarded"] == {**BY, "at": "2026-10-23T01:30:00.000Z"}


@pytest.mark.parametrize("action", ["release", "discard"])
def test_only_a_held_event_can_be_decided_about(world: World, action: str) -> None:
    post(world, [sale(), refund("r1", "-2")])
    with pytest.raises(Exception, match="no event 'shop#r1' is held"):
        decide(world, action, "r1")
    assert in_ledger(world) == {"order-1": "", "r1": "order-1"}


def test_a_discarded_event_cannot_be_released(world: World) -> None:
    post(world, refund("r1", "-2"))
    decide(world, "discard", "r1")
    with pytest.raises(Exception, match="was discarded before, by ann"):
        decide(world, "release", "r1")


@pytest.mark.parametrize("field", ["source", "id", "by", "reason"])
def test_a_decision_names_the_event_the_operator_and_the_reason(world: World, field: str) -> None:
    event = {"action": "discard", "source": "shop", "id": "r1", **BY}
    with pytest.raises(Exception, match=f"{field} is missing"):
        world.stack.invoke("repair", {name: value for name, value in event.items() if name != field})


def test_an_event_is_posted_or_discarded_and_never_both() -> None:
    with faulty() as (world, faults):
        for point in range(12):
            post(world, refund(f"r{point}", "-0.01"))
            if point == 0:
                post(world, sale())
            faults.meanwhile(point, lambda point=point: decide_if_held(world, f"r{point}"))  # type: ignore[misc]
            with faults.at_work():
                watch(world)
            faults.disarm()
            watch(world)
        discarded = {one["id"] for one in world.read("/held", status="discarded")["items"]}
        posted = in_ledger(world).keys() - {"order-1"}
        assert not discarded & posted
        assert discarded | posted == {f"r{point}" for point in range(12)}
        assert (bool(discarded), bool(posted)) == (True, True)


def decide_if_held(world: World, id_: str, action: str = "discard") -> None:
    # Where the watch was first, the operator gets an error.
    with suppress(Exception):
        decide(world, action, id_)


@pytest.mark.slow
def test_a_tick_that_dies_anywhere_loses_and_doubles_nothing() -> None:
    with faulty() as (world, faults):
        for point in range(20):
            for kind in (FaultKind.KILL_BEFORE, FaultKind.KILL_AFTER):
                id_ = f"r{point}-{kind.value}"
                post(world, refund(id_, "-1", of=f"sale-{id_}"))
                post(world, sale(f"sale-{id_}", "5"))
                faults.arm(kind, point)
                try:
                    with faults.at_work():
                        watch(world)
                except Killed:
                    world.stack.cold_start("watch")
                faults.disarm()
                watch(world)
                assert in_ledger(world)[id_] == f"sale-{id_}"
                assert listed(world) == []
        assert len(ledger(world)) == len(in_ledger(world))
        assert [one for one in items(world, "EntityTable") if one["pk"].startswith("HELD#")] == []


def test_an_item_that_cannot_be_read_is_named_by_its_place_and_does_not_stop_the_others(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    post(world, refund("r1", "-2"))
    world.clock.advance(timedelta(days=2))
    post(world, refund("r2", "-3"))
    (item,) = (one for one in items(world, "EntityTable") if one["pk"] == "HELD#shop#r1")
    world.stack.dynamodb.update_item(
        TableName=world.stack.ref("EntityTable"),
        Key={name: {"S": item[name]} for name in ("pk", "sk")},
        UpdateExpression="REMOVE digest, held_at, reason",
    )
    place = f"{item['gsi1pk']} {item['gsi1sk']}"
    assert world.get("/held").status == 500
    assert f"HeldItemError: the item {place} " in "".join(capsys.readouterr())
    assert listed(world, reason="unknown_sale") == ["r2"]
    post(world, sale())
    assert watch(world)["posted"] == 1


# ---------------------------------------------------------------- agencies that are not registered


@pytest.fixture
def strict() -> Iterator[World]:
    """The system with the policy that agencies must be registered."""
    with opened({"agency_policy": "registered"}) as world:
        yield world


def register(world: World, agency: str) -> None:
    answer = send(world, "PUT", f"/agencies/{agency}", {"seen": 0, "content": {"legal_name": "Nord & Sons"}})
    assert answer.status == 201, answer.body


def test_events_of_an_agency_that_is_not_registered_are_held_until_it_is(strict: World) -> None:
    register(strict, "7")
    events = [sale(commission_rate="0.1"), refund("r1", "-2"), sale("other", agency="7"), view("v", "/index", "bob")]
    response = post(strict, events)
    assert verdicts(response) == ["held", "held", "recorded", "recorded"]
    assert {item["held"]["reason"] for item in response.json()["items"][:2]} == {"unregistered_agency"}
    assert listed(strict, reason="unregistered_agency") == listed(strict, agency="42")
    assert watch(strict)["posted"] == 0
    register(strict, "42")
    assert watch(strict) == {"posted": 2, "left": 0, "complete": True}
    assert in_ledger(strict) == {"order-1": "", "r1": "order-1", "other": "", "v": ""}


def test_a_held_sale_that_is_sent_again_is_recorded_once_its_agency_is_registered(strict: World) -> None:
    assert [verdicts(post(strict, sale())), verdicts(post(strict, sale()))] == [["held"], ["held"]]
    assert verdicts(post(strict, sale(amount="9"))) == ["conflict"]
    register(strict, "42")
    assert [verdicts(post(strict, sale())), verdicts(post(strict, sale()))] == [["recorded"], ["duplicate"]]
    assert listed(strict) == []


def test_a_released_sale_is_posted_though_its_agency_is_not_registered(strict: World) -> None:
    post(strict, sale())
    decide(strict, "release", "order-1")
    assert watch(strict)["posted"] == 1
    assert in_ledger(strict) == {"order-1": ""}
    assert verdicts(post(strict, sale())) == ["duplicate"]


def reserved(world: World) -> dict[str, str]:
    """Return what each held event waits for, as the reservations of their identities say."""
    return {one["event"]: one["held"] for one in items(world, "IdentityTable") if "held" in one}


def test_a_refund_of_a_registered_agency_is_listed_with_the_sale_that_it_waits_for(strict: World) -> None:
    post(strict, refund("r1", "-2"))
    assert [watch(strict)["posted"], listed(strict, reason="unregistered_agency")] == [0, ["r1"]]
    register(strict, "42")
    (item,) = post(strict, refund("r1", "-2")).json()["items"]
    assert item["held"]["reason"] == "unknown_sale"
    assert watch(strict)["posted"] == 0
    (one,) = strict.read("/held", reason="unknown_sale")["items"]
    assert [problem["field"] for problem in one["problems"]] == ["data.refers_to"]
    assert (listed(strict, reason="unregistered_agency"), reserved(strict)) == ([], {"shop#r1": "unknown_sale"})
    post(strict, sale(commission_rate="0.1"))
    assert (watch(strict)["posted"], in_ledger(strict)) == (1, {"order-1": "", "r1": "order-1"})


def test_a_refund_of_an_unknown_sale_waits_for_its_agency_under_a_stricter_policy(world: World) -> None:
    post(world, refund("r1", "-2"))
    world.change_settings(agency_policy="registered")
    assert watch(world)["posted"] == 0
    assert listed(world, reason="unregistered_agency") == ["r1"]
    assert reserved(world) == {"shop#r1": "unregistered_agency"}


def test_a_refund_that_is_released_from_its_agency_still_waits_for_its_sale(strict: World) -> None:
    post(strict, [refund("r1", "-2"), void()])
    for id_ in ("r1", "v1"):
        decide(strict, "release", id_)
    assert watch(strict)["posted"] == 0
    assert sorted(listed(strict, reason="unknown_sale")) == ["r1", "v1"]
    assert {one["released"]["waived"] for one in strict.read("/held")["items"]} == {"unregistered_agency"}
    decide(strict, "release", "r1")
    with pytest.raises(Exception, match="says nothing without its unknown sale"):
        decide(strict, "release", "v1")
    assert (watch(strict)["posted"], in_ledger(strict)) == (1, {"r1": ""})


@pytest.fixture
def strict_faulty() -> Iterator[tuple[World, Faults]]:
    """The system with faults at hand, and the policy that agencies must be registered."""
    with faulty() as (world, faults):
        world.change_settings(agency_policy="registered")
        yield world, faults


def test_a_release_is_refused_if_the_event_waits_for_its_sale_by_then(strict_faulty: tuple[World, Faults]) -> None:
    world, faults = strict_faulty
    post(world, void())
    register(world, "42")

    def tick() -> None:
        watch(world)

    faults.meanwhile(1, tick)
    with faults.at_work(), pytest.raises(Exception, match="waits for something else"):
        decide(world, "release", "v1")
    assert reserved(world) == {"shop#v1": "unknown_sale"}
    assert ["released" in one for one in world.read("/held")["items"]] == [False]


@pytest.mark.parametrize("action", ["release", "discard"])
def test_a_decision_at_any_call_that_changes_the_reason_is_kept_and_posts_no_void(
    strict_faulty: tuple[World, Faults], action: str
) -> None:
    world, faults = strict_faulty
    decided = []
    for point in range(12, 18):
        post(world, void(f"v{point}", agency=str(point)))
        register(world, str(point))
        faults.meanwhile(point, lambda point=point: decide_if_held(world, f"v{point}", action))  # type: ignore[misc]
        with faults.at_work():
            watch(world)
        faults.disarm()
        watch(world)
        status, mark = ("discarded", "discarded") if action == "discard" else ("held", "released")
        for one in world.read("/held", status=status, agency=str(point))["items"]:
            decided += [one["id"]] if mark in one else []
            assert reserved(world)[f"shop#v{point}"] == one["reason"]
            decide_if_held(world, f"v{point}")
    assert in_ledger(world) == {}
    assert decided


def test_an_event_recorded_before_the_policy_is_a_duplicate(world: World) -> None:
    post(world, sale())
    world.change_settings(agency_policy="registered")
    assert verdicts(post(world, [sale(), sale("order-2"), sale(amount="9")])) == ["duplicate", "held", "conflict"]
    world.change_settings(agency_policy="open")
    assert verdicts(post(world, sale("order-2"))) == ["recorded"]


# ---------------------------------------------------------------- agencies that are closed


def write_status(world: World, seen: int, status: str, **more: str) -> None:
    content = {"legal_name": "Nord & Sons", "status": status, **more}
    assert send(world, "PUT", "/agencies/42", {"seen": seen, "content": content}).status in {200, 201}
    world.pass_time(minutes=2)  # a function takes an agency as active for a minute


def test_sales_of_a_closed_agency_are_held_until_it_is_active_again(world: World) -> None:
    write_status(world, 0, "active")
    assert verdicts(post(world, sale("early", "10", commission_rate="0.1"))) == ["recorded"]
    write_status(world, 1, "closed")
    response = post(world, [sale(), refund("r1", "-2", of="early"), refund("r2", "-2"), sale("other", agency="7")])
    assert verdicts(response) == ["held", "recorded", "held", "recorded"]
    held = response.json()["items"][0]["held"]
    assert (held["reason"], held["problems"][0]["problem"]) == ("closed_agency", "is a closed agency: 42")
    assert (listed(world, reason="closed_agency"), listed(world, reason="unknown_sale")) == (["order-1"], ["r2"])
    assert watch(world)["posted"] == 0
    assert verdicts(post(world, [sale(), sale(amount="9"), sale("early", "10", commission_rate="0.1")])) == [
        *("held", "conflict", "duplicate")
    ]
    write_status(world, 2, "active")
    assert watch(world) == {"posted": 2, "left": 0, "complete": True}
    assert in_ledger(world) == {"early": "", "r1": "early", "other": "", "order-1": "", "r2": "order-1"}


def test_payments_adjustments_and_voids_of_a_closed_agency_are_recorded(world: World) -> None:
    post(world, sale())
    write_status(world, 0, "closed")
    assert verdicts(post(world, [payment(), adjustment("a1", "-1"), void()])) == ["recorded"] * 3


def test_an_agency_is_closed_from_the_instant_of_its_version(world: World) -> None:
    write_status(world, 0, "active")
    later = (clock.now() + timedelta(hours=1)).isoformat()
    write_status(world, 1, "closed", valid_from=later)
    assert verdicts(post(world, sale("before"))) == ["recorded"]
    world.pass_time(minutes=60)
    assert verdicts(post(world, sale("after"))) == ["held"]
    write_status(world, 2, "active", valid_from=(clock.now() + timedelta(days=1)).isoformat())
    assert verdicts(post(world, sale("between"))) == ["held"]


def test_a_released_sale_of_a_closed_agency_is_posted(world: World) -> None:
    write_status(world, 0, "closed")
    post(world, sale())
    decide(world, "release", "order-1")
    assert (watch(world)["posted"], in_ledger(world)) == (1, {"order-1": ""})


def test_a_paid_order_of_a_closed_agency_waits_with_its_sales(world: World) -> None:
    write_status(world, 0, "closed")
    paid(world, "1001", item(agency="42"))
    world.pass_time(minutes=1)
    assert (billed(world), len(listed(world, reason="closed_agency"))) == ({}, 1)
    write_status(world, 1, "active")
    assert (watch(world)["posted"], len(billed(world))) == (1, 1)
