"""Recording events: read the rate cards and the existing claims, plan, write claims and events."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from quarterhour.aws.settings import Environment
from quarterhour.aws.workers import Workers
from quarterhour.ledger.claims import Claim
from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.held.held_event import Held, HeldReason, Hold, Reservation
from quarterhour.ledger.linked import without_their_sale
from quarterhour.ledger.linked_service import LinkedClaims
from quarterhour.ledger.outcomes import Outcome, Results, outcomes, result_of
from quarterhour.ledger.plan import NextStep, RecordingRequest, claimed_events, first_of_each, next_step
from quarterhour.ledger.posting import ledger_values
from quarterhour.ledger.pricing_service import EventPricing, ReadRateCards
from quarterhour.ledger.settings import Phase, RecordingSettings
from quarterhour.ledger.store import LedgerStore
from quarterhour.model import clock, money
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.rate_cards.store import RateCardStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class Recorder:
    """Records events exactly once."""

    def __init__(self, settings: RecordingSettings, store: LedgerStore, read_rate_cards: ReadRateCards) -> None:
        self._settings = settings
        self._store = store
        self._read_rate_cards = read_rate_cards
        self._pricing = EventPricing(store, read_rate_cards, settings.commission_rate)
        self._linked = LinkedClaims(settings, store, self._pricing)
        self._prepared = False

    def record(self, items: Sequence[Event | Rejection], request_id: str, seconds: float) -> list[Outcome]:
        """Record the valid items of a request, and return the outcome of each item in the same order.

        Items that could not be written within ``seconds`` are unavailable.
        Raises ``UnavailableError`` if the tables cannot be reached at all.
        """
        request = RecordingRequest(request_id, clock.now() + timedelta(seconds=seconds))
        results = Results()
        events = [item for item in items if isinstance(item, Event)]
        if events:
            self._prepare()
            if self._settings.registered_only:
                events, unregistered = self._by_registration(events)
                self._hold_unregistered(unregistered, request, results)
                self._append_missing(unregistered, request, results)
            plain = [event for event in events if not event.linked_to]
            self._claim(plain, request, results)
            self._append_missing(plain, request, results)
            # After the others, so that one request can hold a sale and its refund.
            linked = [event for event in events if event.linked_to and event.identity not in results.claimed]
            if linked:
                self._linked.claim(linked, request, results)
                if released := without_their_sale(linked, results):
                    self._claim(released, request, results)
                self._append_missing(linked, request, results)
            posted = [identity for identity in results.recorded if results.claimed[identity].was_held]
            if posted:
                self._store.forget_held(posted)
        return outcomes(items, results, self._settings.retention)

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

    def _hold_unregistered(self, events: list[Event], request: RecordingRequest, results: Results) -> None:
        """Hold events of agencies that are not registered, except those that were claimed or held before."""
        firsts = first_of_each(events)
        try:
            known = self._store.claims([event.identity for event in firsts]) if firsts else {}
        except UnavailableError:
            return
        for event in firsts:
            existing = known.get(event.identity)
            if isinstance(existing, Reservation) and existing.may_become_claim(event.digest):
                results.put(event, Held.waiting(existing, HeldReason.UNREGISTERED_AGENCY))
            elif existing:
                results.put(event, result_of(existing))
        holds = [Hold.of(event, HeldReason.UNREGISTERED_AGENCY) for event in firsts if event.identity not in known]
        if holds:
            for hold, held in zip(holds, self._store.hold(holds, request.in_time), strict=True):
                results.put(hold.event, held)

    def _claim(self, events: Sequence[Event], request: RecordingRequest, results: Results) -> None:
        """Claim events on their own terms; those that refer to a sale, without their reference."""
        now = clock.now()
        planned: dict[Identity, Claim] = {}
        for event, terms in self._pricing.price(events, now, results):
            if event.identity not in planned:
                claim = Claim.of(event, now, self._settings, terms)
                planned[event.identity] = replace(claim, unlinked=True) if event.linked_to else claim
        claims = list(planned.values())
        for claim, result in zip(claims, self._store.claim(claims, request.id, request.in_time), strict=True):
            results.put(claim, result)
        reserved = [claim for claim in claims if _is_reserved(claim, results)]
        if reserved:
            for claim, result in zip(
                reserved, self._store.claim_held(reserved, request.id, request.in_time), strict=True
            ):
                results.put(claim, result)

    def _append_missing(self, events: list[Event], request: RecordingRequest, results: Results) -> None:
        """Append the claimed events that the ledger lacks; put the claims whose event is in the ledger then."""
        claimed = claimed_events(events, results.claimed)
        fresh = [results.claimed[identity].claim for identity in claimed if results.claimed[identity].fresh]
        known = [results.claimed[identity].claim for identity in claimed if not results.claimed[identity].fresh]
        recorded, step = self._look_up(known)
        absent = fresh + step.append + self._move(claimed, step.move)
        entries = [(claim.partition.quarter_hour, ledger_values(claimed[claim.identity], claim)) for claim in absent]
        appended = self._store.append(entries, lambda quarter_hour: request.in_time() and self._is_open(quarter_hour))
        recorded += [claim for claim in absent if claim.key in appended]
        results.recorded |= {claim.identity: claim for claim in recorded}

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


def _is_reserved(claim: Claim, results: Results) -> bool:
    """Return whether the claim's event is held, and may be posted."""
    held = results.held.get(claim.identity)
    return held is not None and held.reservation.may_become_claim(claim.digest)


def _needs_registration(event: Event) -> bool:
    return not event.without_registration and event.account.currency != money.NO_CURRENCY


def recorder_of(env: Environment, client: "DynamoDBClient", workers: Workers, timeout: str) -> Recorder:
    """Return the recorder of a function; ``timeout`` names the variable with the function's timeout in seconds.

    Raises ``SettingsError`` for a variable that is missing or invalid.
    """
    entity_table = env.text("ENTITY_TABLE")
    store = LedgerStore(client, env.text("IDENTITY_TABLE"), env.text("LEDGER_TABLE"), entity_table, workers)
    return Recorder(RecordingSettings.of(env, timeout), store, RateCardStore(client, entity_table, workers).read)
