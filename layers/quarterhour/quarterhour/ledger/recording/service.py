"""Recording events: read the rate cards and the existing claims, plan, write claims and events."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from quarterhour.aws.items import chunks
from quarterhour.aws.resources import Resources
from quarterhour.customers.tokens import Tokens
from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.postings.reading import Unarchive
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.held_event import (
    Held,
    HeldReason,
    Hold,
    Reservation,
    depends_on_registration,
    reason_to_wait,
)
from quarterhour.ledger.recording.linked import without_their_sale
from quarterhour.ledger.recording.linked_service import LinkedClaims
from quarterhour.ledger.recording.outcomes import Outcome, Results, outcomes, result_of
from quarterhour.ledger.recording.plan import (
    Found,
    RecordingRequest,
    claimed_events,
    first_of_each,
    new_segment,
    next_step,
    plan_segments,
)
from quarterhour.ledger.recording.pricing_service import EventPricing, ReadRateCards
from quarterhour.ledger.recording.segment_store import SegmentStore
from quarterhour.ledger.recording.settings import SAFETY, Phase, RecordingSettings
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.agencies.agency import Registration
from quarterhour.registry.agencies.store import RegistrationStore
from quarterhour.registry.rate_cards.store import RateCardStore
from quarterhour.registry.settings.store import SettingsReader

_MOVED_TOGETHER: Final = 100
"""The most claims that are moved before their events are appended."""
_WAITS: Final = (0.1, 0.2, 0.3, 0.4)
"""The seconds between two looks for a segment that may be on its way, a second together."""
_ACTIVE_FOR: Final = timedelta(minutes=1)
"""How long an agency is taken as active after its registration was read."""
_MOST_ACTIVE: Final = 10_000
"""The most agencies in memory that are taken as active."""

ReadRegistrations = Callable[[Collection[str], datetime], Mapping[str, Registration]]
"""A function that reads the registrations of agencies at an instant."""


class Recorder:
    """Records events exactly once."""

    def __init__(  # noqa: PLR0913, PLR0917 - its stores and readers
        self,
        read_settings: Callable[[], RecordingSettings],
        claims: ClaimStore,
        segments: SegmentStore,
        read_rate_cards: ReadRateCards,
        read_registrations: ReadRegistrations,
        tokens: Tokens,
    ) -> None:
        """Take what the recorder reads and writes with; ``tokens``: those of customers."""
        self._read_settings = read_settings
        self._read_rate_cards = read_rate_cards
        self._claims = claims
        self._segments = segments
        self._read_registrations = read_registrations
        self._tokens = tokens
        self._active_until: dict[str, datetime] = {}
        self._prepared = False

    def record(self, items: Sequence[Event | Rejection], request_id: str, seconds: float) -> list[Outcome]:
        """Record the valid items of a request, and return the outcome of each item in the same order.

        Items that could not be written within ``seconds`` are unavailable.
        Raises ``UnavailableError`` if the tables cannot be reached at all.
        """
        request = RecordingRequest(request_id, clock.now() + timedelta(seconds=seconds))
        results = Results()
        self._follow(self._read_settings())
        events = [item for item in items if isinstance(item, Event)]
        if events:
            items = _with_tokens(items, self._tokens)
            # An event whose customer has no token now is unavailable: no name may be stored.
            events = [item for item in items if isinstance(item, Event) and not item.customer_name]
        if events:
            self._prepare()
            unapproved = [(event, HeldReason.NEEDS_APPROVAL) for event in events if event.needs_approval]
            events, inactive = self._by_registration([event for event in events if not event.needs_approval])
            waiting = unapproved + inactive
            if waiting:
                self._hold(waiting, request, results)
                self._append_missing([event for event, _ in waiting], request, results)
            plain = [event for event in events if not event.linked_to]
            self._claim(plain, request, results)
            self._append_missing(plain, request, results)
            # After the others, so that one request can hold a sale and its refund.
            linked = [event for event in events if event.linked_to]
            if unclaimed := [event for event in linked if event.identity not in results.claimed]:
                self._linked.claim(unclaimed, request, results)
                if released := without_their_sale(unclaimed, results):
                    self._claim(released, request, results)
            # All of them: an earlier request may have claimed one under the identity of another event of this one.
            self._append_missing(linked, request, results)
            posted = [identity for identity in results.recorded if results.claimed[identity].was_held]
            if posted:
                self._claims.forget_held(posted)
        return outcomes(items, results, self._settings.retention)

    def remembers(self, at: datetime) -> bool:
        """Return whether the identities of events recorded at an instant or later are still kept."""
        retention = self._read_settings().retention
        return retention is None or clock.now() < at + retention

    def _follow(self, settings: RecordingSettings) -> None:
        """Let the settings of a request apply to all of its events."""
        self._settings = settings
        self._pricing = EventPricing(self._claims, self._read_rate_cards, settings.commission_rate)
        self._linked = LinkedClaims(settings, self._claims, self._segments, self._pricing)

    def _prepare(self) -> None:
        # Before the clock is read for the first claim: so every claim is after the checkpoint, by any process.
        if not self._prepared:
            self._segments.prepare(self._settings.shards, QuarterHour.at(clock.now()).previous)
            self._prepared = True

    def _by_registration(self, events: list[Event]) -> tuple[list[Event], list[tuple[Event, HeldReason]]]:
        """Return the events that may be recorded, and those that wait for their agency. Views have no agency.

        Events whose agency cannot be looked up now are in neither.
        """
        registered_only, now = self._settings.registered_only, clock.now()
        bound = [event for event in events if depends_on_registration(event, registered_only=registered_only)]
        try:
            inactive = self._inactive({event.account.agency for event in bound}, now)
        except UnavailableError:
            needed = {id(event) for event in bound}
            return [event for event in events if id(event) not in needed], []
        if not inactive:
            return events, []
        reasons = {
            id(event): reason
            for event in bound
            if (registration := inactive.get(event.account.agency))
            and (reason := reason_to_wait(event, registration, registered_only=registered_only))
        }
        free = [event for event in events if id(event) not in reasons]
        return free, [(event, reasons[id(event)]) for event in events if id(event) in reasons]

    def _inactive(self, agencies: Collection[str], now: datetime) -> Mapping[str, Registration]:
        """Return the registrations of the agencies that are not taken as active."""
        unknown = [agency for agency in agencies if self._active_until.get(agency, now) <= now]
        found = self._read_registrations(unknown, now) if unknown else {}
        if len(self._active_until) > _MOST_ACTIVE:
            self._active_until.clear()
        # Without the policy, an agency that is not registered is no reason to wait either.
        active = {Registration.ACTIVE} if self._settings.registered_only else {Registration.ACTIVE, Registration.NONE}
        self._active_until |= {agency: now + _ACTIVE_FOR for agency, one in found.items() if one in active}
        return {agency: one for agency, one in found.items() if one not in active}

    def _hold(self, events: Sequence[tuple[Event, HeldReason]], request: RecordingRequest, results: Results) -> None:
        """Hold events for a reason each, except those that were claimed or held before."""
        reasons = {event.identity: reason for event, reason in reversed(events)}
        firsts = first_of_each(event for event, _ in events)
        try:
            known = self._claims.claims([event.identity for event in firsts]) if firsts else {}
        except UnavailableError:
            return
        for event in firsts:
            existing = known.get(event.identity)
            if isinstance(existing, Reservation) and existing.may_become_claim(event):
                # Whether it is approved is in its item: it may be, and wait for something else by now.
                stays = reasons[event.identity] is HeldReason.NEEDS_APPROVAL
                results.put(event, Held(existing) if stays else Held.waiting(existing, reasons[event.identity]))
            elif existing:
                results.put(event, result_of(existing))
        holds = [Hold.of(event, reasons[event.identity]) for event in firsts if event.identity not in known]
        if holds:
            for hold, held in zip(holds, self._claims.hold(holds, request.in_time), strict=True):
                results.put(hold.event, held)

    def _claim(self, events: Sequence[Event], request: RecordingRequest, results: Results) -> None:
        """Claim events on their own terms; those that refer to a sale, without their reference."""
        now = clock.now()
        planned: dict[Identity, Claim] = {}
        contents: dict[Identity, Event] = {}
        for event, terms in self._pricing.price(events, now, results):
            if event.identity not in planned:
                claim = Claim.of(event, now, self._settings, terms)
                planned[event.identity] = claim._replace(unlinked=True) if event.linked_to else claim
                contents[event.identity] = planned[event.identity].content(event)
        segments = plan_segments(list(planned.values()), contents, request, now, self._settings.shards)
        claims = results.add_segments(segments)
        for claim, result in zip(claims, self._claims.claim(claims, request.id, request.in_time), strict=True):
            results.put(claim, result)
        sent = {event.identity: event for event in reversed(events)}
        reserved = [found for claim in claims if (found := _in_place(claim, sent[claim.identity], results))]
        if reserved:
            for claim, result in zip(
                reserved, self._claims.claim_held(reserved, request.id, request.in_time), strict=True
            ):
                results.put(claim, result)

    def _append_missing(self, events: list[Event], request: RecordingRequest, results: Results) -> None:
        """Append the claimed events that the ledger lacks; add the claims of all that it holds then to ``results``."""
        claimed = claimed_events(events, results.claimed)
        own: dict[str, list[Claim]] = {}
        known: list[Claim] = []
        for identity in claimed:
            claim = results.claimed[identity].claim
            # Not ``fresh``: a claim of an earlier try of this request is fresh too, but is in another segment.
            if segment := results.segment_of(claim):
                own.setdefault(segment.key.position.suffix, []).append(claim)
            else:
                known.append(claim)
        recorded = self._append(own, claimed, request, results)
        if known:
            found = self._look_up(known, request)
            recorded += found.posted
            for some in chunks(found.passed_over, _MOVED_TOGETHER):
                # What is moved is appended before more is moved, so that a retry that is short of time gets further.
                moved = self._move(some, claimed, request, results) if request.in_time() else {}
                recorded += self._append(moved, claimed, request, results)
        results.recorded |= {claim.identity: claim for claim in recorded}

    def _append(
        self,
        members: Mapping[str, Sequence[Claim]],
        events: Mapping[Identity, Event],
        request: RecordingRequest,
        results: Results,
    ) -> list[Claim]:
        """Append segments that this request has planned; return those of their claims whose event is in the ledger now.

        ``members``: the valid claims of each segment, by the suffix of its position.
        """
        segments = [new_segment(results.segments[suffix], some, events) for suffix, some in members.items()]
        appended = self._segments.append(segments, partial(self._may_append, request))
        return [claim for segment in segments for key, claim in segment.claims.items() if key in appended]

    def _move(
        self, claims: Sequence[Claim], events: Mapping[Identity, Event], request: RecordingRequest, results: Results
    ) -> dict[str, list[Claim]]:
        """Move claims to new segments of now; return those that were moved as ``_append`` takes them."""
        now = clock.now()
        moved = [old.moved(events[old.identity], now, self._settings) for old in claims]
        placed = results.add_segments(plan_segments(moved, events, request, now, self._settings.shards))
        members: dict[str, list[Claim]] = {}
        for claim in self._claims.move(list(zip(claims, placed, strict=True))):
            members.setdefault(claim.position.suffix, []).append(claim)
        return members

    def _look_up(self, known: list[Claim], request: RecordingRequest) -> Found:
        """Return which known claims have their event in the ledger, and which can never get it at their position."""
        # The clock is read before the table: a quarter-hour that is final now cannot get an append after the read.
        now = clock.now()
        try:
            found = self._segments.look_up(known)
        except UnavailableError:
            return Found([], [], known)
        step = next_step(found.absent, now, self._settings)
        fenced = self._fence(step.fence, request)
        return Found(
            found.posted + fenced.posted,
            found.passed_over + step.move + fenced.passed_over,
            step.wait + fenced.absent,
        )

    def _fence(self, absent: list[Claim], request: RecordingRequest) -> Found:
        """Wait for absent segments that may be on their way, then put voids in their places; return what is there."""
        found = Found([], [], absent)
        for seconds in _WAITS:
            younger = clock.now() - self._settings.longest_run - SAFETY
            if not request.in_time() or not any(one.position.recorded_at > younger for one in found.absent):
                break
            clock.sleep(seconds)
            with suppress(UnavailableError):  # the void then finds what is there
                found = _with(found, self._segments.look_up(found.absent))
        return _with(found, self._segments.fence(found.absent, partial(self._may_append, request)))

    def _may_append(self, request: RecordingRequest, quarter_hour: QuarterHour) -> bool:
        return request.in_time() and self._settings.phase(quarter_hour, clock.now()) is Phase.OPEN


def _with(found: Found, later: Found) -> Found:
    """Return what was found of claims, and later of those that were absent."""
    return Found(found.posted + later.posted, found.passed_over + later.passed_over, later.absent)


def _in_place(claim: Claim, event: Event, results: Results) -> Claim | None:
    """Return the claim that replaces the reservation of its event; ``None`` if it is not held, or may not be posted."""
    held = results.held.get(claim.identity)
    if held is None or not held.reservation.may_become_claim(event):
        return None
    return claim


def _with_tokens(items: Sequence[Event | Rejection], tokens: Tokens) -> list[Event | Rejection]:
    """Return the items with the tokens of their customers, but for those that have no token now."""
    names = {item.customer_name for item in items if isinstance(item, Event)} - {None}
    found = tokens([name for name in names if name]) if names else {}
    return [
        item.with_token(found[name])
        if isinstance(item, Event) and (name := item.customer_name) and name in found
        else item
        for item in items
    ]


def recorder_of(resources: Resources, unarchive: Unarchive, timeout: str, tokens: Tokens) -> Recorder:
    """Return the recorder of a function; ``timeout`` names the variable with the function's timeout in seconds.

    ``tokens``: those of the customers that events name, or ``no_tokens``. Raises ``SettingsError`` for a variable that
    is missing or invalid.
    """
    env, client, entity_table, workers = resources.env, resources.dynamodb, resources.entity_table, resources.workers
    deployed, settings = RecordingSettings.of(env, timeout), SettingsReader.of(resources)
    return Recorder(
        lambda: deployed.following(settings.settings()),
        ClaimStore(client, env.text("IDENTITY_TABLE"), entity_table, workers),
        SegmentStore(client, env.text("LEDGER_TABLE"), entity_table, workers, unarchive),
        RateCardStore(client, entity_table, workers).read,
        RegistrationStore(client, entity_table, workers).read,
        tokens,
    )
