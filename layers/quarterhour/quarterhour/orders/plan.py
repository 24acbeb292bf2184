"""Orders, the pure part: what is stored of an order and its items, and how its status may change.

An order is claimed first, its header saying ``writing``; then come its items; then the header is committed, which also
lists it. So whoever reads the header knows whether all of the order is there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self

from quarterhour.aws.entity import Values
from quarterhour.model import fields, money
from quarterhour.model.clock import iso_millis
from quarterhour.model.fields import Fields
from quarterhour.orders.keys import Bought, customer_pk, header_key, line_of, order_of, placed_sk, queue_pk, queue_sk
from quarterhour.orders.order import Order

WRITING: Final = "writing"
OPEN: Final = "open"
PAID: Final = "paid"
SHIPPED: Final = "shipped"
DELIVERED: Final = "delivered"
CANCELLED: Final = "cancelled"

DUE: Final = (PAID, CANCELLED)
"""What an order becomes that is due then: to be billed, or, after it was paid, to be taken back."""

NEXT: Final[Mapping[str, tuple[str, ...]]] = {
    OPEN: (PAID, CANCELLED),
    PAID: (SHIPPED, CANCELLED),
    SHIPPED: (DELIVERED, CANCELLED),
    DELIVERED: (),
    CANCELLED: (),
}
"""What may follow each status; none comes twice."""
WORK: Final = tuple(status for status, following in NEXT.items() if following)
"""The statuses in which something is left to do."""
INDEX_LAG: Final = timedelta(seconds=5)
"""After so long a commit that was on its way has arrived or was given up (3 seconds), and the index shows it (2)."""

KEYS: Final = frozenset({"pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"})
"""The key attributes of an order's items; the rest are its facts."""


class StatusEntry(NamedTuple):
    """An entry of an order's history: a status, and the instant at which the order got it (text, milliseconds)."""

    status: str
    at: str


@dataclass(frozen=True, slots=True)
class OrderHeader:
    """An order as the table stores it, without its items.

    ``customer`` is ``None`` for a guest. ``history`` is empty until all items are written.
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
        """Read a header from its item; raise ``ValueError``, ``KeyError`` or ``TypeError`` where it is none."""
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
        """Return the attributes of an order that is claimed and not yet complete."""
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
        """Whether the order is in the table with all of its items."""
        return bool(self.history)

    def was_complete(self, by: str) -> bool:
        """Tell whether the order was complete at an instant (text, to the millisecond)."""
        return self.is_complete and self.history[0].at <= by


# ---------------------------------------------------------------- creating


def claim(order: Order, now: datetime) -> OrderHeader:
    """Return the header that claims an order's id for its content; readers do not see the order yet."""
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
    """Yield the items of an order as its claim fixes them: the same bytes each time."""
    for line, facts_ in enumerate(order.items, 1):
        place = Bought(facts_["product"], header.placed_at, order.id, line)
        yield {**place.key, **facts_, **_listed(1, order.customer and customer_pk(order.customer), str(place))}


def committed(header: OrderHeader, now: datetime) -> Values:
    """Return the attributes that a header gets when all items are written: the order is open, and listed."""
    return {
        "status": OPEN,
        "history": [StatusEntry(OPEN, iso_millis(now))._asdict()],
        **_listed(1, header.customer and customer_pk(header.customer), placed_sk(header.placed_at, header.order)),
        **_listed(2, queue_pk(OPEN, header.order), queue_sk(header.placed_at, header.order)),
    }


def _listed(index: int, pk: str | None, sk: str) -> dict[str, str]:
    """Return the attributes that list an item in an index; none where ``pk`` is ``None``."""
    return {f"gsi{index}pk": pk, f"gsi{index}sk": sk} if pk else {}


def facts(item: Values) -> Values:
    """Return an item without its keys."""
    return {name: value for name, value in item.items() if name not in KEYS}


# ---------------------------------------------------------------- the status


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A requested change of an order's status."""

    before: str
    after: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Read the body of a request; raise ``InvalidError`` that names the fields to mend."""
        sent = Fields(body)
        sent.report_unknown(frozenset({"from", "to"}))
        before = sent.value("from", _one_of(WORK), lambda value: value if value in WORK else None)
        following = NEXT[before] if before else tuple(NEXT)
        after = sent.value("to", _one_of(following), lambda value: value if value in following else None)
        fields.refuse(sent.problems, "from and to")
        return cls(before, after)

    def queue(self, order: str) -> str | None:
        """Return the ``gsi2`` partition in which the order waits next; ``None`` where nothing is left to do."""
        return queue_pk(self.after, order) if self.after in WORK else None

    def is_in(self, header: OrderHeader) -> bool:
        """Tell whether an order has made the change, at whatever time."""
        statuses = (entry.status for entry in header.history)
        return (self.before, self.after) in pairwise(statuses)


def _one_of(statuses: tuple[str, ...]) -> str:
    return f"one of {', '.join(statuses)}"


# ---------------------------------------------------------------- as it is shown


def shown_order(header: OrderHeader) -> Values:
    """Return an order as the API shows it, without its items."""
    return {
        "order": header.order,
        "status": header.status,
        **({"customer": header.customer} if header.customer else {}),
        "currency": header.currency,
        "placed_at": header.placed_at,
        "lines": header.lines,
        "total": header.total,
        "history": [entry._asdict() for entry in header.history],
    }


def shown_item(item: Values) -> Values:
    """Return an item as its order shows it."""
    return {"line": line_of(item["sk"]), **facts(item)}


def shown_bought(item: Values) -> Values:
    """Return an item as it is shown among its customer's."""
    return {"order": order_of(item["pk"]), "placed_at": Bought.parse(item["gsi1sk"]).placed_at, **shown_item(item)}
