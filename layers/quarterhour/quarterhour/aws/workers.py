"""Workers: calls side by side, to hide their latency."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Workers:
    """A pool of threads for AWS calls; with one worker, calls run in turn in the caller's thread."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count) if count > 1 else None

    def map(self, call: Callable[[T], R], arguments: Iterable[T]) -> list[R]:
        """Return the call's results in the order of the arguments; raise the first error.

        Returns only when every call has ended: a call left behind in a frozen process could take effect when the
        process thaws, long after its bucket was sealed.
        """
        if self._pool is None:
            return list(map(call, arguments))
        futures = [self._pool.submit(call, argument) for argument in arguments]
        wait(futures)
        return [future.result() for future in futures]

    def ahead(self, call: Callable[[], R]) -> Callable[[], R]:
        """Start a call now if there is a thread for it; the function returned waits for the result."""
        return self._pool.submit(call).result if self._pool else call
