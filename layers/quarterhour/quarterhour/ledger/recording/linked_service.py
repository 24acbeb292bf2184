"""Claiming linked events: read the claims of their sales, plan, write the claims of both."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import assert_never

from quarterhour.aws.retries import attempts
from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.claims import Claim, Claimed
from quarterhour.ledger.recording.held_event import Held, Hold
from quarterhour.ledger.recording.linked import Gathered, LinkedClaim, Lost, in_rounds, plan_linked
from quarterhour.ledger.recording.outcomes import Results
from quarterhour.ledger.recording.plan import RecordingRequest, first_of_each, plan_segments
from quarterhour.ledger.recording.pricing import has_terms_of_sale
from quarterhour.ledger.recording.pricing_service import EventPricing
from quarterhour.ledger.recording.segment_store import SegmentStore
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity


@dataclass(frozen=True, slots=True)
class LinkedClaims:
    """Claims events that refer to a sale, each together with the claim of its sale; holds those of an unknown sale."""

    settings: RecordingSettings
    claims: ClaimStore
    segments: SegmentStore
    pricing: EventPricing

    def claim(self, events: Sequence[Event], request: RecordingRequest, results: Results) -> None:
        """Claim or hold linked events: of different sales side by side, of one sale in turn, as each changes its sale.

        Of one identity, the first event that is not rejected is claimed or held. There is no result for an event that
        can neither be claimed nor held now.
        """
        rest = events
        while rest:
            firsts = first_of_each(rest)
            self._claim(firsts, request, results)
            rejected = {first.identity for first in firsts if results.is_rejected(first)}
            rest = [event for event in rest if event.identity in rejected and not results.is_rejected(event)]

    def _claim(self, events: Sequence[Event], request: RecordingRequest, results: Results) -> None:
        """Claim or hold linked events, no identity twice."""
        firsts, rate_cards = self.pricing.with_named(events)
        own = [event for event in firsts if not has_terms_of_sale(event)]
        terms = {event.identity: one for event, one in self.pricing.price(own, clock.now(), results)}
        read_before = Gathered({}, {}, terms, rate_cards)
        for by_sale in in_rounds(one for one in firsts if has_terms_of_sale(one) or one.identity in terms):
            pending: Mapping[Identity, Event] = by_sale
            with suppress(UnavailableError):
                for _ in attempts(request.in_time):
                    pending = self._attempt(pending, read_before, request, results)
                    if not pending:
                        break

    def _attempt(
        self, by_sale: Mapping[Identity, Event], read_before: Gathered, request: RecordingRequest, results: Results
    ) -> Mapping[Identity, Event]:
        """Claim or hold one event of each sale, and put the results; return those whose sale has changed meanwhile."""
        gathered = self._gather(by_sale, read_before)
        now = clock.now()
        planned = plan_linked(by_sale, gathered, now, self.settings)
        linked: list[LinkedClaim] = []
        holds: list[Hold] = []
        for event in by_sale.values():
            match plan := planned.get(event.identity):
                case LinkedClaim():
                    linked.append(plan)
                case Hold():
                    holds.append(plan)
                case Claimed() | Held() | Rejection() | None:
                    results.put(event, plan)
                case _:
                    assert_never(plan)
        contents = {event.identity: event for event in by_sale.values()}
        segments = plan_segments(
            [one.claim for one in linked],
            {one.claim.identity: one.claim.content(contents[one.claim.identity]) for one in linked},
            request,
            now,
            self.settings.shards,
        )
        placed = results.add_segments(segments)
        linked = [replace(one, claim=claim) for one, claim in zip(linked, placed, strict=True)]
        lost: set[Identity] = set()
        claimed = self.claims.claim_all_linked(linked, request.id, request.in_time)
        for one, result in zip(linked, claimed, strict=True):
            if isinstance(result, Lost):
                lost.add(one.claim.identity)
            else:
                results.put(one.claim, result)
        if holds:
            for hold, held in zip(holds, self.claims.hold(holds, request.in_time), strict=True):
                results.put(hold.event, held)
        return {sale: event for sale, event in by_sale.items() if event.identity in lost}

    def _gather(self, by_sale: Mapping[Identity, Event], read_before: Gathered) -> Gathered:
        """Read the claims of events and sales, and the facts of the sales that events are to be claimed against."""
        claims = self.claims.claims(list(dict.fromkeys([*(event.identity for event in by_sale.values()), *by_sale])))
        sales = [
            found
            for sale, event in by_sale.items()
            if isinstance(found := claims.get(sale), Claim) and not isinstance(claims.get(event.identity), Claim)
        ]
        return replace(read_before, claims=claims, facts=self.segments.postings(sales))
