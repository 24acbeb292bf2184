"""Turns for threads that share what only one may use at a time, in the order in which they came."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class Turns:
    """A lock that goes to the thread that has waited longest: a plain one mostly goes back to who gave it up."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._queue: deque[Lock] = deque()
        """Whose turn it is, and behind it those that wait; each waits for its own lock."""

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and have it for the length of the block."""
        own = Lock()
        own.acquire()
        with self._guard:
            self._queue.append(own)
            if self._queue[0] is own:
                own.release()
        own.acquire()  # where others are before, released by the last of them
        try:
            yield
        finally:
            with self._guard:
                self._queue.popleft()
                if self._queue:
                    self._queue[0].release()

    @property
    def waiting(self) -> int:
        """How many threads wait for a turn now."""
        return max(0, len(self._queue) - 1)
