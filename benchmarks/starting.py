"""Times the start of a function against importing boto3 and creating a client, each time in a new process."""

from typing import Final

from benchmarks import children
from benchmarks.timing import ratio

_TIMED: Final = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
_FUNCTION: Final = _TIMED.format("from benchmarks.functions import load; load()")
_BOTO3: Final = _TIMED.format("import boto3; boto3.client('dynamodb')")


def starts(function: str, rounds: int) -> dict[str, float]:
    """Return how a function's start compares to boto3 alone, and its CPU seconds; without Python's own start."""
    pairs = []
    for number in range(rounds):
        if number % 2:
            alone = _seconds(function, _BOTO3)
            pairs.append((_seconds(function, _FUNCTION), alone))
        else:
            pairs.append((_seconds(function, _FUNCTION), _seconds(function, _BOTO3)))
    return {"ratio": ratio(pairs), "seconds": min(own for own, _ in pairs)}


def _seconds(function: str, code: str) -> float:
    return float(children.run(function, ["-c", code]))
