"""`quarterhour restore`: writes what a table has lost, from a copy of it that was recovered; overwrites nothing."""

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

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_WORKERS: Final = 8
_PAGE: Final = 1000
_EXPIRY: Final = "expires_at"


@dataclass(slots=True)
class Restored:
    """How many items of the copy stand in the table as they are, stand there otherwise, were missing, have expired."""

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
    parser.add_argument("--write", action="store_true", help="write what is missing; without it, only count")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    restored = restore(clients.dynamodb(), args.copy, args.table, write=args.write)
    print(f"{restored}{', written' if args.write else ''}")
    return 0


def restore(client: "DynamoDBClient", copy: str, table: str, *, write: bool) -> Restored:
    """Count what a table lacks of its copy, and write it where that is wanted; expired items are left to rest.

    Raises ``LocalError`` where the two have other keys.
    """
    keys = _keys(client, table)
    if _keys(client, copy) != keys:
        raise ToolError(f"{copy} is no copy of {table}: its keys are others")
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
    """Build the PutItem that writes an item only where none stands."""
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
    """Return the items that the table lacks; count all."""

    def key(item: Item) -> tuple[str, ...]:
        return tuple(item[name]["S"] for name in keys)

    wanted = [dict(zip(keys, key(item), strict=True)) for item in items]
    standing = {key(item): item for item in get_items(client, table, wanted, workers)}
    missing = [item for item in items if key(item) not in standing]
    same = sum(standing.get(key(item)) == item for item in items)
    result.missing += len(missing)
    result.same += same
    result.changed += len(items) - len(missing) - same
    return missing


def _put(client: "DynamoDBClient", request: Request) -> None:
    try:
        with_retries(lambda: client.put_item(**request), f"the table {request['TableName']}")
    except ClientError as error:
        if not is_failed_condition(error):  # written meanwhile: what stands is newer
            raise
