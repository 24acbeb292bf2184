"""Orders, the pure part: what is stored of an order and its items, and how its status may change.

An order is claimed first, its header saying ``writing``; then come its items; then the header is committed, which also
lists it. So whoever reads the header knows whether all of the order is there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final, Self

from quarterhour import fields, money
from quarterhour.clock import iso_millis
from quarterhour.fields import Fields
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

Values = dict[str, Any]
"""An item in plain values."""
KEYS: Final = frozenset({"pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"})
"""What an item holds besides its facts."""


# ---------------------------------------------------------------- creating


def claim(order: Order, now: datetime) -> Values:
    """Return the header that claims an order for its content, and shows nothing of it yet."""
    return {
        **header_key(order.id),
        "status": WRITING,
        "digest": order.digest,
        **({"customer": order.customer} if order.customer else {}),
        "currency": order.currency,
        "placed_at": iso_millis(order.placed_at or now),
        "lines": len(order.items),
        "total": money.plain(order.total),
    }


def items(order: Order, header: Values) -> Iterator[Values]:
    """Yield the items of an order as its claim stands: the same bytes each time."""
    for line, told in enumerate(order.items, 1):
        place = Bought(told["product"], header["placed_at"], order.id, line)
        yield {**place.key, **told, **_listed(1, order.customer and customer_pk(order.customer), str(place))}


def committed(header: Values, now: datetime) -> Values:
    """Return what a claimed header holds besides, once all items stand: it is open, and listed."""
    order, customer, placed_at = order_of(header["pk"]), header.get("customer"), header["placed_at"]
    return {
        "status": OPEN,
        "history": [{"status": OPEN, "at": iso_millis(now)}],
        **_listed(1, customer and customer_pk(customer), placed_sk(placed_at, order)),
        **_listed(2, queue_pk(OPEN, order), queue_sk(placed_at, order)),
    }


def _listed(index: int, pk: str | None, sk: str) -> dict[str, str]:
    """Return the attributes that list something in an index; none for what has no place there."""
    return {f"gsi{index}pk": pk, f"gsi{index}sk": sk} if pk else {}


def facts(item: Values) -> Values:
    """Return what an item tells, without its keys."""
    return {name: value for name, value in item.items() if name not in KEYS}


def is_there(header: Values, by: str = "9999") -> bool:
    """Tell whether an order stands with all of its items, since an instant at the latest (to the millisecond)."""
    return "history" in header and header["history"][0]["at"] <= by


# ---------------------------------------------------------------- the status


@dataclass(frozen=True, slots=True)
class Step:
    """A change of status that is asked for."""

    before: str
    after: str

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Read the body of a request; raise ``InvalidError`` that names the fields to mend."""
        sent = Fields(body)
        sent.no_others(frozenset({"from", "to"}))
        before = sent.value("from", _one_of(WORK), lambda value: value if value in WORK else None)
        following = NEXT[before] if before else tuple(NEXT)
        after = sent.value("to", _one_of(following), lambda value: value if value in following else None)
        fields.refuse(sent.problems, "from and to")
        return cls(before, after)

    def queue(self, order: str) -> str | None:
        """Return in which partition of ``gsi2`` the order waits afterwards; ``None`` where nothing is left to do."""
        return queue_pk(self.after, order) if self.after in WORK else None

    def is_in(self, header: Values) -> bool:
        """Tell whether an order has taken the step, at whatever time."""
        statuses = (entry["status"] for entry in header["history"])
        return (self.before, self.after) in pairwise(statuses)


def _one_of(statuses: tuple[str, ...]) -> str:
    return f"one of {', '.join(statuses)}"


# ---------------------------------------------------------------- as it is shown


def shown_order(header: Values) -> Values:
    """Return an order as it is shown, without its items."""
    told = {name: value for name, value in facts(header).items() if name != "digest"}
    return {"order": order_of(header["pk"]), **told, "lines": int(header["lines"])}


def shown_item(item: Values) -> Values:
    """Return an item as its order shows it."""
    return {"line": line_of(item["sk"]), **facts(item)}


def shown_bought(item: Values) -> Values:
    """Return an item as it is shown among its customer's."""
    return {"order": order_of(item["pk"]), "placed_at": Bought.parse(item["gsi1sk"]).placed_at, **shown_item(item)}
