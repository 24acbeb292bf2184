"""The plumbing that every folder shares: clients, what may be tried again, attribute values, batches, pages."""

import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import boto3
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError

from quarterhour import clock
from quarterhour.errors import UnavailableError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_sqs import SQSClient

T = TypeVar("T")
R = TypeVar("R")
Item = dict[str, Any]
"""An item in DynamoDB's attribute values: ``{"pk": {"S": "…"}}``."""
Request = dict[str, Any]
"""The keyword arguments of one AWS call."""

ATTEMPTS: Final = 6
"""How often a call is made before what it could not do is given back to the caller."""
BATCH_WRITE: Final = 25
BATCH_GET: Final = 100

_TRANSIENT: Final = frozenset(
    {
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
    }
)
_MENDABLE: Final = frozenset(
    {
        "None",
        "ConditionalCheckFailed",
        "TransactionConflict",
        "ProvisionedThroughputExceeded",
        "ThrottlingError",
    }
)
NETWORK_ERRORS: Final = (HTTPClientError, BotoConnectionError)
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_SERVER_FAULT: Final = 500

# Requests are built and tested here, so boto3 need not check them again; a call that hangs must not eat a whole run.
_CONFIG: Final = Config(
    parameter_validation=False,
    connect_timeout=2,
    read_timeout=10,
    retries={"mode": "standard", "max_attempts": 3},
    max_pool_connections=32,
    user_agent_extra="quarterhour",
)
_ONCE: Final = _CONFIG.merge(Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 1}))


def dynamodb() -> "DynamoDBClient":
    """Return a DynamoDB client."""
    return boto3.client("dynamodb", config=_CONFIG)


def dynamodb_once() -> "DynamoDBClient":
    """Return a DynamoDB client that makes a call once and gives it up after 3 seconds: only its caller tries again.

    For whoever writes the time into a request, where it must not be older than that when it takes effect.
    """
    return boto3.client("dynamodb", config=_ONCE)


def s3() -> "S3Client":
    """Return an S3 client; the links that it signs name the bucket's own region."""
    # Left to itself, boto3 signs links for the global host, which redirects (and breaks them) or refuses.
    style: Literal["path", "virtual"] = "path" if os.environ.get("AWS_ENDPOINT_URL_S3") else "virtual"
    own = Config(read_timeout=60, signature_version="s3v4", s3={"addressing_style": style})
    return boto3.client("s3", config=_CONFIG.merge(own))


def sqs() -> "SQSClient":
    """Return an SQS client."""
    return boto3.client("sqs", config=_CONFIG)


def scheduler() -> "EventBridgeSchedulerClient":
    """Return an EventBridge Scheduler client."""
    return boto3.client("scheduler", config=_CONFIG)


def is_transient(error: Exception) -> bool:
    """Tell whether the same call may succeed later: throttling, conflicts, a fault of server or network."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return code_of(error) in _TRANSIENT or status >= _SERVER_FAULT
    return isinstance(error, NETWORK_ERRORS)


def code_of(error: Exception) -> str:
    """Return the service's error code, empty where the error is none of a service."""
    return error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""


def is_failed_condition(error: Exception) -> bool:
    """Tell whether a write's condition did not hold."""
    return code_of(error) == "ConditionalCheckFailedException"


def is_cancelled(error: Exception) -> bool:
    """Tell whether a transaction was given up for a reason that reading afresh and trying again can mend."""
    if code_of(error) != "TransactionCanceledException" or not isinstance(error, ClientError):
        return False
    reasons = {reason.get("Code", "None") for reason in error.response.get("CancellationReasons", [])}
    return reasons <= _MENDABLE


def pause(attempt: int) -> None:
    """Wait before the next attempt: exponential, capped, with full jitter."""
    clock.sleep(random.uniform(0, min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)))  # noqa: S311 - jitter is no secret  # nosec B311


def persist(call: Callable[[], R], what: str, in_time: Callable[[], bool] | None = None) -> R:
    """Make a call until it succeeds; raise ``UnavailableError`` where it keeps failing for passing reasons.

    It is made ``ATTEMPTS`` times, or for as long as there is time.
    """
    for attempt in count():
        try:
            return call()
        except (ClientError, *NETWORK_ERRORS) as error:
            if not is_transient(error):
                raise
            if not (in_time() if in_time else attempt + 1 < ATTEMPTS):
                raise UnavailableError(f"{what} did not answer in time") from error
        pause(attempt)
    raise AssertionError  # the last attempt has returned or raised


def chunks(sequence: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Cut a sequence into pieces of at most so many."""
    return (sequence[at : at + size] for at in range(0, len(sequence), size))


class Workers:
    """Makes calls side by side, to hide their latency; with one worker, in turn and in this thread."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count) if count > 1 else None

    def map(self, call: Callable[[T], R], arguments: Iterable[T]) -> list[R]:
        """Return what the call gives for each argument, in their order; the first error is raised.

        Only when all calls have ended: one left behind in a frozen process could take its effect when that thaws,
        long after what it was to write for is sealed.
        """
        if self._pool is None:
            return list(map(call, arguments))
        futures = [self._pool.submit(call, argument) for argument in arguments]
        wait(futures)
        return [future.result() for future in futures]

    def ahead(self, call: Callable[[], R]) -> Callable[[], R]:
        """Start a call now where there is a thread for it; calling the result waits for its outcome."""
        return self._pool.submit(call).result if self._pool else call


_serializer = TypeSerializer()
_deserializer = TypeDeserializer()


def to_item(values: dict[str, Any]) -> Item:
    """Turn plain values into an item; ``None`` is left out."""
    return {name: _serializer.serialize(value) for name, value in values.items() if value is not None}


def from_item(item: Item) -> dict[str, Any]:
    """Turn an item into plain values; numbers are ``Decimal``."""
    return {name: _deserializer.deserialize(value) for name, value in item.items()}


def get_item_request(table: str, key: dict[str, str]) -> Request:
    """Build a strongly consistent GetItem."""
    return {"TableName": table, "Key": to_item(key), "ConsistentRead": True}


def get_items(
    client: "DynamoDBClient",
    table: str,
    keys: Sequence[dict[str, str]],
    workers: Workers,
    *,
    consistent: bool = True,
) -> list[Item]:
    """Read items by key, in no order; those not there are left out.

    Not ``consistent``, they may be a moment old, and cost half. Raises ``UnavailableError`` where some stay unread
    after all attempts.
    """

    def read(some: Sequence[dict[str, str]]) -> list[Item]:
        found: list[Item] = []
        wanted: Any = {table: {"Keys": [to_item(key) for key in some], "ConsistentRead": consistent}}

        def once() -> bool:
            nonlocal wanted
            answer = client.batch_get_item(RequestItems=wanted)
            found.extend(answer["Responses"].get(table, []))
            wanted = answer.get("UnprocessedKeys")
            return not wanted

        until_done(once, f"the table {table}")
        return found

    return [item for found in workers.map(read, list(chunks(keys, BATCH_GET))) for item in found]


def put_items(
    client: "DynamoDBClient", table: str, items: Sequence[Item], workers: Workers, in_time: Callable[[], bool]
) -> None:
    """Write items, in no order; whatever stood at their keys is replaced.

    Goes on for as long as it gets anywhere and there is time. Raises ``UnavailableError`` where some stay unwritten.
    """

    def write(some: Sequence[Item]) -> None:
        pending: Any = {table: [{"PutRequest": {"Item": item}} for item in some]}
        attempt = 0
        while in_time() and attempt < ATTEMPTS:
            left = pending
            try:
                left = client.batch_write_item(RequestItems=pending).get("UnprocessedItems")
            except (ClientError, *NETWORK_ERRORS) as error:
                if not is_transient(error):
                    raise
            if not left:
                return
            attempt = 0 if len(left[table]) < len(pending[table]) else attempt + 1
            pending = left
            pause(attempt)
        raise UnavailableError(f"the table {table} did not take all in time")

    workers.map(write, list(chunks(items, BATCH_WRITE)))


def until_done(once: Callable[[], bool], what: str) -> None:
    """Repeat a call that may do its work in part until it says that all is done."""
    for attempt in range(ATTEMPTS):
        if persist(once, what):
            return
        pause(attempt)
    raise UnavailableError(f"{what} did not take all in time")


def query_pages(client: "DynamoDBClient", request: Request, workers: Workers) -> Iterator[list[Item]]:
    """Return a query's pages; the first is read at once, each other while the caller works on the one before."""

    def fetch(start: Item | None) -> Callable[[], Any]:
        page = {**request, "ExclusiveStartKey": start} if start else request
        return workers.ahead(lambda: persist(lambda: client.query(**page), f"the table {request['TableName']}"))

    def pages(coming: Callable[[], Any]) -> Iterator[list[Item]]:
        while True:
            answer = coming()
            start = answer.get("LastEvaluatedKey")
            if not start:
                yield answer["Items"]
                return
            coming = fetch(start)
            yield answer["Items"]

    return pages(fetch(None))
