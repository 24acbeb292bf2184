"""What the ledger is told of an order: a sale of each item, and its refund."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from quarterhour import money
from quarterhour.ledger.event import REFUND, SALE

SOURCE: Final = "orders"
"""The source of all events that come of orders."""

Cloud = dict[str, Any]
"""A CloudEvent."""


def sale(order: Mapping[str, str | None], line: int, facts: Mapping[str, str]) -> Cloud:
    """Return the sale of an item: what the order tells of all its items, and the facts of this one."""
    told = {name: value for name, value in facts.items() if name != "agency"}
    return {
        "specversion": "1.0",
        "source": SOURCE,
        "id": f"{order['order']}:{line}",
        "type": SALE,
        "subject": facts.get("agency"),
        "time": order.get("placed_at"),
        "data": {
            **told,
            "currency": order["currency"],
            "customer": order.get("customer"),
            "order_id": order["order"],
            "line": str(line),
        },
    }


def refund(sold: Cloud, at: str) -> Cloud:
    """Return what takes a sale back, all of it, at an instant; its commission is the sale's."""
    amount = money.plain(money.negated(Decimal(sold["data"]["amount"])))
    told = {name: value for name, value in sold["data"].items() if name != "commission_rate"}
    return {
        **sold,
        "id": f"{sold['id']}:refund",
        "type": REFUND,
        "time": at,
        "data": {**told, "amount": amount, "refers_to": sold["id"]},
    }
