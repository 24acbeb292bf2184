"""The ledger events of an order: a sale of each item, and its refund."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from quarterhour.ledger.events.billed import SOURCE, refund_id, sale_id
from quarterhour.ledger.events.event import REFUND, SALE
from quarterhour.model import money

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
        "id": sale_id(order, line),
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
        "id": refund_id(sold["id"]),
        "type": REFUND,
        "time": at,
        "data": {**facts, "amount": amount, "refers_to": sold["id"]},
    }
