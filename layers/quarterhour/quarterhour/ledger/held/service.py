"""Posts held events through the recorder."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from quarterhour.aws.entity import Values
from quarterhour.aws.telemetry import logger
from quarterhour.ledger.held.plan import Next, PostingRun, age, next_of, with_reason
from quarterhour.ledger.held.store import HeldStore
from quarterhour.ledger.keys import LOWEST, held_at
from quarterhour.ledger.recording.held_event import HeldEvent
from quarterhour.ledger.recording.outcomes import Outcome
from quarterhour.ledger.recording.service import Recorder
from quarterhour.model import clock
from quarterhour.model.errors import HeldItemError, UnavailableError

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


def _readable(values: Values) -> HeldEvent | None:
    try:
        return HeldEvent.parse(values)
    except HeldItemError as error:
        # It stays held, and its age sets off the alarm; the others are posted.
        logger.error("a held event cannot be read", place=values["gsi1sk"], error=type(error).__name__)
        return None
