"""A shop under load: makes events, sends them at a rate, sends some again, and knows the expected totals."""

import http.client
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

from quarterhour.model.totals import Totals

CURRENCY: Final = "EUR"
RATE: Final = Decimal("0.125")
CONTENT_TYPE: Final = "application/cloudevents-batch+json"
FINAL_TRIES: Final = 20
"""Seconds until the fate of every event must be known."""

_TIMEOUT: Final = 60.0
_REFUNDS: Final = 0.1
_RECORDED: Final = frozenset({"recorded", "duplicate"})

Event = dict[str, Any]
Send = Callable[[list[Event]], list[str] | None]
"""Sends a batch; returns the items' verdicts in order, or ``None`` for an item without an answer."""


@dataclass(frozen=True, slots=True)
class Orders:
    """A shop's load: duration, events per second, events per batch, and the share of events sent again."""

    seconds: float
    rate: float
    batch: int
    again: float
    agencies: tuple[str, ...]


@dataclass(slots=True)
class Sales:
    """The results of a shop: its requests and their answers."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    """Requests without an answer for each item: the HTTP status, or the error's name."""
    recorded: dict[str, Totals] = field(default_factory=dict)
    """The totals by agency, of the events that were answered as recorded, each once."""
    ids: set[str] = field(default_factory=set)
    """The ids of the same events."""
    twice: int = 0
    """Events answered `recorded` more than once."""
    unanswered: int = 0
    """Events that never got an answer."""


class Shop:
    """One sender with its own source, so that its events are unique."""

    def __init__(self, source: str, orders: Orders) -> None:
        self._source = source
        self._orders = orders
        self._random = random.Random(source)  # noqa: S311 - reproducible, not secret
        self._made = 0
        self._accepted: list[Event] = []
        self._unanswered: list[Event] = []
        self._recorded: set[str] = set()
        self.sales = Sales()

    def trade(self, send: Send) -> Sales:
        """Send batches for the ordered time, then retry the events without an answer; return the results."""
        began = time.monotonic()
        between = self._orders.batch / self._orders.rate
        due = began
        while due < began + self._orders.seconds and time.monotonic() < began + self._orders.seconds:
            time.sleep(max(0.0, due - time.monotonic()))
            self._deal(self.next_batch(), send)
            due += between
        self.sales.seconds = time.monotonic() - began
        for _ in range(FINAL_TRIES):
            if not self._unanswered:
                break
            time.sleep(between)
            self._deal(self._take_unanswered(), send)
        self.sales.unanswered = len(self._unanswered)
        return self.sales

    def next_batch(self) -> list[Event]:
        """Return events to send: first those without an answer, then some recorded ones, then new ones."""
        events = self._take_unanswered()
        for _ in range(self._orders.batch - len(events)):
            again = self._accepted and self._random.random() < self._orders.again
            events.append(self._random.choice(self._accepted) if again else self._new())
        return events

    def _take_unanswered(self) -> list[Event]:
        events = self._unanswered[: self._orders.batch]
        del self._unanswered[: self._orders.batch]
        return events

    def _new(self) -> Event:
        self._made += 1
        cents = Decimal(self._random.randint(1, 99_999)).scaleb(-2)
        refund = self._random.random() < _REFUNDS
        return {
            "specversion": "1.0",
            "id": f"{self._made:08d}",
            "source": self._source,
            "type": "sale.refunded" if refund else "sale.recorded",
            "subject": self._random.choice(self._orders.agencies),
            "data": {
                "amount": str(-cents if refund else cents),
                "currency": CURRENCY,
                "commission_rate": str(RATE),
            },
        }

    def _deal(self, events: list[Event], send: Send) -> None:
        began = time.monotonic()
        verdicts = send(events)
        self.sales.latencies.append(time.monotonic() - began)
        for event, verdict in zip(events, verdicts or [""] * len(events), strict=True):
            self._store(event, verdict)

    def _store(self, event: Event, verdict: str) -> None:
        """Store the verdicts of an answer; an event without a verdict is sent again."""
        if verdict:
            self.sales.verdicts[verdict] += 1
        id_ = event["id"]
        if verdict == "recorded":
            self.sales.twice += id_ in self._recorded
            self._recorded.add(id_)
        if verdict in {"", "unavailable"}:
            if id_ not in self.sales.ids:
                self._unanswered.append(event)
        elif verdict in _RECORDED and id_ not in self.sales.ids:
            self.sales.ids.add(id_)
            self._accepted.append(event)
            amount = Decimal(event["data"]["amount"])
            before = self.sales.recorded.get(event["subject"], Totals())
            self.sales.recorded[event["subject"]] = before.plus(amount, amount * RATE)


def run(url: str, source: str, orders: Orders) -> Sales:
    """Trade with a system at a URL; for a separate process."""
    shop = Shop(source, orders)
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=_TIMEOUT)

    def send(events: list[Event]) -> list[str] | None:
        try:
            connection.request("POST", "/events", json.dumps(events), {"Content-Type": CONTENT_TYPE})
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            shop.sales.failures[type(error).__name__] += 1
            return None
        if "items" not in answer:
            shop.sales.failures[str(response.status)] += 1
            return None
        return [item["verdict"] for item in answer["items"]]

    try:
        return shop.trade(send)
    finally:
        connection.close()
