"""Claiming linked events: read the claims of their sales, plan, write the claims of both."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import assert_never

from quarterhour.aws.retries import attempts
from quarterhour.ledger.events.event import Rejection
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.claims import Claim, Claimed
from quarterhour.ledger.recording.held_event import Held, Hold
from quarterhour.ledger.recording.linked import Gathered, LinkedClaim, Lost, in_rounds, plan_linked
from quarterhour.ledger.recording.plan import RecordingRequest
from quarterhour.ledger.recording.segment_store import SegmentStore
from quarterhour.ledger.recording.ticket import Ticket, placed
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity


@dataclass(frozen=True, slots=True)
class LinkedClaims:
    """Claims events that refer to a sale, each together with the claim of its sale; holds those of an unknown sale."""

    claims: ClaimStore
    segments: SegmentStore

    def claim(self, tickets: Sequence[Ticket], request: RecordingRequest) -> None:
        """Claim or hold linked events: of different sales side by side, of one sale in turn, as each changes its sale.

        There is no result for an event that can neither be claimed nor held now.
        """
        by_identity = {ticket.identity: ticket for ticket in tickets}
        for events in in_rounds(ticket.event for ticket in tickets):
            pending: Mapping[Identity, Ticket] = {sale: by_identity[event.identity] for sale, event in events.items()}
            with suppress(UnavailableError):
                for _ in attempts(request.in_time):
                    pending = self._attempt(pending, request)
                    if not pending:
                        break

    def _attempt(self, by_sale: Mapping[Identity, Ticket], request: RecordingRequest) -> Mapping[Identity, Ticket]:
        """Claim or hold one event of each sale, and put the results; return those whose sale has changed meanwhile."""
        gathered = self._gather(by_sale)
        now = clock.now()
        planned = plan_linked({sale: one.event for sale, one in by_sale.items()}, gathered, now, request.settings)
        linked: list[tuple[Ticket, LinkedClaim]] = []
        holds: list[tuple[Ticket, Hold]] = []
        for ticket in by_sale.values():
            match plan := planned.get(ticket.identity):
                case LinkedClaim():
                    linked.append((ticket, plan))
                case Hold():
                    holds.append((ticket, plan))
                case Claimed() | Held() | Rejection() | None:
                    ticket.put(plan)
                case _:
                    assert_never(plan)
        claims = placed([(ticket, one.claim) for ticket, one in linked], request, now)
        new = [replace(one, claim=claim) for (_, one), claim in zip(linked, claims, strict=True)]
        lost: set[Identity] = set()
        results = self.claims.claim_all_linked(new, request.id, request.in_time)
        for (ticket, _), result in zip(linked, results, strict=True):
            if isinstance(result, Lost):
                lost.add(ticket.identity)
            else:
                ticket.put(result)
        if holds:
            held = self.claims.hold([hold for _, hold in holds], request.in_time)
            for (ticket, _), existing in zip(holds, held, strict=True):
                ticket.put(existing)
        return {sale: ticket for sale, ticket in by_sale.items() if ticket.identity in lost}

    def _gather(self, by_sale: Mapping[Identity, Ticket]) -> Gathered:
        """Read the claims of events and sales, and the facts of the sales that events are to be claimed against."""
        tickets = by_sale.values()
        claims = self.claims.claims(list(dict.fromkeys([*(ticket.identity for ticket in tickets), *by_sale])))
        sales = [
            found
            for sale, ticket in by_sale.items()
            if isinstance(found := claims.get(sale), Claim) and not isinstance(claims.get(ticket.identity), Claim)
        ]
        return Gathered(
            claims,
            self.segments.postings(sales),
            {ticket.identity: ticket.terms for ticket in tickets if ticket.terms},
            {
                (rerating.rate_card, rerating.version): ticket.rate_card
                for ticket in tickets
                if ticket.rate_card and (rerating := ticket.event.rerating)
            },
        )
