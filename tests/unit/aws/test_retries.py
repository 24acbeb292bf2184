"""The two loops that call again, and the errors that end them."""

import random
from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from quarterhour.aws.retries import (
    ATTEMPTS,
    code_of,
    is_cancelled,
    is_failed_condition,
    is_transient,
    optimistically,
    with_retries,
)
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from tests.support.cases import cases
from tests.support.clocks import Waits
from tests.support.script import cancelled, service_error

TIMEOUT = ReadTimeoutError(endpoint_url="table")
THROTTLED = service_error("ThrottlingException")
LOST = cancelled(["ConditionalCheckFailed", "None"])
TRANSIENT = [
    "ConditionalRequestConflict",
    "ConflictException",
    "InternalServerError",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "ThrottlingException",
    "TransactionConflictException",
    "TransactionInProgressException",
]


def failing(times: int, error: Exception) -> tuple[Callable[[], str], list[int]]:
    """Return a call that fails so many times, and a list that grows with each call."""
    calls: list[int] = []

    def call() -> str:
        calls.append(len(calls))
        if len(calls) <= times:
            raise error
        return "done"

    return call, calls


# ---------------------------------------------------------------- which errors


@cases("code", TRANSIENT)
def test_each_code_of_throttling_or_conflict_is_transient_whatever_its_status(code: str) -> None:
    assert is_transient(service_error(code))
    assert not is_transient(service_error(f"{code}2"))


def test_an_unknown_code_is_transient_from_status_500_on() -> None:
    assert is_transient(service_error("SomethingNew", 500))
    assert not is_transient(service_error("SomethingNew", 499))


def test_an_error_without_code_status_or_reasons_is_read_as_such() -> None:
    bare = ClientError({}, "Operation")
    assert code_of(bare) == ""
    assert not is_transient(bare)
    assert not is_cancelled(bare)
    assert code_of(ClientError({"Error": {}}, "Operation")) == ""
    assert code_of(ValueError()) == ""


def test_only_a_failed_condition_is_one() -> None:
    assert is_failed_condition(service_error("ConditionalCheckFailedException"))
    assert not is_failed_condition(THROTTLED)
    assert not is_failed_condition(LOST)


@pytest.mark.parametrize(
    "reason",
    ["None", "ConditionalCheckFailed", "TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError"],
)
def test_each_stale_reason_is_one_and_no_other(reason: str) -> None:
    assert is_cancelled(cancelled([reason]))
    assert not is_cancelled(cancelled([f"{reason}2"]))
    assert is_cancelled(service_error("TransactionCanceledException", CancellationReasons=[{}, {"Code": reason}]))


def test_a_cancelled_transaction_without_reasons_may_be_tried_again() -> None:
    assert is_cancelled(service_error("TransactionCanceledException"))


# ---------------------------------------------------------------- the same call again


@pytest.mark.parametrize("error", [TIMEOUT, THROTTLED])
def test_a_call_is_repeated_with_growing_pauses(error: Exception) -> None:
    call, calls = failing(3, error)
    waits = Waits()
    with clock.using(waits):
        assert with_retries(call, "the table") == "done"
    assert len(calls) == 4
    assert len(waits.waited) == 3
    assert all(0 <= waited <= 0.05 * 2**attempt for attempt, waited in enumerate(waits.waited))


def test_functions_restored_from_one_snapshot_pause_differently() -> None:
    state = random.getstate()
    pauses = []
    for _ in range(2):
        random.setstate(state)
        waits = Waits()
        with clock.using(waits):
            with_retries(failing(3, THROTTLED)[0], "the table")
        pauses.append(waits.waited)
    assert pauses[0] != pauses[1]


def test_with_time_a_call_is_repeated_beyond_the_attempts_until_time_is_over() -> None:
    call, calls = failing(99, THROTTLED)
    left = iter([True] * 3 * ATTEMPTS + [False])
    waits = Waits()
    with clock.using(waits), pytest.raises(UnavailableError) as raised:
        with_retries(call, "the table", lambda: next(left))
    assert len(calls) == 3 * ATTEMPTS + 1
    assert len(waits.waited) == 3 * ATTEMPTS
    assert raised.value.__cause__ is THROTTLED


def test_an_error_of_another_kind_is_raised_at_once() -> None:
    call, calls = failing(99, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        with_retries(call, "the table")
    assert len(calls) == 1


# ---------------------------------------------------------------- another attempt after a lost race


@pytest.mark.parametrize("error", [LOST, THROTTLED, TIMEOUT])
def test_a_lost_race_is_run_again_with_growing_pauses(error: Exception) -> None:
    attempt, attempts = failing(ATTEMPTS - 1, error)
    waits = Waits()
    with clock.using(waits):
        assert optimistically(attempt, "the order") == "done"
    assert len(attempts) == ATTEMPTS
    assert len(waits.waited) == ATTEMPTS - 1
    assert all(0 <= waited <= 0.05 * 2**number for number, waited in enumerate(waits.waited))
    assert waits.waited[-1] != waits.waited[0]


def test_a_race_that_is_lost_at_each_attempt_is_given_up() -> None:
    attempt, attempts = failing(99, LOST)
    waits = Waits()
    with (
        clock.using(waits),
        pytest.raises(
            UnavailableError, match=r"^the order could not be written, or others kept changing it: try again$"
        ),
    ):
        optimistically(attempt, "the order")
    assert len(attempts) == ATTEMPTS
    assert len(waits.waited) == ATTEMPTS - 1, "no pause follows the last"


@pytest.mark.usefixtures("hands")
def test_no_attempt_begins_when_time_is_over() -> None:
    attempt, attempts = failing(99, LOST)
    left = iter([True, True, False])
    with pytest.raises(UnavailableError):
        optimistically(attempt, "the order", lambda: next(left))
    assert len(attempts) == 2


@pytest.mark.parametrize(
    "error", [service_error("AccessDeniedException"), cancelled(["ValidationError", "None"]), ZeroDivisionError()]
)
def test_an_attempt_that_would_fail_again_is_made_once(error: Exception) -> None:
    attempt, attempts = failing(99, error)
    with pytest.raises(type(error)) as raised:
        optimistically(attempt, "the order")
    assert raised.value is error
    assert len(attempts) == 1
