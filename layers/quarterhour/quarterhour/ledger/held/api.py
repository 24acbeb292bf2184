"""The requests and responses about held events, as types."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.ledger.events.api import RecordedRerating
from quarterhour.ledger.keys import HeldStatus
from quarterhour.ledger.recording.held_event import HeldReason
from quarterhour.model.api import FieldProblem, Instant, Name, Text


class Decision(TypedDict):
    """A decision of finance or of an operator about a held event."""

    by: NotRequired[Text]
    """Who decided; people of an agency do not see it."""
    at: Instant
    reason: Text


class Release(Decision):
    """The decision to post a held event without what it waited for."""

    waived: HeldReason
    """What it waited for."""


class HeldEvent(TypedDict):
    """An event that is held, or that was discarded."""

    source: Name
    id: Name
    status: HeldStatus
    reason: HeldReason
    held_at: Instant
    problems: list[FieldProblem]
    """Why it cannot be posted yet."""
    event: dict[str, str | RecordedRerating]
    """The event's type, agency, currency and figures, and its optional facts."""
    approved: NotRequired[Decision]
    """The second person, who approved what another one has recorded."""
    released: NotRequired[Release]
    """Who lets it be posted without what it waited for then."""
    discarded: NotRequired[Decision]
    """Who discarded it."""


class HeldDecision(TypedDict):
    """A decision about a held event."""

    decision: Literal["release", "discard"]
    """`release` posts it without what it waits for, or approves it; `discard` is final: it is never posted."""
    reason: Text
    """Why; it is kept with the event."""
