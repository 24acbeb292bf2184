"""The ledger events of an order: a sale of each item, and its refund."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from quarterhour.ledger.event import REFUND, SALE, Event, Rejection
from quarterhour.model import money
from quarterhour.model.errors import FieldProblem

SOURCE: Final = "orders"
"""The source of all events made from orders."""

_REFUND: Final = ":refund"

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
    """Reject an event of a sender that has the identity of an order's event: it would prevent the order's billing.

    Partial refunds and adjustments of an order's sales are accepted from any sender.
    """
    if isinstance(item, Rejection) or item.identity.source != SOURCE:
        return item
    if item.type != SALE and not item.identity.id.endswith(_REFUND):
        return item
    problem = FieldProblem("source", f"is {SOURCE!r}, under which orders are billed", "another source, or POST /orders")
    return Rejection(item.identity.source, item.identity.id, (problem,))
