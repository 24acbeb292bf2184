"""The cost of an event from its arrival to its snapshots: write units and AWS calls, metered on the emulator."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from benchmarks.metering import Bill, Meter, Tables
from benchmarks.recording import batch
from quarterhour.aws import clients
from quarterhour.aws.workers import Workers
from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour.ledger.postings.segments import postings_of
from quarterhour.ledger.reading.event_pages import position_of
from quarterhour.ledger.reading.sealed_index import INDEXED, EventIndex
from quarterhour.model.clock import ManualClock, using
from quarterhour.reports.store import ProjectionStore
from quarterhour_tools.emulator.dynamodb.sizes import STORED_BYTES, item_size
from quarterhour_tools.emulator.dynamodb.values import Item
from quarterhour_tools.emulator.engines import EMBEDDED, environment
from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.emulator.stack import Stack, open_stack

AGENCIES: Final = 5
"""Agencies in a batch of 500 events, each with 100 events."""
LONGEST_BATCHING_WINDOW: Final = timedelta(minutes=5)
"""The longest time for which a stream can collect records."""
_START: Final = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)
_LEAST_RECORDED: Final = 100
_BATCH: Final = (("content-type", "application/cloudevents-batch+json"),)
_JSON: Final = (("content-type", "application/json"),)


@dataclass(slots=True)
class System:
    """The emulator with a meter on its functions."""

    stack: Stack
    meter: Meter
    clock: ManualClock

    def record(self, events: list[dict[str, Any]]) -> Bill:
        """Record a batch of new events and return the cost."""
        self.meter.take()
        answer = self.stack.request(Request("POST", "/events", headers=_BATCH, body=json.dumps(events).encode()))
        if answer.json()["counts"] != {"recorded": len(events)}:
            raise ValueError(answer.body)
        return self.meter.take()

    def write_rate_cards(self, agencies: int) -> None:
        """Register each agency in its own group; its rate card is for toys, the group's is for books, with a fee.

        So the rate cards of all groups are read for books, after those of all agencies.
        """
        books = [
            {
                "category": "books",
                "currency": "EUR",
                "charges": [{"name": "commission", "percent": "8", "fixed": "0.30"}],
            }
        ]
        for number in range(agencies):
            agency, group = f"agency-{number:02d}", f"group-{number}"
            since = {"valid_from": "2026-01-01T00:00:00Z"}
            self.write(f"/agencies/{agency}", 0, {**since, "group": group})
            toys = {**since, "rules": [{"category": "toys", "percent": "10"}]}
            self.write(f"/documents/rate-card:{agency}", 0, toys)
            for seen in range(2):
                of_group = {"valid_from": f"2026-0{seen + 1}-01T00:00:00Z", "rules": books}
                self.write(f"/documents/rate-card:group%252F{group}", seen, of_group)

    def write(self, path: str, seen: int, content: dict[str, Any]) -> None:
        """Write a version of a document."""
        body = json.dumps({"seen": seen, "content": content}).encode()
        answer = self.stack.request(Request("PUT", path, headers=_JSON, body=body))
        if answer.json().get("version") != seen + 1:
            raise ValueError(answer.body)

    def units(self, bill: Bill, *tables: str, events: int = MAX_BATCH) -> float:
        """Return the write units of some tables for each of the events, by default those of a batch."""
        return sum(bill.writes.get(self.stack.ref(table), 0) for table in tables) / events

    def stored(self) -> float:
        """Return the bytes that are stored for each recorded event, in claims and ledger, as DynamoDB counts them."""
        tables = [self._items(table) for table in ("IdentityTable", "LedgerTable")]
        return sum(item_size(item) + STORED_BYTES for items in tables for item in items) / len(tables[0])

    def _items(self, table: str) -> list[Item]:
        pages = self.stack.dynamodb.get_paginator("scan").paginate(TableName=self.stack.ref(table))
        return [item for page in pages for item in page["Items"]]

    def deliver(self) -> Bill:
        """Let the streams deliver all that they hold, each in one batch, and return the cost."""
        return sum(self.deliver_to_each().values(), Bill())

    def deliver_to_each(self) -> dict[str, Bill]:
        """Let the streams deliver all that they hold, each in one batch, and return the cost of each function."""
        self.meter.take()
        bills = {pump.function.rpartition(":")[2]: Bill() for pump in self.stack.pumps}
        busy = True
        while busy:
            busy = False
            for pump in self.stack.pumps:
                pump.read(self.clock.now())
                busy = bool(pump.deliver(self.clock.now() + LONGEST_BATCHING_WINDOW)) or busy
                bills[pump.function.rpartition(":")[2]] += self.meter.take()
        return bills


@contextmanager
def system(shards: int = 1, start: datetime = _START) -> Iterator[System]:
    """Deploy the system on the embedded engine, with so many ledger shards, for the length of the block."""
    clock = ManualClock(start)
    with using(clock), open_stack(EMBEDDED, {"LedgerShards": shards}, virtual=True) as stack:
        meter = Meter(Tables(stack.dynamodb))
        with meter.installed():
            yield System(stack, meter, clock)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one event of a batch costs, by DynamoDB's units and by AWS calls.

    Counters and snapshots are those of 100 events an account, in an hour in which the accounts exist already;
    ``customers``: where each of the events is of a customer that was never seen; ``charged``: where each is charged by
    the rate card of its agency's group, with the read units per event and the calls in a row that read the rate cards.
    """

    calls: float
    charged_units: float
    charged_calls: float
    charged_reads: float
    charged_rounds: int
    counted_units: float
    customers_units: float


def cost() -> Cost:
    """Record and count batches of events, of customers' events, and with rate cards."""
    with system() as one:
        first = one.record(batch(0, AGENCIES))
        one.deliver()
        one.record(batch(MAX_BATCH, AGENCIES))
        counted = one.deliver()
        one.record(batch(2 * MAX_BATCH, AGENCIES, customers=True))
        customers = one.deliver()
        one.write_rate_cards(AGENCIES)
        charged = one.record(batch(3 * MAX_BATCH, AGENCIES, commission_rate=None, category="books", quantity=2))
        return Cost(
            calls=first.calls.total() / MAX_BATCH,
            charged_units=one.units(charged, "IdentityTable", "LedgerTable"),
            charged_calls=charged.calls.total() / MAX_BATCH,
            charged_reads=charged.read_units / MAX_BATCH,
            charged_rounds=charged.calls["dynamodb.BatchGetItem"],
            counted_units=one.units(counted, "EntityTable"),
            customers_units=one.units(customers, "EntityTable"),
        )


def order_fee_units(lines: int) -> float:
    """Return the write units per line of orders of so many, each of which pays a fee once."""
    fee = {"name": "commission", "percent": "8", "fixed": "0.30", "fixed_per": "order"}
    events = batch(0, 1, commission_rate=None)
    for number, event in enumerate(events):
        event["data"]["order_id"] = f"{number // lines:08d}"
    with system() as one:
        rules = [{"currency": "EUR", "charges": [fee]}]
        one.write("/documents/rate-card:default", 0, {"valid_from": "2026-01-01T00:00:00Z", "rules": rules})
        return one.units(one.record(events), "IdentityTable", "LedgerTable")


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an event costs in requests of so many: write units of claim and ledger, AWS calls, stored bytes."""

    events: int
    units: float
    calls: float
    stored: float


def recording(events: int) -> Recorded:
    """Record retail events in requests of so many, after one that warms the function up, of the same customers."""
    with system() as one:
        one.record(retail(0, events))
        requests = max(1, _LEAST_RECORDED // events)
        bills = [one.record(retail(MAX_BATCH * (number + 1), events)) for number in range(requests)]
        bill = sum(bills, Bill())
        recorded = requests * events
        units = one.units(bill, "IdentityTable", "LedgerTable", events=recorded)
        return Recorded(events, units, bill.calls.total() / recorded, one.stored())


def retail(first: int, count: int) -> list[dict[str, Any]]:
    """Return sales with what a shop sends, each with hashes that do not compress; each customer buys in every batch."""
    events = batch(first, AGENCIES)[:count]
    for number, event in enumerate(events, first):
        digest = sha256(str(number).encode()).hexdigest()
        event["time"] = f"2026-10-23T01:{number % 30:02d}:{number % 60:02d}Z"
        event["data"] |= {
            "product": f"{digest[:6]} cream hanging heart holder",
            "customer": f"customer-{number - first:06d}",
            "order_id": f"{digest[12:18]}",
            "location": "GB#London",
            "quantity": str(number % 12 + 1),
        }
    return events


def indexing() -> float:
    """Return the write units of the index of agencies for each event, 200 events of each agency in a quarter-hour."""
    with system() as one:
        for first in (0, MAX_BATCH):
            one.record(batch(first, AGENCIES))
        with environment({"AWS_ENDPOINT_URL_DYNAMODB": one.stack.engine.dynamodb_url}):
            client = clients.dynamodb()
        pages = client.get_paginator("scan").paginate(TableName=one.stack.ref("LedgerTable"))
        index = EventIndex()
        postings = (posting for page in pages for item in page["Items"] for posting in postings_of(item))
        for posting in sorted(postings, key=position_of):
            index.add([posting])
        chunks = [chunk for chunk in index.take() if chunk["pk"].startswith(INDEXED["agency"])]
        one.meter.take()
        ProjectionStore(client, one.stack.ref("EntityTable"), Workers(1)).write(chunks)
        return one.meter.take().write_units / (2 * MAX_BATCH)


def counting(shards: int) -> float:
    """Return the write units of counters and snapshots for each event, 100 events an account in a batch."""
    with system(shards) as one:
        one.record(batch(0, AGENCIES))
        one.deliver()
        one.record(batch(MAX_BATCH, AGENCIES))
        return one.units(one.deliver(), "EntityTable")
