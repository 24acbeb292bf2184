"""Decisions about held events: who may release what, retries, and who was first."""

from dataclasses import replace
from typing import Any

import pytest

from quarterhour.ledger.held.decision_service import planned_discard, planned_release
from quarterhour.ledger.held.requests import DiscardRequest, ReleaseRequest, read_body
from quarterhour.ledger.recording.held_event import Approval, HeldDecision, HeldEvent, HeldReason, Hold, Release
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, InvalidError
from tests.support.builders import AT, event, void

NOW = iso_millis(AT)
RECORDED = replace(event("a1", "adjustment.recorded", amount="-1"), recorded_by="fay")
WAITING = HeldEvent.of(Hold.of(RECORDED, HeldReason.NEEDS_APPROVAL), AT)
APPROVED = replace(WAITING, approved=Approval("bob", NOW, "checked"))
UNREGISTERED = replace(APPROVED, reason=HeldReason.UNREGISTERED_AGENCY)
OF_SHOP = HeldEvent.of(Hold.of(event("r1", "sale.refunded", amount="-1", refers_to="s"), HeldReason.UNKNOWN_SALE), AT)
RELEASED = replace(OF_SHOP, released=Release("fay", NOW, "checked", HeldReason.UNKNOWN_SALE))
REST = "refunds the rest of a sale that nobody knows: discard it, and send a refund that names its amount"
DISCARDED = replace(WAITING, discarded=HeldDecision("fay", NOW, "a mistake"))


def release(held: HeldEvent, by: str, reason: str = "checked") -> Release | Approval | None:
    return planned_release(held, ReleaseRequest(held.event.identity, by, reason), NOW)


@pytest.mark.parametrize(
    ("held", "by", "decision"),
    [
        (WAITING, "bob", Approval("bob", NOW, "checked")),
        (APPROVED, "bob", None),
        (UNREGISTERED, "bob", None),
        (UNREGISTERED, "amy", Release("amy", NOW, "checked", HeldReason.UNREGISTERED_AGENCY)),
        (OF_SHOP, "fay", Release("fay", NOW, "checked", HeldReason.UNKNOWN_SALE)),
        (RELEASED, "fay", None),
        (
            replace(RELEASED, reason=HeldReason.CLOSED_AGENCY),
            "fay",
            Release("fay", NOW, "checked", HeldReason.CLOSED_AGENCY),
        ),
        (
            replace(OF_SHOP, event=replace(OF_SHOP.event, recorded_by="fay")),
            "fay",
            Release("fay", NOW, "checked", HeldReason.UNKNOWN_SALE),
        ),
    ],
)
def test_a_release_waives_what_the_event_waits_for_or_approves_it(
    held: HeldEvent, by: str, decision: Release | Approval | None
) -> None:
    assert release(held, by) == decision


@pytest.mark.parametrize(
    ("held", "by", "problem"),
    [
        (WAITING, "fay", "you recorded the event 'shop#a1': ask another person of finance"),
        (APPROVED, "fay", "you recorded the event 'shop#a1': ask another person of finance"),
        (UNREGISTERED, "fay", "you recorded the event 'shop#a1': ask another person of finance"),
        (APPROVED, "amy", "the event 'shop#a1' was approved before, by bob"),
        (RELEASED, "bob", "the event 'shop#r1' was released before, by fay"),
        (DISCARDED, "bob", "the event 'shop#a1' was discarded before, by fay"),
        (
            replace(OF_SHOP, event=void()),
            "bob",
            "the event 'shop#v1' says nothing without its unknown sale: discard it",
        ),
        (
            replace(OF_SHOP, event=replace(OF_SHOP.event, rest=True)),
            "bob",
            f"the event 'shop#r1' {REST}",
        ),
    ],
)
def test_a_release_that_is_not_allowed_says_why(held: HeldEvent, by: str, problem: str) -> None:
    with pytest.raises(ConflictError) as refused:
        release(held, by)
    assert str(refused.value) == problem


def test_anybody_discards_an_event_once() -> None:
    for held, by in ((WAITING, "fay"), (WAITING, "bob"), (OF_SHOP, "bob")):
        request = DiscardRequest(held.event.identity, by, "a mistake")
        assert planned_discard(held, request, NOW) == HeldDecision(by, NOW, "a mistake")
    with pytest.raises(ConflictError, match="is approved, by bob, and will be posted"):
        planned_discard(APPROVED, DiscardRequest(APPROVED.event.identity, "fay", "a mistake"), NOW)
    assert planned_discard(DISCARDED, DiscardRequest(RECORDED.identity, "fay", "a mistake"), NOW) is None
    for by, reason in (("bob", "a mistake"), ("fay", "another reason")):
        with pytest.raises(ConflictError, match="was discarded before, by fay"):
            planned_discard(DISCARDED, DiscardRequest(RECORDED.identity, by, reason), NOW)


def test_the_caller_decides_whatever_the_body_says() -> None:
    body = {"decision": "release", "reason": "checked"}
    assert read_body(body, RECORDED.identity, "bob") == ReleaseRequest(RECORDED.identity, "bob", "checked")
    assert read_body({**body, "decision": "discard"}, RECORDED.identity, "bob") == DiscardRequest(
        RECORDED.identity, "bob", "checked"
    )


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"decision", "reason"}),
        ({"decision": "hold", "reason": "x"}, {"decision"}),
        ({"decision": 1, "reason": "x"}, {"decision"}),
        ({"decision": "release", "reason": " \n"}, {"reason"}),
        ({"decision": "release", "reason": "x", "by": "amy"}, {"by"}),
    ],
)
def test_a_body_names_each_field_that_is_wrong(body: dict[str, Any], fields: set[str]) -> None:
    with pytest.raises(InvalidError) as refused:
        read_body(body, RECORDED.identity, "bob")
    assert {one.field for one in refused.value.problems} == fields
