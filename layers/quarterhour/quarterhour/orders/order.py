"""Orders as senders create them: validation and parsing of a request's body."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property, reduce
from hashlib import sha256
from typing import Any, Final

from quarterhour.customers.keys import is_token
from quarterhour.ledger.events.billed import MAX_ITEMS
from quarterhour.ledger.events.event import DETAILS, Event, Rejection, read_event
from quarterhour.model import clock, exact_json, fields, money, texts
from quarterhour.model.clock import iso_millis
from quarterhour.model.currencies import not_of_its_time
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import NAME, Fields
from quarterhour.model.instants import YEARS
from quarterhour.orders.events import sale

MAX_ID: Final = 100
"""The most characters of an order's id and of a product: both are in one sort key of at most 1,024 bytes."""

_FIELDS: Final = frozenset({"order", "customer", "currency", "placed_at", "items"})
_ORDER_FIELDS: Final = frozenset({"customer", "order_id", "line"})
_NOT_IN_ITEMS: Final = frozenset({"refers_to", "extra"})
ITEM_FIELDS: Final = frozenset({"agency", "amount", "commission_rate", *DETAILS}) - _ORDER_FIELDS - _NOT_IN_ITEMS
"""The fields of an item: those of a sale, without the fields of the order and those that an order cannot have."""
_ID: Final = f"1 to {MAX_ID} printable characters without '#', and no blank at either end"
_PLACED: Final = f"{fields.INSTANT}, of the years {YEARS[0]} to {YEARS[1]}"
_ITEMS: Final = f"a list of 1 to {MAX_ITEMS:,} objects with agency, product and amount"


@dataclass(frozen=True)
class Order:
    """A valid order.

    ``customer`` is ``None`` for a guest; ``placed_at`` is ``None`` if the sender gave no instant. Each item holds
    the fields of its sale as text; its line is its position in ``items``, from 1 on.
    """

    id: str
    customer: str | None
    currency: str
    placed_at: datetime | None
    items: Sequence[Mapping[str, str]]

    @property
    def total(self) -> Decimal:
        """The sum of the items' amounts."""
        return reduce(money.add, (Decimal(item["amount"]) for item in self.items))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content, which a retry must repeat; of a customer's token, only that there is one."""
        content: dict[str, Any] = {
            "customer": True if self.customer and is_token(self.customer) else self.customer,
            "currency": self.currency,
            "placed_at": iso_millis(self.placed_at) if self.placed_at else None,
            "items": [dict(item) for item in self.items],
        }
        return sha256(exact_json.canonical(content).encode()).hexdigest()


def read_order(body: Mapping[str, Any]) -> Order:
    """Parse the body of a request; raise ``InvalidError`` with every problem in it."""
    outer = Fields(body)
    outer.report_unknown(_FIELDS)
    id_ = outer.value("order", _ID, _id)
    customer = outer.value("customer", NAME, fields.name, optional=True)
    currency = outer.value("currency", fields.CURRENCY, fields.currency)
    placed_at = outer.value("placed_at", _PLACED, _placed, optional=True)
    sent = outer.value("items", _ITEMS, _list) or ()
    items = [_item(one, f"items[{number}]", outer.problems) for number, one in enumerate(sent)]
    at = placed_at or clock.now()
    if currency and (problem := not_of_its_time(currency, at, later=False)):
        outer.problem("currency", problem, f"a currency of {at.date()}, the day of the order")
    fields.refuse(outer.problems, "an order as described")
    return Order(id_, customer, currency, placed_at, [item for item in items if item])


def _item(sent: object, name: str, problems: list[FieldProblem]) -> dict[str, str] | None:
    """Parse an item as its sale, so that an order holds only what the ledger accepts."""
    if not isinstance(sent, dict):
        problems.append(FieldProblem(name, "is not an object", "an object with agency, product and amount"))
        return None
    item = Fields(sent, f"{name}.", problems)
    item.report_unknown(ITEM_FIELDS)
    item.value("product", _ID, _product)
    known = {field: value for field, value in sent.items() if field in ITEM_FIELDS}
    read = read_event(sale("any", 1, known, currency="EUR"), billed=True)
    if isinstance(read, Rejection):
        for problem in read.problems:
            field = "agency" if problem.field == "subject" else problem.field.removeprefix("data.")
            if field != "product":  # checked above, more strictly: it is part of a key
                item.problem(field, problem.problem, problem.expected)
        return None
    return _facts(read)


def _facts(event: Event) -> dict[str, str]:
    """Return the fields of a sale as text, in their canonical form."""
    details = {name: text for name, text in event.details.items() if name not in _ORDER_FIELDS}
    figures = {"amount": money.plain(event.amount)}
    if event.commission_rate is not None:
        figures["commission_rate"] = money.plain(event.commission_rate)
    return {"agency": event.account.agency, **figures, **details}


def _id(value: object) -> str | None:
    return fields.name_form(value, MAX_ID) if isinstance(value, str) else None


def _product(value: object) -> str | None:
    return _id(texts.described(value, len(value))) if isinstance(value, str) else None


def _placed(value: object) -> datetime | None:
    at = fields.instant(value)
    return at if at and YEARS[0] <= at.year <= YEARS[1] else None


def _list(value: object) -> list[Any] | None:
    return value if isinstance(value, list) and 1 <= len(value) <= MAX_ITEMS else None
