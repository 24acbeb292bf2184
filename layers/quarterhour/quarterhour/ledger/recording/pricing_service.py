"""Pricing events: read the rate cards that they need, and reject those whose commission would be too long."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.held_event import Held, Reservation
from quarterhour.ledger.recording.plan import RecordingRequest
from quarterhour.ledger.recording.pricing import (
    commission_too_long,
    has_terms_of_sale,
    named_rate_cards,
    needed_rate_cards,
    needs_rate_card,
    own_terms,
    standalone,
)
from quarterhour.ledger.recording.ticket import Ticket, Way, result_of
from quarterhour.model.errors import UnavailableError
from quarterhour.registry.rate_cards.plan import NO_RATE_CARDS, RateCardQuery, RateCards, Version

ReadRateCards = Callable[[Collection[RateCardQuery], Collection[Version]], RateCards]
"""A function that reads the rate cards of agencies, each in force at an instant, and further versions by their names.
"""


@dataclass(frozen=True, slots=True)
class EventPricing:
    """Finds the commission terms of events."""

    claims: ClaimStore
    read_rate_cards: ReadRateCards

    def price(self, tickets: Sequence[Ticket], now: datetime, way: Way, request: RecordingRequest) -> list[Ticket]:
        """Give the events of tickets their own terms, by the rate cards that are in force; return what can be claimed.

        A linked refund, a void and a re-rating get theirs when they are claimed, from their sale. A re-rating gets the
        rate card that it names, if that exists. The result lacks an event that needs a rate card which cannot be read
        now. And one whose commission would be too long: it is rejected, unless it is claimed on other terms, or held.
        """
        own = [standalone(ticket.event) for ticket in tickets if _has_own_terms(ticket, way)]
        named = named_rate_cards(ticket.event for ticket in tickets) if way is Way.LINKED else set()
        rate_cards: RateCards | None
        try:
            queries = needed_rate_cards(own, now)
            rate_cards = self.read_rate_cards(queries, named)
            if any(rate_card.is_of_group for version, rate_card in rate_cards.versions.items() if version in named):
                rerated = {(ticket.event.account.agency, now) for ticket in tickets if ticket.event.rerating}
                rate_cards = self.read_rate_cards(queries | rerated, named)
        except UnavailableError:
            rate_cards = None
        priced: list[Ticket] = []
        too_long: list[Ticket] = []
        for ticket in tickets:
            if not _has_own_terms(ticket, way):
                if rerating := ticket.event.rerating:
                    if rate_cards is None:
                        continue
                    ticket.rate_card = rate_cards.versions.get((rerating.rate_card, rerating.version))
                    ticket.groups = rate_cards
            elif rate_cards is None and needs_rate_card(standalone(ticket.event)):
                continue
            else:
                ticket.terms = own_terms(ticket.event, rate_cards or NO_RATE_CARDS, now, request.settings)
                if ticket.terms.commission(ticket.event.amount) is None:
                    too_long.append(ticket)
                    continue
            priced.append(ticket)
        if too_long:
            self._reject(too_long)
        return priced

    def _reject(self, tickets: Sequence[Ticket]) -> None:
        """Reject the events of tickets, unless the identity is claimed or held."""
        for ticket in tickets:
            ticket.put(commission_too_long(ticket.event))
        known = self.claims.claims([ticket.identity for ticket in tickets])
        for ticket in tickets:
            existing = known.get(ticket.identity)
            rejection = ticket.rejections.get(existing.digest) if isinstance(existing, Reservation) else None
            if isinstance(existing, Reservation) and rejection:
                ticket.put(Held(existing, rejection.problems))
            elif existing:
                ticket.put(result_of(existing))


def _has_own_terms(ticket: Ticket, way: Way) -> bool:
    """Return whether the event has its own terms, not those of its sale."""
    return way is not Way.LINKED or not has_terms_of_sale(ticket.event)
