"""Calls that every table needs: reads by key, batches, queries by page, conditional writes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from botocore.exceptions import ClientError

from quarterhour.aws.items import Item, Request, chunks, to_item
from quarterhour.aws.retries import ATTEMPTS, NETWORK_ERRORS, is_failed_condition, is_transient, pause, with_retries
from quarterhour.aws.workers import Workers
from quarterhour.model.errors import UnavailableError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BATCH_WRITE: Final = 25
"""Items in one BatchWriteItem, at most."""
BATCH_GET: Final = 100
"""Keys in one BatchGetItem, at most."""


class ConditionalWrite(NamedTuple):
    """The outcome of a conditional write.

    ``item`` is the item as the write left it or, where ``applied`` is false, the item that kept the condition from
    holding; empty where there is none, or the request asks DynamoDB for neither.
    """

    applied: bool
    item: Item


def get_item_request(table: str, key: Mapping[str, str]) -> Request:
    """Build a strongly consistent GetItem."""
    return {"TableName": table, "Key": to_item(key), "ConsistentRead": True}


def get_item(client: "DynamoDBClient", table: str, key: Mapping[str, str]) -> Item | None:
    """Return an item, strongly consistent; ``None`` where there is none."""
    request = get_item_request(table, key)
    return with_retries(lambda: client.get_item(**request), f"the table {table}").get("Item")


def get_items(
    client: "DynamoDBClient",
    table: str,
    keys: Sequence[Mapping[str, str]],
    workers: Workers,
    *,
    consistent: bool = True,
) -> list[Item]:
    """Return the items at these keys, in no order; keys without an item are left out.

    Without ``consistent`` they may be a moment old, and cost half. Raises ``UnavailableError`` where some stay unread
    after all attempts.
    """

    def read_page(wanted: Any) -> Any:  # noqa: ANN401 - boto3's own type is too narrow
        return with_retries(lambda: client.batch_get_item(RequestItems=wanted), f"the table {table}")

    def read(some: Sequence[Mapping[str, str]]) -> list[Item]:
        found: list[Item] = []
        wanted: Any = {table: {"Keys": [to_item(key) for key in some], "ConsistentRead": consistent}}
        for attempt in range(ATTEMPTS):
            page = read_page(wanted)
            found.extend(page["Responses"].get(table, []))
            wanted = page.get("UnprocessedKeys")
            if not wanted:
                return found
            pause(attempt)
        raise UnavailableError(f"the table {table} did not return all items in time")

    return [item for found in workers.map(read, list(chunks(keys, BATCH_GET))) for item in found]


def put_items(
    client: "DynamoDBClient",
    table: str,
    items: Sequence[Item],
    workers: Workers,
    may_write: Callable[[Item], bool] = lambda _: True,
) -> list[Item]:
    """Write items, replacing what is at their keys; return those that could not be written.

    ``may_write`` is called for each item before each call that would write it. A batch is given up after ``ATTEMPTS``
    calls in a row that wrote nothing.
    """

    def write(some: Sequence[Item]) -> Sequence[Item]:
        refused: list[Item] = []
        fruitless = 0
        while True:
            pending: list[Item] = []
            for item in some:
                (pending if may_write(item) else refused).append(item)
            some = _put(client, table, pending) if pending else []
            if not some:
                return refused
            fruitless = 0 if len(some) < len(pending) else fruitless + 1
            if fruitless == ATTEMPTS:
                return [*refused, *some]
            pause(fruitless)

    return [item for left in workers.map(write, list(chunks(items, BATCH_WRITE))) for item in left]


def _put(client: "DynamoDBClient", table: str, items: Sequence[Item]) -> Sequence[Item]:
    """Write up to 25 items in one call; return those that DynamoDB did not take."""
    try:
        unprocessed = client.batch_write_item(**put_items_request(table, items)).get("UnprocessedItems", {})
    except (ClientError, *NETWORK_ERRORS) as error:
        if not is_transient(error):
            raise
        return items
    return [request["PutRequest"]["Item"] for request in unprocessed.get(table, [])]


def put_items_request(table: str, items: Sequence[Item]) -> Any:  # noqa: ANN401 - boto3's own type is too narrow
    """Build the BatchWriteItem that writes up to 25 items; repeating it writes the same bytes."""
    return {"RequestItems": {table: [{"PutRequest": {"Item": item}} for item in items]}}


def conditional_write(
    call: Callable[[], Any], table: str, in_time: Callable[[], bool] | None = None
) -> ConditionalWrite:
    """Return the outcome of a conditional PutItem or UpdateItem; repeat the call as ``with_retries`` does."""
    try:
        response = with_retries(call, table, in_time)
    except ClientError as error:
        if not is_failed_condition(error):
            raise
        found: Any = error.response
        return ConditionalWrite(applied=False, item=found.get("Item", {}))
    return ConditionalWrite(applied=True, item=response.get("Attributes", {}))


def query_pages(client: "DynamoDBClient", request: Request, workers: Workers) -> Iterator[list[Item]]:
    """Return a query's pages; the first is read at once, each other while the caller works on the page before it."""

    def fetch(start: Item | None) -> Callable[[], Any]:
        page = {**request, "ExclusiveStartKey": start} if start else request
        return workers.ahead(lambda: with_retries(lambda: client.query(**page), f"the table {request['TableName']}"))

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
