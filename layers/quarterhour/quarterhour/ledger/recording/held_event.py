"""Held events, the pure part: an event that waits for something, its reservation, and its item in the Entity table.

The reservation keeps the event's identity in the Identity table, in place of a claim. Posting replaces it by the claim.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Self

from quarterhour.aws.entity import Values
from quarterhour.ledger.events.event import ADJUSTMENT, PAYMENT, RECORDED_BY, REFUND, SALE, VOID, Event
from quarterhour.ledger.keys import HeldStatus, held_identity_of, held_key, held_place, index_values
from quarterhour.model import money
from quarterhour.model.clock import iso_exact, iso_millis, parse_iso
from quarterhour.model.errors import FieldProblem, HeldItemError
from quarterhour.model.identifiers import Account, Identity
from quarterhour.registry.agencies.registration import Registration


class HeldReason(StrEnum):
    """What an event waits for."""

    UNKNOWN_SALE = "unknown_sale"
    """The sale that it refers to."""
    UNREGISTERED_AGENCY = "unregistered_agency"
    """The registration of its agency."""
    CLOSED_AGENCY = "closed_agency"
    """The agency, which is closed, to be active again."""
    NEEDS_APPROVAL = "needs_approval"
    """The approval of a second person: a person has recorded it."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """The reservation of a held event's identity.

    ``refers_to``: the sale that the event refers to, if any. ``discarded``: why the event was discarded.
    """

    identity: Identity
    digest: str
    type: str
    reason: HeldReason
    refers_to: Identity | None = None
    discarded: str | None = None

    @classmethod
    def of(cls, event: Event, reason: HeldReason) -> Self:
        """Return the reservation of an event that is held for a reason."""
        return cls(event.identity, event.digest, event.type, reason, event.linked_to)

    def may_become_claim(self, event: Event) -> bool:
        """Return whether the reservation is that of an event with this content, and the event can still be posted.

        What needs an approval waits for it though a machine sends the same content: the ledger keeps both names.
        """
        is_free = self.reason is not HeldReason.NEEDS_APPROVAL or event.recorded_by is not None
        return event.has_digest(self.digest) and self.discarded is None and is_free

    def may_be_corrected_by(self, event: Event) -> bool:
        """Return whether an event can wait for the held one: for a sale, and a void for a refund, too."""
        return self.discarded is None and (self.type == SALE or (self.type == REFUND and event.type == VOID))


@dataclass(frozen=True, slots=True)
class Hold:
    """An event that must wait, to be written with its reservation; both are written, or neither."""

    event: Event
    reservation: Reservation

    @classmethod
    def of(cls, event: Event, reason: HeldReason) -> Self:
        """Return the hold of an event for a reason."""
        return cls(event, Reservation.of(event, reason))


@dataclass(frozen=True, slots=True)
class Held:
    """The existing reservation of an identity. ``problems``: why the event cannot be posted, beyond the reason."""

    reservation: Reservation
    problems: tuple[FieldProblem, ...] = ()

    @classmethod
    def waiting(cls, reservation: Reservation, reason: HeldReason, problems: tuple[FieldProblem, ...] = ()) -> Self:
        """Return the reservation of an event that waits for this now, whatever it has waited for so far."""
        return cls(replace(reservation, reason=reason), problems)


@dataclass(frozen=True, slots=True)
class HeldDecision:
    """A decision of finance or an operator about a held event: who made it, when (ISO 8601) and why."""

    by: str
    at: str
    reason: str


@dataclass(frozen=True, slots=True)
class Release(HeldDecision):
    """The decision to post a held event without what it waited for then (``waived``)."""

    waived: HeldReason


@dataclass(frozen=True, slots=True)
class Approval(HeldDecision):
    """The decision of a second person to post an event that another one has recorded."""


@dataclass(frozen=True, slots=True)
class HeldEvent:
    """A held event as its item in the Entity table holds it.

    ``problems``: why the last attempt to post it failed.
    """

    event: Event
    reason: HeldReason
    held_at: str
    status: HeldStatus = HeldStatus.HELD
    problems: tuple[FieldProblem, ...] = ()
    released: Release | None = None
    discarded: HeldDecision | None = None
    approved: Approval | None = None

    @classmethod
    def of(cls, hold: Hold, now: datetime) -> Self:
        """Return the item of an event that is held now."""
        return cls(hold.event, hold.reservation.reason, iso_millis(now))

    @classmethod
    def parse(cls, values: Values) -> Self:
        """Return the held event in an item of the Entity table; raise ``HeldItemError`` if the item is not readable."""
        place = f"{values.get('gsi1pk')} {values.get('gsi1sk')}"
        try:
            held = cls(
                _event(values),
                HeldReason(values["reason"]),
                values["held_at"],
                HeldStatus(values["status"]),
                tuple(FieldProblem(**one) for one in values.get("problems", ())),
                _release(values["released"]) if "released" in values else None,
                HeldDecision(**values["discarded"]) if "discarded" in values else None,
                Approval(**values["approved"]) if "approved" in values else None,
            )
            unchanged = held.event.has_digest(values["digest"])
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise HeldItemError(place, error) from error
        if not unchanged:
            raise HeldItemError(place, ValueError("it has other content than it was held with"))
        return held

    @property
    def to_record(self) -> Event:
        """The event to record.

        Who releases an event of an unknown sale knows its agency. Who releases one of an agency that is
        not registered, or closed, may not know that its sale is unknown as well.
        """
        waived = self.released.waived if self.released else None
        without_sale = waived is HeldReason.UNKNOWN_SALE
        return replace(
            self.event,
            without_registration=waived is not None,
            without_sale=without_sale,
            needs_approval=self.reason is HeldReason.NEEDS_APPROVAL and self.approved is None,
            approved_by=self.approved.by if self.approved else None,
        )

    @property
    def needs_two(self) -> bool:
        """Whether a second person must have approved the event before it is posted."""
        return self.reason is HeldReason.NEEDS_APPROVAL or self.approved is not None

    @property
    def place(self) -> str:
        """The sort key in the indexes."""
        return held_place(self.held_at, self.event.identity)


def held_values(held: HeldEvent) -> Values:
    """Return the item of an event that is held now, without an operator's decision."""
    event = held.event
    return {
        **held_key(event.identity),
        **index_values(event.identity, event.account.agency, held.status, held.place),
        "reason": held.reason.value,
        "held_at": held.held_at,
        "status": held.status.value,
        "digest": event.digest,
        "type": event.type,
        "agency": event.account.agency,
        "currency": event.account.currency,
        "amount": money.plain(event.amount),
        "commission_rate": _plain(event.commission_rate),
        "commission": _plain(event.commission),
        "time": iso_exact(event.time) if event.time else None,
        "details": dict(event.details),
        "rest": event.rest or None,
        "attributes": event.attributes,
        RECORDED_BY: event.recorded_by,
    }


def depends_on_registration(event: Event, *, registered_only: bool) -> bool:
    """Return whether the registration of its agency decides about an event: of a sale always, else by the policy.

    Views have no agency.
    """
    if event.without_registration or event.account.currency == money.NO_CURRENCY:
        return False
    return registered_only or event.type == SALE


def reason_to_wait(event: Event, registration: Registration, *, registered_only: bool) -> HeldReason | None:
    """Return why an event that depends on the registration of its agency must wait; ``None`` if it need not."""
    if registration is Registration.NONE and registered_only:
        return HeldReason.UNREGISTERED_AGENCY
    return HeldReason.CLOSED_AGENCY if registration is Registration.CLOSED and event.type == SALE else None


def waits_for(event: Event, reason: HeldReason, remembered: timedelta | None = None) -> FieldProblem:
    """Return what a held event waits for, as a sender reads it; ``remembered``: how long identities are kept."""
    if reason is HeldReason.UNREGISTERED_AGENCY:
        return FieldProblem("subject", f"is no registered agency: {event.account.agency}", "its registration")
    if reason is HeldReason.CLOSED_AGENCY:
        return FieldProblem("subject", f"is a closed agency: {event.account.agency}", "an agency that is active")
    if reason is HeldReason.NEEDS_APPROVAL:
        expected = "the approval of another person of finance; then this event is posted"
        if event.type == PAYMENT:
            return FieldProblem("data.amount", "is below 0, a payout that a person has recorded", expected)
        kind = "an adjustment" if event.type == ADJUSTMENT else event.type
        return FieldProblem("type", f"is {kind} that a person has recorded", expected)
    if remembered is not None:
        problem = f"is no recorded sale yet, or one of more than {remembered.days} days ago, which is forgotten"
        return FieldProblem("data.refers_to", problem, "the sale; for a forgotten one, an adjustment without refers_to")
    return FieldProblem("data.refers_to", "is no recorded sale yet", "the sale; then this event is posted, too")


def _release(values: Values) -> Release:
    return Release(values["by"], values["at"], values["reason"], HeldReason(values["waived"]))


def _event(values: Values) -> Event:
    return Event(
        held_identity_of(values),
        values["type"],
        Account(values["agency"], values["currency"]),
        Decimal(values["amount"]),
        _decimal(values.get("commission_rate")),
        parse_iso(values["time"]) if "time" in values else None,
        values["details"],
        _decimal(values.get("commission")),
        rest="rest" in values,
        attributes=values.get("attributes"),
        recorded_by=values.get(RECORDED_BY),
    )


def _plain(value: Decimal | None) -> str | None:
    return None if value is None else money.plain(value)


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
