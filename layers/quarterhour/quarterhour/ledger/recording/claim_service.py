"""Claiming events by themselves: those that refer to no sale, and those that are recorded without their reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.plan import RecordingRequest
from quarterhour.ledger.recording.ticket import Ticket, placed


@dataclass(frozen=True, slots=True)
class OwnClaims:
    """Claims events on their own terms."""

    claims: ClaimStore

    def claim(self, tickets: Sequence[Ticket], now: datetime, request: RecordingRequest) -> None:
        """Claim the events of tickets, which were priced for now. The claim of a held event replaces its reservation.

        There is no result for an event that cannot be claimed now.
        """
        planned = [(ticket, claim) for ticket in tickets if (claim := _planned(ticket, now, request))]
        new = placed(planned, request, now)
        for (ticket, _), result in zip(planned, self.claims.claim(new, request.id, request.in_time), strict=True):
            ticket.put(result)
        reserved = [(ticket, claim) for (ticket, _), claim in zip(planned, new, strict=True) if _may_replace(ticket)]
        if reserved:
            results = self.claims.claim_held([claim for _, claim in reserved], request.id, request.in_time)
            for (ticket, _), result in zip(reserved, results, strict=True):
                ticket.put(result)


def _planned(ticket: Ticket, now: datetime, request: RecordingRequest) -> Claim | None:
    if ticket.terms is None:
        return None
    claim = Claim.of(ticket.event, now, request.settings, ticket.terms)
    return claim._replace(unlinked=True) if ticket.event.linked_to else claim


def _may_replace(ticket: Ticket) -> bool:
    """Return whether the event is held, and may be posted now."""
    if ticket.claimed or ticket.held is None:
        return False
    return ticket.held.reservation.may_become_claim(ticket.event)
