"""What may be tried again, and how long."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from quarterhour import aws, clock
from quarterhour.clock import ManualClock
from quarterhour.errors import UnavailableError
from tests.unit.core.builders import AT
from tests.unit.core.script import Scripted, cancelled, service_error

TIMEOUT = ReadTimeoutError(endpoint_url="table")


@pytest.mark.parametrize(
    "error",
    [
        service_error("ProvisionedThroughputExceededException"),
        service_error("ThrottlingException"),
        service_error("TransactionConflictException"),
        service_error("SlowDown", 503),
        service_error("InternalServerError", 500),
        service_error("SomethingNew", 502),
        TIMEOUT,
        ConnectTimeoutError(endpoint_url="table"),
        EndpointConnectionError(endpoint_url="table"),
    ],
)
def test_throttling_conflicts_and_faults_of_server_or_network_may_pass(error: Exception) -> None:
    assert aws.is_transient(error)


@pytest.mark.parametrize(
    "error",
    [
        service_error("ConditionalCheckFailedException"),
        service_error("ValidationException"),
        service_error("AccessDeniedException"),
        service_error("ResourceNotFoundException"),
        service_error("TransactionCanceledException"),
        ValueError("a mistake of ours"),
    ],
)
def test_what_would_fail_again_is_not_tried_again(error: Exception) -> None:
    assert not aws.is_transient(error)


@pytest.mark.parametrize(
    ("reasons", "mendable"),
    [
        (["ConditionalCheckFailed", "None", "None"], True),
        (["None", "TransactionConflict"], True),
        (["ThrottlingError"], True),
        (["ProvisionedThroughputExceeded", "ConditionalCheckFailed"], True),
        (["ValidationError", "None"], False),
        (["ConditionalCheckFailed", "ItemCollectionSizeLimitExceeded"], False),
    ],
)
def test_a_transaction_is_planned_again_only_for_reasons_that_reading_afresh_can_mend(
    reasons: list[str],
    mendable: bool,  # noqa: FBT001 - a table's column
) -> None:
    assert aws.is_cancelled(cancelled(reasons)) is mendable


def test_another_error_is_no_cancelled_transaction() -> None:
    assert not aws.is_cancelled(service_error("ConditionalCheckFailedException"))
    assert not aws.is_cancelled(ValueError())


def failing(times: int, error: Exception) -> tuple[Callable[[], str], list[int]]:
    tries: list[int] = []

    def call() -> str:
        tries.append(len(tries))
        if len(tries) <= times:
            raise error
        return "done"

    return call, tries


@pytest.mark.usefixtures("hands")
def test_a_call_is_made_until_it_succeeds() -> None:
    call, tries = failing(aws.ATTEMPTS - 1, TIMEOUT)
    assert aws.persist(call, "the table") == "done"
    assert len(tries) == aws.ATTEMPTS


@pytest.mark.usefixtures("hands")
def test_a_call_that_keeps_failing_is_given_up_with_the_name_of_what_did_not_answer() -> None:
    call, tries = failing(99, service_error("ThrottlingException"))
    with pytest.raises(UnavailableError, match="the table did not answer in time"):
        aws.persist(call, "the table")
    assert len(tries) == aws.ATTEMPTS


@pytest.mark.usefixtures("hands")
def test_a_call_that_would_fail_again_is_made_once() -> None:
    call, tries = failing(99, service_error("ValidationException"))
    with pytest.raises(Exception, match="ValidationException"):
        aws.persist(call, "the table")
    assert len(tries) == 1


class Waits(ManualClock):
    """A clock that keeps how long it was asked to wait."""

    def __init__(self) -> None:
        super().__init__(AT)
        self.waited: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


def test_pauses_grow_up_to_two_seconds_and_are_not_all_the_same() -> None:
    waits = Waits()
    with clock.using(waits):
        for attempt in range(12):
            for _ in range(20):
                aws.pause(attempt)
    longest = [max(waits.waited[i * 20 : i * 20 + 20]) for i in range(12)]
    assert all(waited <= min(2.0, 0.05 * 2 ** (i // 20)) for i, waited in enumerate(waits.waited))
    assert longest[0] < 0.05 < longest[-1] <= 2.0
    assert len(set(waits.waited)) > 200


@given(st.lists(st.integers(), max_size=60), st.integers(1, 30))
def test_chunks_put_together_are_the_whole(sequence: list[int], size: int) -> None:
    pieces = list(aws.chunks(sequence, size))
    assert [one for piece in pieces for one in piece] == sequence
    assert all(len(piece) == size for piece in pieces[:-1])


@pytest.mark.parametrize("count", [1, 4])
def test_workers_answer_in_the_order_of_what_they_were_asked(count: int) -> None:
    assert aws.Workers(count).map(lambda n: n * n, range(50)) == [n * n for n in range(50)]


def test_one_worker_works_in_the_callers_thread() -> None:
    assert set(aws.Workers(1).map(lambda _: threading.current_thread(), range(3))) == {threading.current_thread()}


@pytest.mark.parametrize("count", [1, 4])
def test_a_workers_error_is_raised(count: int) -> None:
    with pytest.raises(ZeroDivisionError):
        aws.Workers(count).map(lambda n: 1 // n, [1, 0])


# ---------------------------------------------------------------- reading


def item(key: str) -> dict[str, Any]:
    return {"pk": {"S": key}}


@pytest.mark.usefixtures("hands")
def test_items_that_were_left_out_are_asked_for_again() -> None:
    keys = [{"pk": "a"}, {"pk": "b"}]
    left = {"Entity": {"Keys": [item("b")], "ConsistentRead": True}}
    client: Any = Scripted(
        {"Responses": {"Entity": [item("a")]}, "UnprocessedKeys": left},
        TIMEOUT,
        {"Responses": {"Entity": [item("b")]}, "UnprocessedKeys": {}},
    )
    assert aws.get_items(client, "Entity", keys, aws.Workers(1)) == [item("a"), item("b")]
    assert [request["RequestItems"] for _, request in client.calls[1:]] == [left, left]


@pytest.mark.usefixtures("hands")
def test_items_that_stay_unread_are_no_missing_items() -> None:
    left = {"Entity": {"Keys": [item("a")]}}
    client: Any = Scripted({"Responses": {}, "UnprocessedKeys": left})
    with pytest.raises(UnavailableError, match="Entity did not take all in time"):
        aws.get_items(client, "Entity", [{"pk": "a"}], aws.Workers(1))


def test_items_are_read_a_hundred_at_a_time_and_strongly_consistent() -> None:
    client: Any = Scripted({"Responses": {"Entity": []}})
    aws.get_items(client, "Entity", [{"pk": str(i)} for i in range(201)], aws.Workers(1))
    reads = [request["RequestItems"]["Entity"] for _, request in client.calls]
    assert [len(read["Keys"]) for read in reads] == [100, 100, 1]
    assert all(read["ConsistentRead"] for read in reads)


def test_no_key_makes_no_call() -> None:
    client: Any = Scripted({})
    assert aws.get_items(client, "Entity", [], aws.Workers(1)) == []
    assert client.calls == []


@pytest.mark.usefixtures("hands")
@pytest.mark.parametrize("count", [1, 3])
def test_a_query_is_read_to_its_last_page_even_past_an_empty_one(count: int) -> None:
    client: Any = Scripted(
        {"Items": [item("a")], "LastEvaluatedKey": item("a")},
        {"Items": [], "LastEvaluatedKey": item("b")},
        TIMEOUT,
        {"Items": [item("c")]},
    )
    pages = aws.query_pages(client, {"TableName": "Ledger"}, aws.Workers(count))
    assert list(pages) == [[item("a")], [], [item("c")]]
    starts = [request.get("ExclusiveStartKey") for _, request in client.calls]
    assert starts == [None, item("a"), item("b"), item("b")]


def test_values_come_back_from_items_and_none_is_left_out() -> None:
    values = {"pk": "a", "n": 5, "list": ["x", 1], "map": {"deep": "y"}}
    assert aws.from_item(aws.to_item({**values, "gone": None})) == values


def test_no_call_is_left_running_when_one_of_them_fails() -> None:
    ended: list[int] = []
    others = threading.Event()

    def call(number: int) -> None:
        if number == 0:
            others.set()
            raise ValueError
        others.wait(5)
        ended.append(number)

    with pytest.raises(ValueError):  # noqa: PT011 - the call's own
        aws.Workers(4).map(call, range(4))
    assert sorted(ended) == [1, 2, 3]
