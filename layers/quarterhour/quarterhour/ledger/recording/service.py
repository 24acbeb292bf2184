"""Recording events exactly once: admit, price, claim, append, answer."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from quarterhour.aws.resources import Resources
from quarterhour.customers.tokens import Tokens
from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.postings.reading import Unarchive
from quarterhour.ledger.recording.admission_service import Admission, ReadRegistrations
from quarterhour.ledger.recording.append_service import Appends
from quarterhour.ledger.recording.claim_service import OwnClaims
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.linked_service import LinkedClaims
from quarterhour.ledger.recording.outcomes import Outcome, outcomes
from quarterhour.ledger.recording.plan import RecordingRequest
from quarterhour.ledger.recording.pricing_service import EventPricing, ReadRateCards
from quarterhour.ledger.recording.segment_store import SegmentStore
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.ledger.recording.ticket import Ticket, Way
from quarterhour.model import clock
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.agencies.store import RegistrationStore
from quarterhour.registry.rate_cards.store import RateCardStore
from quarterhour.registry.settings.store import SettingsReader


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
        self._claims = claims
        self._segments = segments
        self._admission = Admission(claims, read_registrations, tokens)
        self._pricing = EventPricing(claims, read_rate_cards)
        self._own = OwnClaims(claims)
        self._appends = Appends(claims, segments)
        self._linked = LinkedClaims(claims, segments, self._appends)
        self._prepared = False

    def record(self, items: Sequence[Event | Rejection], request_id: str, seconds: float) -> list[Outcome]:
        """Record the valid items of a request, and return the outcome of each item in the same order.

        Items that could not be written within ``seconds`` are unavailable.
        Raises ``UnavailableError`` if the tables cannot be reached at all.
        """
        until = clock.now() + timedelta(seconds=seconds)
        request = RecordingRequest(request_id, until, self._read_settings())
        items, by_identity = self._admission.admit(items)
        tickets = list(by_identity.values())
        if tickets:
            self._prepare(request)
            self._admission.refuse_known_rows(tickets, request)
            self._admission.hold([ticket for ticket in tickets if not ticket.is_rejected], request)
        for way in Way:
            # What is linked comes after what is not is appended, so that one request can hold a sale and its refund.
            chosen = rest = [ticket for ticket in tickets if ticket.choose(way)]
            while rest:
                now = clock.now()
                priced = self._pricing.price(rest, now, way, request)
                if way is Way.LINKED:
                    self._linked.claim(priced, request)
                else:
                    self._own.claim(priced, now, request)
                # Of one identity, the first event that is not rejected is claimed or held.
                rest = [ticket for ticket in rest if ticket.is_rejected and ticket.choose(way)]
            # All at first: an event that must wait now may have been claimed by an earlier request.
            self._appends.append(tickets if way is Way.ALONE else chosen, request)
        self._forget_held(tickets)
        found = outcomes(items, by_identity, request.settings)
        if any(isinstance(one, Event) and one.is_running_total for one in items):
            return self._completed(items, found, request)
        return found

    def _completed(
        self, items: Sequence[Event | Rejection], found: Sequence[Outcome], request: RecordingRequest
    ) -> list[Outcome]:
        """Return the outcomes of items, once what those of running totals say beyond the first is recorded."""
        # Loaded for the few that need it, so that a function starts without it.
        from quarterhour.ledger.recording.running_totals import EditedItems  # noqa: PLC0415

        def record(event: Event) -> Outcome:
            seconds = (request.until - clock.now()).total_seconds()
            (outcome,) = self.record([event], f"{request.id}.{event.identity.id}", seconds)
            return outcome

        totals = EditedItems(record, self._claims, self._segments)
        return [
            totals.completed(item, one) if isinstance(item, Event) and item.is_running_total else one
            for item, one in zip(items, found, strict=True)
        ]

    def accounts(self, identities: Sequence[Identity]) -> dict[Identity, Account]:
        """Return the accounts of recorded events, as far as they are in the ledger."""
        claims = [one for one in self._claims.claims(identities).values() if isinstance(one, Claim)]
        found = self._segments.postings(claims)
        return {one: Account(facts["agency"], facts["currency"]) for one, facts in found.items()}

    def remembers(self, at: datetime) -> bool:
        """Return whether the identities of events recorded at an instant or later are still kept."""
        retention = self._read_settings().retention
        return retention is None or clock.now() < at + retention

    def _prepare(self, request: RecordingRequest) -> None:
        # Before the clock is read for the first claim: so every claim is after the checkpoint, by any process.
        if not self._prepared:
            self._segments.prepare(request.settings.shards, QuarterHour.at(clock.now()).previous)
            self._prepared = True

    def _forget_held(self, tickets: Iterable[Ticket]) -> None:
        """Delete the items of the held events that are in the ledger now."""
        posted = [one.identity for one in tickets if one.recorded and one.claimed and one.claimed.was_held]
        if posted:
            self._claims.forget_held(posted)


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
        RegistrationStore.of(resources).read,
        tokens,
    )
