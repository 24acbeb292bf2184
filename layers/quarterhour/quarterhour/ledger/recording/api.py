"""The response to recorded events, as types."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from quarterhour.ledger.recording.held_event import HeldReason
from quarterhour.ledger.recording.outcomes import Verdict as Verdicts
from quarterhour.model.api import Count, FieldProblem, Instant, Month, constrained, one_of


class Receipt(TypedDict):
    """The place of an event in the ledger."""

    recorded_at: Instant
    partition: str
    position: str


Verdict = Annotated[str, one_of(one.value for one in Verdicts)]


class Waiting(TypedDict):
    """What a held event waits for."""

    reason: HeldReason
    problems: list[FieldProblem]
    """Why it cannot be posted yet; if its sale is known by now and does not allow it, why not."""


class ItemOutcome(TypedDict):
    """The result for one event of a request."""

    index: Count
    """The event's index in the request."""
    line: NotRequired[Annotated[int, constrained(minimum=1)]]
    """The number of its line, if the request was NDJSON."""
    source: str | None
    id: str | None
    verdict: Verdict
    receipt: NotRequired[Receipt]
    """The event's place in the ledger, if it is recorded by this request or an earlier one."""
    before_first_period: NotRequired[Month]
    """The first period with statements, if the recorded event counts before it: the event is on no statement."""
    held: NotRequired[Waiting]
    """What a held event waits for."""
    errors: NotRequired[list[FieldProblem]]
    """The errors in the event."""


class Recording(TypedDict):
    """The results for all events of a request."""

    items: list[ItemOutcome]
    counts: dict[Verdict, Count]
    """The number of items per verdict; verdicts without items are omitted."""
