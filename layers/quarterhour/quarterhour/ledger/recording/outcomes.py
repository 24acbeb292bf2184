"""Outcomes: what has become of each event of a request, and the verdict of each item with its receipt or problems."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.recording.claims import Claim, Claimed
from quarterhour.ledger.recording.held_event import Held, HeldReason, Reservation, waits_for
from quarterhour.ledger.recording.plan import PlannedSegment
from quarterhour.model.errors import FieldProblem
from quarterhour.model.identifiers import Identity

if TYPE_CHECKING:
    from quarterhour.ledger.recording import api

Result = Claimed | Held | Rejection
"""What has become of an event: its valid claim, its reservation, or why it cannot be recorded."""


def result_of(existing: Claim | Reservation) -> Claimed | Held:
    """Return the result for an event whose identity has a claim or a reservation of an earlier request."""
    return Claimed(existing, fresh=False) if isinstance(existing, Claim) else Held(existing)


@dataclass(slots=True)
class Results:
    """The results for a request's events so far.

    ``rejected``: by identity and digest, as another event of the same identity may be recorded. ``recorded``: the
    claims whose event is in the ledger. ``segments``: those that the request has planned, by the suffixes of their
    positions.
    """

    claimed: dict[Identity, Claimed] = field(default_factory=dict)
    held: dict[Identity, Held] = field(default_factory=dict)
    rejected: dict[tuple[Identity, str], Rejection] = field(default_factory=dict)
    recorded: dict[Identity, Claim] = field(default_factory=dict)
    segments: dict[str, PlannedSegment] = field(default_factory=dict)

    def add_segments(self, segments: Iterable[PlannedSegment]) -> list[Claim]:
        """Add segments that the request has planned; return their claims in order."""
        claims: list[Claim] = []
        for segment in segments:
            self.segments[segment.key.position.suffix] = segment
            claims += segment.claims
        return claims

    def segment_of(self, claim: Claim) -> PlannedSegment | None:
        """Return the segment of a claim; ``None`` if this request has not planned it."""
        planned = self.segments.get(claim.position.suffix)
        if planned is None or claim.position.index is None:
            return None
        is_planned = claim.position.index < len(planned.claims) and planned.claims[claim.position.index] is claim
        return planned if is_planned or planned.key == claim.segment else None

    def is_rejected(self, event: Event) -> bool:
        """Return whether the event is rejected, and no other of its identity is claimed or held."""
        if event.identity in self.claimed or event.identity in self.held:
            return False
        return (event.identity, event.digest) in self.rejected

    def put(self, one: Event | Claim | Reservation, result: Result | None) -> None:
        """Take the result for an event, claim or reservation; ``None`` if nothing could be written for it now."""
        match result:
            case Claimed():
                self.claimed[one.identity] = result
            case Held():
                self.held[one.identity] = result
            case Rejection():
                self.rejected[one.identity, one.digest] = result
            case None:
                pass
            case _:
                assert_never(result)


class Verdict(Enum):
    """The result of recording an item."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    REJECTED = "rejected"
    UNAVAILABLE = "unavailable"
    HELD = "held"


class Outcome(NamedTuple):
    """The outcome of one item: its verdict, with its receipt if it is in the ledger, or its problems if not.

    ``reason``: what a held event waits for.
    """

    source: str | None
    id: str | None
    verdict: Verdict
    receipt: "api.Receipt | None" = None
    problems: tuple[FieldProblem, ...] = ()
    reason: HeldReason | None = None

    def as_dict(self, index: int, line: int | None = None) -> "api.ItemOutcome":
        """Return the JSON object in the response for the item at this index, and on this line, of the request."""
        values: api.ItemOutcome = {
            "index": index,
            "source": self.source,
            "id": self.id,
            "verdict": self.verdict.value,
        }
        if line:
            values["line"] = line
        if self.receipt:
            values["receipt"] = self.receipt
        problems = [problem.as_dict() for problem in self.problems]
        if self.reason:
            values["held"] = {"reason": self.reason, "problems": problems}
        elif problems:
            values["errors"] = problems
        return values


def outcomes(
    items: Sequence[Event | Rejection], results: Results, remembered: timedelta | None = None
) -> list[Outcome]:
    """Return the outcome of each item; ``remembered``: how long identities are kept, ``None`` for ever."""
    answered: set[Identity] = set()
    result = []
    for item in items:
        if isinstance(item, Rejection):
            result.append(Outcome(item.source, item.id, Verdict.REJECTED, problems=item.problems))
            continue
        claimed = results.claimed.get(item.identity)
        receipt = reason = None
        problems: tuple[FieldProblem, ...] = ()
        if claimed is None and item.identity in results.held:
            verdict, problems, reason = _outcome_of_held(item, results.held[item.identity], remembered)
        elif claimed is None and results.is_rejected(item):
            verdict, problems = Verdict.REJECTED, results.rejected[item.identity, item.digest].problems
        elif claimed is None:
            verdict, problems = Verdict.UNAVAILABLE, (_TRY_AGAIN,)
        elif not claimed.claim.is_of(item):
            verdict, problems = Verdict.CONFLICT, (_CONFLICT,)
        elif item.identity not in results.recorded:
            verdict, problems = Verdict.UNAVAILABLE, (_TRY_AGAIN,)
        else:
            receipt = results.recorded[item.identity].receipt
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
    if not event.has_digest(reservation.digest):
        return Verdict.CONFLICT, (replace(_CONFLICT, problem="was held before with other content"),), None
    if reservation.discarded is not None:
        return Verdict.REJECTED, (_discarded(reservation.discarded),), None
    return Verdict.HELD, held.problems or (waits_for(event, reservation.reason, remembered),), reservation.reason


def _discarded(why: str) -> FieldProblem:
    return FieldProblem("id", f"was held, and discarded by an operator: {why}", "a new id for a new event")


_TRY_AGAIN: Final = FieldProblem("", "could not be written now", "the same item again, a little later")
_CONFLICT: Final = FieldProblem(
    "id",
    "was recorded before with other content",
    "a new id for new content, or the same content for a retry",
)
