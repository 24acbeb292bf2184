"""The identities of the events that billing posts for orders. No sender may take one, which would prevent billing."""

from typing import Final

from quarterhour.model.errors import FieldProblem
from quarterhour.model.identifiers import Identity

SOURCE: Final = "orders"
"""The source of all events made from orders."""
MAX_ITEMS: Final = 1000
"""The most items of an order; each has its number as part of its event's id."""

_REFUND: Final = ":refund"
_LINES: Final = frozenset(map(str, range(1, MAX_ITEMS + 1)))


def sale_id(order: str, line: int) -> str:
    """Return the id of the sale of an order's item."""
    return f"{order}:{line}"


def refund_id(sale: str) -> str:
    """Return the id of the refund of a sale."""
    return f"{sale}{_REFUND}"


def reserved(identity: Identity, *, is_sale: bool) -> FieldProblem | None:
    """Return the problem of a sender's event that could take the place of an order's event; ``None`` without one.

    That is every sale of the orders' source, and every event that has the id of an order's sale or refund. Other
    corrections of an order's sales are accepted from any sender.
    """
    if identity.source != SOURCE:
        return None
    if is_sale:
        return FieldProblem("source", f"is {SOURCE!r}, whose sales are billed from orders", "POST /orders")
    order, _, line = identity.id.removesuffix(_REFUND).rpartition(":")
    if not order or line not in _LINES:
        return None
    expected = f"another id, or your own source with refers_to_source {SOURCE!r}"
    return FieldProblem("id", "is that of an order's sale or refund", expected)
