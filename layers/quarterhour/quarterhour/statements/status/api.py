"""The requests and responses about a statement's status, files and disputes, as types."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.ledger.events.api import EventName
from quarterhour.model.api import Count, Instant, Name, Text, constrained
from quarterhour.statements.api import ListedDocument, NamedStatement, StatementFigures, StatementFiles
from quarterhour.statements.receivables.api import PaymentState
from quarterhour.statements.status.keys import MOST_CHANGES
from quarterhour.statements.status.plan import DisputeStatus, Party, Status


class StatementWithStatus(StatementFigures):
    """A statement with its current status."""

    status: Status
    changes: Count
    """The number of changes of the status."""


class ListedStatement(StatementWithStatus):
    """A statement with its current status, and the documents of its account and period."""

    documents: list[ListedDocument]


class PartyDecision(TypedDict):
    """Who decided, when and why."""

    by: NotRequired[str]
    """People do not see the marketplace's operators."""
    party: Party
    at: Instant
    reason: Text


class StatementChange(PartyDecision):
    """A change of a statement's status."""

    status: Status
    line: NotRequired[EventName]
    """The disputed line, if the change opened or resolved a dispute."""
    correction: NotRequired[EventName]
    """The event that resolved the line's dispute."""


class StatementActions(TypedDict):
    """What the caller may do with a statement now."""

    may_become: list[Status]
    """The statuses that the caller may set."""
    may_dispute_lines: bool
    may_resolve_lines: bool
    """Whether a line is disputed, and the caller may resolve that."""


class ShownStatus(StatementActions):
    """The status of a statement, with all its changes."""

    status: Status
    changes: Count
    """The number of changes: send it as `seen` with the next one."""
    history: list[StatementChange]


class StatementHistory(NamedStatement, ShownStatus):
    """The status of a statement, with all its changes."""


class StatementWithFiles(StatementFigures, ShownStatus, StatementFiles):
    """A released statement with links to its files, and its status."""

    preview: Literal[False]
    payment: PaymentState | None
    """Whether it is paid; null for a moment after it was made."""


class Dispute(NamedStatement):
    """A disputed line of a statement."""

    source: Name
    id: Name
    status: DisputeStatus
    opened: PartyDecision
    resolved: NotRequired[PartyDecision]
    correction: NotRequired[EventName]
    """The correction that resolved it, if one did."""
    thread: str
    """The path of the messages about the line."""


class StatementStatusUpdate(TypedDict):
    """A change of a statement's status."""

    status: Status
    """The status that it gets."""
    reason: Text
    """Why it gets the status."""
    seen: Annotated[int, constrained(minimum=0, maximum=MOST_CHANGES)]
    """The number of changes that you have seen; 0 for none."""


class SentDispute(TypedDict):
    """The dispute of a line of a statement."""

    source: Name
    """The source of the line's event."""
    id: Name
    """The id of the line's event."""
    reason: Text
    """Why the line is disputed."""


class Resolution(TypedDict):
    """The resolution of a dispute by hand."""

    reason: Text
    """Why the dispute is over."""
