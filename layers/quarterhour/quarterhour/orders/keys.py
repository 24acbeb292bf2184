"""The orders' keys in the Entity table and its indexes, built and parsed only here."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

from quarterhour.aws.entity import Key
from quarterhour.model.identifiers import SEPARATOR

ORDERS: Final = "ORDER#"
"""The prefix of every order's partition key."""
HEADER: Final = "order"
"""The sort key of an order's header; its items are in the same partition."""
ITEMS: Final = "ITEM#"
CUSTOMERS: Final = "CUSTOMER#"
QUEUES: Final = "STATUS#"
QUEUE_SHARDS: Final = 4
"""The number of index partitions for the orders of one status: each takes 1,000 writes a second."""

_LINE_DIGITS: Final = 4
_AFTER_SEPARATOR: Final = chr(ord(SEPARATOR) + 1)
"""Sorts after every key that continues after a separator."""


def order_pk(order: str) -> str:
    """Return the partition key of an order and its items."""
    return f"{ORDERS}{order}"


def order_of(pk: str) -> str:
    """Parse the order from its partition key; raise ``ValueError`` for any other key."""
    if not pk.startswith(ORDERS):
        raise ValueError(f"{pk!r} is no order")
    return pk.removeprefix(ORDERS)


def header_key(order: str) -> Key:
    """Return the key of an order's header."""
    return {"pk": order_pk(order), "sk": HEADER}


def item_sk(line: int) -> str:
    """Return the sort key of an item: ``ITEM#0001``, ordered by line."""
    return f"{ITEMS}{line:0{_LINE_DIGITS}d}"


def line_of(sk: str) -> int:
    """Parse the line from an item's sort key; raise ``ValueError`` for any other key."""
    digits = sk.removeprefix(ITEMS)
    if digits == sk or len(digits) != _LINE_DIGITS or not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"{sk!r} is no item")
    return int(digits)


def customer_pk(customer: str) -> str:
    """Return the partition key of a customer's orders and items in ``gsi1``."""
    return f"{CUSTOMERS}{customer}"


def placed_sk(placed_at: str, order: str = "") -> str:
    """Return the ``gsi1`` sort key of an order; without an order, the key before all of that instant."""
    return f"{ORDERS}{queue_sk(placed_at, order)}"


def queue_sk(placed_at: str, order: str = "") -> str:
    """Return the ``gsi2`` sort key of an order in its queue; without an order, the key before all of that instant."""
    return placed_at + (f"{SEPARATOR}{order}" if order else "")


@dataclass(frozen=True, slots=True)
class CustomerItemKey:
    """The ``gsi1`` sort key of an item among its customer's items: ordered by product, then by instant."""

    product: str
    placed_at: str
    order: str
    line: int

    def __str__(self) -> str:
        """Return the sort key: ``ITEM#A-7#2026-10-23T01:30:00.000Z#1001#0001``."""
        return SEPARATOR.join((f"{ITEMS}{self.product}", self.placed_at, self.order, f"{self.line:0{_LINE_DIGITS}d}"))

    @classmethod
    def parse(cls, sk: str) -> Self:
        """Parse the sort key; raise ``ValueError`` for any other key."""
        product, placed_at, order, line = sk.removeprefix(ITEMS).split(SEPARATOR)
        key = cls(product, placed_at, order, int(line))
        if str(key) != sk:
            raise ValueError(f"{sk!r} is no item of a customer")
        return key

    @property
    def table_key(self) -> Key:
        """The item's key in the table."""
        return {"pk": order_pk(self.order), "sk": item_sk(self.line)}


def customer_item_bounds(product: str | None) -> tuple[str, str]:
    """Return the bounds of the ``gsi1`` sort keys of a customer's items: of a product, or (``None``) of all."""
    low = ITEMS if product is None else f"{ITEMS}{product}{SEPARATOR}"
    return low, low.removesuffix(SEPARATOR) + _AFTER_SEPARATOR


def queue_pk(status: str, order: str) -> str:
    """Return the ``gsi2`` partition key of an order in the queue of a status."""
    return queue_partitions(status)[sha256(order.encode()).digest()[0] % QUEUE_SHARDS]


def queue_partitions(status: str) -> list[str]:
    """Return the ``gsi2`` partition keys that together hold the orders in a status."""
    return [f"{QUEUES}{status}{SEPARATOR}{shard}" for shard in range(QUEUE_SHARDS)]
