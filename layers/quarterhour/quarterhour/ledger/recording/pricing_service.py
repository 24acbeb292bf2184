"""Pricing events: read the rate cards that they need, and reject those whose commission would be too long."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from quarterhour.ledger.events.event import Event
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.held_event import Held, Reservation
from quarterhour.ledger.recording.outcomes import Results, result_of
from quarterhour.ledger.recording.plan import first_of_each
from quarterhour.ledger.recording.pricing import (
    CommissionTerms,
    commission_too_long,
    named_rate_cards,
    needed_rate_cards,
    priced,
    standalone,
)
from quarterhour.model.errors import UnavailableError
from quarterhour.registry.rate_cards.plan import RateCardQuery, RateCards, Version
from quarterhour.registry.rate_cards.rate_card import RateCard

ReadRateCards = Callable[[Collection[RateCardQuery], Collection[Version]], RateCards]
"""A function that reads the rate cards of agencies, each in force at an instant, and further versions by their names.
"""


@dataclass(frozen=True, slots=True)
class EventPricing:
    """Finds the commission terms of events."""

    claims: ClaimStore
    read_rate_cards: ReadRateCards
    default_commission_rate: Decimal

    def price(self, events: Sequence[Event], now: datetime, results: Results) -> list[tuple[Event, CommissionTerms]]:
        """Return events with their own terms, by the rate cards that are in force.

        An event that needs a rate card is left out if the rate cards cannot be read now. An event whose commission
        would be too long is rejected, unless it is claimed on other terms, or held.
        """
        rate_cards: RateCards | None
        try:
            rate_cards = self.read_rate_cards(needed_rate_cards(map(standalone, events), now), ())
        except UnavailableError:
            rate_cards = None
        found = priced(events, rate_cards, self.default_commission_rate, now)
        if found.too_long:
            self._reject(found.too_long, results)
        return found.terms

    def _reject(self, events: Sequence[Event], results: Results) -> None:
        for event in events:
            results.put(event, commission_too_long(event))
        for identity, existing in self.claims.claims([event.identity for event in first_of_each(events)]).items():
            rejection = results.rejected.get((identity, existing.digest))
            if isinstance(existing, Reservation) and rejection:
                results.put(existing, Held(existing, rejection.problems))
            else:
                results.put(existing, result_of(existing))

    def with_named(self, events: Sequence[Event]) -> tuple[Sequence[Event], Mapping[Version, RateCard]]:
        """Return events, and the rate cards that the re-ratings among them name, as far as they exist.

        If the rate cards cannot be read now, the result lacks the re-ratings.
        """
        try:
            return events, self.read_rate_cards((), named_rate_cards(events)).versions
        except UnavailableError:
            return [event for event in events if not event.rerating], {}
