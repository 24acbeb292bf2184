"""The items of a released document, pure: its statement's, its number's, its account's, and that of its draft."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.statements.drafts.draft import DraftDecision, DraftItem, DraftState
from quarterhour.statements.keys import last_document_key, number_key, statement_index, statement_key
from quarterhour.statements.listing import Document

BY: Final = "release"
"""Who made the decisions that a release itself makes."""
_NAMED: Final = ("number", "document", "period", "agency", "currency", "release")


def last_document_item(documents: Sequence[Document]) -> dict[str, Any]:
    """Return the item with the last document of an account, which is found by its key alone.

    ``documents``: those of the account in the release, in their order. ``revisions`` names them by their periods.
    """
    last = documents[-1]
    revisions = {str(one.period): one.revision for one in documents}
    return {**last_document_key(last.account), **last.as_dict(), "revisions": revisions}


def number_item(document: Document) -> dict[str, Any]:
    """Return the item by which a document is found by its number."""
    values = document.as_dict()
    return {**number_key(document.number), **{name: values[name] for name in _NAMED}}


def statement_item(document: Document, bound: QuarterHour, existing: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the item of a statement with all its documents.

    ``bound``: the last quarter-hour whose lines it may have. ``existing``: the item with the documents before.
    """
    before = [one for one in (existing or {}).get("documents", ()) if one["release"] != document.release]
    return {
        **statement_key(document.period, document.account),
        **statement_index(document.period, document.account),
        "period": str(document.period),
        "agency": document.account.agency,
        "currency": document.account.currency,
        "bound": str(bound),
        "documents": [*before, document.as_dict()],
        "release": document.release,
    }


def released_draft(document: Document, draft: DraftItem) -> DraftItem:
    """Return a draft after its release, or after the cancellation of its statement: then it is held."""
    if document.cancels:
        state, reason, number = DraftState.HELD, f"cancelled: {decided_by(document, draft).reason}", ""
    else:
        state, reason, number = DraftState.RELEASED, document.number, document.number
    decision = DraftDecision(state, BY, document.planned_at, reason)
    return replace(draft.decided(decision), revision=document.revision, number=number)


def decided_by(document: Document, draft: DraftItem) -> DraftDecision:
    """Return the decision that a document carries out."""
    state = DraftState.CANCELLING if document.cancels else DraftState.RELEASING
    return next(one for one in reversed(draft.decisions) if one.state is state)
