"""Delivers a batch: repeatedly, until each event has a final verdict or the sender is to stop."""

from __future__ import annotations

import logging
import random
from collections import deque
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from quarterhour_client.plan import Refused, Retry, Split, Verdicts, meaning, pause, rejected
from quarterhour_client.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from quarterhour_client.plan import Answer, Meaning, Waiting
    from quarterhour_client.verdicts import Result

log = logging.getLogger("quarterhour_client")


class Delivery:
    """Sends batches. ``trouble`` is why the last request failed, ``None`` after one that did not."""

    def __init__(
        self,
        post: Callable[[Sequence[Waiting]], Answer],
        wait: Callable[[float], bool],
        chance: Callable[[], float] = random.random,
        blame: Callable[[Sequence[Waiting]], list[tuple[Waiting, Result]]] = lambda _: [],
    ) -> None:
        """Take what posts events, and what waits for some seconds and returns whether to go on.

        ``blame`` returns which events of a request that was refused as a whole are known to be the reason.
        """
        self._post = post
        self._wait = wait
        self._blame = blame
        self._chance = chance
        self.trouble: Retry | Refused | None = None

    def deliver(self, events: Sequence[Waiting]) -> Iterator[list[tuple[Waiting, Result]]]:
        """Yield the events with their final verdicts as these arrive; end early if it is time to stop.

        An event without a final verdict stays with the caller.
        """
        parts = deque([list(events)] if events else [])
        attempt = 0
        while parts:
            part = parts.popleft()
            found = self._attempt(part)
            after = 0.0
            if isinstance(found, Split):
                single = len(part) == 1
                blamed = [(part[0], rejected(part[0], found.problems))] if single else self._blame(part)
                if blamed:
                    yield blamed
                    known = {one.seq for one, _ in blamed}
                    left = [one for one in part if one.seq not in known]
                    parts.extendleft([left] if left else [])
                else:
                    half = len(part) // 2
                    parts.extendleft([part[half:], part[:half]])
                continue
            if isinstance(found, Verdicts):
                pairs = list(zip(part, found.results))  # noqa: B905 - of one length
                final = [pair for pair in pairs if pair[1].verdict is not Verdict.UNAVAILABLE]
                if final:
                    attempt = 0
                    yield final
                part = [one for one, result in pairs if result.verdict is Verdict.UNAVAILABLE]
                after = found.after
            elif isinstance(found, Retry):
                after = found.after
            if part:
                attempt += 1
                parts.appendleft(part)
                if not self._wait(pause(attempt, after, self._chance())):
                    return

    def _attempt(self, part: Sequence[Waiting]) -> Meaning:
        try:
            found = meaning(self._post(part), part, datetime.now(timezone.utc))
        except Exception as error:  # noqa: BLE001 - no connection, no answer, or the user's own signing failed
            found = Retry(f"had no answer: {type(error).__name__}: {error}")
        self._note(found)
        return found

    def _note(self, found: Meaning) -> None:
        trouble = found if isinstance(found, (Retry, Refused)) else _unavailable(found)
        if trouble and not self.trouble:
            log.warning("POST /events %s; trying again", trouble.reason)
        if self.trouble and not trouble:
            log.info("POST /events is answered again")
        self.trouble = trouble


def _unavailable(found: Meaning) -> Retry | None:
    """Return the trouble of an answer in which all events are unavailable."""
    if not isinstance(found, Verdicts) or any(one.verdict is not Verdict.UNAVAILABLE for one in found.results):
        return None
    problems = found.results[0].problems
    return Retry(
        f"was answered, but all events are unavailable: {problems[0].problem if problems else ''}".rstrip(": ")
    )
