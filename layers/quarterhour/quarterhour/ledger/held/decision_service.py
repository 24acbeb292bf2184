"""Carries out decisions of finance and operators about held events."""

from dataclasses import replace

from quarterhour.aws.retries import optimistically
from quarterhour.ledger.held.requests import DecisionRequest, DiscardRequest, ReleaseRequest
from quarterhour.ledger.held.store import HeldStore
from quarterhour.ledger.keys import HeldStatus
from quarterhour.ledger.recording.held_event import Approval, HeldDecision, HeldEvent, HeldReason, Release
from quarterhour.ledger.recording.pricing import can_be_unlinked
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, FieldProblem, NotFoundError
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

    ``at``: now (ISO 8601). Raises ``ConflictError`` if it was discarded by others, or for another reason, or if it is
    approved and about to be posted.
    """
    before = held.discarded
    if before and (before.by, before.reason) == (request.by, request.reason):
        return None
    _refuse_discarded(held)
    if held.approved and held.reason is HeldReason.NEEDS_APPROVAL:
        raise ConflictError(f"{name_of(held.event.identity)} is approved, by {held.approved.by}, and will be posted")
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


class HeldDecisionService:
    """Carries out decisions about held events. Every request may be repeated."""

    def __init__(self, store: HeldStore) -> None:
        self._store = store

    def decide(self, request: DecisionRequest) -> HeldEvent:
        """Release, approve or discard a held event; return it with the decision.

        The watch posts what is released or approved. Raises ``NotFoundError`` if the event is not held, and
        ``ConflictError`` if it does not allow the decision.
        """
        return self._release(request) if isinstance(request, ReleaseRequest) else self._discard(request)

    def _release(self, request: ReleaseRequest) -> HeldEvent:
        held = self._held(request.identity)
        planned = planned_release(held, request, _now())
        if planned is None:
            return held
        if not self._store.release(held, planned):
            # It is not planned again: it may wait for something else, which nobody wants to waive.
            name = name_of(request.identity)
            raise ConflictError(f"{name} was posted or decided about, or waits for something else, in the meantime")
        if isinstance(planned, Approval):
            return replace(held, approved=planned)
        return replace(held, released=planned)

    def _discard(self, request: DiscardRequest) -> HeldEvent:
        """Discard a held event for good. Its identity stays reserved, and its item keeps the decision."""

        def attempt() -> HeldEvent:
            held = self._held(request.identity)
            planned = planned_discard(held, request, _now())
            if planned is None:
                return held
            self._store.discard(held, planned)
            return replace(held, status=HeldStatus.DISCARDED, discarded=planned)

        return optimistically(attempt, "the held event")

    def _held(self, identity: Identity) -> HeldEvent:
        values = self._store.get(identity)
        if values is None:
            raise NotFoundError(f"no event {shown(str(identity))} is held")
        return HeldEvent.parse(values)


def _now() -> str:
    return iso_millis(clock.now())
