"""DynamoDB calls that all features share: reads by key, batches, paged queries, conditional writes."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from botocore.exceptions import ClientError

from quarterhour.aws.items import Item, Request, chunks, to_item
from quarterhour.aws.retries import (
    ATTEMPTS,
    NETWORK_ERRORS,
    is_cancelled,
    is_failed_condition,
    is_transient,
    pause,
    with_retries,
)
from quarterhour.aws.workers import Workers
from quarterhour.model.errors import UnavailableError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

W = TypeVar("W")

BATCH_WRITE: Final = 25
"""The maximum number of items of one BatchWriteItem, and of statements of one BatchExecuteStatement."""
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
            if attempt:
                pause(attempt - 1)
            page = read_page(unread)
            items.extend(page["Responses"].get(table, []))
            unread = page.get("UnprocessedKeys")
            if not unread:
                return items
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

    def put(batch: Sequence[Item]) -> list[Item]:
        unprocessed = client.batch_write_item(**put_items_request(table, batch)).get("UnprocessedItems", {})
        return [request["PutRequest"]["Item"] for request in unprocessed.get(table, [])]

    return _write_in_batches(put, items, workers, may_write)


class Insertion(NamedTuple):
    """The items that an insertion did not insert, in any order.

    ``existing``: the table holds an item of the same key. It can be the very item, if DynamoDB's response to an earlier
    attempt was lost: the caller reads it and compares. ``unwritten``: the items that could not be written in time.
    """

    existing: list[Item]
    unwritten: list[Item]


def insert_items(
    client: "DynamoDBClient",
    table: str,
    items: Sequence[Item],
    workers: Workers,
    may_write: Callable[[Item], bool] = lambda _: True,
) -> Insertion:
    """Insert items whose keys do not exist, each by itself; no key twice. Return the items that were not inserted.

    Retries as ``put_items`` does. Raises botocore's ``ClientError`` if DynamoDB refuses an item for another reason than
    an existing key.
    """
    existing: list[Item] = []

    def insert(batch: Sequence[Item]) -> list[Item]:
        outcome = _execute(client, insert_items_request(table, batch), batch, {"DuplicateItem"})
        existing.extend(outcome.refused)
        return outcome.failed

    unwritten = _write_in_batches(insert, items, workers, may_write)
    return Insertion(existing, unwritten)


class ItemUpdate(NamedTuple):
    """New values of attributes of the item with a key, on condition of its ``version``."""

    key: Mapping[str, str]
    values: Item
    version: int


def update_items(
    client: "DynamoDBClient", table: str, updates: Sequence[ItemUpdate], workers: Workers
) -> list[ItemUpdate]:
    """Update items, each by itself and in one attempt; no key twice. Return the updates that were not made.

    One of these can have been made nevertheless, if its response was lost. Raises botocore's ``ClientError`` if
    DynamoDB refuses an update for another reason than its condition or the size of the item.
    """

    def update(batch: Sequence[ItemUpdate]) -> list[ItemUpdate]:
        codes = {"ConditionalCheckFailed", "ValidationError"}
        try:
            outcome = _execute(client, update_items_request(table, batch), batch, codes)
        except (ClientError, *NETWORK_ERRORS) as error:
            if not is_transient(error):
                raise
            return list(batch)
        return [*outcome.refused, *outcome.failed]

    return [one for unmade in workers.map(update, list(chunks(updates, BATCH_WRITE))) for one in unmade]


class _Outcome(NamedTuple, Generic[W]):
    """The statements of a call that were not executed: ``failed`` for the moment, or ``refused`` for good."""

    failed: list[W]
    refused: list[W]


def _execute(
    client: "DynamoDBClient",
    request: Any,  # noqa: ANN401 - boto3's own type is too narrow
    batch: Sequence[W],
    refusals: Container[str],
) -> _Outcome[W]:
    """Execute a batch, one statement each; raise ``ClientError`` for an error that is neither transient nor refusal."""
    outcome: _Outcome[W] = _Outcome([], [])
    answer: Any = client.batch_execute_statement(**request)
    for one, response in zip(batch, answer["Responses"], strict=True):
        error = response.get("Error")
        if error and error["Code"] in refusals:
            outcome.refused.append(one)
        elif error:
            failure = ClientError({"Error": error}, "BatchExecuteStatement")
            if not is_transient(failure):
                raise failure
            outcome.failed.append(one)
    return outcome


def _write_in_batches(
    write: Callable[[Sequence[W]], list[W]],
    writes: Sequence[W],
    workers: Workers,
    may_write: Callable[[W], bool] = lambda _: True,
) -> list[W]:
    """Make writes with a function that makes up to 25 in one call and returns those to make again.

    Return the writes that were not made.
    """

    def attempt(batch: list[W]) -> list[W]:
        try:
            return write(batch)
        except (ClientError, *NETWORK_ERRORS) as error:
            if not is_transient(error):
                raise
            return batch

    def write_all(batch: Sequence[W]) -> list[W]:
        refused: list[W] = []
        fruitless = 0
        while True:
            pending: list[W] = []
            for one in batch:
                (pending if may_write(one) else refused).append(one)
            batch = attempt(pending) if pending else []
            if not batch:
                return refused
            fruitless = 0 if len(batch) < len(pending) else fruitless + 1
            if fruitless == ATTEMPTS:
                return [*refused, *batch]
            pause(fruitless)

    return [one for unwritten in workers.map(write_all, list(chunks(writes, BATCH_WRITE))) for one in unwritten]


def put_items_request(table: str, items: Sequence[Item]) -> Any:  # noqa: ANN401 - boto3's own type is too narrow
    """Build the BatchWriteItem that puts up to 25 items; it is idempotent."""
    return {"RequestItems": {table: [{"PutRequest": {"Item": item}} for item in items]}}


def insert_items_request(table: str, items: Sequence[Item]) -> Any:  # noqa: ANN401 - boto3's own type is too narrow
    """Build the BatchExecuteStatement that inserts up to 25 items, each only if its key does not exist."""
    return {"Statements": [_insert_statement(table, item) for item in items]}


def _insert_statement(table: str, item: Item) -> Request:
    return {"Statement": _statement(table, tuple(item)), "Parameters": list(item.values())}


@lru_cache(maxsize=256)
def _statement(table: str, names: tuple[str, ...]) -> str:
    attributes = ", ".join(f"'{name}': ?" for name in names)
    return f'INSERT INTO "{table}" VALUE {{{attributes}}}'


def update_items_request(table: str, updates: Sequence[ItemUpdate]) -> Any:  # noqa: ANN401 - boto3's own type is too narrow
    """Build the BatchExecuteStatement that updates up to 25 items, each only if it has its version."""
    return {"Statements": [_update_statement(table, update) for update in updates]}


def _update_statement(table: str, update: ItemUpdate) -> Request:
    conditions = to_item({**update.key, "version": update.version})
    tests = " AND ".join(f'"{name}" = ?' for name in conditions)
    values = " SET ".join(f'"{name}" = ?' for name in update.values)
    return {
        "Statement": f'UPDATE "{table}" SET {values} WHERE {tests}',  # noqa: S608 - our own names  # nosec B608
        "Parameters": [*update.values.values(), *conditions.values()],
    }


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


def conditional_transaction(call: Callable[[], Any], table: str) -> bool:
    """Make a TransactWriteItems call; return whether its conditions held. Repeats the call as ``with_retries`` does."""
    try:
        with_retries(call, table)
    except ClientError as error:
        if not is_cancelled(error):
            raise
        return False
    return True


def query_pages(client: "DynamoDBClient", request: Request, workers: Workers) -> Iterator[list[Item]]:
    """Return the pages of a query: the first is fetched at once, each other while the caller works on the previous.

    With one worker, each page is fetched when the caller needs it.
    """

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
