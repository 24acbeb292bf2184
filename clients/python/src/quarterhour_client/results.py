"""Results as an iterator: they arrive from the worker's threads, and are read elsewhere."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from quarterhour_client.verdicts import Result

LOOK_SECONDS = 0.2


class Results:
    """Yields results from the moment it is made; ends when no event of the spool waits, or the client is closed."""

    def __init__(self, has_ended: Callable[[], bool]) -> None:
        """Take what returns whether no more results will come."""
        self._has_ended = has_ended
        self._arrived: deque[Result] = deque()
        self._read: deque[Result] = deque()
        self._changed = threading.Condition()

    def put(self, results: Sequence[Result]) -> None:
        """Add results."""
        with self._changed:
            self._arrived.extend(results)
            self._changed.notify_all()

    def take(self, seconds: float) -> list[Result] | None:
        """Return the results that have arrived, after up to ``seconds``; ``None`` at the end."""
        # Results are put before their events leave the spool: after the end, nothing arrives any more.
        ended = self._has_ended()
        with self._changed:
            if not self._arrived and ended:
                return None
            if not self._arrived:
                self._changed.wait(seconds)
            arrived = list(self._arrived)
            self._arrived.clear()
            return arrived

    def __iter__(self) -> Iterator[Result]:
        return self

    def __next__(self) -> Result:
        while not self._read:
            taken = self.take(LOOK_SECONDS)
            if taken is None:
                raise StopIteration
            self._read.extend(taken)
        return self._read.popleft()
