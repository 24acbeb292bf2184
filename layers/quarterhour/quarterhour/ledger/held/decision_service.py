"""Carries out decisions of finance and operators about held events."""

from dataclasses import replace

from quarterhour.aws.retries import optimistically
from quarterhour.ledger.held.decisions import name_of, planned_discard, planned_release
from quarterhour.ledger.held.requests import DecisionRequest, DiscardRequest, ReleaseRequest
from quarterhour.ledger.held.store import HeldStore
from quarterhour.ledger.keys import HeldStatus
from quarterhour.ledger.recording.held_event import Approval, HeldEvent
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, NotFoundError
from quarterhour.model.fields import shown
from quarterhour.model.identifiers import Identity


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
