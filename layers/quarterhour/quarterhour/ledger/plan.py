"""Recording, the pure part: claims, the ledger's attributes, what to append or move, and the outcomes.

An event is claimed in the Identity table, which fixes its partition and position, and is then appended to the ledger.
A quarter-hour accepts appends while it is open, none while it is closing, and never again once it is final. A claim
whose event was not appended is moved only when its quarter-hour is final: then no append to it can be in flight.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Self

from quarterhour.ledger.event import RECORDED_BY, SALE, Event, Rejection
from quarterhour.ledger.held.held_event import Held, HeldReason, waits_for
from quarterhour.ledger.pricing import CommissionTerms
from quarterhour.model import money
from quarterhour.model.clock import iso_exact, iso_millis
from quarterhour.model.errors import FieldProblem, SettingsError
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.periods import Calendar, Period
from quarterhour.model.quarter_hours import QuarterHour

SCHEMA: Final = "1"
PRIOR: Final = "1"
"""The value of the attribute ``prior_period``; events of the current period lack it."""
UNREGISTERED: Final = "1"
"""The value of the attribute that marks an event whose rate cards were looked up for an unregistered agency."""
SAFETY: Final = timedelta(seconds=5)
"""A margin for clocks that differ between machines, and for a request in flight when its function ends."""


class Phase(Enum):
    """The phase of a quarter-hour: whether it accepts appends."""

    OPEN = "open"
    CLOSING = "closing"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class RecordingSettings:
    """The owner's settings for recording events.

    ``grace``: the time from the end of a quarter-hour until it is final. ``longest_run``: the timeout of the function
    that records. ``retention``: how long an identity is kept, ``None`` for ever. ``calendar``: the periods of events.
    ``registered_only``: whether events of agencies that are not registered are held.
    """

    shards: int
    commission_rate: Decimal
    grace: timedelta
    longest_run: timedelta
    retention: timedelta | None
    calendar: Calendar = field(default_factory=Calendar)
    registered_only: bool = False

    def __post_init__(self) -> None:
        """Refuse a grace so short that a function could still append to a final quarter-hour."""
        if self.grace < self.longest_run + SAFETY:
            least = (self.longest_run + SAFETY).total_seconds()
            raise SettingsError(f"a grace of {self.grace.total_seconds():.0f} s is too short: {least:.0f} s at least")

    def phase(self, quarter_hour: QuarterHour, now: datetime) -> Phase:
        """Return the phase of a quarter-hour now.

        An append that is sent while it is open takes effect before it is final, or never: the function that sent it
        has ended by then.
        """
        final_at = quarter_hour.end + self.grace
        if now >= final_at:
            return Phase.FINAL
        return Phase.OPEN if now < final_at - self.longest_run - SAFETY else Phase.CLOSING


@dataclass(frozen=True, slots=True)
class Refundable:
    """The part of a sale's claim that its refunds and voids change.

    ``left``: the amount that is not refunded or voided yet. ``voided``: the void of the sale, if there is one.
    """

    account: Account
    left: Decimal
    voided: Identity | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """The ledger position of an event, with everything that makes a repeated append write the same bytes.

    ``amount`` is set if it differs from the event's: for a void, and for a refund of the rest of its sale. ``rerated``
    are the terms by the last re-rating of the event: later refunds, voids and re-ratings take them, while every append
    of the event keeps ``terms``. ``period`` is missing in claims of earlier versions. ``prior_period``: whether the
    event belongs to an earlier period, which is cut off. ``unlinked`` marks an event that an operator released, and
    that is recorded without its reference to a sale. ``attributes`` and ``recorded_by`` are those of the event that was
    claimed, as a retry may have others.
    """

    identity: Identity
    partition: Partition
    position: Position
    digest: str
    terms: CommissionTerms
    expires_at: int | None
    refundable: Refundable | None = None
    amount: Decimal | None = None
    period: Period | None = None
    prior_period: bool = False
    unlinked: bool = False
    rerated: CommissionTerms | None = None
    attributes: str | None = None
    recorded_by: str | None = None

    @classmethod
    def of(cls, event: Event, now: datetime, settings: RecordingSettings, terms: CommissionTerms) -> Self:
        """Return the claim of an event that is recorded now on some terms."""
        refundable = Refundable(event.account, event.amount) if event.type == SALE else None
        expires = None if settings.retention is None else int((now + settings.retention).timestamp())
        partition, position, period, prior = _place(event, now, settings)
        return cls(
            event.identity,
            partition,
            position,
            event.digest,
            terms,
            expires,
            refundable,
            period=period,
            prior_period=prior,
            attributes=event.attributes,
            recorded_by=event.recorded_by,
        )

    def moved(self, event: Event, now: datetime, settings: RecordingSettings) -> "Claim":
        """Return the claim of an event with a position and a period of now, on the same terms."""
        partition, position, period, prior = _place(event, now, settings)
        return replace(self, partition=partition, position=position, period=period, prior_period=prior)

    def content(self, event: Event) -> Event:
        """Return the event with the claimed amount, reference and attributes."""
        content = event.unlinked if self.unlinked else event
        if content.attributes != self.attributes:
            content = replace(content, attributes=self.attributes)
        return content if self.amount is None else replace(content, amount=self.amount)

    @property
    def terms_in_force(self) -> CommissionTerms:
        """The terms by the last re-rating, or else the first ones."""
        return self.rerated or self.terms

    @property
    def key(self) -> tuple[str, str]:
        """The ledger's key: partition and position."""
        return str(self.partition), str(self.position)

    @property
    def receipt(self) -> dict[str, str]:
        """The receipt for the sender: the time, partition and position of the recorded event."""
        return {
            "recorded_at": iso_millis(self.position.recorded_at),
            "partition": str(self.partition),
            "position": str(self.position),
        }


def _place(event: Event, now: datetime, settings: RecordingSettings) -> tuple[Partition, Position, Period, bool]:
    """Return the partition, position and period of an event that is claimed now, and whether its own is cut off."""
    partition, position = Partition.of(event.identity, now, settings.shards), Position.of(event.identity, now)
    return partition, position, *settings.calendar.period_of(event.time, position.recorded_at)


def commission_too_long(event: Event) -> Rejection:
    """Return the rejection of an event whose commission would need more than 38 digits."""
    problem = FieldProblem(
        "data.amount",
        f"gives a commission of more than {money.MAX_DIGITS} digits at the price in force",
        "fewer digits, or an event that names its commission_rate",
    )
    return Rejection(event.identity.source, event.identity.id, (problem,))


def ledger_values(event: Event, claim: Claim) -> dict[str, str]:
    """Return the ledger's attributes of an event, all text. Equal events and claims give equal attributes.

    Raises ``ValueError`` if the commission would need more than 38 digits.
    """
    commission = claim.terms.commission(event.amount)
    if commission is None:
        raise ValueError(f"the commission of {claim.identity} needs more than 38 digits")
    values = {
        "quarter_hour": str(claim.partition),
        "position": str(claim.position),
        "source": event.identity.source,
        "id": event.identity.id,
        "type": event.type,
        "agency": event.account.agency,
        "currency": event.account.currency,
        "amount": money.plain(event.amount),
        "commission_rate": money.plain(claim.terms.commission_rate),
        "commission": money.plain(commission),
        "recorded_at": iso_millis(claim.position.recorded_at),
        "schema": SCHEMA,
        **event.details,
    }
    if claim.terms.origin:
        values["terms"] = claim.terms.origin
    if claim.terms.arithmetic:
        values["arithmetic"] = claim.terms.arithmetic
    if event.attributes:
        values["attributes"] = event.attributes
    if claim.recorded_by:
        values[RECORDED_BY] = claim.recorded_by
    if event.time is not None:
        values["time"] = iso_exact(event.time)
    if claim.period:
        values["period"] = str(claim.period)
    if claim.prior_period:
        values["prior_period"] = PRIOR
    if claim.terms.unregistered:
        values["unregistered"] = UNREGISTERED
    return values


class Verdict(Enum):
    """The result of recording an item."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    REJECTED = "rejected"
    UNAVAILABLE = "unavailable"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one item: its verdict, with its receipt if it is in the ledger, or its problems if not.

    ``reason``: what a held event waits for.
    """

    source: str | None
    id: str | None
    verdict: Verdict
    receipt: Mapping[str, str] | None = None
    problems: tuple[FieldProblem, ...] = ()
    reason: HeldReason | None = None

    def as_dict(self, index: int, line: int | None = None) -> dict[str, Any]:
        """Return the JSON object in the response for the item at this index, and on this line, of the request."""
        values: dict[str, Any] = {
            "index": index,
            **({"line": line} if line else {}),
            "source": self.source,
            "id": self.id,
            "verdict": self.verdict.value,
        }
        if self.receipt:
            values["receipt"] = self.receipt
        problems = [problem.as_dict() for problem in self.problems]
        if self.reason:
            values["held"] = {"reason": self.reason.value, "problems": problems}
        elif problems:
            values["errors"] = problems
        return values


@dataclass(frozen=True, slots=True)
class Claimed:
    """The valid claim of an event: written by this request (``fresh``), or an earlier one.

    ``was_held``: this request has replaced the reservation of a held event by the claim.
    """

    claim: Claim
    fresh: bool
    was_held: bool = False


def first_of_each(events: Iterable[Event]) -> list[Event]:
    """Return the first event of each identity, which is the one to claim."""
    firsts: dict[Identity, Event] = {}
    for event in events:
        firsts.setdefault(event.identity, event)
    return list(firsts.values())


def claimed_events(events: Iterable[Event], claims: Mapping[Identity, Claimed]) -> dict[Identity, Event]:
    """Return the event to append for each claimed identity: one whose content is the claimed one."""
    return {
        event.identity: claimed.claim.content(event)
        for event in events
        if (claimed := claims.get(event.identity)) and claimed.claim.digest == event.digest
    }


@dataclass(frozen=True, slots=True)
class NextStep:
    """The claims of absent events by their next step: append, move first, or wait until the quarter-hour is final."""

    append: list[Claim]
    move: list[Claim]
    wait: list[Claim]


def next_step(absent: Iterable[Claim], now: datetime, settings: RecordingSettings) -> NextStep:
    """Return the next step of each claim whose event is absent from the ledger, by the phase of its quarter-hour."""
    step = NextStep([], [], [])
    by_phase = {Phase.OPEN: step.append, Phase.FINAL: step.move, Phase.CLOSING: step.wait}
    for claim in absent:
        by_phase[settings.phase(claim.partition.quarter_hour, now)].append(claim)
    return step


def outcomes(  # noqa: PLR0913 - all that decides about an item
    items: Sequence[Event | Rejection],
    claims: Mapping[Identity, Claimed],
    recorded: Mapping[Identity, Claim],
    refused: Mapping[tuple[Identity, str], Rejection],
    held: Mapping[Identity, Held],
    *,
    remembered: timedelta | None = None,
) -> list[Outcome]:
    """Return the outcome of each item.

    ``claims``: the valid claims. ``recorded``: the claims whose event is in the ledger. ``refused``: by identity and
    digest, the events with a commission that is too long, and the linked events that their sale does not allow.
    ``held``: the reservations of events that are held. ``remembered``: how long identities are kept, ``None`` for ever.
    """
    answered: set[Identity] = set()
    result = []
    for item in items:
        if isinstance(item, Rejection):
            result.append(Outcome(item.source, item.id, Verdict.REJECTED, problems=item.problems))
            continue
        claimed = claims.get(item.identity)
        receipt = reason = None
        problems: tuple[FieldProblem, ...] = ()
        if claimed is None and item.identity in held:
            verdict, problems, reason = _outcome_of_held(item, held[item.identity], remembered)
        elif claimed is None and (item.identity, item.digest) in refused:
            verdict, problems = Verdict.REJECTED, refused[item.identity, item.digest].problems
        elif claimed is None:
            verdict, problems = Verdict.UNAVAILABLE, (_TRY_AGAIN,)
        elif claimed.claim.digest != item.digest:
            verdict, problems = Verdict.CONFLICT, (_CONFLICT,)
        elif item.identity not in recorded:
            verdict, problems = Verdict.UNAVAILABLE, (_TRY_AGAIN,)
        else:
            receipt = recorded[item.identity].receipt
            new = claimed.fresh and item.identity not in answered
            verdict = Verdict.RECORDED if new else Verdict.DUPLICATE
            answered.add(item.identity)
        result.append(Outcome(item.identity.source, item.identity.id, verdict, receipt, problems, reason))
    return result


def _outcome_of_held(
    event: Event, held: Held, remembered: timedelta | None
) -> tuple[Verdict, tuple[FieldProblem, ...], HeldReason | None]:
    """Return verdict, problems and reason of an event whose identity is reserved for a held event."""
    reservation = held.reservation
    if reservation.digest != event.digest:
        return Verdict.CONFLICT, (replace(_CONFLICT, problem="was held before with other content"),), None
    if reservation.discarded is not None:
        return Verdict.REJECTED, (_discarded(reservation.discarded),), None
    return Verdict.HELD, held.problems or (waits_for(event, reservation.reason, remembered),), reservation.reason


def _discarded(why: str) -> FieldProblem:
    return FieldProblem("id", f"was held, and discarded by an operator: {why}", "an id of its own for a new event")


_TRY_AGAIN: Final = FieldProblem("", "could not be written now", "the same item again, a little later")
_CONFLICT: Final = FieldProblem(
    "id",
    "was recorded before with other content",
    "an id of its own for new content, or the same content for a retry",
)
