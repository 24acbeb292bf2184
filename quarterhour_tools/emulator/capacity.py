"""A table's provisioned write capacity, as in DynamoDB: time adds units, and writes take them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from quarterhour.model import clock

BURST: Final = timedelta(seconds=300)
"""DynamoDB keeps unused capacity for this long."""

Units = Callable[[dict[str, Any]], float]
"""Returns how many units a request's writes took, from its response."""
Price = Callable[[str, dict[str, Any]], Units]
"""Takes a request (operation and parameters) before it is sent."""


class Capacity:
    """A table's write units per second; there are no units at first.

    A write goes through while any units are left, even if it takes more. So large writes succeed too, and in the long
    run the writes take no more units than the table has.
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
        """Take the units that a write cost."""
        self._left -= units
