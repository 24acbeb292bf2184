"""The cost of orders: units, calls and time by size, and their duration on a table with limited capacity."""

import json
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final

from benchmarks.assumptions import CALLS_AT_A_TIME
from benchmarks.metering import Tables, charges, pending_writes
from benchmarks.turns import Turns
from benchmarks.writing import system
from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.workers import Workers
from quarterhour.customers.store import VaultStore
from quarterhour.customers.tokens import CustomerNames, CustomerTokens
from quarterhour.model.clock import ManualClock, sleep, using
from quarterhour.model.errors import NotFoundError, UnavailableError
from quarterhour.orders.order import Order, read_order
from quarterhour.orders.queries import OrderQueries
from quarterhour.orders.service import OrderService
from quarterhour.orders.store import OrderStore
from quarterhour.web.paging import Paging
from quarterhour_tools.emulator.capacity import Capacity, Price, Units
from quarterhour_tools.emulator.engines import EMBEDDED, environment
from quarterhour_tools.emulator.faults import Faults
from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.emulator.stack import Stack, open_stack

SIZES: Final = (1, 10, 100, 1000)
"""Items of the orders."""
TIMED_ITEMS: Final = 100
"""Items of the order whose request is timed."""
SECONDS: Final = 24.0
"""Seconds for which the function works on one request: its 29, less those that it keeps for the response."""
PAGE: Final = 1000

_START: Final = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)
_JSON: Final = (("content-type", "application/json"),)


def body(number: int, items: int) -> dict[str, Any]:
    """Return an order of a customer as it is sent, of so many items; those of other numbers are of the same length."""
    return {
        "order": f"order-{number:06d}",
        "customer": "customer-000000",
        "currency": "EUR",
        "items": [
            {
                "agency": f"agency-{line % 5:02d}",
                "product": f"product-{line:04d}",
                "amount": "12.50",
                "quantity": "2",
                "unit_price": "6.25",
                "location": "GB#London",
            }
            for line in range(items)
        ],
    }


def post(stack: Stack, order: dict[str, Any]) -> None:
    """Create an order over HTTP."""
    answer = stack.request(Request("POST", "/orders", headers=_JSON, body=json.dumps(order).encode()))
    if "lines" not in answer.json():
        raise ValueError(answer.body)


# ---------------------------------------------------------------- one at a time


@dataclass(frozen=True, slots=True)
class Cost:
    """What an order of so many items takes to create, and to read back."""

    items: int
    write_units: float
    calls: int
    read_units: float
    milliseconds: float

    @property
    def in_a_row(self) -> int:
        """How many of the calls have to wait for each other, where some are made at a time."""
        batches = self.calls - 3
        return 3 + -(-batches // CALLS_AT_A_TIME)


def costs(rounds: int) -> list[Cost]:
    """Create an order of each size, so many times, and read it back."""
    milliseconds = _latencies(rounds)
    with system() as one:
        found = []
        post(one.stack, body(len(SIZES), 1))  # the vault knows the customer
        for number, items in enumerate(SIZES):
            one.meter.take()
            post(one.stack, body(number, items))
            created = one.meter.take()
            one.stack.request(Request("GET", f"/orders/order-{number:06d}", f"limit={PAGE}"))
            read = one.meter.take()
            calls = created.calls.total()
            found.append(Cost(items, created.write_units, calls, read.read_units, milliseconds[number]))
        return found


def _latencies(rounds: int) -> list[float]:
    """Return how many milliseconds a request takes, of each size, by the middle of some rounds."""
    with using(ManualClock(_START)), open_stack(EMBEDDED, virtual=True) as stack:

        def timed(number: int, items: int) -> float:
            order = body(number, items)
            began = time.perf_counter()
            post(stack, order)
            return (time.perf_counter() - began) * 1000

        timed(0, 1)  # the function starts
        every = [[timed(1 + len(SIZES) * one + at, SIZES[at]) for one in range(rounds)] for at in range(len(SIZES))]
        return [median(some) for some in every]


# ---------------------------------------------------------------- all at once, throttled


@dataclass(slots=True)
class Rush:
    """The results of orders that were sent at once: the duration of each, and the number of requests."""

    seconds: list[float] = field(default_factory=list)
    requests: int = 0
    lost: int = 0
    """Orders that are missing or incomplete."""


def rush(units_a_second: float, sizes: Sequence[int] = SIZES) -> Rush:
    """Send orders at once to a table with limited write units per second; retry each until it is accepted."""
    turns = Turns(_START)
    faults = Faults()
    random.seed(0)  # the jitter of waits
    with ExitStack() as during:
        during.enter_context(using(turns))
        during.enter_context(faults.installed())
        stack = during.enter_context(open_stack(EMBEDDED, virtual=True))
        with environment({"AWS_ENDPOINT_URL_DYNAMODB": stack.engine.dynamodb_url}):
            client, once = clients.dynamodb(), clients.dynamodb_once()
        table = stack.ref("EntityTable")
        vault = VaultStore(client, stack.ref("VaultTable"), Workers(1))
        service = OrderService(OrderStore(client, once, table, Workers(1)), CustomerTokens(vault))
        faults.capacity = Capacity(table, units_a_second, _price(stack, table))
        orders = [read_order(body(number, items)) for number, items in enumerate(sizes)]
        rushed = Rush()
        with faults.at_work():
            turns.run([lambda order=order: _create_with_retries(service, order, turns, rushed) for order in orders])  # type: ignore[misc]
        queries = OrderQueries(EntityReader(client, table), CustomerNames(vault).token_of)
        rushed.lost = sum(not _is_whole(queries, order) for order in orders)
        return rushed


def _create_with_retries(service: OrderService, order: Order, turns: Turns, rushed: Rush) -> None:
    """Send an order as a client does: retry after a pause while the response requests it."""
    while True:
        rushed.requests += 1
        try:
            service.create(order, SECONDS)
        except UnavailableError as error:
            sleep(error.retry_after or 0)
        else:
            rushed.seconds.append((turns.now() - _START).total_seconds())
            return


def _is_whole(queries: OrderQueries, order: Order) -> bool:
    try:
        found = queries.order([order.id], Paging.of("", PAGE, None))
    except NotFoundError:
        return False
    return len(found["items"]) == len(order.items)


def _price(stack: Stack, table: str) -> Price:
    """Return the price of requests to one table in write units, by the sizing rules."""
    tables = Tables(stack.dynamodb)

    def price(operation: str, request: dict[str, Any]) -> Units:
        writes = pending_writes(operation, request, tables)
        return lambda answer: sum(units for name, units in charges(operation, writes, answer, tables) if name == table)

    return price
