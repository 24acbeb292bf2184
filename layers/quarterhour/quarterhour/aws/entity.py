"""The key types of the Entity table: keys, ranges of keys, the ``latest`` state."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

Key = dict[str, str]
"""``pk`` and ``sk`` of an item."""
Values = dict[str, Any]
"""An item as plain Python values."""

LATEST: Final = "latest"
"""The sort key of an entity's current state."""


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


def is_live(values: Mapping[str, Any], now: datetime) -> bool:
    """Return whether an item has not expired; DynamoDB may take days to delete an expired item."""
    expires = values.get("expires_at")
    return expires is None or bool(expires > now.timestamp())
