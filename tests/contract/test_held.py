"""What held events wait for, and operators' decisions about them, under conditions."""

from dataclasses import replace

import pytest

from quarterhour.ledger.events.event import Event
from quarterhour.ledger.recording.held_event import (
    Approval,
    HeldDecision,
    HeldEvent,
    HeldReason,
    Hold,
    Release,
    Reservation,
)
from quarterhour.model.errors import FieldProblem
from quarterhour.model.identifiers import Identity
from tests.contract.metered import Record, cost, metered
from tests.contract.storage import Storage
from tests.support.builders import event

AGENCY, SALE = HeldReason.UNREGISTERED_AGENCY, HeldReason.UNKNOWN_SALE
WHY = FieldProblem("data.amount", "is -2, more than is left of the sale", "-1 at the most")
DECISION = HeldDecision("ann", "2026-10-23T01:30:00.000Z", "sent by a test")
RELEASE = Release(DECISION.by, DECISION.at, DECISION.reason, AGENCY)


def stored(storage: Storage, identity: Identity) -> HeldEvent:
    values = storage.held.get(identity)
    assert values
    return HeldEvent.parse(values)


def reason_of(storage: Storage, identity: Identity) -> HeldReason:
    """Return the reason in the reservation, which is that of the item."""
    reservation = storage.claims.claims([identity])[identity]
    assert isinstance(reservation, Reservation)
    assert stored(storage, identity).reason == reservation.reason
    return reservation.reason


@pytest.fixture
def one(storage: Storage, own: str) -> Event:
    """An event that is held for its agency."""
    one = event(f"{own}-held", "sale.refunded", amount="-2", refers_to=f"{own}-sale")
    storage.claims.hold([Hold.of(one, AGENCY)], lambda: True)
    return one


def test_what_an_event_waits_for_changes_in_its_reservation_and_its_item(
    storage: Storage, one: Event, record_property: Record
) -> None:
    held = replace(stored(storage, one.identity), reason=SALE, problems=(WHY,))
    own = metered(storage)
    bill = own.bill(lambda: own.storage.held.set_reason(AGENCY, held))
    record_property("a changed reason", cost(bill))
    assert (bill.write_units, bill.calls.total()) == (8, 1)
    assert reason_of(storage, one.identity) is SALE
    assert stored(storage, one.identity) == held


def test_a_reason_that_has_changed_meanwhile_stays(storage: Storage, one: Event) -> None:
    held = stored(storage, one.identity)
    storage.held.set_reason(SALE, replace(held, reason=SALE, problems=(WHY,)))
    assert (reason_of(storage, one.identity), stored(storage, one.identity)) == (AGENCY, held)


def test_a_release_is_of_the_reason_that_its_operator_saw(storage: Storage, one: Event) -> None:
    seen = stored(storage, one.identity)
    assert not storage.held.release(replace(seen, reason=SALE), replace(RELEASE, waived=SALE))
    assert storage.held.release(seen, RELEASE)
    held = stored(storage, one.identity)
    assert held.released == RELEASE
    storage.held.set_reason(AGENCY, replace(held, reason=SALE))
    assert not storage.held.release(held, RELEASE)
    found = stored(storage, one.identity)
    assert (found.released, found.to_record.without_registration, found.to_record.without_sale) == (
        RELEASE,
        True,
        False,
    )


def test_a_discarded_event_keeps_its_reason_and_gets_no_other(storage: Storage, one: Event) -> None:
    held = stored(storage, one.identity)
    storage.held.discard(held, DECISION)
    storage.held.set_reason(AGENCY, replace(held, reason=SALE))
    assert reason_of(storage, one.identity) is AGENCY
    assert not storage.held.release(held, RELEASE)


@pytest.mark.parametrize("decision", [RELEASE, Approval("ann", RELEASE.at, "agreed")])
def test_of_two_who_saw_the_same_event_one_decides(storage: Storage, one: Event, decision: Release | Approval) -> None:
    seen = stored(storage, one.identity)
    assert storage.held.release(seen, decision)
    assert not storage.held.release(seen, replace(decision, by="bob"))
    held = stored(storage, one.identity)
    assert decision in {held.released, held.approved}
    assert storage.held.release(held, replace(decision, by="bob")), "who saw the first decision may change it"
