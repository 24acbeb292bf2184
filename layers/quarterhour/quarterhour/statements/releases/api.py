"""The requests and responses about drafts and releases, as types."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Count, Decimal, Instant, Sha256, Text
from quarterhour.statements.api import DocumentSums, DraftFigures, NamedStatement

DraftState = Literal["new", "open", "held", "proposed", "releasing", "released", "cancel_proposed", "cancelling"]


class DraftCheck(TypedDict):
    """A check that a draft does not pass."""

    check: Literal[
        "held", "order", "owner", "agency", "tax", "refused", "default_rate", "change", "disputes", "held_events"
    ]
    level: Literal["failed", "warning"]
    """A failed check keeps the draft from being released; a warning does not."""
    message: str
    """What is wrong, and what to do."""


class DraftDecision(TypedDict):
    """A decision about a draft: the state that it gave, who made it, when and why."""

    state: DraftState
    by: str
    """`release` if a release itself made it."""
    at: Instant
    reason: str


class ListedDraft(NamedStatement, DraftFigures):
    """A draft: what a statement is made of once it is released."""

    state: DraftState
    lines: Count
    prior_period_lines: Count
    recorded_until: Instant
    number: str | None
    """Of its statement; null without one."""
    seen: Count
    """The number of decisions: send it as `seen` with the next one."""
    last_decision: DraftDecision | None
    """The decision that gave its state; null before the first one."""
    checks: list[DraftCheck]


class PreviewedDraft(ListedDraft):
    """A draft in a list, with figures of the statement that it would be, if they were requested."""

    commission: NotRequired[Decimal | None]
    """Rounded, as on the statement; null if it was released at this moment, as `tax` and `closing`."""
    tax: NotRequired[Decimal | None]
    closing: NotRequired[Decimal | None]
    """The closing balance after the last document and the earlier drafts of the account."""


class DraftDecisions(TypedDict):
    """The state of a draft, with all decisions about it."""

    state: DraftState
    decisions: list[DraftDecision]


class DraftWithStatement(ListedDraft):
    """A draft, and the statement that it would be if it were released now."""

    decisions: list[DraftDecision]
    statement: dict[str, Any] | None
    """The content of `statement.json`, with an empty `number`; null if the draft has a statement."""


class ReleasedDocuments(TypedDict):
    """A release: documents that became final at once."""

    release: Count
    planned_at: Instant
    code_version: str
    manifest_sha256: Sha256
    statements: Count
    credit_notes: Count
    lines: Count
    currencies: dict[str, DocumentSums]


class DraftUpdate(TypedDict):
    """A decision about a draft."""

    decision: Literal["release", "hold", "cancel"]
    """`cancel` cancels its statement."""
    reason: NotRequired[Text | None]
    """Why; only a release needs no reason."""
    seen: Count
    """The number of decisions that you have seen; 0 for none."""
