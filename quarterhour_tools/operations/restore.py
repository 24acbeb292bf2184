"""`quarterhour restore`: writes a table's lost items from a recovered copy of it; it overwrites nothing."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from quarterhour.aws import clients
from quarterhour.aws.items import Item, Request
from quarterhour.aws.retries import is_failed_condition, with_retries
from quarterhour.aws.tables import get_items
from quarterhour.aws.workers import Workers
from quarterhour.model import clock
from quarterhour_tools.errors import ToolError

NAME: Final = "restore"
DESCRIPTION: Final = (
    "Write the items that a table in AWS has lost, from a copy that was recovered to a point in time. It "
    "overwrites nothing; without --write it only counts."
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_WORKERS: Final = 8
_PAGE: Final = 1000
_EXPIRY: Final = "expires_at"


@dataclass(slots=True)
class Restored:
    """The numbers of items of the copy that are the same in the table, changed there, missing there, or expired."""

    same: int = 0
    changed: int = 0
    missing: int = 0
    expired: int = 0

    def __str__(self) -> str:
        return f"{self.same} the same, {self.changed} changed since, {self.expired} expired, {self.missing} missing"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour restore``."""
    parser.add_argument("copy", metavar="COPY", help="the recovered table")
    parser.add_argument("table", metavar="TABLE", help="the table that has lost items")
    parser.add_argument("--write", action="store_true", help="write the missing items; without it, only count them")


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    restored = restore(clients.dynamodb(), args.copy, args.table, write=args.write)
    print(f"{restored}{', written' if args.write else ''}")
    return 0


def restore(client: "DynamoDBClient", copy: str, table: str, *, write: bool) -> Restored:
    """Compare a copy with its table and count the items; with ``write``, write the missing ones. Skip expired items.

    Raises ``ToolError`` if the two tables have different keys.
    """
    keys = _keys(client, table)
    if _keys(client, copy) != keys:
        raise ToolError(f"{copy} is not a copy of {table}: its keys differ")
    workers = Workers(_WORKERS)
    result = Restored()
    now = int(clock.now().timestamp())
    for page in _pages(client, copy):
        kept = [item for item in page if int(item.get(_EXPIRY, {}).get("N", now + 1)) > now]
        result.expired += len(page) - len(kept)
        missing = _compare(client, table, keys, kept, workers, result)
        if write:
            workers.map(lambda item: _put(client, put_request(table, keys[0], item)), missing)
    return result


def put_request(table: str, key: str, item: Item) -> Request:
    """Build the PutItem that writes an item only if its key is free."""
    return {
        "TableName": table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(#key)",
        "ExpressionAttributeNames": {"#key": key},
    }


def _keys(client: "DynamoDBClient", table: str) -> list[str]:
    return [one["AttributeName"] for one in client.describe_table(TableName=table)["Table"]["KeySchema"]]


def _pages(client: "DynamoDBClient", table: str) -> Iterator[list[Any]]:
    for page in client.get_paginator("scan").paginate(TableName=table, PaginationConfig={"PageSize": _PAGE}):
        yield page["Items"]


def _compare(  # noqa: PLR0913, PLR0917 - a table, its keys, items, and how
    client: "DynamoDBClient",
    table: str,
    keys: Sequence[str],
    items: Sequence[Item],
    workers: Workers,
    result: Restored,
) -> list[Item]:
    """Return the items that the table lacks, and count all items."""

    def key(item: Item) -> tuple[str, ...]:
        return tuple(item[name]["S"] for name in keys)

    item_keys = [dict(zip(keys, key(item), strict=True)) for item in items]
    actual = {key(item): item for item in get_items(client, table, item_keys, workers)}
    missing = [item for item in items if key(item) not in actual]
    same = sum(actual.get(key(item)) == item for item in items)
    result.missing += len(missing)
    result.same += same
    result.changed += len(items) - len(missing) - same
    return missing


def _put(client: "DynamoDBClient", request: Request) -> None:
    try:
        with_retries(lambda: client.put_item(**request), f"the table {request['TableName']}")
    except ClientError as error:
        if not is_failed_condition(error):  # written meanwhile: the table's item is newer
            raise
