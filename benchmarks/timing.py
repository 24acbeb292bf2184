"""Times two ways to do the same work alternately, so that other load on the machine affects both."""

import gc
import os
import sys
from collections.abc import Callable
from functools import wraps
from statistics import median
from time import process_time
from typing import Final, ParamSpec

P = ParamSpec("P")
Work = Callable[[], object]

_DEFAULT_THRESHOLD: Final = (2_000, 10, 10) if sys.version_info >= (3, 13) else (700, 10, 10)
"""The default threshold of Python's garbage collector."""


def by_default(work: Callable[P, object]) -> Callable[P, None]:
    """Collect garbage in some work as often as Python does by default: our package makes it rarer."""

    @wraps(work)
    def working(*arguments: P.args, **options: P.kwargs) -> None:
        ours = gc.get_threshold()
        gc.set_threshold(*_DEFAULT_THRESHOLD)
        try:
            work(*arguments, **options)
        finally:
            gc.set_threshold(*ours)

    return working


def cpu_seconds(work: Work) -> float:
    """Return the CPU time that some work takes in this process, in all its threads."""
    start = process_time()
    work()
    return process_time() - start


def on_one_core() -> None:
    """Keep this process to one core, where that is possible, as a function has about half of one.

    On two, threads that wait for each other take CPU time.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def ratio(rounds: list[tuple[float, float]]) -> float:
    """Return how the first of each pair compares to the second: the median of the rounds."""
    return median(first / second for first, second in rounds)


def in_turns(first: Work, second: Work, count: int) -> list[tuple[float, float]]:
    """Return the CPU seconds of both in so many rounds; who begins changes with each. Both run once before.

    They run on one core.
    """
    on_one_core()
    first()
    second()
    rounds = []
    for number in range(count):
        if number % 2:
            behind = cpu_seconds(second)
            rounds.append((cpu_seconds(first), behind))
        else:
            rounds.append((cpu_seconds(first), cpu_seconds(second)))
    return rounds
