"""Recording events: read the rate cards and the existing claims, plan, write claims and events."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from botocore.exceptions import ClientError

from quarterhour.aws.retries import optimistically
from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.linked import LinkedClaim, in_rounds, plan_linked
from quarterhour.ledger.plan import (
    Claim,
    Claimed,
    NextStep,
    Outcome,
    Phase,
    RecordingTerms,
    claimed_events,
    commission_too_long,
    first_of_each,
    ledger_values,
    next_step,
    outcomes,
)
from quarterhour.ledger.pricing import needed_rate_cards, needs_rate_card, price_of, rate_card_time
from quarterhour.ledger.store import LedgerStore
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.rate_cards.plan import NO_RATE_CARDS, RateCardQuery, RateCards

ReadRateCards = Callable[[Collection[RateCardQuery]], RateCards]
"""A function that reads the rate cards of agencies, each in force at an instant."""
Refused = dict[tuple[Identity, str], Rejection]
"""The rejections of valid events that cannot be recorded, by identity and digest."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A request's id, and the instant at which work on it must end."""

    id: str
    until: datetime

    def in_time(self) -> bool:
        return clock.now() < self.until


class Recorder:
    """Records events exactly once."""

    def __init__(self, terms: RecordingTerms, store: LedgerStore, read_rate_cards: ReadRateCards) -> None:
        self._terms = terms
        self._store = store
        self._read_rate_cards = read_rate_cards
        self._prepared = False

    def record(self, items: Sequence[Event | Rejection], request_id: str, seconds: float) -> list[Outcome]:
        """Record the valid items of a request, and return the outcome of each item in the same order.

        Items that could not be written within ``seconds`` are unavailable.
        Raises ``UnavailableError`` if the tables cannot be reached at all.
        """
        request = _Request(request_id, clock.now() + timedelta(seconds=seconds))
        events = [item for item in items if isinstance(item, Event)]
        claims: dict[Identity, Claimed] = {}
        recorded: dict[Identity, Claim] = {}
        refused: Refused = {}
        if events:
            self._prepare()
            plain = [event for event in events if not event.linked_to]
            claims, refused = self._claim(plain, request)
            recorded = self._append_missing(claimed_events(plain, claims), claims, request)
            # After the others, so that one request can hold a sale and its refund.
            linked = [event for event in events if event.linked_to and event.identity not in claims]
            linked_claims, not_allowed = self._claim_linked(linked, request)
            recorded |= self._append_missing(claimed_events(linked, linked_claims), linked_claims, request)
            claims |= linked_claims
            refused |= not_allowed
        return outcomes(items, claims, recorded, refused)

    def remembers(self, at: datetime) -> bool:
        """Return whether the identities of events recorded at an instant or later are still kept."""
        return self._terms.retention is None or clock.now() < at + self._terms.retention

    def _prepare(self) -> None:
        # Before the clock is read for the first claim: so every claim is after the checkpoint, by any process.
        if not self._prepared:
            self._store.prepare(self._terms.shards, QuarterHour.at(clock.now()).previous)
            self._prepared = True

    def _claim(self, events: list[Event], request: _Request) -> tuple[dict[Identity, Claimed], Refused]:
        """Claim events at their prices, with the rate cards that are in force."""
        now = clock.now()
        try:
            rate_cards = self._read_rate_cards(needed_rate_cards(events, now))
        except UnavailableError:
            # Events that need a rate card are unavailable; events that name their commission are recorded.
            rate_cards, events = NO_RATE_CARDS, [event for event in events if not needs_rate_card(event)]
        planned: dict[Identity, Claim] = {}
        unpayable: list[Event] = []
        for event in events:
            in_force = rate_cards.at(event.account.agency, rate_card_time(event, now))
            price = price_of(event, in_force, self._terms.commission_rate)
            if price.commission(event.amount) is None:
                unpayable.append(event)
            else:
                planned.setdefault(event.identity, Claim.of(event, now, self._terms, price))
        claims, refused = self._refuse(unpayable)
        claimed = self._store.claim(list(planned.values()), request.id, request.in_time)
        return claims | {identity: one for identity, one in zip(planned, claimed, strict=True) if one}, refused

    def _refuse(self, unpayable: list[Event]) -> tuple[dict[Identity, Claimed], Refused]:
        """Refuse events whose commission would be too long, and return the claims of those claimed at another price."""
        known = self._store.claims([event.identity for event in first_of_each(unpayable)]) if unpayable else {}
        claims = {identity: Claimed(claim, fresh=False) for identity, claim in known.items()}
        return claims, {(event.identity, event.digest): commission_too_long(event) for event in unpayable}

    def _claim_linked(self, linked: list[Event], request: _Request) -> tuple[dict[Identity, Claimed], Refused]:
        """Claim linked events: of different sales side by side, of one sale in turn, as each changes its sale."""
        claims: dict[Identity, Claimed] = {}
        refused: Refused = {}
        for events in in_rounds(first_of_each(linked)):
            results = self._claim_round(events, request)
            for event in events.values():
                match results.get(event.identity):
                    case Claimed() as claimed:
                        claims[event.identity] = claimed
                    case Rejection() as rejection:
                        refused[event.identity, event.digest] = rejection
        return claims, refused

    def _claim_round(self, events: Mapping[Identity, Event], request: _Request) -> Mapping[Identity, object]:
        """Return the claim of each linked event, or its rejection, from events by their sales.

        The result is something else, or missing, for an event that cannot be claimed now.
        """
        results: dict[Identity, object] = {}
        pending = events

        def attempt() -> None:
            nonlocal pending
            identities = dict.fromkeys([*(event.identity for event in pending.values()), *pending])
            planned = plan_linked(pending, self._store.claims(list(identities)), clock.now(), self._terms)
            linked = [one for one in planned.values() if isinstance(one, LinkedClaim)]
            # A sale may be claimed but not in the ledger yet: its sender has no response either.
            in_ledger = self._store.posted([one.before for one in linked])
            allowed = [one for one in linked if one.before.key in in_ledger]
            claimed = self._store.claim_all_linked(allowed, request.id, request.in_time)
            results.update(planned)
            results.update(zip((one.claim.identity for one in allowed), claimed, strict=True))
            lost = [one for one in claimed if isinstance(one, ClientError)]
            if lost:
                pending = {
                    sale: event for sale, event in pending.items() if isinstance(results[event.identity], ClientError)
                }
                raise lost[0]

        with suppress(UnavailableError):
            optimistically(attempt, "the linked events", request.in_time)
        return results

    def _append_missing(
        self, events: dict[Identity, Event], claims: dict[Identity, Claimed], request: _Request
    ) -> dict[Identity, Claim]:
        """Append the claimed events that the ledger lacks; return the claims whose event is in the ledger then."""
        fresh = [claims[identity].claim for identity in events if claims[identity].fresh]
        known = [claims[identity].claim for identity in events if not claims[identity].fresh]
        recorded, step = self._look_up(known)
        absent = fresh + step.append + self._move(events, step.move)
        entries = [(claim.partition.quarter_hour, ledger_values(events[claim.identity], claim)) for claim in absent]
        appended = self._store.append(entries, lambda quarter_hour: request.in_time() and self._is_open(quarter_hour))
        recorded += [claim for claim in absent if claim.key in appended]
        return {claim.identity: claim for claim in recorded}

    def _move(self, events: Mapping[Identity, Event], claims: list[Claim]) -> list[Claim]:
        """Move claims whose bucket is final to the current one; return those that were moved."""
        now = clock.now()
        return self._store.move([(old, old.moved(events[old.identity], now, self._terms)) for old in claims])

    def _look_up(self, known: list[Claim]) -> tuple[list[Claim], NextStep]:
        """Return the known claims whose event is in the ledger, and the next step of the others."""
        if not known:
            return [], NextStep([], [], [])
        # The clock is read before the table: a bucket that is final now cannot get an append after the read.
        now = clock.now()
        try:
            keys = self._store.posted(known)
        except UnavailableError:
            return [], NextStep([], [], known)
        found = [claim for claim in known if claim.key in keys]
        return found, next_step([claim for claim in known if claim.key not in keys], now, self._terms)

    def _is_open(self, quarter_hour: QuarterHour) -> bool:
        return self._terms.phase(quarter_hour, clock.now()) is Phase.OPEN
