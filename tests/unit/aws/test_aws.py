"""Retries, concurrent calls, and the calls to DynamoDB that all features share."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import chunks, from_item, to_item
from quarterhour.aws.retries import ATTEMPTS, is_cancelled, is_transient, pause, with_retries
from quarterhour.aws.tables import get_item_request, get_items, put_items, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from tests.support.clocks import Waits
from tests.support.script import Scripted, cancelled, service_error

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
def test_throttling_conflicts_server_and_network_errors_are_transient(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize(
    "error",
    [
        service_error("ConditionalCheckFailedException"),
        service_error("ValidationException"),
        service_error("AccessDeniedException"),
        service_error("ResourceNotFoundException"),
        service_error("TransactionCanceledException"),
        ValueError("a programming error"),
    ],
)
def test_an_error_that_would_repeat_is_not_transient(error: Exception) -> None:
    assert not is_transient(error)


@pytest.mark.parametrize(
    ("reasons", "repeatable"),
    [
        (["ConditionalCheckFailed", "None", "None"], True),
        (["None", "TransactionConflict"], True),
        (["ThrottlingError"], True),
        (["ProvisionedThroughputExceeded", "ConditionalCheckFailed"], True),
        (["ValidationError", "None"], False),
        (["ConditionalCheckFailed", "ItemCollectionSizeLimitExceeded"], False),
    ],
)
def test_a_transaction_is_planned_again_only_if_a_new_read_can_help(
    reasons: list[str],
    repeatable: bool,  # noqa: FBT001 - a table's column
) -> None:
    assert is_cancelled(cancelled(reasons)) is repeatable


def test_another_error_is_not_a_cancelled_transaction() -> None:
    assert not is_cancelled(service_error("ConditionalCheckFailedException"))
    assert not is_cancelled(ValueError())


def failing(times: int, error: Exception) -> tuple[Callable[[], str], list[int]]:
    tries: list[int] = []

    def call() -> str:
        tries.append(len(tries))
        if len(tries) <= times:
            raise error
        return "done"

    return call, tries


@pytest.mark.usefixtures("hands")
def test_a_call_is_repeated_until_it_succeeds() -> None:
    call, tries = failing(ATTEMPTS - 1, TIMEOUT)
    assert with_retries(call, "the table") == "done"
    assert len(tries) == ATTEMPTS


@pytest.mark.usefixtures("hands")
def test_a_call_that_keeps_failing_ends_with_the_name_of_the_service() -> None:
    call, tries = failing(99, service_error("ThrottlingException"))
    with pytest.raises(UnavailableError, match="the table did not answer in time"):
        with_retries(call, "the table")
    assert len(tries) == ATTEMPTS


@pytest.mark.usefixtures("hands")
def test_a_call_with_a_permanent_error_is_made_once() -> None:
    call, tries = failing(99, service_error("ValidationException"))
    with pytest.raises(Exception, match="ValidationException"):
        with_retries(call, "the table")
    assert len(tries) == 1


def test_pauses_grow_up_to_two_seconds_and_are_not_all_the_same() -> None:
    waits = Waits()
    with clock.using(waits):
        for attempt in range(12):
            for _ in range(20):
                pause(attempt)
    longest = [max(waits.waited[i * 20 : i * 20 + 20]) for i in range(12)]
    assert all(waited <= min(2.0, 0.05 * 2 ** (i // 20)) for i, waited in enumerate(waits.waited))
    assert longest[0] < 0.05 < longest[-1] <= 2.0
    assert len(set(waits.waited)) > 200


@given(st.lists(st.integers(), max_size=60), st.integers(1, 30))
def test_concatenated_chunks_are_the_whole_sequence(sequence: list[int], size: int) -> None:
    pieces = list(chunks(sequence, size))
    assert [one for piece in pieces for one in piece] == sequence
    assert all(len(piece) == size for piece in pieces[:-1])


@pytest.mark.parametrize("count", [1, 4])
def test_workers_return_results_in_the_order_of_the_arguments(count: int) -> None:
    assert Workers(count).map(lambda n: n * n, range(50)) == [n * n for n in range(50)]


def test_one_worker_works_in_the_callers_thread() -> None:
    assert set(Workers(1).map(lambda _: threading.current_thread(), range(3))) == {threading.current_thread()}


@pytest.mark.parametrize("count", [1, 4])
def test_a_workers_error_is_raised(count: int) -> None:
    with pytest.raises(ZeroDivisionError):
        Workers(count).map(lambda n: 1 // n, [1, 0])


# ---------------------------------------------------------------- reading


def item(key: str) -> dict[str, Any]:
    return {"pk": {"S": key}}


@pytest.mark.usefixtures("hands")
def test_unprocessed_keys_are_read_again() -> None:
    keys = [{"pk": "a"}, {"pk": "b"}]
    left = {"Entity": {"Keys": [item("b")], "ConsistentRead": True}}
    client: Any = Scripted(
        {"Responses": {"Entity": [item("a")]}, "UnprocessedKeys": left},
        TIMEOUT,
        {"Responses": {"Entity": [item("b")]}, "UnprocessedKeys": {}},
    )
    assert get_items(client, "Entity", keys, Workers(1)) == [item("a"), item("b")]
    assert [request["RequestItems"] for _, request in client.calls[1:]] == [left, left]


@pytest.mark.usefixtures("hands")
def test_items_that_stay_unread_are_an_error_and_not_missing() -> None:
    left = {"Entity": {"Keys": [item("a")]}}
    client: Any = Scripted({"Responses": {}, "UnprocessedKeys": left})
    with pytest.raises(UnavailableError, match="Entity did not return all items in time"):
        get_items(client, "Entity", [{"pk": "a"}], Workers(1))


def test_items_are_read_in_batches_of_100_with_strong_consistency() -> None:
    client: Any = Scripted({"Responses": {"Entity": []}})
    get_items(client, "Entity", [{"pk": str(i)} for i in range(201)], Workers(1))
    reads = [request["RequestItems"]["Entity"] for _, request in client.calls]
    assert [len(read["Keys"]) for read in reads] == [100, 100, 1]
    assert all(read["ConsistentRead"] for read in reads)


def test_an_item_is_read_by_key_with_strong_consistency() -> None:
    """The checkpoint of the reports, the desired schedule and the claims of orders depend on it."""
    client: Any = Scripted({})
    key = {"pk": "CONTROL", "sk": "checkpoint"}
    assert EntityReader(client, "Entity").get(key) is None
    request = {"TableName": "Entity", "Key": to_item(dict(key)), "ConsistentRead": True}
    assert client.calls == [("get_item", request)]
    assert get_item_request("Entity", key) == request


def test_no_keys_make_no_call() -> None:
    client: Any = Scripted({})
    assert get_items(client, "Entity", [], Workers(1)) == []
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
    pages = query_pages(client, {"TableName": "Ledger"}, Workers(count))
    assert list(pages) == [[item("a")], [], [item("c")]]
    starts = [request.get("ExclusiveStartKey") for _, request in client.calls]
    assert starts == [None, item("a"), item("b"), item("b")]


# ---------------------------------------------------------------- writing

MOST_CALLS = 100
"""More calls than any bounded number of attempts makes."""


def unprocessed(count: int | None) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a response by which the last ``count`` items, or (``None``) all but the first, are unprocessed."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        puts = request["RequestItems"]["Entity"]
        left = puts[1:] if count is None else puts[-count:]
        return {"UnprocessedItems": {"Entity": left} if left else {}}

    return answer


def never() -> bool:
    return False


def always() -> bool:
    return True


@pytest.mark.usefixtures("hands")
@pytest.mark.parametrize("answer", [service_error("ThrottlingException"), TIMEOUT, unprocessed(3)])
def test_writing_to_a_table_that_accepts_nothing_ends_before_the_time_is_up(answer: Any) -> None:
    client: Any = Scripted(*[answer] * MOST_CALLS, AssertionError("retried without end"))
    items = [item(key) for key in "abc"]
    assert put_items(client, "Entity", items, Workers(1)) == items
    assert len(client.calls) == ATTEMPTS


def test_writing_continues_while_each_call_writes_something() -> None:
    client: Any = Scripted(unprocessed(None))
    items = [item(str(number)) for number in range(2 * ATTEMPTS + 1)]
    waits = Waits()
    with clock.using(waits):
        put_items(client, "Entity", items, Workers(1))
    sent = [len(request["RequestItems"]["Entity"]) for _, request in client.calls]
    assert sent == list(range(len(items), 0, -1))
    assert len(waits.waited) == len(sent) - 1


def test_nothing_is_written_after_the_time_is_up() -> None:
    client: Any = Scripted({"UnprocessedItems": {}})
    assert put_items(client, "Entity", [item("a")], Workers(1), lambda _: False) == [item("a")]
    assert client.calls == []


@pytest.mark.usefixtures("hands")
def test_a_write_that_is_not_allowed_is_an_error_at_once() -> None:
    client: Any = Scripted(service_error("AccessDeniedException"))
    with pytest.raises(ClientError, match="AccessDenied"):
        put_items(client, "Entity", [item("a")], Workers(1))
    assert len(client.calls) == 1


def test_values_are_parsed_back_from_items_and_none_is_left_out() -> None:
    values = {"pk": "a", "n": 5, "list": ["x", 1], "map": {"deep": "y"}}
    assert from_item(to_item({**values, "gone": None})) == values


def test_no_call_is_left_running_when_one_of_them_fails() -> None:
    ended: list[int] = []
    others = threading.Event()

    def call(number: int) -> None:
        if number == 0:
            others.set()
            raise ValueError
        others.wait(5)
        ended.append(number)

    with pytest.raises(ValueError):  # noqa: PT011 - the error of the call
        Workers(4).map(call, range(4))
    assert sorted(ended) == [1, 2, 3]
