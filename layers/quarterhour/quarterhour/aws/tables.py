"""DynamoDB calls that all features share: reads by key, batches, paged queries, conditional writes."""

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
"""The maximum number of items of one BatchWriteItem."""
BATCH_GET: Final = 100
"""The maximum number of keys of one BatchGetItem."""


class ConditionalWrite(NamedTuple):
    """The outcome of a conditional write.

    ``item`` is the item after the write or, if ``applied`` is false, the existing item for which the condition does not
    hold. It is empty if there is none, or if the request does not make DynamoDB return it.
    """

    applied: bool
    item: Item


def get_item_request(table: str, key: Mapping[str, str]) -> Request:
    """Build a strongly consistent GetItem."""
    return {"TableName": table, "Key": to_item(key), "ConsistentRead": True}


def get_item(client: "DynamoDBClient", table: str, key: Mapping[str, str]) -> Item | None:
    """Return an item, read with strong consistency; ``None`` if there is none."""
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
    """Return the existing items of these keys, in any order.

    Without ``consistent``, reads are eventually consistent and cost half. Raises ``UnavailableError`` if some keys stay
    unread after all attempts.
    """

    def read_page(request_items: Any) -> Any:  # noqa: ANN401 - boto3's own type is too narrow
        return with_retries(lambda: client.batch_get_item(RequestItems=request_items), f"the table {table}")

    def read(batch: Sequence[Mapping[str, str]]) -> list[Item]:
        items: list[Item] = []
        unread: Any = {table: {"Keys": [to_item(key) for key in batch], "ConsistentRead": consistent}}
        for attempt in range(ATTEMPTS):
            page = read_page(unread)
            items.extend(page["Responses"].get(table, []))
            unread = page.get("UnprocessedKeys")
            if not unread:
                return items
            pause(attempt)
        raise UnavailableError(f"the table {table} did not return all items in time")

    return [item for items in workers.map(read, list(chunks(keys, BATCH_GET))) for item in items]


def put_items(
    client: "DynamoDBClient",
    table: str,
    items: Sequence[Item],
    workers: Workers,
    may_write: Callable[[Item], bool] = lambda _: True,
) -> list[Item]:
    """Put items, replacing existing ones; return the items that were not written.

    ``may_write`` is called for each item before each call that would write it. A batch fails after ``ATTEMPTS``
    consecutive calls that wrote nothing.
    """

    def write(batch: Sequence[Item]) -> Sequence[Item]:
        refused: list[Item] = []
        fruitless = 0
        while True:
            pending: list[Item] = []
            for item in batch:
                (pending if may_write(item) else refused).append(item)
            batch = _put(client, table, pending) if pending else []
            if not batch:
                return refused
            fruitless = 0 if len(batch) < len(pending) else fruitless + 1
            if fruitless == ATTEMPTS:
                return [*refused, *batch]
            pause(fruitless)

    return [item for unwritten in workers.map(write, list(chunks(items, BATCH_WRITE))) for item in unwritten]


def _put(client: "DynamoDBClient", table: str, items: Sequence[Item]) -> Sequence[Item]:
    """Put up to 25 items in one call; return the items that were not written."""
    try:
        unprocessed = client.batch_write_item(**put_items_request(table, items)).get("UnprocessedItems", {})
    except (ClientError, *NETWORK_ERRORS) as error:
        if not is_transient(error):
            raise
        return items
    return [request["PutRequest"]["Item"] for request in unprocessed.get(table, [])]


def put_items_request(table: str, items: Sequence[Item]) -> Any:  # noqa: ANN401 - boto3's own type is too narrow
    """Build the BatchWriteItem that puts up to 25 items; it is idempotent."""
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
        failed: Any = error.response
        return ConditionalWrite(applied=False, item=failed.get("Item", {}))
    return ConditionalWrite(applied=True, item=response.get("Attributes", {}))


def query_pages(client: "DynamoDBClient", request: Request, workers: Workers) -> Iterator[list[Item]]:
    """Return the pages of a query: the first is fetched at once, each other while the caller works on the previous."""

    def fetch(start: Item | None) -> Callable[[], Any]:
        page = {**request, "ExclusiveStartKey": start} if start else request
        return workers.start(lambda: with_retries(lambda: client.query(**page), f"the table {request['TableName']}"))

    def pages(next_page: Callable[[], Any]) -> Iterator[list[Item]]:
        while True:
            page = next_page()
            start = page.get("LastEvaluatedKey")
            if not start:
                yield page["Items"]
                return
            next_page = fetch(start)
            yield page["Items"]

    return pages(fetch(None))
