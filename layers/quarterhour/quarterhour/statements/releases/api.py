"""The requests and responses about drafts and releases, as types."""

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Count, Decimal, Instant, Sha256, Text, one_of
from quarterhour.statements.api import DocumentSums, DraftFigures, NamedStatement
from quarterhour.statements.drafts.api import DraftDecision
from quarterhour.statements.drafts.draft import DraftState
from quarterhour.statements.releases.checks import Level
from quarterhour.web.api import Page


class DraftCheck(TypedDict):
    """A check that a draft does not pass."""

    check: Annotated[
        str,
        one_of(
            [
                *("held", "order", "owner", "agency", "tax", "tax_percent", "tax_place", "tax_vat_id"),
                *("invoice_profile", "refused", "default_rate", "amount_parts", "change", "disputes"),
                *("before_first_period", "held_events"),
            ]
        ),
    ]
    level: Level
    """A failed check keeps the draft from being released; a warning does not."""
    message: str
    """What is wrong, and what to do."""


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
    """A draft with figures of the statement that it would be now."""

    commission: Decimal | None
    """Rounded, as on the statement; null if it was released at this moment, as `tax` and `closing`."""
    tax: Decimal | None
    closing: Decimal | None
    """The closing balance after the last document and the earlier drafts of the account."""


class DraftPage(Page[ListedDraft | PreviewedDraft]):
    """A page of drafts; with figures of their statements, if they were requested."""


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
    """Why; only a release needs no reason. With one, it confirms `tax_percent`, `tax_place` and `invoice_profile`."""
    seen: Count
    """The number of decisions that you have seen; 0 for none."""
