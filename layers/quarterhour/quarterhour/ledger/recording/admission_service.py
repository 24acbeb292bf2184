"""Admitting the events of a request: tokens of their customers, and which of them must wait, and are held."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from quarterhour.customers.tokens import Tokens
from quarterhour.ledger.events.event import ROW_KEY, Event, Rejection
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.held_event import (
    Held,
    HeldReason,
    Hold,
    Reservation,
    depends_on_registration,
    reason_to_wait,
)
from quarterhour.ledger.recording.plan import RecordingRequest
from quarterhour.ledger.recording.ticket import Ticket, result_of, tickets_of
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity
from quarterhour.registry.agencies.registration import Registration

_ACTIVE_FOR: Final = timedelta(minutes=1)
"""How long an agency is taken as active after its registration was read."""
_MOST_ACTIVE: Final = 10_000
"""The most agencies in memory that are taken as active."""

ReadRegistrations = Callable[[Collection[str], datetime], Mapping[str, Registration]]
"""A function that reads the registrations of agencies at an instant."""


class Admission:
    """Decides which events of a request may be claimed, and holds those that must wait."""

    def __init__(self, claims: ClaimStore, read_registrations: ReadRegistrations, tokens: Tokens) -> None:
        self._claims = claims
        self._read_registrations = read_registrations
        self._tokens = tokens
        self._active_until: dict[str, datetime] = {}

    def admit(self, items: Sequence[Event | Rejection]) -> tuple[Sequence[Event | Rejection], dict[Identity, Ticket]]:
        """Return the items with tokens in place of their customers' names, and a ticket for each identity.

        An event whose customer has no token now has no ticket, so it is unavailable: no name may be stored.
        """
        items = _with_tokens(items, self._tokens)
        return items, tickets_of(item for item in items if isinstance(item, Event) and not item.customer_name)

    def refuse_known_rows(self, tickets: Iterable[Ticket], request: RecordingRequest) -> None:
        """Reject the events whose rows are recorded under other ids; those that cannot be looked up now must wait."""
        if of_rows := [ticket for ticket in tickets if ROW_KEY in (ticket.event.attributes or "")]:
            from quarterhour.ledger.recording.row_keys import refuse_known  # noqa: PLC0415 - few files need it

            refuse_known(of_rows, self._claims.rows, request)

    def hold(self, tickets: Sequence[Ticket], request: RecordingRequest) -> None:
        """Hold the events that wait for approval or for their agency; the others stay admitted."""
        self._keep_waiting(tickets, registered_only=request.settings.registered_only)
        if waiting := [(ticket, ticket.hold) for ticket in tickets if ticket.hold]:
            self._hold(waiting, request)

    def _keep_waiting(self, tickets: Iterable[Ticket], *, registered_only: bool) -> None:
        """Take from the admitted events those that wait for approval or for their agency.

        And those whose agency cannot be looked up now. Views have no agency.
        """
        bound: list[tuple[Ticket, Event]] = []
        for ticket in tickets:
            for event in ticket.events:
                if event.needs_approval:
                    _keep(ticket, event, HeldReason.NEEDS_APPROVAL)
                elif depends_on_registration(event, registered_only=registered_only):
                    bound.append((ticket, event))
        try:
            inactive = self._inactive(
                {event.account.agency for _, event in bound}, clock.now(), registered_only=registered_only
            )
        except UnavailableError:
            for ticket, event in bound:
                _keep(ticket, event, None)
            return
        if not inactive:
            return
        for ticket, event in bound:
            registration = inactive.get(event.account.agency)
            if registration and (reason := reason_to_wait(event, registration, registered_only=registered_only)):
                _keep(ticket, event, reason)

    def _inactive(
        self, agencies: Collection[str], now: datetime, *, registered_only: bool
    ) -> Mapping[str, Registration]:
        """Return the registrations of the agencies that are not taken as active."""
        unknown = [agency for agency in agencies if self._active_until.get(agency, now) <= now]
        found = self._read_registrations(unknown, now) if unknown else {}
        if len(self._active_until) > _MOST_ACTIVE:
            self._active_until.clear()
        # Without the policy, an agency that is not registered is no reason to wait either.
        active = {Registration.ACTIVE} if registered_only else {Registration.ACTIVE, Registration.NONE}
        self._active_until |= {agency: now + _ACTIVE_FOR for agency, one in found.items() if one in active}
        return {agency: one for agency, one in found.items() if one not in active}

    def _hold(self, waiting: Sequence[tuple[Ticket, Hold]], request: RecordingRequest) -> None:
        """Hold events, except those whose identities were claimed or held before."""
        try:
            known = self._claims.claims([ticket.identity for ticket, _ in waiting])
        except UnavailableError:
            return
        new: list[tuple[Ticket, Hold]] = []
        for ticket, hold in waiting:
            existing = known.get(ticket.identity)
            if existing is None:
                new.append((ticket, hold))
            elif isinstance(existing, Reservation) and existing.may_become_claim(hold.event):
                # Whether it is approved is in its item: it may be, and wait for something else by now.
                reason = hold.reservation.reason
                stays = reason is HeldReason.NEEDS_APPROVAL
                ticket.put(Held(existing) if stays else Held.waiting(existing, reason))
            else:
                ticket.put(result_of(existing))
        if new:
            held = self._claims.hold([hold for _, hold in new], request.in_time)
            for (ticket, _), result in zip(new, held, strict=True):
                ticket.put(result)


def _keep(ticket: Ticket, event: Event, reason: HeldReason | None) -> None:
    """Take an event from those that are admitted; hold it for a reason, if another one of its identity is not held."""
    ticket.admitted = [one for one in ticket.admitted if one is not event]
    if reason and ticket.hold is None:
        ticket.hold = Hold.of(event, reason)


def _with_tokens(items: Sequence[Event | Rejection], tokens: Tokens) -> Sequence[Event | Rejection]:
    """Return the items with the tokens of their customers, but for those that have no token now."""
    names = {item.customer_name for item in items if isinstance(item, Event)} - {None}
    if not names:
        return items
    found = tokens([name for name in names if name])
    return [
        item.with_token(found[name])
        if isinstance(item, Event) and (name := item.customer_name) and name in found
        else item
        for item in items
    ]
