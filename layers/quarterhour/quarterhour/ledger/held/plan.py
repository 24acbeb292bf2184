"""Held events, the pure part: the result of an attempt to post them, and what to do with each of them after it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from quarterhour.ledger.recording.held_event import HeldEvent, waits_for
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.model.clock import parse_iso

DAY = timedelta(days=1)


class Next(Enum):
    """What to do with the item of a held event after an attempt to post it."""

    DONE = "done"
    """The recorder has posted the event and deleted its item."""
    FORGET = "forget"
    """The event was posted before, and its item is left over."""
    SET_REASON = "set_reason"
    """The event waits for something else than before, or its sale does not allow it: the item must say so."""
    KEEP = "keep"
    """The item stays as it is: nothing has changed, or the event could not be written now."""


@dataclass(frozen=True, slots=True)
class PostingRun:
    """The result of an attempt to post all held events. ``age``: that of the oldest one, in days."""

    posted: int
    left: int
    age: float
    complete: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the object that the watch returns and logs."""
        return {"posted": self.posted, "left": self.left, "complete": self.complete}


def with_reason(held: HeldEvent, outcome: Outcome) -> HeldEvent:
    """Return a held event with what it waits for now, and why else it could not be posted."""
    reason = outcome.reason or held.reason
    waits = outcome.problems == (waits_for(held.event, reason),)
    return replace(held, reason=reason, problems=() if waits else outcome.problems)


def next_of(held: HeldEvent, outcome: Outcome) -> Next:
    """Return what to do with the item of a held event after an attempt to post it."""
    match outcome.verdict:
        case Verdict.RECORDED:
            return Next.DONE
        case Verdict.DUPLICATE:
            return Next.FORGET
        case Verdict.UNAVAILABLE:
            return Next.KEEP
        case _:
            return Next.KEEP if with_reason(held, outcome) == held else Next.SET_REASON


def age(held_at: str, now: datetime) -> float:
    """Return the age of a held event in days."""
    return max(0.0, (now - parse_iso(held_at)) / DAY)
