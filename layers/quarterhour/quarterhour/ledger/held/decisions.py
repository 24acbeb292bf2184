"""Decisions about held events, pure: what each event allows, retries, and the approval of a second person."""

from quarterhour.ledger.held.requests import DiscardRequest, ReleaseRequest
from quarterhour.ledger.recording.held_event import Approval, HeldDecision, HeldEvent, HeldReason, Release
from quarterhour.ledger.recording.pricing import can_be_unlinked
from quarterhour.model.errors import ConflictError, FieldProblem
from quarterhour.model.fields import shown
from quarterhour.model.identifiers import Identity


def name_of(identity: Identity) -> str:
    """Return the name of a held event, as a message shows it."""
    return f"the event {shown(str(identity))}"


def planned_release(held: HeldEvent, request: ReleaseRequest, at: str) -> Release | Approval | None:
    """Return the decision to post a held event without what it waits for; ``None`` if the request is a retry.

    ``at``: now (ISO 8601). Raises ``ConflictError`` if others have decided before, if the event says nothing without
    what it waits for, or if a second person must approve it and the request is of the first one.
    """
    _refuse_discarded(held)
    own = (request.by, request.reason)
    if held.approved and own == (held.approved.by, held.approved.reason):
        return None
    if held.needs_two and request.by == held.event.recorded_by:
        problem = FieldProblem("decision", "is release, by the person who recorded it", "another person of finance")
        raise ConflictError(f"you recorded {name_of(held.event.identity)}: ask another person of finance", problem)
    if held.reason is HeldReason.NEEDS_APPROVAL:
        if held.approved:
            raise ConflictError(f"{name_of(held.event.identity)} was approved before, by {held.approved.by}")
        return Approval(request.by, at, request.reason)
    before = held.released
    if before and before.waived is held.reason:
        if own == (before.by, before.reason):
            return None
        raise ConflictError(f"{name_of(held.event.identity)} was released before, by {before.by}")
    if held.reason is HeldReason.UNKNOWN_SALE:
        _refuse_without_sale(held)
    return Release(request.by, at, request.reason, held.reason)


def planned_discard(held: HeldEvent, request: DiscardRequest, at: str) -> HeldDecision | None:
    """Return the decision to discard a held event; ``None`` if the request is a retry of one that is made.

    ``at``: now (ISO 8601). Raises ``ConflictError`` if it was discarded by others, or for another reason.
    """
    before = held.discarded
    if before and (before.by, before.reason) == (request.by, request.reason):
        return None
    _refuse_discarded(held)
    return HeldDecision(request.by, at, request.reason)


def _refuse_discarded(held: HeldEvent) -> None:
    if held.discarded:
        raise ConflictError(f"{name_of(held.event.identity)} was discarded before, by {held.discarded.by}")


def _refuse_without_sale(held: HeldEvent) -> None:
    event = held.event
    if not can_be_unlinked(event):
        raise ConflictError(f"{name_of(event.identity)} says nothing without its unknown sale: discard it")
    if event.rest:
        raise ConflictError(
            f"{name_of(event.identity)} refunds the rest of a sale that nobody knows: discard it, and send a "
            "refund that names its amount"
        )
