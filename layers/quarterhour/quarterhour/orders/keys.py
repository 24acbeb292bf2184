"""The orders' keys in the Entity table and its indexes, built and parsed here alone."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

from quarterhour.aws.entity import Key
from quarterhour.model.identifiers import SEPARATOR

ORDERS: Final = "ORDER#"
"""What the partition keys of all orders begin with."""
HEADER: Final = "order"
"""The sort key of an order itself; its items stand beside it."""
ITEMS: Final = "ITEM#"
CUSTOMERS: Final = "CUSTOMER#"
QUEUES: Final = "STATUS#"
MAX_ITEMS: Final = 1000
QUEUE_SHARDS: Final = 4
"""Over how many index partitions the orders of one status are spread: each takes 1,000 writes a second."""

_LINE_DIGITS: Final = 4
_BEHIND: Final = chr(ord(SEPARATOR) + 1)
"""What sorts behind every key that goes on after a separator."""


def order_pk(order: str) -> str:
    """Return the partition of an order and its items."""
    return f"{ORDERS}{order}"


def order_of(pk: str) -> str:
    """Read the order from its partition key; raise ``ValueError`` where it is none."""
    if not pk.startswith(ORDERS):
        raise ValueError(f"{pk!r} is no order")
    return pk.removeprefix(ORDERS)


def header_key(order: str) -> Key:
    """Return the key of an order itself."""
    return {"pk": order_pk(order), "sk": HEADER}


def item_sk(line: int) -> str:
    """Return the sort key of an item: ``ITEM#0001``, in the order of the lines."""
    return f"{ITEMS}{line:0{_LINE_DIGITS}d}"


def line_of(sk: str) -> int:
    """Read the line from an item's sort key; raise ``ValueError`` where it is none."""
    digits = sk.removeprefix(ITEMS)
    if digits == sk or len(digits) != _LINE_DIGITS or not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"{sk!r} is no item")
    return int(digits)


def customer_pk(customer: str) -> str:
    """Return the partition of ``gsi1`` that holds a customer's orders and their items."""
    return f"{CUSTOMERS}{customer}"


def placed_sk(placed_at: str, order: str = "") -> str:
    """Return where an order stands among its customer's, or (without one) where those of an instant begin."""
    return f"{ORDERS}{queue_sk(placed_at, order)}"


def queue_sk(placed_at: str, order: str = "") -> str:
    """Return where an order waits in its queue, or (without one) where those of an instant begin."""
    return placed_at + (f"{SEPARATOR}{order}" if order else "")


@dataclass(frozen=True, slots=True)
class Bought:
    """Where an item stands among its customer's: by product, and of one product by date."""

    product: str
    placed_at: str
    order: str
    line: int

    def __str__(self) -> str:
        """Return the sort key: ``ITEM#A-7#2026-10-23T01:30:00.000Z#1001#0001``."""
        return SEPARATOR.join((f"{ITEMS}{self.product}", self.placed_at, self.order, f"{self.line:0{_LINE_DIGITS}d}"))

    @classmethod
    def parse(cls, sk: str) -> Self:
        """Read the sort key; raise ``ValueError`` where it is none."""
        product, placed_at, order, line = sk.removeprefix(ITEMS).split(SEPARATOR)
        bought = cls(product, placed_at, order, int(line))
        if str(bought) != sk:
            raise ValueError(f"{sk!r} is no item of a customer")
        return bought

    @property
    def key(self) -> Key:
        """The item's key in the table."""
        return {"pk": order_pk(self.order), "sk": item_sk(self.line)}


def bought_bounds(product: str | None) -> tuple[str, str]:
    """Return between which sort keys a customer's items stand: those of a product, or (``None``) all."""
    low = ITEMS if product is None else f"{ITEMS}{product}{SEPARATOR}"
    return low, low.removesuffix(SEPARATOR) + _BEHIND


def queue_pk(status: str, order: str) -> str:
    """Return the partition of ``gsi2`` in which an order of this status waits."""
    return queue_partitions(status)[sha256(order.encode()).digest()[0] % QUEUE_SHARDS]


def queue_partitions(status: str) -> list[str]:
    """Return the partitions of ``gsi2`` that together hold the orders of a status."""
    return [f"{QUEUES}{status}{SEPARATOR}{shard}" for shard in range(QUEUE_SHARDS)]
