"""Outcomes: the verdict of each item of a request."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.recording.claims import Claim, Claimed
from quarterhour.ledger.recording.held_event import Held, HeldReason, Reservation
from quarterhour.ledger.recording.outcomes import Outcome, Verdict, outcomes
from quarterhour.ledger.recording.ticket import Ticket, tickets_of
from quarterhour.model.errors import FieldProblem
from tests.support.builders import alone, claim, event, rejection, settings, utc

RECORDED, DUPLICATE, CONFLICT, REJECTED, UNAVAILABLE, HELD = Verdict


OTHER = event(amount="99.00")


def ticket(
    *,
    claimed: Claimed | None = None,
    held: Held | None = None,
    rejections: dict[str, Rejection] | None = None,
    recorded: Claim | None = None,
) -> Ticket:
    """Return the ticket of an identity with what has become of its events."""
    own = [event()]
    return Ticket(own[0], own, own, claimed=claimed, held=held, rejections=rejections or {}, recorded=recorded)


def answered(items: list[Event | Rejection], found: Ticket | None) -> list[Outcome]:
    """Return the outcomes of items of one identity with its ticket."""
    return outcomes(items, {event().identity: found} if found else {}, settings())


@pytest.mark.parametrize(
    ("item", "claimed", "stands", "verdict"),
    [
        (event(), Claimed(claim(), fresh=True), True, RECORDED),
        (event(), Claimed(claim(), fresh=False), True, DUPLICATE),
        (event(), Claimed(claim(OTHER), fresh=False), True, CONFLICT),
        (event(), Claimed(claim(OTHER), fresh=False), False, CONFLICT),
        (event(), Claimed(claim(), fresh=True), False, UNAVAILABLE),
        (event(), Claimed(claim(), fresh=False), False, UNAVAILABLE),
        (event(), None, False, UNAVAILABLE),
        (rejection(), None, False, REJECTED),
        (rejection(), Claimed(claim(), fresh=True), True, REJECTED),
    ],
)
def test_the_outcome_of_an_item_follows_from_its_claim_and_the_ledger(
    item: Event | Rejection,
    claimed: Claimed | None,
    stands: bool,  # noqa: FBT001 - a table's column
    verdict: Verdict,
) -> None:
    recorded = claimed.claim if claimed and stands else None
    (outcome,) = answered([item], ticket(claimed=claimed, recorded=recorded))
    assert outcome.verdict is verdict
    assert (outcome.source, outcome.id) == ("shop", "order-1")
    in_ledger = verdict in {RECORDED, DUPLICATE}
    assert (outcome.receipt is not None) == in_ledger
    assert bool(outcome.problems) != in_ledger


RESERVED = Reservation.of(event(), HeldReason.UNREGISTERED_AGENCY)


@pytest.mark.parametrize(
    ("item", "reservation", "verdict", "problem"),
    [
        (event(), RESERVED, HELD, "is no registered agency: 42"),
        (OTHER, RESERVED, CONFLICT, "was held before with other content"),
        (
            event(),
            replace(RESERVED, discarded="sent twice"),
            REJECTED,
            "was held, and discarded by an operator: sent twice",
        ),
        (OTHER, replace(RESERVED, discarded="sent twice"), CONFLICT, "was held before with other content"),
    ],
)
def test_the_outcome_of_an_event_that_is_held_follows_from_its_reservation(
    item: Event, reservation: Reservation, verdict: Verdict, problem: str
) -> None:
    refused = {item.digest: rejection()}
    (outcome,) = answered([item], ticket(held=Held(reservation), rejections=refused))
    assert (outcome.verdict, [one.problem for one in outcome.problems]) == (verdict, [problem])
    assert (outcome.reason is not None) == (verdict is HELD)
    shown = outcome.as_dict(0)
    assert shown.get("held", shown.get("errors")) == (
        {"reason": "unregistered_agency", "problems": [outcome.problems[0].as_dict()]}
        if verdict is HELD
        else [outcome.problems[0].as_dict()]
    )


def test_a_held_event_that_its_sale_does_not_allow_is_held_with_that_reason() -> None:
    why = (FieldProblem("data.amount", "is -20, more than is left of the sale", "-10 at the most"),)
    (outcome,) = answered([event()], ticket(held=Held(RESERVED, why)))
    assert (outcome.verdict, outcome.problems) == (HELD, why)


def test_the_receipt_names_the_current_position_of_the_event() -> None:
    old = claim()
    new = alone(old.moved(event(commission_rate="0.2"), utc("02:00"), settings()))
    (outcome,) = answered([event()], ticket(claimed=Claimed(old, fresh=False), recorded=new))
    assert outcome.receipt == new.receipt


@pytest.mark.parametrize(
    ("items", "fresh", "verdicts"),
    [
        ([event(), event()], True, [RECORDED, DUPLICATE]),
        ([event(), event(), event()], False, [DUPLICATE, DUPLICATE, DUPLICATE]),
        ([event(), OTHER, event()], True, [RECORDED, CONFLICT, DUPLICATE]),
        ([OTHER, event(), event()], False, [CONFLICT, DUPLICATE, DUPLICATE]),
        ([rejection(), event()], True, [REJECTED, RECORDED]),
    ],
)
def test_an_identity_that_is_twice_in_a_request_is_recorded_once(
    items: list[Event | Rejection],
    fresh: bool,  # noqa: FBT001 - a table's column
    verdicts: list[Verdict],
) -> None:
    claimed = claim()
    found = answered(items, ticket(claimed=Claimed(claimed, fresh), recorded=claimed))
    assert [outcome.verdict for outcome in found] == verdicts
    assert {str(outcome.receipt) for outcome in found if outcome.receipt} == {str(claimed.receipt)}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2"])), min_size=1, max_size=8), st.data())
def test_every_combination_of_items_and_claims_has_the_outcome_of_the_rules(
    sent: list[tuple[str, str]], draw: st.DataObject
) -> None:
    items = [event(id_, amount=amount) for id_, amount in sent]
    tickets = tickets_of(items)
    for identity, one in tickets.items():
        content = draw.draw(st.sampled_from(["1", "2", "earlier", None]))
        if content:
            content_ = event(identity.id, amount="7" if content == "earlier" else content)
            one.claimed = Claimed(claim(content_), fresh=content != "earlier" and draw.draw(st.booleans()))
            one.recorded = one.claim if draw.draw(st.booleans()) else None
    found = outcomes(items, tickets, settings())
    for item, outcome in zip(items, found, strict=True):
        one = tickets[item.identity]
        if one.claimed is None:
            assert outcome.verdict is UNAVAILABLE
        elif not one.claim.is_of(item):
            assert outcome.verdict is CONFLICT
        elif one.recorded is None:
            assert outcome.verdict is UNAVAILABLE
        else:
            assert outcome.verdict in {RECORDED, DUPLICATE}
    new = [outcome.id for outcome in found if outcome.verdict is RECORDED]
    assert len(set(new)) == len(new)
    fresh = {one.id for one, ticket in tickets.items() if ticket.recorded and ticket.claimed and ticket.claimed.fresh}
    matching = {one.id for one, ticket in tickets.items() if ticket.choose_claimed()}
    assert set(new) == fresh & matching


def test_a_conflict_does_not_reveal_the_position_of_the_other_event() -> None:
    claimed = Claimed(claim(OTHER), fresh=False)
    (outcome,) = answered([event()], ticket(claimed=claimed, recorded=claimed.claim))
    assert "receipt" not in outcome.as_dict(0)
