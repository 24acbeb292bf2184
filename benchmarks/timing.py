"""Times two ways to do the same work alternately, so that other load on the machine affects both."""

from collections.abc import Callable
from statistics import median
from time import process_time

Work = Callable[[], object]


def cpu_seconds(work: Work) -> float:
    """Return the CPU time that some work takes in this process, in all its threads."""
    start = process_time()
    work()
    return process_time() - start


def ratio(rounds: list[tuple[float, float]]) -> float:
    """Return how the first of each pair compares to the second: the median of the rounds."""
    return median(first / second for first, second in rounds)


def in_turns(first: Work, second: Work, count: int) -> list[tuple[float, float]]:
    """Return the CPU seconds of both in so many rounds; who begins changes with each. Both run once before."""
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
