"""Planning of orders, pure: the items that are stored of an order, and the changes of its status.

An order is written in three steps:

1. The header is written with the status ``writing``: it claims the id.
2. The items are written.
3. The header is committed: it gets the status ``open``, a history, and its places in the indexes.

So the header alone tells a reader whether the whole order is stored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from quarterhour.aws.entity import Values
from quarterhour.model import fields, money
from quarterhour.model.clock import iso_millis
from quarterhour.model.fields import Fields
from quarterhour.orders.keys import (
    CustomerItemKey,
    customer_pk,
    header_key,
    line_of,
    order_of,
    placed_sk,
    queue_pk,
    queue_sk,
)
from quarterhour.orders.order import Order

if TYPE_CHECKING:
    from quarterhour.orders import api

WRITING: Final = "writing"
OPEN: Final = "open"
PAID: Final = "paid"
SHIPPED: Final = "shipped"
DELIVERED: Final = "delivered"
CANCELLED: Final = "cancelled"

DUE: Final = (PAID, CANCELLED)
"""The statuses that make an order due: to be billed when paid, to be refunded when cancelled after that."""

TRANSITIONS: Final[Mapping[str, tuple[str, ...]]] = {
    OPEN: (PAID, CANCELLED),
    PAID: (SHIPPED, CANCELLED),
    SHIPPED: (DELIVERED, CANCELLED),
    DELIVERED: (),
    CANCELLED: (),
}
"""The statuses that may follow each status; an order is in each at most once."""
UNFINISHED: Final = tuple(status for status, following in TRANSITIONS.items() if following)
"""The statuses that another may follow."""
INDEX_LAG: Final = timedelta(seconds=5)
"""How long after its instant a commit can take effect in the index: 3 seconds for the call, 2 for the index."""

KEYS: Final = frozenset({"pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"})
"""The key attributes of an order's items; the others are fields of the sale."""


class StatusEntry(NamedTuple):
    """An entry of an order's history: a status, and the instant (text, milliseconds) from which the order had it."""

    status: str
    at: str


@dataclass(frozen=True, slots=True)
class OrderHeader:
    """An order's stored header, without its items.

    ``customer`` is ``None`` for a guest. ``history`` is empty until the order is complete.
    """

    order: str
    status: str
    digest: str
    customer: str | None
    currency: str
    placed_at: str
    lines: int
    total: str
    history: tuple[StatusEntry, ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse a header from its item; raise ``ValueError``, ``KeyError`` or ``TypeError`` for any other item."""
        history = tuple(StatusEntry(entry["status"], entry["at"]) for entry in values.get("history", ()))
        return cls(
            order_of(values["pk"]),
            values["status"],
            values["digest"],
            values.get("customer"),
            values["currency"],
            values["placed_at"],
            int(values["lines"]),
            values["total"],
            history,
        )

    def values(self) -> Values:
        """Return the attributes of a header that is not complete."""
        return {
            **header_key(self.order),
            "status": self.status,
            "digest": self.digest,
            "customer": self.customer,
            "currency": self.currency,
            "placed_at": self.placed_at,
            "lines": self.lines,
            "total": self.total,
        }

    @property
    def is_complete(self) -> bool:
        """Whether all items of the order are stored."""
        return bool(self.history)

    def was_complete(self, by: str) -> bool:
        """Return whether the order was complete at an instant (text, milliseconds)."""
        return self.is_complete and self.history[0].at <= by


# ---------------------------------------------------------------- creating


def claim(order: Order, now: datetime) -> OrderHeader:
    """Return the header that claims an order's id; readers do not see the order yet."""
    return OrderHeader(
        order.id,
        WRITING,
        order.digest,
        order.customer,
        order.currency,
        iso_millis(order.placed_at or now),
        len(order.items),
        money.plain(order.total),
    )


def items(order: Order, header: OrderHeader) -> Iterator[Values]:
    """Yield the stored items of an order; the same header gives the same bytes."""
    for line, facts_ in enumerate(order.items, 1):
        key = CustomerItemKey(facts_["product"], header.placed_at, order.id, line)
        yield {**key.table_key, **facts_, **_index_keys(1, header.customer and customer_pk(header.customer), str(key))}


def committed(header: OrderHeader, now: datetime) -> Values:
    """Return the attributes that commit a header: its status, its history, and its keys in the indexes."""
    return {
        "status": OPEN,
        "history": [StatusEntry(OPEN, iso_millis(now))._asdict()],
        **_index_keys(1, header.customer and customer_pk(header.customer), placed_sk(header.placed_at, header.order)),
        **_index_keys(2, queue_pk(OPEN, header.order), queue_sk(header.placed_at, header.order)),
    }


def _index_keys(index: int, pk: str | None, sk: str) -> dict[str, str]:
    """Return an item's keys in an index; empty if ``pk`` is ``None``."""
    return {f"gsi{index}pk": pk, f"gsi{index}sk": sk} if pk else {}


def facts(item: Values) -> Values:
    """Return an item's fields of the sale, without its keys."""
    return {name: value for name, value in item.items() if name not in KEYS}


# ---------------------------------------------------------------- the status


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A requested change of an order's status."""

    before: str
    after: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Parse the body of a request; raise ``InvalidError`` with every problem in it."""
        sent = Fields(body)
        sent.report_unknown(frozenset({"from", "to"}))
        before = sent.value("from", _one_of(UNFINISHED), lambda value: value if value in UNFINISHED else None)
        following = TRANSITIONS[before] if before else tuple(TRANSITIONS)
        after = sent.value("to", _one_of(following), lambda value: value if value in following else None)
        fields.refuse(sent.problems, "from and to")
        return cls(before, after)

    def queue(self, order: str) -> str | None:
        """Return the ``gsi2`` partition key of the next status' queue; ``None`` after the last status."""
        return queue_pk(self.after, order) if self.after in UNFINISHED else None

    def is_in(self, header: OrderHeader) -> bool:
        """Return whether an order's history holds the change."""
        statuses = (entry.status for entry in header.history)
        return (self.before, self.after) in pairwise(statuses)


def _one_of(statuses: tuple[str, ...]) -> str:
    return f"one of {', '.join(statuses)}"


# ---------------------------------------------------------------- as it is shown


def shown_order(header: OrderHeader) -> "api.Order":
    """Return an order as the API shows it, without its items."""
    shown: api.Order = {
        "order": header.order,
        "status": header.status,
        "currency": header.currency,
        "placed_at": header.placed_at,
        "lines": header.lines,
        "total": header.total,
        "history": [{"status": entry.status, "at": entry.at} for entry in header.history],
    }
    if header.customer:
        shown["customer"] = header.customer
    return shown


def found_order(header: OrderHeader) -> "api.FoundOrder":
    """Return an order as a search shows it."""
    found: api.FoundOrder = {
        "order": header.order,
        "status": header.status,
        "currency": header.currency,
        "placed_at": header.placed_at,
        "total": header.total,
    }
    if header.customer:
        found["customer"] = header.customer
    return found


_OPTIONAL: Final = (
    "commission_rate",
    "quantity",
    "unit_price",
    "location",
    "category",
)
"""The fields that an item need not have."""


def shown_item(item: Values) -> "api.OrderItem":
    """Return an item as the API shows it in its order."""
    shown: api.OrderItem = {
        "line": line_of(item["sk"]),
        "agency": item["agency"],
        "product": item["product"],
        "amount": item["amount"],
    }
    for name in _OPTIONAL:
        if name in item:
            shown[name] = item[name]
    return shown


def shown_customer_item(item: Values) -> "api.BoughtItem":
    """Return an item as the API shows it among its customer's items."""
    return {
        "order": order_of(item["pk"]),
        "placed_at": CustomerItemKey.parse(item["gsi1sk"]).placed_at,
        **shown_item(item),
    }
