"""Retries: which errors are transient, how long to wait, and the two retry loops."""

import random
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError

from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError

R = TypeVar("R")

ATTEMPTS: Final = 10
"""The number of attempts before the caller gets the error, as many as AWS's own clients of DynamoDB make."""
NETWORK_ERRORS: Final = (HTTPClientError, BotoConnectionError)

_TRANSIENT: Final = frozenset(
    {
        "ConditionalRequestConflict",
        "ConflictException",
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceeded",  # of one statement in a batch, like the next names without ``Exception``
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "ServiceUnavailable",
        "SlowDown",
        "ThrottlingError",
        "ThrottlingException",
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
_MISSING_OBJECT: Final = frozenset({"NoSuchKey", "404"})
_STALE: Final = frozenset(
    {
        "None",
        "ConditionalCheckFailed",
        "TransactionConflict",
        "ProvisionedThroughputExceeded",
        "ThrottlingError",
    }
)
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
# It has no state. With one, functions restored from the same snapshot would wait for the same times, and collide again.
_JITTER: Final = random.SystemRandom()
_SERVER_FAULT: Final = 500


def is_transient(error: Exception) -> bool:
    """Return whether the same call may succeed later: after throttling, a conflict, a server or a network error."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return code_of(error) in _TRANSIENT or status >= _SERVER_FAULT
    return isinstance(error, NETWORK_ERRORS)


def code_of(error: Exception) -> str:
    """Return the service's error code; empty for an error without a response."""
    return error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""


def is_missing_object(error: Exception) -> bool:
    """Return whether S3 has no such object; ``404`` is its code if the response has no body."""
    return code_of(error) in _MISSING_OBJECT


def is_failed_condition(error: Exception) -> bool:
    """Return whether a write failed because its condition did not hold."""
    return code_of(error) == "ConditionalCheckFailedException"


def is_refused(error: Exception) -> bool:
    """Return whether DynamoDB refuses what a write holds, such as an item above its size; no attempt can succeed."""
    if code_of(error) == "TransactionCanceledException" and isinstance(error, ClientError):
        return any(one.get("Code") == "ValidationError" for one in error.response.get("CancellationReasons", []))
    return code_of(error) == "ValidationException"


def is_cancelled(error: Exception) -> bool:
    """Return whether a transaction was cancelled only for reasons that a new read and a new attempt can overcome."""
    if code_of(error) != "TransactionCanceledException" or not isinstance(error, ClientError):
        return False
    reasons = {reason.get("Code", "None") for reason in error.response.get("CancellationReasons", [])}
    return reasons <= _STALE


def pause(attempt: int) -> None:
    """Wait before the next attempt: exponential backoff up to 2 seconds, with full jitter."""
    clock.sleep(_JITTER.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)))


def with_retries(call: Callable[[], R], service: str, in_time: Callable[[], bool] | None = None) -> R:
    """Return the result of a call; repeat the call after a transient error.

    The call is made at most ``ATTEMPTS`` times or, with ``in_time``, until that returns false. After the last transient
    error, raises ``UnavailableError``, which names the ``service``. Any other error is raised at once.
    """
    attempt = 0
    while True:
        try:
            return call()
        except (ClientError, *NETWORK_ERRORS) as error:
            if not is_transient(error):
                raise
            if not (in_time() if in_time else attempt + 1 < ATTEMPTS):
                raise UnavailableError(f"{service} did not answer in time") from error
        pause(attempt)
        attempt += 1


def attempts(in_time: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Yield once for each attempt, with a pause between two: ``ATTEMPTS`` times, or until ``in_time`` returns false."""
    for number in range(ATTEMPTS):
        if number:
            pause(number - 1)
        if not in_time():
            return
        yield


def optimistically(attempt: Callable[[], R], subject: str, in_time: Callable[[], bool] = lambda: True) -> R:
    """Return the result of an attempt that reads, plans and writes conditionally; repeat it when it loses a race.

    An attempt loses a race if its condition fails, its transaction is cancelled, or with a transient error. Raises
    ``UnavailableError``, which names the ``subject``, after ``ATTEMPTS`` lost races or when ``in_time`` returns false.
    Any other error is raised at once.
    """
    last: Exception | None = None
    for _ in attempts(in_time):
        try:
            return attempt()
        except (ClientError, *NETWORK_ERRORS) as error:
            if not (is_failed_condition(error) or is_cancelled(error) or is_transient(error)):
                raise
            last = error
    raise UnavailableError(f"{subject} could not be written, or others kept changing it: try again") from last
