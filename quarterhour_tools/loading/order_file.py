"""`quarterhour replay --orders`: groups the sales of a file by order."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from quarterhour.ledger.events.event import SALE
from quarterhour.model import exact_json
from quarterhour.orders.order import ITEM_FIELDS
from quarterhour_tools.loading.event_file import EventLine

_SHARED: Final = ("customer", "currency")
"""The fields that an order has once for all its items."""

OrderBody = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Purchase:
    """An order to send, and the lines of its items."""

    body: OrderBody
    lines: tuple[EventLine, ...]

    @property
    def id(self) -> str:
        """The order's id."""
        return str(self.body["order"])

    @property
    def content(self) -> bytes:
        """The body of the request; numbers are exact text."""
        return json.dumps(self.body, default=str).encode()


def purchases(lines: Iterable[EventLine]) -> tuple[list[Purchase], tuple[EventLine, ...]]:
    """Group the sales that name the same order, in the order of the lines; return the orders and the other lines."""
    orders: dict[str, list[tuple[EventLine, OrderBody]]] = {}
    left = []
    for line in lines:
        match _read(line):
            case {"type": str(type_), "data": {"order_id": str(order)}} as event if type_ == SALE:
                orders.setdefault(order, []).append((line, event))
            case _:
                left.append(line)
    return [_purchase(order, sales) for order, sales in orders.items()], tuple(left)


def _read(line: EventLine) -> Any:  # noqa: ANN401 - JSON is any value
    """Return the parsed line; ``None`` if the ledger has to refuse it."""
    try:
        return exact_json.parse(line.text)
    except ValueError:
        return None


def _purchase(order: str, sales: list[tuple[EventLine, OrderBody]]) -> Purchase:
    """Return the order of some sales; its shared fields are those of the first sale."""
    _, first = sales[0]
    shared = {name: first["data"][name] for name in _SHARED if name in first["data"]}
    items = [
        {"agency": sale.get("subject"), **{name: fact for name, fact in sale["data"].items() if name in ITEM_FIELDS}}
        for _, sale in sales
    ]
    body = {"order": order, "placed_at": first.get("time"), **shared, "items": items}
    return Purchase(body, tuple(line for line, _ in sales))
