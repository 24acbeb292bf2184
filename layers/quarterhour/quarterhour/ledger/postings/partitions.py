"""The ledger's partitions: how many there are, which are sealed, and reading those of a quarter-hour whole."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Item, Request, from_item
from quarterhour.aws.tables import get_item, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.ledger.keys import CHECKPOINT_KEY, SHARDS_KEY, sealed_through_of
from quarterhour.ledger.postings.reading import Unarchive, as_stored
from quarterhour.ledger.postings.segments import PostingValues, postings_of
from quarterhour.model.identifiers import Partition
from quarterhour.model.quarter_hours import QuarterHour

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_ITEMS_IN_MEMORY: Final = 10_000
_SMALLEST_PAGE: Final = 100
_AT_A_TIME: Final = 50
"""Postings that are yielded together: with hundreds, they no longer fit into a processor's cache."""


def highest_shards(client: "DynamoDBClient", table: str) -> int:
    """Return the highest number of ledger shards ever used, so that every partition is read."""
    item = get_item(client, table, SHARDS_KEY)
    return int(from_item(item)["shards"]) if item else 1


def read_sealed_through(entities: EntityReader) -> QuarterHour | None:
    """Return the last sealed quarter-hour; ``None`` before the first event."""
    checkpoint = entities.get(CHECKPOINT_KEY)
    return sealed_through_of(checkpoint) if checkpoint else None


def partition_request(table: str, partition: Partition, page: int) -> Request:
    """Build the Query that reads a ledger partition in order, strongly consistent."""
    return {
        "TableName": table,
        "KeyConditionExpression": "quarter_hour = :partition",
        "ExpressionAttributeValues": {":partition": {"S": str(partition)}},
        "ConsistentRead": True,
        "Limit": page,
    }


@dataclass(frozen=True, slots=True)
class LedgerReader:
    """Reads the ledger, one quarter-hour at a time."""

    client: "DynamoDBClient"
    table: str
    workers: Workers
    unarchive: Unarchive = as_stored

    def read(self, partitions: Sequence[Partition]) -> Iterator[list[PostingValues]]:
        """Yield the postings of a quarter-hour's partitions, which are read in parallel, ordered by position.

        They come many at a time, because a loop over them takes less time than a call for each.

        Raises ``LedgerItemError``, which names partition and position, for an item that cannot be read.
        """
        items = self._merged(partitions, self.unarchive)
        postings = chain.from_iterable(map(postings_of, items))
        while some := list(islice(postings, _AT_A_TIME)):
            yield some

    def items(self, partitions: Sequence[Partition]) -> Iterator[Item]:
        """Yield the items of a quarter-hour's partitions as they are stored, ordered by position."""
        return self._merged(partitions, as_stored)

    def _merged(self, partitions: Sequence[Partition], unarchive: Unarchive) -> Iterator[Item]:
        page = max(_SMALLEST_PAGE, _ITEMS_IN_MEMORY // len(partitions))
        # To fetch the only partition ahead, in a thread, takes more CPU time than the waiting it saves.
        workers = self.workers if len(partitions) > 1 else Workers(1)
        streams = [
            chain.from_iterable(
                map(unarchive, query_pages(self.client, partition_request(self.table, partition, page), workers))
            )
            for partition in partitions
        ]
        # The positions of the postings of an item lie between its own position and that of the next item.
        return heapq.merge(*streams, key=_position_of) if len(streams) > 1 else streams[0]


def _position_of(item: Item) -> str:
    return str(item.get("position", {}).get("S", ""))
