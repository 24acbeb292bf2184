"""Reading the Entity table: items by key, ranges of a partition, one window of all. What has expired is never shown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quarterhour.aws.entity import IndexRange, Key, Range, Values, is_live
from quarterhour.aws.items import Item, Request, from_item, to_item
from quarterhour.aws.tables import get_item, get_items, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.model import clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def range_request(table: str, wanted: Range, page: int) -> Request:
    """Build the Query that reads a range, so many items at a time."""
    request = {
        "TableName": table,
        "KeyConditionExpression": "pk = :pk AND sk BETWEEN :low AND :high",
        "ExpressionAttributeValues": to_item({":pk": wanted.pk, ":low": wanted.low, ":high": wanted.high}),
        "ScanIndexForward": not wanted.falling,
        "ConsistentRead": wanted.consistent,
        "Limit": page,
    }
    return _behind(request, {"pk": wanted.pk, "sk": wanted.after} if wanted.after else None)


def index_request(table: str, wanted: IndexRange, page: int) -> Request:
    """Build the Query that reads a range of an index, so many entries at a time; they may be a moment old."""
    return {
        "TableName": table,
        "IndexName": wanted.index,
        "KeyConditionExpression": f"{wanted.index}pk = :pk AND {wanted.index}sk BETWEEN :low AND :high",
        "ExpressionAttributeValues": to_item({":pk": wanted.pk, ":low": wanted.low, ":high": wanted.high}),
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
        "ExpressionAttributeValues": to_item({":window": partition, ":kind": prefix}),
        "Limit": page,
    }
    return _behind(request, after)


def _behind(request: Request, key: Mapping[str, str] | None) -> Request:
    return {**request, "ExclusiveStartKey": to_item(key)} if key else request


@dataclass(frozen=True, slots=True)
class EntityReader:
    """The Entity table, as readers see it."""

    client: "DynamoDBClient"
    table: str

    def get(self, key: Key) -> Values | None:
        """Return an item, strongly consistent; ``None`` where it is not there."""
        item = get_item(self.client, self.table, key)
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
        return list(_live(get_items(self.client, self.table, keys, Workers(1))))

    def listed(self, wanted: IndexRange, page: int) -> Iterator[Values]:
        """Yield the entries of a range of an index, which are read as they are taken, so many at a time."""
        return self._query(index_request(self.table, wanted, page)) if wanted.low <= wanted.high else iter(())

    def window(self, partition: str, prefix: str, page: int, after: Mapping[str, str] | None) -> Iterator[Values]:
        """Yield the entities of one kind in a partition of a window, in the order of their ``pk``."""
        return self._query(window_request(self.table, partition, prefix, page, after))

    def _query(self, request: Request) -> Iterator[Values]:
        pages = query_pages(self.client, request, Workers(1))
        return (values for items in pages for values in _live(items))


def _live(items: list[Item]) -> Iterator[Values]:
    now = clock.now()
    return (values for values in map(from_item, items) if is_live(values, now))
