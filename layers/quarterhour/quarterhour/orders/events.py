"""The ledger events of an order: a sale of each item, and its refund."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from quarterhour.ledger.events.event import REFUND, SALE, Event, Rejection
from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.orders.keys import MAX_ITEMS

SOURCE: Final = "orders"
"""The source of all events made from orders."""

_REFUND: Final = ":refund"
_LINES: Final = frozenset(map(str, range(1, MAX_ITEMS + 1)))

CloudEvent = dict[str, Any]
"""A CloudEvent."""


def sale(  # noqa: PLR0913 - the fields of the order, by name
    order: str,
    line: int,
    facts: Mapping[str, str],
    *,
    currency: str,
    customer: str | None = None,
    placed_at: str | None = None,
) -> CloudEvent:
    """Return the sale of an item as a CloudEvent; ``facts`` are the item's fields."""
    own = {name: value for name, value in facts.items() if name != "agency"}
    return {
        "specversion": "1.0",
        "source": SOURCE,
        "id": f"{order}:{line}",
        "type": SALE,
        "subject": facts.get("agency"),
        "time": placed_at,
        "data": {**own, "currency": currency, "customer": customer, "order_id": order, "line": str(line)},
    }


def refund(sold: CloudEvent, at: str) -> CloudEvent:
    """Return the refund of a sale at an instant as a CloudEvent; it has the commission rate of the sale."""
    amount = money.plain(money.negated(Decimal(sold["data"]["amount"])))
    facts = {name: value for name, value in sold["data"].items() if name != "commission_rate"}
    return {
        **sold,
        "id": f"{sold['id']}{_REFUND}",
        "type": REFUND,
        "time": at,
        "data": {**facts, "amount": amount, "refers_to": sold["id"]},
    }


def unreserved(item: Event | Rejection) -> Event | Rejection:
    """Reject an event of a sender that could take the place of an order's event, and so prevent the order's billing.

    That is every sale of the orders' source, and every event that has the id of an order's sale or refund. Other
    corrections of an order's sales are accepted from any sender.
    """
    if isinstance(item, Rejection) or item.identity.source != SOURCE:
        return item
    if item.type == SALE:
        problem = FieldProblem("source", f"is {SOURCE!r}, whose sales are billed from orders", "POST /orders")
    elif _is_billed(item.identity.id):
        expected = f"another id, or your own source with refers_to_source {SOURCE!r}"
        problem = FieldProblem("id", "is that of an order's sale or refund", expected)
    else:
        return item
    return Rejection(item.identity.source, item.identity.id, (problem,))


def _is_billed(id_: str) -> bool:
    """Return whether billing can post an event of this id: the number of an order's line, or its refund."""
    order, _, line = id_.removesuffix(_REFUND).rpartition(":")
    return bool(order) and line in _LINES
