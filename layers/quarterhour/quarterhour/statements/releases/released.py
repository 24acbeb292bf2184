"""A document that a release has written: what its list, the statement's item and the draft's item hold of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.statements.drafts.draft_items import DraftDecision, DraftItem, DraftState
from quarterhour.statements.keys import last_document_key, number_key
from quarterhour.statements.releases.listing import ReleasedDocument
from quarterhour.statements.releases.plan import Action, PlannedDocument, ReleasePlan

BY: Final = "release"
"""Who made the decisions that a release itself makes."""


class Released(NamedTuple):
    """A document of a release.

    ``issued_on`` and ``due_on``: its dates, ISO 8601; not every one has the second. ``silence_at``: when silence
    accepts it, the end of the last day on which the agency may dispute it; ``None`` for never.
    """

    planned: PlannedDocument
    document: ReleasedDocument
    issued_on: str
    due_on: str | None
    silence_at: str | None

    def as_list(self) -> list[Any]:
        """Return the document as plain values."""
        return [self.planned.as_list(), self.document.as_row(), self.issued_on, self.due_on, self.silence_at]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Parse what ``as_list`` returned."""
        planned, row, *dates = values
        return cls(PlannedDocument.of(planned), ReleasedDocument.of_row(row), *dates)


def last_document_item(plan: ReleasePlan, documents: Sequence[Released]) -> dict[str, Any]:
    """Return the item with the last document of an account, which is found by its key alone.

    ``documents``: those of the account in the release, in their order. ``revisions`` names them by their periods.
    """
    released = documents[-1]
    listed = released.document.listed
    item = listed.as_item(released.planned.period)
    return {
        **{name: value for name, value in item.items() if name not in {"gsi1pk", "gsi1sk"}},
        **last_document_key(listed.account),
        "issued_on": released.issued_on,
        "revisions": {str(one.planned.period): one.planned.revision for one in documents},
        "release": plan.number,
    }


def number_item(plan: ReleasePlan, released: Released) -> dict[str, Any]:
    """Return the item by which a document is found by its number."""
    planned, account = released.planned, released.document.listed.account
    return {
        **number_key(planned.number),
        "number": planned.number,
        "document": planned.document,
        "period": str(planned.period),
        "agency": account.agency,
        "currency": account.currency,
        "release": plan.number,
    }


def statement_item(
    plan: ReleasePlan, released: Released, draft: DraftItem, existing: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the item of a statement with all its documents; a cancellation is noted in that of its statement."""
    planned, document = released.planned, released.document
    before = [one for one in (existing or {}).get("documents", ()) if one["release"] != plan.number]
    shown = {
        "issued_on": released.issued_on,
        "due_on": released.due_on,
        "planned_at": plan.planned_at,
        "parties": list(planned.parties),
    }
    documents = [
        *before,
        {
            "number": planned.number,
            "document": planned.document,
            "revision": planned.revision,
            "release": plan.number,
            "cancels": document.cancels,
            "amount": money.plain(document.listed.amount),
            "payments": money.plain(document.listed.figures["payments"]),
            "closing": money.plain(document.listed.closing),
            **shown,
            "files": {name: list(file) for name, file in document.listed.files.items()},
        },
    ]
    if planned.cancels and existing:
        cancelled = {"number": planned.number, "issued_on": released.issued_on}
        return {**existing, "documents": documents, "cancelled": cancelled, "release": plan.number}
    silence = {"acceptance_days": plan.acceptance_days, "silence_at": released.silence_at}
    return {
        **document.listed.as_item(planned.period),
        **shown,
        **(silence if released.silence_at else {}),
        "bound": str(draft.bound),
        "revision": planned.revision,
        "documents": documents,
        "release": plan.number,
    }


def released_draft(plan: ReleasePlan, released: Released, draft: DraftItem) -> DraftItem:
    """Return a draft after its release, or after the cancellation of its statement: then it is held."""
    planned = released.planned
    if planned.action is Action.CANCEL:
        state, reason, number = DraftState.HELD, f"cancelled: {decided_by(planned, draft).reason}", ""
    else:
        state, reason, number = DraftState.RELEASED, planned.number, planned.number
    decision = DraftDecision(state, BY, plan.planned_at, reason)
    return replace(draft.decided(decision), revision=planned.revision, number=number)


def decided_by(planned: PlannedDocument, draft: DraftItem) -> DraftDecision:
    """Return the decision that a document carries out."""
    state = DraftState.CANCELLING if planned.action is Action.CANCEL else DraftState.RELEASING
    return next(one for one in reversed(draft.decisions) if one.state is state)
