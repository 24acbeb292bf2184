"""The Entity table's common words: keys, the ``latest`` state, the index that holds one window of all entities."""

from hashlib import sha256
from typing import Final

Key = dict[str, str]
"""``pk`` and ``sk`` of an item."""

LATEST: Final = "latest"
"""The sort key of an entity's current state."""

WINDOW_SHARDS: Final = 4
"""Over how many index partitions the entities of one window are spread."""


def window_index(window: str, pk: str) -> dict[str, str]:
    """Return the index attributes that list an entity's state among all of the same window."""
    shard = sha256(pk.encode()).digest()[0] % WINDOW_SHARDS
    return {"gsi1pk": f"{window}#{shard}", "gsi1sk": pk}


def window_partitions(window: str) -> list[str]:
    """Return the index partitions that together hold a window, in the order in which they are read."""
    return [f"{window}#{shard}" for shard in range(WINDOW_SHARDS)]
