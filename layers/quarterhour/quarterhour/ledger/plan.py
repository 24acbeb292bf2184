"""Recording, the pure part: what to claim, what to append where, and what to answer.

An event is claimed in the Identity table, which fixes its partition and position, and then appended to the ledger.
A bucket takes appends while it is open, none while it is closing, and never again once it is settled; only then may
a claim whose append never came be moved, as nobody can still be writing where it pointed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Self

from quarterhour.ledger.event import SALE, Event, Rejection
from quarterhour.ledger.pricing import Price
from quarterhour.model import money
from quarterhour.model.clock import iso_exact, iso_millis
from quarterhour.model.errors import FieldProblem, SettingsError
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.quarter_hours import QuarterHour

SCHEMA: Final = "1"
SAFETY: Final = timedelta(seconds=5)
"""For clocks that differ between machines, and for a request still on the wire when its function ends."""


class Phase(Enum):
    """What may happen to a bucket."""

    OPEN = "open"
    CLOSING = "closing"
    FINAL = "settled"


@dataclass(frozen=True, slots=True)
class RecordingTerms:
    """What the owner sets for the recording of events.

    ``grace``: how long after its end a bucket is settled; ``longest_run``: how long an ingest can live, at the most;
    ``retention``: how long an identity is remembered, ``None`` for ever.
    """

    shards: int
    commission_rate: Decimal
    grace: timedelta
    longest_run: timedelta
    retention: timedelta | None

    def __post_init__(self) -> None:
        """Refuse a grace in which an ingest that began in time could still be writing."""
        if self.grace < self.longest_run + SAFETY:
            least = (self.longest_run + SAFETY).total_seconds()
            raise SettingsError(f"a grace of {self.grace.total_seconds():.0f} s is too short: {least:.0f} s at least")

    def phase(self, quarter_hour: QuarterHour, now: datetime) -> Phase:
        """Tell what may happen to a bucket now.

        An append that is issued while the bucket is open has taken effect, or never will, when it is settled:
        the function that issued it has ended by then.
        """
        settled = quarter_hour.end + self.grace
        if now >= settled:
            return Phase.FINAL
        return Phase.OPEN if now < settled - self.longest_run - SAFETY else Phase.CLOSING


@dataclass(frozen=True, slots=True)
class Refundable:
    """What the claim of a sale knows for its refunds: whose sale it was, and how much of it is not refunded yet."""

    account: Account
    left: Decimal


@dataclass(frozen=True, slots=True)
class Claim:
    """The ledger position given to an event, with all that makes a repeated append write the same bytes.

    ``amount``: of a refund of the rest, where less than what it asks for was left of its sale.
    """

    identity: Identity
    partition: Partition
    position: Position
    digest: str
    price: Price
    expires_at: int | None
    refundable: Refundable | None = None
    amount: Decimal | None = None

    @classmethod
    def of(cls, event: Event, now: datetime, terms: RecordingTerms, price: Price) -> Self:
        """Claim the position that the event has when it is recorded now, and what commission it pays."""
        refundable = Refundable(event.account, event.amount) if event.type == SALE else None
        expires = None if terms.retention is None else int((now + terms.retention).timestamp())
        identity = event.identity
        partition = Partition.of(identity, now, terms.shards)
        return cls(identity, partition, Position.of(identity, now), event.digest, price, expires, refundable)

    def moved(self, now: datetime, terms: RecordingTerms) -> "Claim":
        """Return the claim with the position that it gets now; its terms stay."""
        partition = Partition.of(self.identity, now, terms.shards)
        return replace(self, partition=partition, position=Position.of(self.identity, now))

    def content(self, event: Event) -> Event:
        """Return the event that was claimed with the amount that it was claimed for."""
        return event if self.amount is None else replace(event, amount=self.amount)

    @property
    def key(self) -> tuple[str, str]:
        """The ledger's key: partition and position."""
        return str(self.partition), str(self.position)

    @property
    def receipt(self) -> dict[str, str]:
        """What the sender gets: when and where the event was recorded."""
        return {
            "recorded_at": iso_millis(self.position.recorded_at),
            "partition": str(self.partition),
            "position": str(self.position),
        }


def too_long(event: Event) -> Rejection:
    """Refuse an event whose commission, by the terms in force, could not be exact."""
    problem = FieldProblem(
        "data.amount",
        f"gives a commission of more than {money.MAX_DIGITS} digits by the terms in force",
        "fewer digits, or a commission_rate of its own",
    )
    return Rejection(event.identity.source, event.identity.id, (problem,))


def ledger_values(event: Event, claim: Claim) -> dict[str, str]:
    """Return the ledger's attributes of an event, all text; the same for the same event and claim.

    Raises ``ValueError`` where the commission would need more than 38 digits.
    """
    commission = claim.price.commission(event.amount)
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
        "commission_rate": money.plain(claim.price.rate),
        "commission": money.plain(commission),
        "recorded_at": iso_millis(claim.position.recorded_at),
        "schema": SCHEMA,
        **event.details,
    }
    if claim.price.terms:
        values["terms"] = claim.price.terms
    if claim.price.arithmetic:
        values["arithmetic"] = claim.price.arithmetic
    if event.time is not None:
        values["time"] = iso_exact(event.time)
    return values


class Verdict(Enum):
    """What became of an item."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    REJECTED = "rejected"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one item: its verdict, its receipt where it stands in the ledger, its problems where not."""

    source: str | None
    id: str | None
    verdict: Verdict
    receipt: Mapping[str, str] | None = None
    problems: tuple[FieldProblem, ...] = ()

    def as_dict(self, index: int) -> dict[str, Any]:
        """Return the answer's JSON object for the item at this index of the request."""
        values: dict[str, Any] = {
            "index": index,
            "source": self.source,
            "id": self.id,
            "verdict": self.verdict.value,
        }
        if self.receipt:
            values["receipt"] = self.receipt
        if self.problems:
            values["errors"] = [problem.as_dict() for problem in self.problems]
        return values


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim as it stands after ours was tried: ours where ``fresh``, else the one that was there before."""

    claim: Claim
    fresh: bool


def first_of_each(events: Iterable[Event]) -> list[Event]:
    """Return the first event of each identity: the one that claims."""
    firsts: dict[Identity, Event] = {}
    for event in events:
        firsts.setdefault(event.identity, event)
    return list(firsts.values())


def contents(events: Iterable[Event], claims: Mapping[Identity, Claimed]) -> dict[Identity, Event]:
    """Return, of each claimed identity, an event with the content that was claimed."""
    return {
        event.identity: claimed.claim.content(event)
        for event in events
        if (claimed := claims.get(event.identity)) and claimed.claim.digest == event.digest
    }


@dataclass(frozen=True, slots=True)
class NextStep:
    """What each claim needs: an append where it points, a move first, or to wait until its bucket is settled."""

    append: list[Claim]
    move: list[Claim]
    wait: list[Claim]


def next_step(absent: Iterable[Claim], now: datetime, terms: RecordingTerms) -> NextStep:
    """Decide for claims whose event is not in the ledger (yet), by the phase of the bucket that they point to."""
    step = NextStep([], [], [])
    by_phase = {Phase.OPEN: step.append, Phase.FINAL: step.move, Phase.CLOSING: step.wait}
    for claim in absent:
        by_phase[terms.phase(claim.partition.quarter_hour, now)].append(claim)
    return step


def outcomes(
    items: Sequence[Event | Rejection],
    claims: Mapping[Identity, Claimed],
    standing: Mapping[Identity, Claim],
    refused: Mapping[tuple[Identity, str], Rejection],
) -> list[Outcome]:
    """Answer each item, from the claims as they are, and those of them whose event now stands in the ledger.

    ``refused``: the events whose commission would be too long, and the refunds that their sale does not allow, by
    identity and digest.
    """
    answered: set[Identity] = set()
    result = []
    for item in items:
        if isinstance(item, Rejection):
            result.append(Outcome(item.source, item.id, Verdict.REJECTED, problems=item.problems))
            continue
        claimed = claims.get(item.identity)
        receipt = None
        problems: tuple[FieldProblem, ...] = ()
        if claimed is None and (item.identity, item.digest) in refused:
            verdict, problems = Verdict.REJECTED, refused[item.identity, item.digest].problems
        elif claimed is None:
            verdict, problems = Verdict.UNAVAILABLE, (_TRY_AGAIN,)
        elif claimed.claim.digest != item.digest:
            verdict, problems = Verdict.CONFLICT, (_CONFLICT,)
        elif item.identity not in standing:
            verdict, problems = Verdict.UNAVAILABLE, (_TRY_AGAIN,)
        else:
            receipt = standing[item.identity].receipt
            new = claimed.fresh and item.identity not in answered
            verdict = Verdict.RECORDED if new else Verdict.DUPLICATE
            answered.add(item.identity)
        result.append(Outcome(item.identity.source, item.identity.id, verdict, receipt, problems))
    return result


_TRY_AGAIN: Final = FieldProblem("", "could not be written now", "the same item again, a little later")
_CONFLICT: Final = FieldProblem(
    "id",
    "was recorded before with other content",
    "an id of its own for new content, or the same content for a retry",
)
