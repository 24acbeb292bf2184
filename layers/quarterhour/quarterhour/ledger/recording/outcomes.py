"""Outcomes: the verdict of each item of a request, with its receipt or problems."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from quarterhour.ledger.events.event import VIEW, Event, Rejection
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.held_event import Held, HeldReason, waits_for
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.ledger.recording.ticket import Ticket
from quarterhour.model.errors import FieldProblem
from quarterhour.model.identifiers import Identity
from quarterhour.model.periods import Period

if TYPE_CHECKING:
    from quarterhour.ledger.recording import api


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

    ``reason``: what a held event waits for. ``before``: the first period with statements, if the recorded event counts
    before it.
    """

    source: str | None
    id: str | None
    verdict: Verdict
    receipt: "api.Receipt | None" = None
    problems: tuple[FieldProblem, ...] = ()
    reason: HeldReason | None = None
    before: Period | None = None

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
        if self.before:
            values["before_first_period"] = str(self.before)
        problems = [problem.as_dict() for problem in self.problems]
        if self.reason:
            values["held"] = {"reason": self.reason, "problems": problems}
        elif problems:
            values["errors"] = problems
        return values


def outcomes(
    items: Sequence[Event | Rejection], tickets: Mapping[Identity, Ticket], settings: RecordingSettings
) -> list[Outcome]:
    """Return the outcome of each item."""
    answered: set[Identity] = set()
    result = []
    for item in items:
        if isinstance(item, Rejection):
            result.append(Outcome(item.source, item.id, Verdict.REJECTED, problems=item.problems))
            continue
        ticket = tickets.get(item.identity)
        if ticket and ticket.claimed and ticket.recorded and ticket.claimed.claim.is_of(item):
            new = ticket.claimed.fresh and item.identity not in answered
            verdict = Verdict.RECORDED if new else Verdict.DUPLICATE
            answered.add(item.identity)
            before = _first_period_after(ticket.recorded, item, settings)
            result.append(Outcome(*item.identity, verdict, ticket.recorded.receipt, before=before))
        else:
            result.append(_not_recorded(item, ticket, settings.retention))
    return result


def _first_period_after(claim: Claim, event: Event, settings: RecordingSettings) -> Period | None:
    """Return the first period with statements if a recorded event counts before it, and so is on none; else ``None``.

    A view has no money that could be missed.
    """
    first = settings.calendars.at(claim.position.recorded_at).first_period
    return first if first and claim.period < first and event.type != VIEW else None


def _not_recorded(event: Event, ticket: Ticket | None, remembered: timedelta | None) -> Outcome:
    """Return the outcome of an event that is not in the ledger."""
    reason = None
    problems: tuple[FieldProblem, ...] = (TRY_AGAIN,)
    verdict = Verdict.UNAVAILABLE
    if ticket is None:
        problems = (_NO_TOKEN,)
    elif ticket.claimed:
        if not ticket.claimed.claim.is_of(event):
            verdict, problems = Verdict.CONFLICT, (_CONFLICT,)
    elif ticket.held:
        verdict, problems, reason = _outcome_of_held(event, ticket.held, remembered)
    elif rejection := ticket.rejection_of(event):
        verdict, problems = Verdict.REJECTED, rejection.problems
    return Outcome(*event.identity, verdict, problems=problems, reason=reason)


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


TRY_AGAIN: Final = FieldProblem("", "could not be written now", "the same item again, a little later")
"""The problem of an event that is unavailable."""
_NO_TOKEN: Final = FieldProblem(
    "data.customer", "has no token, as the vault is not available", "the same item again, a little later"
)
_CONFLICT: Final = FieldProblem(
    "id",
    "was recorded before with other content",
    "a new id for new content, or the same content for a retry",
)
