"""A fair lock: threads get it in the order in which they requested it."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class Turns:
    """A lock for the thread that has waited longest; a plain lock mostly returns to the thread that released it."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._queue: deque[Lock] = deque()
        """The thread that has the turn, then the waiting threads; each waits for its own lock."""

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and hold it for the length of the block."""
        own = Lock()
        own.acquire()
        with self._guard:
            self._queue.append(own)
            if self._queue[0] is own:
                own.release()
        own.acquire()  # if others are ahead, the last of them releases it
        try:
            yield
        finally:
            with self._guard:
                self._queue.popleft()
                if self._queue:
                    self._queue[0].release()

    @property
    def waiting(self) -> int:
        """The number of threads that wait for a turn."""
        return max(0, len(self._queue) - 1)
