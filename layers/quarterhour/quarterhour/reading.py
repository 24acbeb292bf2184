"""Reading the Entity table: items by key, ranges of a partition, one window of all. What has expired is never shown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from quarterhour import aws, clock, money
from quarterhour.aws import Item, Request
from quarterhour.entity import Key
from quarterhour.totals import Totals

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Values = dict[str, Any]
"""An item in plain values."""


@dataclass(frozen=True, slots=True)
class Range:
    """The items of a partition whose sort keys lie between two, both included, rising or falling.

    ``after``: the sort key, within the bounds, behind which the reading begins. ``consistent``: as they stand now.
    """

    pk: str
    low: str
    high: str
    falling: bool = False
    after: str | None = None
    consistent: bool = False


def range_request(table: str, wanted: Range, page: int) -> Request:
    """Build the Query that reads a range, so many items at a time."""
    request = {
        "TableName": table,
        "KeyConditionExpression": "pk = :pk AND sk BETWEEN :low AND :high",
        "ExpressionAttributeValues": aws.to_item({":pk": wanted.pk, ":low": wanted.low, ":high": wanted.high}),
        "ScanIndexForward": not wanted.falling,
        "ConsistentRead": wanted.consistent,
        "Limit": page,
    }
    return _behind(request, {"pk": wanted.pk, "sk": wanted.after} if wanted.after else None)


@dataclass(frozen=True, slots=True)
class IndexRange:
    """The entries of a partition of an index (gsi1 or gsi2) whose sort keys lie between two, both included."""

    index: str
    pk: str
    low: str
    high: str
    falling: bool = False


def index_request(table: str, wanted: IndexRange, page: int) -> Request:
    """Build the Query that reads a range of an index, so many entries at a time; they may be a moment old."""
    return {
        "TableName": table,
        "IndexName": wanted.index,
        "KeyConditionExpression": f"{wanted.index}pk = :pk AND {wanted.index}sk BETWEEN :low AND :high",
        "ExpressionAttributeValues": aws.to_item({":pk": wanted.pk, ":low": wanted.low, ":high": wanted.high}),
        "ScanIndexForward": not wanted.falling,
        "Limit": page,
    }


def window_request(table: str, partition: str, prefix: str, page: int, after: Mapping[str, str] | None) -> Request:
    """Build the Query that reads the entities of one kind in a partition of a window, so many at a time.

    ``after``: the keys, of table and index, of the item behind which the reading begins.
    """
    request = {
        "TableName": table,
        "IndexName": "gsi1",
        "KeyConditionExpression": "gsi1pk = :window AND begins_with(gsi1sk, :kind)",
        "ExpressionAttributeValues": aws.to_item({":window": partition, ":kind": prefix}),
        "Limit": page,
    }
    return _behind(request, after)


def _behind(request: Request, key: Mapping[str, str] | None) -> Request:
    return {**request, "ExclusiveStartKey": aws.to_item(dict(key))} if key else request


def is_live(values: Mapping[str, Any], now: datetime) -> bool:
    """Tell whether an item has not expired; DynamoDB deletes those that have only within days."""
    expires = values.get("expires_at")
    return expires is None or bool(expires > now.timestamp())


def figures(totals: Totals) -> dict[str, Any]:
    """Return totals as they are shown: a count, and exact decimal strings."""
    shown = totals.as_dict()
    return {**shown, "net": money.plain(totals.net)}


def state(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of an account as it is shown: its totals, how often it has changed, and when last."""
    return {
        **figures(Totals.of(values)),
        "version": int(values["version"]),
        "last_updated": values["last_updated"],
    }


@dataclass(frozen=True, slots=True)
class EntityReader:
    """The Entity table, as readers see it."""

    client: "DynamoDBClient"
    table: str

    def get(self, key: Key) -> Values | None:
        """Return an item, strongly consistent; ``None`` where it is not there."""
        request = aws.get_item_request(self.table, key)
        item = aws.persist(lambda: self.client.get_item(**request), "the Entity table").get("Item")
        return next(_live([item]), None) if item else None

    def read(self, wanted: Range, page: int) -> Iterator[Values]:
        """Yield the items of a range, which are read from the table as they are taken, so many at a time."""
        last = wanted.low if wanted.falling else wanted.high
        # Nothing is behind the last key that there can be, and DynamoDB refuses to begin there.
        if wanted.low > wanted.high or wanted.after == last:
            return iter(())
        return self._query(range_request(self.table, wanted, page))

    def several(self, keys: Sequence[Key]) -> list[Values]:
        """Return the items that stand at these keys, in no order, strongly consistent."""
        return list(_live(aws.get_items(self.client, self.table, keys, aws.Workers(1))))

    def listed(self, wanted: IndexRange, page: int) -> Iterator[Values]:
        """Yield the entries of a range of an index, which are read as they are taken, so many at a time."""
        return self._query(index_request(self.table, wanted, page)) if wanted.low <= wanted.high else iter(())

    def window(self, partition: str, prefix: str, page: int, after: Mapping[str, str] | None) -> Iterator[Values]:
        """Yield the entities of one kind in a partition of a window, in the order of their ``pk``."""
        return self._query(window_request(self.table, partition, prefix, page, after))

    def _query(self, request: Request) -> Iterator[Values]:
        pages = aws.query_pages(self.client, request, aws.Workers(1))
        return (values for items in pages for values in _live(items))


def _live(items: list[Item]) -> Iterator[Values]:
    now = clock.now()
    return (values for values in map(aws.from_item, items) if is_live(values, now))
