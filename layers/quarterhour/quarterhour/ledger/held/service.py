"""Posts held events through the recorder, and carries out operators' decisions about them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from quarterhour.aws.entity import Values
from quarterhour.aws.retries import optimistically
from quarterhour.aws.telemetry import logger
from quarterhour.ledger.held.actions import DiscardRequest, ReleaseRequest
from quarterhour.ledger.held.held_event import HeldEvent, HeldReason, OperatorDecision, Release
from quarterhour.ledger.held.keys import LOWEST, held_at
from quarterhour.ledger.held.plan import Next, PostingRun, age, next_of, with_reason
from quarterhour.ledger.held.store import HeldStore
from quarterhour.ledger.outcomes import Outcome
from quarterhour.ledger.pricing import can_be_unlinked
from quarterhour.ledger.service import Recorder
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, HeldItemError, NotFoundError, UnavailableError
from quarterhour.model.identifiers import Identity

AT_ONCE: Final = 100
"""The held events of one attempt."""
MOST: Final = 2000
"""The most held events that a tick tries; the next tick goes on behind them."""


class HeldPoster:
    """Posts held events once what they wait for is there; a repeated or late attempt changes nothing."""

    def __init__(self, store: HeldStore, recorder: Recorder) -> None:
        self._store = store
        self._recorder = recorder

    def tick(self, request_id: str, seconds: float) -> PostingRun:
        """Try to post the held events, the oldest first, within so many seconds."""
        now = clock.now()
        oldest = self._store.waiting(LOWEST, 1)
        if not oldest:
            return PostingRun(0, 0, 0.0, complete=True)
        until = now + timedelta(seconds=seconds)
        start = after = self._store.cursor()
        posted = tried = 0
        complete = False
        while not complete and tried < MOST and clock.now() < until:
            some = self._store.waiting(after, AT_ONCE)
            posted += self._post(some, request_id, until)
            tried += len(some)
            complete = len(some) < AT_ONCE
            after = LOWEST if complete else str(some[-1]["gsi1sk"])
        if after != start:
            # More than a tick can try: the next one goes on here, so that old ones do not keep it from newer ones.
            self._store.set_cursor(after)
        return PostingRun(posted, tried - posted, age(held_at(oldest[0]["gsi1sk"]), now), complete and start == LOWEST)

    def _post(self, items: Sequence[Values], request_id: str, until: datetime) -> int:
        """Try to post some held events; return the number of those that are in the ledger now."""
        held = [one for one in map(_readable, items) if one]
        seconds = (until - clock.now()).total_seconds()
        posted = 0
        for one, outcome in self._outcomes(held, request_id, seconds):
            match next_of(one, outcome):
                case Next.DONE:
                    posted += 1
                case Next.FORGET:
                    self._store.forget(one.event.identity)
                    posted += 1
                case Next.SET_REASON:
                    self._store.set_reason(one.reason, with_reason(one, outcome))
                case Next.KEEP:
                    pass
        return posted

    def _outcomes(self, held: list[HeldEvent], request_id: str, seconds: float) -> list[tuple[HeldEvent, Outcome]]:
        """Record some held events; leave out one that fails alone: it must not stop the others."""
        try:
            return list(
                zip(held, self._recorder.record([one.to_record for one in held], request_id, seconds), strict=True)
            )
        except UnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - it stays held, and its age sets off an alarm
            if len(held) > 1:
                return [found for one in held for found in self._outcomes([one], request_id, seconds)]
            logger.error("a held event cannot be posted", place=held[0].place, error=type(error).__name__)
            return []


class HeldDecisions:
    """Carries out operators' decisions about held events."""

    def __init__(self, store: HeldStore) -> None:
        self._store = store

    def release(self, request: ReleaseRequest) -> dict[str, Any]:
        """Let a held event be posted without what it waits for; the watch posts it.

        Raises ``NotFoundError`` or ``ConflictError`` if it does not wait any more.
        """
        held = self._held(request.identity)
        unknown_sale = held.reason is HeldReason.UNKNOWN_SALE
        if unknown_sale and not can_be_unlinked(held.event):
            raise ConflictError(f"the event {request.identity} says nothing without its unknown sale: discard it")
        if unknown_sale and held.event.rest:
            raise ConflictError(
                f"the event {request.identity} refunds the rest of a sale that nobody knows: discard it, and send a "
                "refund that names its amount"
            )
        if not self._store.release(request.identity, Release(request.by, _now(), request.reason, held.reason)):
            raise ConflictError(
                f"the event {request.identity} was posted or discarded, or waits for something else, in the meantime"
            )
        return {"released": str(request.identity)}

    def discard(self, request: DiscardRequest) -> dict[str, Any]:
        """Discard a held event for good. Its identity stays reserved, and its item keeps the decision.

        Raises ``NotFoundError`` or ``ConflictError`` if it does not wait any more.
        """

        def attempt() -> None:
            held = self._held(request.identity)
            before = held.discarded
            if before and (before.by, before.reason) == (request.by, request.reason):
                return  # a retry
            if before:
                raise ConflictError(f"the event {request.identity} was discarded before, by {before.by}")
            self._store.discard(held, OperatorDecision(request.by, _now(), request.reason))

        optimistically(attempt, "the held event")
        return {"discarded": str(request.identity)}

    def _held(self, identity: Identity) -> HeldEvent:
        values = self._store.get(identity)
        if values is None:
            raise NotFoundError(f"no event {identity} is held")
        return HeldEvent.parse(values)


def _now() -> str:
    return iso_millis(clock.now())


def _readable(values: Values) -> HeldEvent | None:
    try:
        return HeldEvent.parse(values)
    except HeldItemError as error:
        # It stays held, and its age sets off the alarm; the others are posted.
        logger.error("a held event cannot be read", place=values["gsi1sk"], error=type(error).__name__)
        return None
