"""A table's write capacity, as DynamoDB provisions it: a bucket of units that the clock fills, and writes empty."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from quarterhour.model import clock

BURST: Final = timedelta(seconds=300)
"""For how long DynamoDB keeps capacity that nobody used."""

Units = Callable[[dict[str, Any]], float]
"""Tells from a request's answer how many units its writes took."""
Price = Callable[[str, dict[str, Any]], Units]
"""Looks at a request (operation and parameters) before it is sent."""


class Capacity:
    """So many write units a second for a table, nothing saved up at first.

    A write goes through while there is anything left, whatever it takes: so large ones come to their turn, and in the
    long run no more is written than the units allow.
    """

    def __init__(self, table: str, units_a_second: float, price: Price) -> None:
        self.table = table
        self.price = price
        self._rate = units_a_second
        self._left = 0.0
        self._at = clock.now()

    @property
    def is_left(self) -> bool:
        """Whether a write may go through now."""
        now = clock.now()
        filled = self._left + (now - self._at).total_seconds() * self._rate
        self._left, self._at = min(filled, BURST.total_seconds() * self._rate), now
        return self._left > 0

    def take(self, units: float) -> None:
        """Take what a write cost."""
        self._left -= units
