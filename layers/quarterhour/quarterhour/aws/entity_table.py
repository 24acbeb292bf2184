"""Reads of the Entity table: items by key, ranges, index ranges and windows. Expired items are left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING

from quarterhour.aws.entity import IndexRange, Key, Range, Values, is_live
from quarterhour.aws.items import Item, Request, from_item, to_item
from quarterhour.aws.tables import get_item, get_items, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.model import clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def range_request(table: str, key_range: Range, page_size: int) -> Request:
    """Build the Query that reads a range in pages of at most ``page_size`` items."""
    request = {
        "TableName": table,
        "KeyConditionExpression": "pk = :pk AND sk BETWEEN :low AND :high",
        "ExpressionAttributeValues": to_item({":pk": key_range.pk, ":low": key_range.low, ":high": key_range.high}),
        "ScanIndexForward": not key_range.descending,
        "ConsistentRead": key_range.consistent,
        "Limit": page_size,
    }
    return _starting_after(request, {"pk": key_range.pk, "sk": key_range.after} if key_range.after else None)


def index_request(table: str, key_range: IndexRange, page_size: int) -> Request:
    """Build the Query that reads a range of an index in pages; indexes are eventually consistent."""
    return {
        "TableName": table,
        "IndexName": key_range.index,
        "KeyConditionExpression": f"{key_range.index}pk = :pk AND {key_range.index}sk BETWEEN :low AND :high",
        "ExpressionAttributeValues": to_item({":pk": key_range.pk, ":low": key_range.low, ":high": key_range.high}),
        "ScanIndexForward": not key_range.descending,
        "Limit": page_size,
    }


def window_request(table: str, partition: str, prefix: str, page_size: int, after: Mapping[str, str] | None) -> Request:
    """Build the Query that reads the entities of one kind in an index partition of a window, in pages.

    ``prefix``: the beginning of the kind's partition keys. ``after``: the table and index keys of the item after which
    the query starts.
    """
    request = {
        "TableName": table,
        "IndexName": "gsi1",
        "KeyConditionExpression": "gsi1pk = :window AND begins_with(gsi1sk, :kind)",
        "ExpressionAttributeValues": to_item({":window": partition, ":kind": prefix}),
        "Limit": page_size,
    }
    return _starting_after(request, after)


def _starting_after(request: Request, key: Mapping[str, str] | None) -> Request:
    return {**request, "ExclusiveStartKey": to_item(key)} if key else request


@dataclass(frozen=True, slots=True)
class EntityReader:
    """Reads of the Entity table."""

    client: "DynamoDBClient"
    table: str

    def get(self, key: Key) -> Values | None:
        """Return an item, read with strong consistency; ``None`` if there is none."""
        item = get_item(self.client, self.table, key)
        return next(_live([item]), None) if item else None

    def read(self, key_range: Range, page_size: int) -> Iterator[Values]:
        """Yield the items of a range; pages are read as the caller consumes them."""
        last = key_range.low if key_range.descending else key_range.high
        # Nothing follows the last key of the range, and DynamoDB refuses to start there.
        if key_range.low > key_range.high or key_range.after == last:
            return iter(())
        return self._query(range_request(self.table, key_range, page_size))

    def get_many(self, keys: Sequence[Key]) -> list[Values]:
        """Return the existing items of these keys, in any order, read with strong consistency."""
        return list(_live(get_items(self.client, self.table, keys, Workers(1))))

    def read_index(self, key_range: IndexRange, page_size: int) -> Iterator[Values]:
        """Yield the entries of a range of an index; pages are read as the caller consumes them."""
        if key_range.low > key_range.high:
            return iter(())
        return self._query(index_request(self.table, key_range, page_size))

    def read_indexes(self, key_ranges: Sequence[IndexRange], page_size: int) -> Iterator[Values]:
        """Yield the entries of ranges of one index and one direction, merged by their sort keys."""
        first = key_ranges[0]
        ranges = (self.read_index(one, page_size) for one in key_ranges)
        return merge(*ranges, key=itemgetter(f"{first.index}sk"), reverse=first.descending)

    def read_window(
        self, partition: str, prefix: str, page_size: int, after: Mapping[str, str] | None
    ) -> Iterator[Values]:
        """Yield the entities of one kind in an index partition of a window, in the order of their ``pk``."""
        return self._query(window_request(self.table, partition, prefix, page_size, after))

    def _query(self, request: Request) -> Iterator[Values]:
        pages = query_pages(self.client, request, Workers(1))
        return (values for items in pages for values in _live(items))


def _live(items: list[Item]) -> Iterator[Values]:
    now = clock.now()
    return (values for values in map(from_item, items) if is_live(values, now))
