"""A thread pool for concurrent AWS calls."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

CALLS_AT_A_TIME: Final = 8
"""Calls to AWS that an invocation makes at a time."""


class Workers:
    """A pool of threads for AWS calls; with one worker, calls run one by one in the caller's thread."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count) if count > 1 else None

    def map(self, call: Callable[[T], R], arguments: Iterable[T]) -> list[R]:
        """Return the results of the calls in the order of the arguments; raise the first error.

        A single call runs in the caller's thread. Returns only when every call has ended. Lambda freezes the process
        after the invocation, so an unfinished call could take effect when the process thaws, long after its
        quarter-hour was sealed.
        """
        every = list(arguments)
        if self._pool is None or len(every) == 1:
            return list(map(call, every))
        futures = [self._pool.submit(call, argument) for argument in every]
        wait(futures)
        return [future.result() for future in futures]

    def start(self, call: Callable[[], R]) -> Callable[[], R]:
        """Start a call in a thread, and return a function that waits for its result.

        With one worker, that function makes the call.
        """
        return self._pool.submit(call).result if self._pool else call
