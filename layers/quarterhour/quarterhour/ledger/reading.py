"""Reading postings by their keys, whether each is a separate item or in a segment."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from quarterhour.aws.items import Item
from quarterhour.aws.tables import get_items
from quarterhour.aws.workers import Workers
from quarterhour.ledger.segments import LedgerKey, PostingValues, key_of, key_of_item, postings_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def read_items(client: "DynamoDBClient", table: str, keys: Collection[LedgerKey], workers: Workers) -> list[Item]:
    """Return the ledger items that hold or could hold the postings with these keys, read strongly consistent."""
    items = {tuple(key.values()): key for key in map(key_of_item, keys)}
    return get_items(client, table, list(items.values()), workers)


def read_postings(
    client: "DynamoDBClient", table: str, keys: Collection[LedgerKey], workers: Workers
) -> dict[LedgerKey, PostingValues]:
    """Return those of the postings with these keys that are in the ledger, read strongly consistent.

    Raises ``LedgerItemError``, which names partition and position, for an item that cannot be read.
    """
    named = frozenset(keys)
    found = (posting for item in read_items(client, table, named, workers) for posting in postings_of(item))
    by_key = ((key_of(posting), posting) for posting in found)
    return {key: posting for key, posting in by_key if key in named}
