"""Adjustments and payouts that people record wait for a second person; finance decides about held events over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour.aws.items import to_item
from quarterhour.ledger.keys import held_key
from quarterhour.model.identifiers import Identity
from quarterhour_tools.emulator.faults import Faults
from tests.handlers.desk import send
from tests.handlers.test_held import in_ledger, listed, register, watch
from tests.handlers.test_releases import EVENTS, as_person
from tests.support.events import adjustment, payment, refund, sale
from tests.support.requests import post, verdicts
from tests.support.system import World, faulty, opened
from tests.support.tables import items, ledger, redeploy

TWO: dict[str, str | int] = {"approvals": 2, "JwtRoleClaim": "role"}
DECIDE = "PUT /held/{source}/{event}"


@pytest.fixture
def two() -> Iterator[World]:
    """A system on which two people must agree."""
    with opened(TWO) as world:
        yield world


def record(world: World, sent: dict[str, Any], sub: str = "fay") -> dict[str, Any]:
    """Record an event as a person of finance; return its outcome."""
    _, answer = as_person(world, EVENTS, "/events", {**sent, "source": "finance"}, sub, role="finance")
    outcome: dict[str, Any] = answer["items"][0]
    return outcome


def decide(
    world: World, sub: str, decision: str, event: str = "finance/a1", *, reason: str = "checked"
) -> tuple[int, dict[str, Any]]:
    """Decide about a held event as a person of finance; return the status and the body of the response."""
    body = {"decision": decision, "reason": reason}
    status, found = as_person(world, DECIDE, f"/held/{event}", body, sub, role="finance")
    return status, found


def operator(world: World, action: str, by: str, id_: str = "a1") -> Any:
    event = {"action": action, "source": "finance", "id": id_, "by": by, "reason": "checked"}
    return world.stack.invoke("repair", event)


# ---------------------------------------------------------------- what is held


@pytest.mark.parametrize(
    ("sent", "field"),
    [(adjustment("a1", "-2.50"), "type"), (adjustment("a1", "2.50"), "type"), (payment("a1", "-25.00"), "data.amount")],
)
def test_an_adjustment_or_a_payout_of_a_person_is_held_until_a_second_one_approves_it(
    two: World, sent: dict[str, Any], field: str
) -> None:
    outcome = record(two, sent)
    assert (outcome["verdict"], outcome["held"]["reason"]) == ("held", "needs_approval")
    (problem,) = outcome["held"]["problems"]
    assert (problem["field"], "another person of finance" in problem["expected"]) == (field, True)
    assert watch(two) == {"posted": 0, "left": 1, "complete": True}
    (one,) = two.read("/held", reason="needs_approval")["items"]
    assert (one["event"]["recorded_by"], one["problems"]) == ("fay", [problem])

    status, found = decide(two, "bob", "release")
    at = two.clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert (status, found["approved"]) == (200, {"by": "bob", "at": at, "reason": "checked"})
    assert watch(two)["posted"] == 1
    shown = two.read("/events/finance/a1")
    assert (shown["recorded_by"], shown["approved_by"], listed(two)) == ("fay", "bob", [])
    assert record(two, sent)["verdict"] == "duplicate"


def test_a_payment_that_came_in_needs_nobody_else(two: World) -> None:
    assert record(two, payment("p1", "25.00"))["verdict"] == "recorded"


def test_what_a_machine_records_needs_no_approval(two: World) -> None:
    assert verdicts(post(two, [adjustment("a1", "-2.50"), payment("p1", "-25.00")])) == ["recorded", "recorded"]


def test_where_one_person_is_enough_an_adjustment_is_recorded_at_once() -> None:
    with opened({"JwtRoleClaim": "role"}) as world:
        for sent in (adjustment("a1", "-2.50"), payment("p1", "-25.00")):
            assert record(world, sent)["verdict"] == "recorded"
        assert "approved_by" not in world.read("/events/finance/a1")


def test_what_is_held_still_needs_its_approval_after_the_parameter_has_changed(two: World) -> None:
    record(two, adjustment("a1", "-2.50"))
    two.change_settings(approvals=1)
    assert watch(two)["posted"] == 0
    assert record(two, adjustment("a1", "-2.50"))["verdict"] == "recorded", "sent again, one person is enough"


def test_a_second_person_who_records_the_same_does_not_approve_it(two: World) -> None:
    record(two, adjustment("a1", "-2.50"))
    assert record(two, adjustment("a1", "-2.50"), "bob")["held"]["reason"] == "needs_approval"
    assert record(two, adjustment("a1", "-9.00"), "bob")["verdict"] == "conflict"
    assert watch(two)["posted"] == 0
    assert two.read("/held")["items"][0]["event"]["recorded_by"] == "fay"


# ---------------------------------------------------------------- who decides


def test_nobody_approves_what_they_have_recorded(two: World) -> None:
    record(two, adjustment("a1", "-2.50"))
    before = items(two, "EntityTable")
    status, found = decide(two, "fay", "release")
    assert (status, found["detail"]) == (409, "you recorded the event 'finance#a1': ask another person of finance")
    with pytest.raises(Exception, match="you recorded the event 'finance#a1'"):
        operator(two, "release", "fay")
    assert items(two, "EntityTable") == before
    assert operator(two, "release", "olga") == {"released": "finance#a1"}
    assert (watch(two)["posted"], two.read("/events/finance/a1")["approved_by"]) == (1, "olga")


@pytest.mark.parametrize("by", ["fay", "bob"])
def test_anybody_of_finance_discards_it_and_nobody_approves_it_afterwards(two: World, by: str) -> None:
    record(two, adjustment("a1", "-2.50"))
    for _ in range(2):
        status, found = decide(two, by, "discard", reason="a mistake")
        assert (status, found["status"], found["discarded"]["by"]) == (200, "discarded", by)
    status, found = decide(two, "bob", "release")
    assert (status, found["detail"]) == (409, f"the event 'finance#a1' was discarded before, by {by}")
    assert watch(two) == {"posted": 0, "left": 0, "complete": True}
    outcome = record(two, adjustment("a1", "-2.50"))
    assert (outcome["verdict"], "a mistake" in outcome["errors"][0]["problem"]) == ("rejected", True)


def test_an_approved_event_is_posted_and_nobody_discards_it_before(two: World) -> None:
    record(two, adjustment("a1", "-2.50"))
    assert decide(two, "bob", "release")[0] == 200
    status, found = decide(two, "fay", "discard")
    assert (status, found["detail"]) == (409, "the event 'finance#a1' is approved, by bob, and will be posted")
    assert watch(two)["posted"] == 1


def test_a_machine_that_sends_the_same_does_not_go_round_the_approval_and_the_ledger_keeps_both_names(
    two: World,
) -> None:
    record(two, adjustment("a1", "-2.50"))
    same = {**adjustment("a1", "-2.50"), "source": "finance"}
    for _ in range(2):
        assert verdicts(post(two, same)) == ["held"]
        assert verdicts(post(two, [same, payment("p1", "-25.00")]))[0] == "held"
    assert decide(two, "bob", "release")[0] == 200
    assert verdicts(post(two, same)) == ["held"], "it is posted by the watch"
    assert watch(two)["posted"] == 1
    event = two.read("/events/finance/a1")
    assert (event["recorded_by"], event["approved_by"]) == ("fay", "bob")


def test_a_decision_sent_again_changes_nothing_and_another_one_conflicts(two: World) -> None:
    record(two, adjustment("a1", "-2.50"))
    first = decide(two, "bob", "release")
    two.pass_time(minutes=1)
    assert decide(two, "bob", "release") == first
    status, found = decide(two, "amy", "release")
    assert (status, found["detail"]) == (409, "the event 'finance#a1' was approved before, by bob")
    assert decide(two, "bob", "release", reason="checked again")[0] == 409
    assert watch(two)["posted"] == 1
    assert decide(two, "bob", "release")[0] == 404, "it is posted"


@contextmanager
def two_deciding() -> Iterator[tuple[World, Faults]]:
    """Open a system on which two people must agree, whose calls can meet what another one does."""
    with faulty() as (world, faults):
        world.change_settings(approvals=2)
        for function in ("ingest", "write", "read"):
            redeploy(world, function, ROLE_CLAIM="role")
        yield world, faults


@pytest.mark.parametrize("other", ["release", "discard"])
def test_of_two_people_at_once_one_decides(other: str) -> None:
    with two_deciding() as (world, faults):
        record(world, adjustment("a1", "-2.50"))
        faults.meanwhile(1, lambda: decide(world, "amy", other))
        with faults.at_work():
            status, found = decide(world, "bob", "release")
        assert (status, "in the meantime" in found["detail"]) == (409, True)
        assert watch(world)["posted"] == (1 if other == "release" else 0)
        if other == "release":
            assert world.read("/events/finance/a1")["approved_by"] == "amy"


@pytest.mark.parametrize("role", ["agency", "support", "auditor"])
def test_only_finance_decides(two: World, role: str) -> None:
    record(two, adjustment("a1", "-2.50"))
    claims = {"agency": "42"} if role == "agency" else {}
    body = {"decision": "release", "reason": "checked"}
    status, found = as_person(two, DECIDE, "/held/finance/a1", body, "ann", role=role, **claims)
    assert (status, found["detail"]) == (403, "your role is not enough: this takes finance")
    assert watch(two)["posted"] == 0


def test_an_agency_does_not_see_what_is_not_approved_nor_who_approved_it(two: World) -> None:
    record(two, adjustment("a1", "-2.50"))
    record(two, adjustment("a2", "-1.50"))
    post(two, refund("r1", "-1", of="none"))
    decide(two, "fay", "discard", "finance/a2")

    def held(query: str = "") -> list[str]:
        status, found = as_person(two, "GET /held", f"/held?{query}", role="agency", agency="42")
        assert status == 200
        return [one["id"] for one in found["items"]]

    assert [held(), held("reason=needs_approval"), held("status=discarded")] == [["r1"], [], []]
    decide(two, "bob", "release")
    watch(two)
    route = "GET /events/{source}/{event}"
    status, found = as_person(two, route, "/events/finance/a1", role="agency", agency="42")
    assert (status, found["commission"]) == (200, "-2.50")
    assert not {"fay", "bob"} & set(found.values())


# ---------------------------------------------------------------- what it still waits for


def test_an_approved_event_still_waits_for_its_agency_and_needs_no_second_approval() -> None:
    with opened({**TWO, "agency_policy": "registered"}) as world:
        record(world, adjustment("a1", "-2.50"))
        assert listed(world, reason="needs_approval") == ["a1"]
        assert decide(world, "bob", "release")[0] == 200
        assert watch(world)["posted"] == 0
        (one,) = world.read("/held", reason="unregistered_agency")["items"]
        assert one["approved"]["by"] == "bob"
        assert record(world, adjustment("a1", "-2.50"))["held"]["reason"] == "unregistered_agency"
        assert decide(world, "bob", "release")[1]["reason"] == "unregistered_agency", "a retry waives nothing"
        assert watch(world)["posted"] == 0
        register(world, "42")
        assert watch(world)["posted"] == 1
        assert world.read("/events/finance/a1")["approved_by"] == "bob"


def test_who_recorded_an_event_that_is_approved_does_not_waive_what_it_waits_for() -> None:
    with opened({**TWO, "agency_policy": "registered"}) as world:
        record(world, adjustment("a1", "-2.50"))
        decide(world, "bob", "release")
        watch(world)
        assert decide(world, "fay", "release")[0] == 409
        status, found = decide(world, "bob", "release", reason="it registers tomorrow")
        assert (status, found["released"]["waived"], found["approved"]["by"]) == (200, "unregistered_agency", "bob")
        assert (watch(world)["posted"], in_ledger(world)) == (1, {"a1": ""})


def test_an_approved_adjustment_of_an_unknown_sale_waits_for_it(two: World) -> None:
    record(two, adjustment("a1", "-0.50", "order-1", refers_to_source="shop"))
    decide(two, "bob", "release")
    assert (watch(two)["posted"], listed(two, reason="unknown_sale")) == (0, ["a1"])
    post(two, sale(commission_rate="0.1"))
    assert watch(two)["posted"] == 1
    shown = two.read("/events/finance/a1")
    assert (in_ledger(two), shown["approved_by"]) == ({"order-1": "", "a1": "order-1"}, "bob")


def test_an_adjustment_of_a_closed_agency_is_posted_once_it_is_approved(two: World) -> None:
    content = {"legal_name": "Nord & Sons", "status": "closed"}
    assert send(two, "PUT", "/agencies/42", {"seen": 0, "content": content}).status == 201
    assert record(two, payment("a1", "-25.00"))["held"]["reason"] == "needs_approval"
    decide(two, "bob", "release")
    assert (watch(two)["posted"], in_ledger(two)) == (1, {"a1": ""})


@pytest.mark.parametrize("approved", [True, False])
def test_an_item_that_is_left_over_is_deleted_and_posts_nothing_again(two: World, *, approved: bool) -> None:
    record(two, adjustment("a1", "-2.50"))
    if approved:
        decide(two, "bob", "release")
    table = two.stack.ref("EntityTable")
    item = two.stack.dynamodb.get_item(TableName=table, Key=to_item(held_key(Identity("finance", "a1"))))["Item"]
    if approved:
        watch(two)
    else:
        two.change_settings(approvals=1)
        record(two, adjustment("a1", "-2.50"))
    two.stack.dynamodb.put_item(TableName=table, Item=item)
    assert watch(two) == {"posted": 1, "left": 0, "complete": True}
    assert (in_ledger(two), listed(two), len(ledger(two))) == ({"a1": ""}, [], 1)


# ---------------------------------------------------------------- events of shops


def test_finance_releases_and_discards_held_events_of_shops(two: World) -> None:
    name = "https://shop.example/50%"
    for id_ in ("r 1", "r2"):
        post(two, refund(id_, "-2", of="none") | {"source": name})

    def path(id_: str) -> str:
        return f"/held/{quote(quote(name, safe=''), safe='')}/{quote(quote(id_, safe=''), safe='')}"

    answer = send(two, "PUT", path("r 1"), {"decision": "release", "reason": "the sale is in the old system"})
    assert (answer.status, answer.json()["released"]["waived"]) == (200, "unknown_sale")
    answer = send(two, "PUT", path("r2"), {"decision": "discard", "reason": "sent by a test"})
    assert (answer.status, answer.json()["status"]) == (200, "discarded")
    assert (watch(two)["posted"], in_ledger(two)) == (1, {"r 1": ""})


def test_a_release_by_another_person_after_the_first_conflicts(two: World) -> None:
    post(two, refund("r1", "-2", of="none"))
    assert decide(two, "fay", "release", "shop/r1")[0] == 200
    assert decide(two, "fay", "release", "shop/r1")[0] == 200
    status, found = decide(two, "bob", "release", "shop/r1")
    assert (status, found["detail"]) == (409, "the event 'shop#r1' was released before, by fay")


def test_a_decision_about_an_event_that_is_not_held_is_not_found(two: World) -> None:
    post(two, sale())
    answer = send(two, "PUT", "/held/shop/order-1", {"decision": "discard", "reason": "sent by a test"})
    assert (answer.status, answer.json()["detail"]) == (404, "no event 'shop#order-1' is held")
