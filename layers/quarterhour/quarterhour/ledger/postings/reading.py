"""Reading postings by their keys: from a segment, or from the sealed file of an archived item."""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from quarterhour.aws.items import Item
from quarterhour.aws.tables import get_items
from quarterhour.aws.workers import Workers
from quarterhour.ledger.postings.segments import LedgerKey, PostingValues, key_of, key_of_item, postings_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Unarchive = Callable[[Sequence[Item]], Sequence[Item]]
"""A function that returns ledger items, those that are archived with their postings from the sealed files.

An archived item whose postings cannot be read now stays as it is. So every reader refuses it, and none takes its events
for absent.
"""


def as_stored(items: Sequence[Item]) -> Sequence[Item]:
    """Return ledger items as they are: the ``Unarchive`` of those who read no sealed files."""
    return items


def read_items(
    client: "DynamoDBClient",
    table: str,
    keys: Collection[LedgerKey],
    workers: Workers,
    unarchive: Unarchive,
) -> Sequence[Item]:
    """Return the ledger items that hold or could hold the postings with these keys, read strongly consistent."""
    items = {tuple(key.values()): key for key in map(key_of_item, keys)}
    return unarchive(get_items(client, table, list(items.values()), workers))


def read_postings(
    client: "DynamoDBClient",
    table: str,
    keys: Collection[LedgerKey],
    workers: Workers,
    unarchive: Unarchive,
) -> dict[LedgerKey, PostingValues]:
    """Return those of the postings with these keys that are in the ledger, read strongly consistent.

    Raises ``LedgerItemError``, which names partition and position, for an item that cannot be read.
    """
    named = frozenset(keys)
    items = read_items(client, table, named, workers, unarchive)
    found = (posting for item in items for posting in postings_of(item))
    by_key = ((key_of(posting), posting) for posting in found)
    return {key: posting for key, posting in by_key if key in named}
