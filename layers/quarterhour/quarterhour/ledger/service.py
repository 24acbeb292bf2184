"""Recording events: read the rate cards and the existing claims, plan, write claims and events."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from botocore.exceptions import ClientError

from quarterhour.aws.retries import optimistically
from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.held.held_event import Held, HeldReason, Hold, Reservation
from quarterhour.ledger.linked import Gathered, LinkedClaim, in_rounds, plan_linked
from quarterhour.ledger.plan import (
    Claim,
    Claimed,
    NextStep,
    Outcome,
    Phase,
    RecordingSettings,
    claimed_events,
    commission_too_long,
    first_of_each,
    ledger_values,
    next_step,
    outcomes,
)
from quarterhour.ledger.pricing import (
    CommissionTerms,
    can_be_unlinked,
    has_terms_of_sale,
    named_rate_cards,
    needed_rate_cards,
    needs_rate_card,
    rate_card_time,
    terms_of,
)
from quarterhour.ledger.store import LedgerStore
from quarterhour.model import clock, money
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.rate_cards.plan import NO_RATE_CARDS, RateCardQuery, RateCards, Version
from quarterhour.rate_cards.rate_card import RateCard

ReadRateCards = Callable[[Collection[RateCardQuery], Collection[Version]], RateCards]
"""A function that reads the rate cards of agencies, each in force at an instant, and further versions by their names.
"""
Refused = dict[tuple[Identity, str], Rejection]
"""The rejections of valid events that cannot be recorded, by identity and digest."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A request's id, and the instant at which work on it must end."""

    id: str
    until: datetime

    def in_time(self) -> bool:
        return clock.now() < self.until


@dataclass(slots=True)
class _Results:
    """The results for a request's events so far: claims, reservations of held events, rejections."""

    claims: dict[Identity, Claimed] = field(default_factory=dict)
    held: dict[Identity, Held] = field(default_factory=dict)
    refused: Refused = field(default_factory=dict)

    def put(self, identity: Identity, result: object, digest: str = "") -> None:
        """Take the result for an identity; ``digest`` is that of a rejected event. Other results are left out."""
        match result:
            case Claim():
                self.claims[identity] = Claimed(result, fresh=False)
            case Claimed():
                self.claims[identity] = result
            case Reservation():
                self.held[identity] = Held(result)
            case Held():
                self.held[identity] = result
            case Rejection():
                self.refused[identity, digest] = result

    def put_all(self, claims: Sequence[Claim], results: Sequence[Claimed | Reservation | None]) -> None:
        """Take the results for claims, in the same order."""
        for claim, result in zip(claims, results, strict=True):
            self.put(claim.identity, result)

    def holds(self, claim: Claim) -> bool:
        """Return whether a reservation stands for the claim's event, and may become this claim."""
        held = self.held.get(claim.identity)
        return held is not None and held.reservation.may_become_claim(claim.digest)


class Recorder:
    """Records events exactly once."""

    def __init__(self, settings: RecordingSettings, store: LedgerStore, read_rate_cards: ReadRateCards) -> None:
        self._settings = settings
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
        results = _Results()
        recorded: dict[Identity, Claim] = {}
        if events:
            self._prepare()
            if self._settings.registered_only:
                events, others = self._by_registration(events)
                self._hold_unregistered(others, request, results)
                recorded = self._append_missing(others, request, results)
            plain = [event for event in events if not event.linked_to]
            self._claim(plain, request, results)
            recorded |= self._append_missing(plain, request, results)
            # After the others, so that one request can hold a sale and its refund.
            linked = [event for event in events if event.linked_to and event.identity not in results.claims]
            if linked:
                self._claim_linked(linked, request, results)
                recorded |= self._append_missing(linked, request, results)
            posted = [identity for identity in recorded if results.claims[identity].was_held]
            if posted:
                self._store.forget_held(posted)
        kept = self._settings.retention
        return outcomes(items, results.claims, recorded, results.refused, results.held, remembered=kept)

    def remembers(self, at: datetime) -> bool:
        """Return whether the identities of events recorded at an instant or later are still kept."""
        return self._settings.retention is None or clock.now() < at + self._settings.retention

    def _prepare(self) -> None:
        # Before the clock is read for the first claim: so every claim is after the checkpoint, by any process.
        if not self._prepared:
            self._store.prepare(self._settings.shards, QuarterHour.at(clock.now()).previous)
            self._prepared = True

    def _by_registration(self, events: list[Event]) -> tuple[list[Event], list[Event]]:
        """Return the events that may be recorded, and those whose agency is not registered. Views have no agency.

        Events whose agency cannot be looked up now are in neither.
        """
        bound = [event for event in events if _needs_registration(event)]
        free = [event for event in events if not _needs_registration(event)]
        try:
            now = clock.now()
            rate_cards = self._read_rate_cards({(event.account.agency, now) for event in bound}, ())
        except UnavailableError:
            return free, []
        registered = [event for event in bound if rate_cards.is_registered(event.account.agency)]
        return free + registered, [event for event in bound if not rate_cards.is_registered(event.account.agency)]

    def _hold_unregistered(self, events: list[Event], request: _Request, results: "_Results") -> None:
        """Hold events of agencies that are not registered, except those that were claimed or held before."""
        firsts = first_of_each(events)
        try:
            known = self._store.claims([event.identity for event in firsts]) if firsts else {}
        except UnavailableError:
            return
        for event in firsts:
            existing = known.get(event.identity)
            if isinstance(existing, Reservation) and existing.may_become_claim(event.digest):
                results.put(event.identity, Held.waiting(existing, HeldReason.UNREGISTERED_AGENCY))
            else:
                results.put(event.identity, existing)
        holds = [Hold.of(event, HeldReason.UNREGISTERED_AGENCY) for event in firsts if event.identity not in known]
        if holds:
            for hold, held in zip(holds, self._store.hold(holds, request.in_time), strict=True):
                results.put(hold.event.identity, held)

    def _claim(self, events: list[Event], request: _Request, results: "_Results") -> None:
        """Claim events on their terms, with the rate cards that are in force."""
        now = clock.now()
        # A released event with a reference gets here if nobody knows its sale: it is recorded without the reference.
        as_recorded = [(event, event.unlinked if event.linked_to else event) for event in events]
        priced, unpayable = self._price(as_recorded, now)
        planned: dict[Identity, Claim] = {}
        for event, terms in priced:
            if event.identity not in planned:
                claim = Claim.of(event, now, self._settings, terms)
                planned[event.identity] = replace(claim, unlinked=True) if event.linked_to else claim
        self._refuse(unpayable, results)
        claims = list(planned.values())
        results.put_all(claims, self._store.claim(claims, request.id, request.in_time))
        reserved = [claim for claim in claims if results.holds(claim)]
        if reserved:
            results.put_all(reserved, self._store.post(reserved, request.id, request.in_time))

    def _price(
        self, events: list[tuple[Event, Event]], now: datetime
    ) -> tuple[list[tuple[Event, CommissionTerms]], list[Event]]:
        """Return events with their terms, and the events whose commission would be too long.

        ``events``: each as it was sent, and as it is recorded. Events whose rate card cannot be read now are in
        neither.
        """
        try:
            rate_cards = self._read_rate_cards(needed_rate_cards((as_recorded for _, as_recorded in events), now), ())
        except UnavailableError:
            # Events that need a rate card are unavailable; events that name their commission are recorded.
            rate_cards = NO_RATE_CARDS
            events = [(event, as_recorded) for event, as_recorded in events if not needs_rate_card(as_recorded)]
        priced: list[tuple[Event, CommissionTerms]] = []
        unpayable: list[Event] = []
        for event, as_recorded in events:
            in_force = rate_cards.at(event.account.agency, rate_card_time(event, now))
            terms = terms_of(as_recorded, in_force, self._settings.commission_rate)
            if needs_rate_card(as_recorded) and not rate_cards.is_registered(event.account.agency):
                terms = terms._replace(unregistered=True)
            if terms.commission(event.amount) is None:
                unpayable.append(event)
            else:
                priced.append((event, terms))
        return priced, unpayable

    def _refuse(self, unpayable: list[Event], results: "_Results") -> None:
        """Refuse events whose commission would be too long, unless they are claimed on other terms, or held."""
        if not unpayable:
            return
        refused = {(event.identity, event.digest): commission_too_long(event) for event in unpayable}
        for existing in self._store.claims([event.identity for event in first_of_each(unpayable)]).values():
            results.put(existing.identity, existing)
            if isinstance(existing, Reservation) and (existing.identity, existing.digest) in refused:
                problems = refused[existing.identity, existing.digest].problems
                results.put(existing.identity, Held(existing, problems))
        results.refused |= refused

    def _claim_linked(self, linked: list[Event], request: _Request, results: "_Results") -> None:
        """Claim linked events: of different sales side by side, of one sale in turn, as each changes its sale.

        An event of an unknown sale is held, or recorded without its reference if an operator has released it. A void
        or a re-rating without its sale would say nothing, so it stays held.
        """
        firsts, rate_cards = self._with_named(first_of_each(linked))
        priced, unpayable = self._price([(one, one) for one in firsts if not has_terms_of_sale(one)], clock.now())
        self._refuse(unpayable, results)
        terms = {event.identity: one for event, one in priced}
        for events in in_rounds(one for one in firsts if has_terms_of_sale(one) or one.identity in terms):
            found = self._claim_round(events, terms, rate_cards, request)
            for event in events.values():
                if event.identity in found:
                    results.put(event.identity, found[event.identity], event.digest)
        released = (
            results.held.get(event.identity) for event in firsts if event.without_sale and can_be_unlinked(event)
        )
        waiting = (one.reservation for one in released if one and not one.problems)
        unlinked = {one.identity for one in waiting if one.reason is HeldReason.UNKNOWN_SALE}
        if unlinked:
            self._claim([event for event in firsts if event.identity in unlinked], request, results)

    def _with_named(self, events: list[Event]) -> tuple[list[Event], Mapping[Version, RateCard]]:
        """Return events, and the rate cards that the re-ratings among them name, as far as they exist.

        If the rate cards cannot be read now, the result lacks the re-ratings.
        """
        try:
            return events, self._read_rate_cards((), named_rate_cards(events)).versions
        except UnavailableError:
            return [event for event in events if not event.rerating], {}

    def _claim_round(
        self,
        events: Mapping[Identity, Event],
        terms: Mapping[Identity, CommissionTerms],
        rate_cards: Mapping[Version, RateCard],
        request: _Request,
    ) -> Mapping[Identity, object]:
        """Return what came of each event, from events by their sales: its claim, its reservation or its rejection.

        The result is something else, or missing, for an event that can neither be claimed nor held now.
        """
        results: dict[Identity, object] = {}
        pending = events

        def attempt() -> None:
            nonlocal pending
            identities = dict.fromkeys([*(event.identity for event in pending.values()), *pending])
            known = self._store.claims(list(identities))
            sales = {
                sale: found
                for sale, event in pending.items()
                if isinstance(found := known.get(sale), Claim) and not isinstance(known.get(event.identity), Claim)
            }
            gathered = Gathered(known, self._store.postings(list(sales.values())), terms, rate_cards)
            planned = plan_linked(pending, gathered, clock.now(), self._settings)
            results.update(planned)
            linked = [one for one in planned.values() if isinstance(one, LinkedClaim)]
            claimed = self._store.claim_all_linked(linked, request.id, request.in_time)
            results.update(zip((one.claim.identity for one in linked), claimed, strict=True))
            self._hold([one for one in planned.values() if isinstance(one, Hold)], request, results)
            lost = [one for one in claimed if isinstance(one, ClientError)]
            if lost:
                pending = {
                    sale: event for sale, event in pending.items() if isinstance(results[event.identity], ClientError)
                }
                raise lost[0]

        with suppress(UnavailableError):
            optimistically(attempt, "the linked events", request.in_time)
        return results

    def _hold(self, holds: list[Hold], request: _Request, results: dict[Identity, object]) -> None:
        if holds:
            held = self._store.hold(holds, request.in_time)
            results.update(zip((hold.event.identity for hold in holds), held, strict=True))

    def _append_missing(self, events: list[Event], request: _Request, results: "_Results") -> dict[Identity, Claim]:
        """Append the claimed events that the ledger lacks; return the claims whose event is in the ledger then."""
        claimed = claimed_events(events, results.claims)
        fresh = [results.claims[identity].claim for identity in claimed if results.claims[identity].fresh]
        known = [results.claims[identity].claim for identity in claimed if not results.claims[identity].fresh]
        recorded, step = self._look_up(known)
        absent = fresh + step.append + self._move(claimed, step.move)
        entries = [(claim.partition.quarter_hour, ledger_values(claimed[claim.identity], claim)) for claim in absent]
        appended = self._store.append(entries, lambda quarter_hour: request.in_time() and self._is_open(quarter_hour))
        recorded += [claim for claim in absent if claim.key in appended]
        return {claim.identity: claim for claim in recorded}

    def _move(self, events: Mapping[Identity, Event], claims: list[Claim]) -> list[Claim]:
        """Move claims whose quarter-hour is final to the current one; return those that were moved."""
        now = clock.now()
        return self._store.move([(old, old.moved(events[old.identity], now, self._settings)) for old in claims])

    def _look_up(self, known: list[Claim]) -> tuple[list[Claim], NextStep]:
        """Return the known claims whose event is in the ledger, and the next step of the others."""
        if not known:
            return [], NextStep([], [], [])
        # The clock is read before the table: a quarter-hour that is final now cannot get an append after the read.
        now = clock.now()
        try:
            keys = self._store.posted(known)
        except UnavailableError:
            return [], NextStep([], [], known)
        found = [claim for claim in known if claim.key in keys]
        return found, next_step([claim for claim in known if claim.key not in keys], now, self._settings)

    def _is_open(self, quarter_hour: QuarterHour) -> bool:
        return self._settings.phase(quarter_hour, clock.now()) is Phase.OPEN


def _needs_registration(event: Event) -> bool:
    return not event.without_registration and event.account.currency != money.NO_CURRENCY
