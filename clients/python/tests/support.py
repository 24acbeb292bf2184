"""What the tests share: made-up events, and a server that fails at random."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

import httpx

from quarterhour_client import sale
from quarterhour_client.plan import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quarterhour_client import Event

URL = "https://api.example.com"


def made(number: int, amount: str = "12.50") -> Event:
    return sale(source="shop", id=f"order-{number}:1", agency="42", amount=amount, currency="EUR", customer="ann")


def numbered(events: Sequence[Event]) -> list[Waiting]:
    return [Waiting(number, one.source, one.id, one.body) for number, one in enumerate(events, 1)]


class Faulty(httpx.BaseTransport):
    """Passes requests on; a share of them is dropped, loses its response, times out, or is answered 503."""

    def __init__(self, inner: httpx.BaseTransport, share: float, seed: int) -> None:
        self._inner = inner
        self._share = share
        self._random = random.Random(seed)  # noqa: S311 - faults of a test
        self._lock = threading.Lock()
        self.faults = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with self._lock:
            fault = self._random.choice(self.FAULTS) if self._random.random() < self._share else None
            self.faults += fault is not None
        return fault(self, request) if fault else self._inner.handle_request(request)

    def _dropped(self, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("dropped", request=request)

    def _answer_lost(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self._inner.handle_request(request).read()
        raise httpx.RemoteProtocolError("the response is lost", request=request)

    def _late(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self._inner.handle_request(request).read()
        raise httpx.ReadTimeout("too late", request=request)

    def _unavailable(self, _: httpx.Request) -> httpx.Response:
        return httpx.Response(503, headers={"retry-after": "0"}, json={"message": "Service Unavailable"})

    FAULTS: tuple[Callable[[Faulty, httpx.Request], httpx.Response], ...] = (
        _dropped,
        _answer_lost,
        _late,
        _unavailable,
    )
