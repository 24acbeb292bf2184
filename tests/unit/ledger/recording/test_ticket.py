"""Tickets: which event of an identity is claimed in which way, and which one is appended."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.event import Event
from quarterhour.ledger.recording.claims import Claimed
from quarterhour.ledger.recording.held_event import Held, HeldReason, Reservation
from quarterhour.ledger.recording.pricing import CommissionTerms
from quarterhour.ledger.recording.ticket import Ticket, Way, tickets_of
from quarterhour.model.errors import FieldProblem
from quarterhour.model.money import ZERO
from tests.support.builders import claim, event, rejection, rerating, void

OTHER = event(amount="99.00")
REFUND = event("order-1", "sale.refunded", amount="-1.00", refers_to="s1")
RELEASED = replace(REFUND, without_sale=True)
WHY = (FieldProblem("data.amount", "is too much", "less"),)


def ticket(*events: Event) -> Ticket:
    (found,) = tickets_of(events).values()
    return found


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2"])), max_size=8))
def test_each_identity_has_one_ticket_and_its_first_event_is_the_one_to_claim(sent: list[tuple[str, str]]) -> None:
    items = [event(id_, amount=amount) for id_, amount in sent]
    tickets = tickets_of(items)
    assert list(tickets) == list(dict.fromkeys(item.identity for item in items))
    for identity, one in tickets.items():
        assert one.choose(Way.ALONE)
        assert one.events == [item for item in items if item.identity == identity]
        assert one.event is one.events[0]


def test_what_refers_to_a_sale_is_claimed_after_what_refers_to_none() -> None:
    found = ticket(REFUND, event())
    assert (found.choose(Way.ALONE), found.event.type) == (True, "sale.recorded")
    assert (found.choose(Way.LINKED), found.event.type) == (True, "sale.refunded")
    found.put(Claimed(claim(), fresh=True))
    assert [found.choose(way) for way in Way] == [False] * 3


def test_the_next_event_is_claimed_where_the_first_is_rejected_and_none_of_the_same_content() -> None:
    found = ticket(event(), event(), OTHER)
    assert found.choose(Way.ALONE)
    found.put(rejection())
    assert found.is_rejected
    assert (found.choose(Way.ALONE), found.event) == (True, OTHER)
    found.put(rejection())
    assert not found.choose(Way.ALONE)


def test_the_terms_of_one_event_are_not_those_of_the_next() -> None:
    found = ticket(event(), REFUND)
    found.choose(Way.ALONE)
    found.terms = CommissionTerms(ZERO, "default")
    found.choose(Way.LINKED)
    assert found.terms is None


def test_an_event_that_must_wait_is_claimed_in_no_way() -> None:
    found = ticket(RELEASED)
    found.admitted = []
    found.put(Held(Reservation.of(RELEASED, HeldReason.UNKNOWN_SALE)))
    assert [found.choose(way) for way in Way] == [False] * 3


@pytest.mark.parametrize(
    ("sent", "held", "is_released"),
    [
        (RELEASED, Held(Reservation.of(REFUND, HeldReason.UNKNOWN_SALE)), True),
        (REFUND, Held(Reservation.of(REFUND, HeldReason.UNKNOWN_SALE)), False),
        (RELEASED, Held(Reservation.of(REFUND, HeldReason.UNKNOWN_SALE), WHY), False),
        (RELEASED, Held(Reservation.of(REFUND, HeldReason.UNREGISTERED_AGENCY)), False),
        (RELEASED, None, False),
        (replace(void(), without_sale=True), Held(Reservation.of(REFUND, HeldReason.UNKNOWN_SALE)), False),
        (replace(rerating(), without_sale=True), Held(Reservation.of(REFUND, HeldReason.UNKNOWN_SALE)), False),
        (replace(event(), without_sale=True), Held(Reservation.of(event(), HeldReason.UNKNOWN_SALE)), False),
    ],
    ids=["released", "not released", "refused", "waits for its agency", "not held", "void", "re-rating", "a sale"],
)
def test_a_held_event_that_an_operator_released_is_claimed_without_its_reference(
    sent: Event, held: Held | None, *, is_released: bool
) -> None:
    found = ticket(sent)
    found.choose(Way.LINKED)
    found.put(held)
    assert found.choose(Way.RELEASED) == is_released


def test_only_the_claimed_content_is_appended() -> None:
    found = ticket(event(), OTHER)
    assert not found.choose_claimed()
    found.put(Claimed(claim(OTHER), fresh=False))
    assert (found.choose_claimed(), found.event) == (True, OTHER)
    conflict = ticket(event())
    conflict.put(Claimed(claim(OTHER), fresh=False))
    assert not conflict.choose_claimed()


def test_a_rejection_is_of_its_content_while_no_other_event_of_the_identity_is_claimed_or_held() -> None:
    found = ticket(event(), OTHER)
    found.choose(Way.ALONE)
    found.put(rejection())
    assert (found.rejection_of(event()), found.rejection_of(OTHER)) == (rejection(), None)
    found.put(Held(Reservation.of(OTHER, HeldReason.UNKNOWN_SALE)))
    assert found.rejection_of(event()) is None
