"""Claiming linked events: read the claims of their sales, plan, write the claims of both."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import assert_never

from quarterhour.aws.retries import attempts
from quarterhour.ledger.events.event import VOID, Rejection
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.recording.append_service import Appends
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.claims import Claim, Claimed
from quarterhour.ledger.recording.held_event import Held, Hold, Reservation
from quarterhour.ledger.recording.linked import Gathered, LinkedClaim, Lost, in_rounds, plan_linked
from quarterhour.ledger.recording.order_fees import order_key
from quarterhour.ledger.recording.plan import RecordingRequest
from quarterhour.ledger.recording.segment_store import SegmentStore
from quarterhour.ledger.recording.ticket import Ticket, placed
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity
from quarterhour.registry.rate_cards.plan import NO_RATE_CARDS


@dataclass(frozen=True, slots=True)
class LinkedClaims:
    """Claims events that refer to a sale, each together with the claim of its sale; holds those of an unknown sale."""

    claims: ClaimStore
    segments: SegmentStore
    appends: Appends

    def claim(self, tickets: Sequence[Ticket], request: RecordingRequest) -> None:
        """Claim or hold linked events: of different sales side by side, of one sale in turn, as each changes its sale.

        There is no result for an event that can neither be claimed nor held now.
        """
        by_identity = {ticket.identity: ticket for ticket in tickets}
        try:
            sales = self._sales_of_refunds(by_identity)
        except UnavailableError:
            return
        for events in in_rounds([ticket.event for ticket in tickets], sales):
            pending: Sequence[Ticket] = [by_identity[event.identity] for event in events]
            if any(event.linked_to in by_identity for event in events):
                # What an event refers to must be in the ledger before the event is claimed.
                self.appends.append(tickets, request)
            with suppress(UnavailableError):
                for _ in attempts(request.in_time):
                    pending = self._attempt(pending, request)
                    if not pending:
                        break

    def _sales_of_refunds(self, by_identity: Mapping[Identity, Ticket]) -> dict[Identity, Identity]:
        """Return the sales of the recorded refunds that voids among several events take back."""
        voids = [ticket.event.linked_to for ticket in by_identity.values() if ticket.event.type == VOID]
        refunds = {of for of in voids if of and of not in by_identity}
        if not refunds or len(by_identity) == 1:
            return {}
        found = self.claims.claims(list(refunds))
        return {refund: one.sale for refund, one in found.items() if isinstance(one, Claim) and one.sale}

    def _attempt(self, tickets: Sequence[Ticket], request: RecordingRequest) -> list[Ticket]:
        """Claim or hold one event of each sale, and put the results; return those whose sale has changed meanwhile."""
        gathered = self._gather(tickets)
        now = clock.now()
        planned = plan_linked([ticket.event for ticket in tickets], gathered, now, request.settings)
        linked: list[tuple[Ticket, LinkedClaim]] = []
        holds: list[tuple[Ticket, Hold]] = []
        for ticket in tickets:
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
        return [ticket for ticket in tickets if ticket.identity in lost]

    def _gather(self, tickets: Sequence[Ticket]) -> Gathered:
        """Read the claims of events, and claims and facts of what they are to be claimed against."""
        linked = [(ticket, of) for ticket in tickets if (of := ticket.event.linked_to)]
        claims = self.claims.claims(
            list(dict.fromkeys([*(one.identity for one in tickets), *(of for _, of in linked)]))
        )
        targets = {
            of: (ticket, target)
            for ticket, of in linked
            if isinstance(target := claims.get(of), Claim) and not isinstance(claims.get(ticket.identity), Claim)
        }
        sales = {target.sale for ticket, target in targets.values() if target.sale and ticket.event.type == VOID}
        if unread := sales - claims.keys():
            claims |= self.claims.claims(list(unread))
        posted = dict.fromkeys(
            [
                *(target for _, target in targets.values()),
                *(one for of in sales if isinstance(one := claims.get(of), Claim)),
            ]
        )
        facts = self.segments.postings(list(posted))
        return Gathered(
            claims,
            facts,
            {ticket.identity: ticket.terms for ticket in tickets if ticket.terms},
            {
                (rerating.rate_card, rerating.version): ticket.rate_card
                for ticket in tickets
                if ticket.rate_card and (rerating := ticket.event.rerating)
            },
            next((ticket.groups for ticket in tickets if ticket.groups), NO_RATE_CARDS),
            self.claims.orders.read(orders) if (orders := list(_orders(tickets, claims, facts))) else {},
        )


def _orders(
    tickets: Sequence[Ticket], claims: Mapping[Identity, Claim | Reservation], facts: Mapping[Identity, Facts]
) -> Iterator[str]:
    """Yield the keys of the orders whose fees depend on linked events: on voids of lines, and on re-ratings."""
    for ticket in tickets:
        of = ticket.event.linked_to
        sale = claims.get(of) if of else None
        if of is None or not isinstance(sale, Claim) or of not in facts:
            continue
        is_voided = ticket.event.type == VOID and (sale.terms.in_order or sale.terms_in_force.in_order)
        if (is_voided or (ticket.rate_card and ticket.rate_card.is_once)) and (key := order_key(facts[of])):
            yield key
