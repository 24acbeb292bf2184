"""The key types of the Entity table: keys, ranges of keys, the ``latest`` state, windows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

Key = dict[str, str]
"""``pk`` and ``sk`` of an item."""
Values = dict[str, Any]
"""An item as plain Python values."""

LATEST: Final = "latest"
"""The sort key of an entity's current state."""
WINDOW_SHARDS: Final = 4
"""The number of index partitions of one window, over which its entities are spread."""


@dataclass(frozen=True, slots=True)
class Range:
    """The items of a partition with sort keys from ``low`` to ``high``, both inclusive.

    ``descending``: in descending order. ``after``: start after this sort key, which must be in the range.
    ``consistent``: read with strong consistency.
    """

    pk: str
    low: str
    high: str
    descending: bool = False
    after: str | None = None
    consistent: bool = False

    def holds(self, sk: str) -> bool:
        """Return whether a read of the range yields an item with this sort key."""
        if not self.low <= sk <= self.high:
            return False
        return self.after is None or (sk < self.after if self.descending else sk > self.after)


@dataclass(frozen=True, slots=True)
class IndexRange:
    """The entries of a partition of an index (gsi1 or gsi2) with sort keys from ``low`` to ``high``, both inclusive."""

    index: str
    pk: str
    low: str
    high: str
    descending: bool = False


def window_index(window: str, pk: str) -> dict[str, str]:
    """Return the index attributes by which ``EntityReader.read_window`` finds an entity's state in a window."""
    shard = sha256(pk.encode()).digest()[0] % WINDOW_SHARDS
    return {"gsi1pk": f"{window}#{shard}", "gsi1sk": pk}


def window_partitions(window: str) -> list[str]:
    """Return the index partitions of a window, in the order in which they are read."""
    return [f"{window}#{shard}" for shard in range(WINDOW_SHARDS)]


def is_live(values: Mapping[str, Any], now: datetime) -> bool:
    """Return whether an item has not expired; DynamoDB may take days to delete an expired item."""
    expires = values.get("expires_at")
    return expires is None or bool(expires > now.timestamp())
