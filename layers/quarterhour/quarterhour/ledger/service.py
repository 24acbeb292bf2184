"""Recording events: gather the cards and the claims, plan, apply."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from quarterhour.aws.retries import optimistically
from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.plan import (
    Claim,
    Claimed,
    NextStep,
    Outcome,
    Phase,
    RecordingTerms,
    contents,
    first_of_each,
    ledger_values,
    next_step,
    outcomes,
    too_long,
)
from quarterhour.ledger.pricing import card_time, is_open, price_of, wanted_cards
from quarterhour.ledger.refunds import linked_refund
from quarterhour.ledger.store import LedgerStore
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.rate_cards.plan import NO_RATE_CARDS, RateCards, Wanted

ReadCards = Callable[[Collection[Wanted]], RateCards]
"""Reads the rate cards in force for some agencies at some instants."""
Refused = dict[tuple[Identity, str], Rejection]
"""Events that cannot be recorded as things stand, by identity and digest."""


@dataclass(frozen=True, slots=True)
class _Request:
    """One request: its id, and until when it can be worked on."""

    id: str
    until: datetime

    def in_time(self) -> bool:
        return clock.now() < self.until


class Recorder:
    """Records events exactly once."""

    def __init__(self, terms: RecordingTerms, store: LedgerStore, read_cards: ReadCards) -> None:
        self._terms = terms
        self._store = store
        self._read_cards = read_cards
        self._prepared = False

    def record(self, items: Sequence[Event | Rejection], request_id: str, seconds: float) -> list[Outcome]:
        """Record the valid ones of a request's items, and answer each, in their order, within so many seconds.

        What could not be written in that time is answered as unavailable.
        Raises ``UnavailableError`` where the tables cannot be reached at all.
        """
        request = _Request(request_id, clock.now() + timedelta(seconds=seconds))
        events = [item for item in items if isinstance(item, Event)]
        claims: dict[Identity, Claimed] = {}
        standing: dict[Identity, Claim] = {}
        refused: Refused = {}
        if events:
            self._prepare()
            plain = [event for event in events if not event.refunded_sale]
            claims, refused = self._claim(plain, request)
            standing = self._append_missing(contents(plain, claims), claims, request)
            # After the others, so that a sale and its refund may come in one request.
            refunds = [event for event in events if event.refunded_sale and event.identity not in claims]
            refund_claims, not_allowed = self._claim_refunds(refunds, request)
            standing |= self._append_missing(contents(refunds, refund_claims), refund_claims, request)
            claims |= refund_claims
            refused |= not_allowed
        return outcomes(items, claims, standing, refused)

    def remembers(self, at: datetime) -> bool:
        """Tell whether what was recorded at an instant, or later, is still known by its identity."""
        return self._terms.retention is None or clock.now() < at + self._terms.retention

    def _prepare(self) -> None:
        # Before the clock is read for the first claim: whoever sets the checkpoint, claims come to lie behind it.
        if not self._prepared:
            self._store.prepare(self._terms.shards, QuarterHour.at(clock.now()).previous)
            self._prepared = True

    def _claim(self, events: list[Event], request: _Request) -> tuple[dict[Identity, Claimed], Refused]:
        """Claim events by the terms that are in force now."""
        now = clock.now()
        try:
            cards = self._read_cards(wanted_cards(events, now))
        except UnavailableError:
            # What needs a card waits; what names its own terms does not.
            cards, events = NO_RATE_CARDS, [event for event in events if not is_open(event)]
        wanted: dict[Identity, Claim] = {}
        unpayable: list[Event] = []
        for event in events:
            price = price_of(event, cards.at(event.account.agency, card_time(event, now)), self._terms.commission_rate)
            if price.commission(event.amount) is None:
                unpayable.append(event)
            else:
                wanted.setdefault(event.identity, Claim.of(event, now, self._terms, price))
        claims, refused = self._refuse(unpayable)
        claimed = self._store.claim(list(wanted.values()), request.id, request.in_time)
        return claims | {identity: one for identity, one in zip(wanted, claimed, strict=True) if one}, refused

    def _refuse(self, unpayable: list[Event]) -> tuple[dict[Identity, Claimed], Refused]:
        """Refuse events whose commission would be too long; one that was claimed by other terms keeps those."""
        known = self._store.claims([event.identity for event in first_of_each(unpayable)]) if unpayable else {}
        claims = {identity: Claimed(claim, fresh=False) for identity, claim in known.items()}
        return claims, {(event.identity, event.digest): too_long(event) for event in unpayable}

    def _claim_refunds(self, refunds: list[Event], request: _Request) -> tuple[dict[Identity, Claimed], Refused]:
        """Claim linked refunds one by one, each against what the ones before left of its sale."""
        claims: dict[Identity, Claimed] = {}
        refused: Refused = {}
        for event in first_of_each(refunds):
            answer = self._claim_refund(event, request)
            if isinstance(answer, Claimed):
                claims[event.identity] = answer
            elif answer:
                refused[event.identity, event.digest] = answer
        return claims, refused

    def _claim_refund(self, event: Event, request: _Request) -> Claimed | Rejection | None:
        """Return the refund's claim, or why its sale does not allow it; ``None`` where neither is known in time."""
        sale_identity = event.refunded_sale
        if sale_identity is None:
            raise ValueError(f"{event.identity} is no linked refund")

        def attempt() -> Claimed | Rejection | None:
            known = self._store.claims([event.identity, sale_identity])
            if event.identity in known:
                return Claimed(known[event.identity], fresh=False)
            refund = linked_refund(event, known.get(sale_identity), clock.now(), self._terms)
            if isinstance(refund, Rejection):
                return refund
            if not self._store.posted([refund.sale]):
                return None  # claimed, not yet in the ledger: its sender has no answer either
            return self._store.claim_refund(refund, request.id)

        try:
            return optimistically(attempt, str(event.identity), request.in_time)
        except UnavailableError:
            return None

    def _append_missing(
        self, content: dict[Identity, Event], claims: dict[Identity, Claimed], request: _Request
    ) -> dict[Identity, Claim]:
        fresh = [claims[identity].claim for identity in content if claims[identity].fresh]
        known = [claims[identity].claim for identity in content if not claims[identity].fresh]
        found, step = self._look_up(known)
        wanted = fresh + step.append + self._move(step.move)
        entries = [(claim.partition.quarter_hour, ledger_values(content[claim.identity], claim)) for claim in wanted]
        appended = self._store.append(entries, lambda quarter_hour: request.in_time() and self._is_open(quarter_hour))
        found += [claim for claim in wanted if claim.key in appended]
        return {claim.identity: claim for claim in found}

    def _move(self, claims: list[Claim]) -> list[Claim]:
        """Move claims whose bucket is final to the current one; return those that were moved."""
        moved = []
        for old in claims:
            new = old.moved(clock.now(), self._terms)
            if self._store.move(old, new):
                moved.append(new)
        return moved

    def _look_up(self, known: list[Claim]) -> tuple[list[Claim], NextStep]:
        """Return the known claims whose event stands in the ledger, and what the others need."""
        if not known:
            return [], NextStep([], [], [])
        # The clock is read before the table: a bucket that is final now takes no append after the reading.
        now = clock.now()
        try:
            keys = self._store.posted(known)
        except UnavailableError:
            return [], NextStep([], [], known)
        found = [claim for claim in known if claim.key in keys]
        return found, next_step([claim for claim in known if claim.key not in keys], now, self._terms)

    def _is_open(self, quarter_hour: QuarterHour) -> bool:
        return self._terms.phase(quarter_hour, clock.now()) is Phase.OPEN
