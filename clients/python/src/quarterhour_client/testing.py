"""A server for tests: a transport of httpx that gives verdicts as Quarterhour does, and fails if a test says so."""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx

from quarterhour_client.events import MAX_BODY
from quarterhour_client.plan import MAX_BATCH

if TYPE_CHECKING:
    from collections.abc import Callable

_PROBLEM = {"content-type": "application/problem+json"}
_CORRECTIONS = frozenset({"sale.refunded", "sale.voided", "adjustment.recorded"})
_TYPES = frozenset({"sale.recorded", "payment.recorded", "view.recorded", *_CORRECTIONS})
_STEPS = {"open": {"paid", "cancelled"}, "paid": {"shipped", "cancelled"}, "shipped": {"delivered"}}


@dataclass(frozen=True)
class Fails:
    """A request is answered with a status, and nothing is recorded."""

    status: int = 503
    retry_after: int | None = None


@dataclass(frozen=True)
class Drops:
    """A request has no answer: it is lost before the server sees it, or its response after that (``after``)."""

    after: bool = False
    timeout: bool = False


class FakeQuarterhour(httpx.BaseTransport):
    """Records events in memory: ``Client(url, spool, transport=FakeQuarterhour())``. Threads may share it.

    It gives the verdicts that follow from identity, references and signs. It has no agencies and no rate cards, and
    computes no commission; ``answer_with`` sets other verdicts.
    """

    def __init__(self) -> None:
        self.recorded: dict[tuple[str, str], dict[str, Any]] = {}
        """The events in the ledger, by source and id, in the order in which they were recorded."""
        self.held: dict[tuple[str, str], dict[str, Any]] = {}
        """The corrections that wait for their sale, and voids that wait for their refund."""
        self.orders: dict[str, dict[str, Any]] = {}
        """The states of orders."""
        self.batches: list[int] = []
        """The events of each request that arrived."""
        self.requests: list[httpx.Request] = []
        """The requests that arrived, those that failed too."""
        self._faults: deque[Fails | Drops | None] = deque()
        self._set: dict[tuple[str, str], deque[dict[str, Any]]] = {}
        self._contents: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def fail(self, *faults: Fails | Drops | None) -> None:
        """Let the next requests fail, each with its fault; ``None`` lets one succeed."""
        with self._lock:
            self._faults.extend(faults)

    def answer_with(self, source: str, id: str, verdict: str, *, times: int = 1, **more: Any) -> None:  # noqa: A002, ANN401 - the name in CloudEvents; JSON
        """Answer an event with a verdict the next ``times``, and do not record it; ``more``: ``errors``, ``held``."""
        with self._lock:
            answers = self._set.setdefault((source, id), deque())
            answers.extend([{"verdict": verdict, **more}] * times)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        body = request.read()
        with self._lock:
            self.requests.append(request)
            fault = self._faults.popleft() if self._faults else None
            if isinstance(fault, Fails):
                headers = {"retry-after": str(fault.retry_after)} if fault.retry_after is not None else {}
                return httpx.Response(fault.status, headers=headers, json={"message": "made to fail"})
            if isinstance(fault, Drops) and not fault.after:
                raise _dropped(fault, request)
            response = self._respond(request, body)
            if fault:
                raise _dropped(fault, request)
            return response

    def _respond(self, request: httpx.Request, body: bytes) -> httpx.Response:
        path = request.url.raw_path.decode().split("/")[1:]
        if request.method == "POST" and path[-1] == "events":
            return self._events(body)
        if request.method == "POST" and path[-1] == "orders":
            return self._create(body)
        if request.method == "PUT" and path[-1] == "status":
            return self._change(unquote(unquote(path[-2])), json.loads(body))
        return _refused(404, "", "is no path of the API", "a path of the API")

    def _events(self, body: bytes) -> httpx.Response:
        if len(body) > MAX_BODY:
            return _refused(413, "", f"has {len(body)} bytes", f"at most {MAX_BODY}")
        events = json.loads(body, parse_float=Decimal)
        if len(events) > MAX_BATCH:
            return _refused(413, "", f"holds {len(events)} events", f"at most {MAX_BATCH} in one request")
        self.batches.append(len(events))
        sales = {(one["source"], one["id"]) for one in events if one["type"] == "sale.recorded"}
        found = [
            {"index": index, "source": one["source"], "id": one["id"], **self._verdict(one, sales)}
            for index, one in enumerate(events)
        ]
        counts = Counter(item["verdict"] for item in found)
        headers = {"retry-after": "1"} if counts["unavailable"] else {}
        return httpx.Response(_status(set(counts)), headers=headers, json={"items": found, "counts": dict(counts)})

    def _verdict(self, one: dict[str, Any], sales: set[tuple[str, str]]) -> dict[str, Any]:
        """Record an event, and return its verdict; ``sales`` are those of the request."""
        key = (one["source"], one["id"])
        if self._set.get(key):
            return self._set[key].popleft()
        if problem := _problem(one):
            return {"verdict": "rejected", "errors": [problem]}
        known = self.recorded.get(key) or self.held.get(key)
        if known and _content(known) != _content(one):
            problem = {"field": "id", "problem": "was recorded before with other content", "expected": "a new id"}
            return {"verdict": "conflict", "errors": [problem]}
        if key in self.recorded:
            return {"verdict": "duplicate", "receipt": self._receipt(key)}
        sale = _sale_of(one)
        if sale and sale not in self.recorded and sale not in sales:
            self.held[key] = one
            problem = {"field": "data.refers_to", "problem": "is no recorded sale yet", "expected": "the sale"}
            return {"verdict": "held", "held": {"reason": "unknown_sale", "problems": [problem]}}
        self._record(key, one)
        return {"verdict": "recorded", "receipt": self._receipt(key)}

    def _record(self, key: tuple[str, str], one: dict[str, Any]) -> None:
        """Record an event, and the held ones that wait for it: a refund, and then the void that takes it back."""
        self.recorded[key] = one
        self.held.pop(key, None)
        for other, event in list(self.held.items()):
            if _sale_of(event) == key and other in self.held:
                self._record(other, event)

    def _receipt(self, key: tuple[str, str]) -> dict[str, str]:
        at = "2026-10-23T01:30:00.000Z"
        return {"recorded_at": at, "partition": "202610230130#00", "position": f"{at}.{key[1]}"}

    def _create(self, body: bytes) -> httpx.Response:
        order = json.loads(body)
        name = order["order"]
        if self._contents.setdefault(name, body) != body:
            return _refused(409, "order", "was sent before with other content", "a new id")
        new = name not in self.orders
        total = sum((Decimal(item["amount"]) for item in order["items"]), Decimal())
        state = {"order": name, "status": "open", "currency": order["currency"], "lines": len(order["items"])}
        self.orders.setdefault(name, {**state, "total": str(total)})
        return httpx.Response(201 if new else 200, json=self.orders[name])

    def _change(self, name: str, change: dict[str, str]) -> httpx.Response:
        order = self.orders.get(name)
        if order is None:
            return _refused(404, "order", "does not exist", "an order")
        if order["status"] != change["to"]:
            if order["status"] != change["from"] or change["to"] not in _STEPS.get(change["from"], ()):
                return _refused(409, "from", f"is not {order['status']}", order["status"])
            order["status"] = change["to"]
        return httpx.Response(200, json=order)


def _dropped(fault: Drops, request: httpx.Request) -> httpx.TransportError:
    error = httpx.ReadTimeout if fault.timeout else httpx.RemoteProtocolError
    return error("made to fail", request=request)


def _refused(status: int, field: str, problem: str, expected: str) -> httpx.Response:
    errors = [{"field": field, "problem": problem, "expected": expected}]
    return httpx.Response(status, headers=_PROBLEM, content=json.dumps({"status": status, "errors": errors}).encode())


def _problem(one: dict[str, Any]) -> dict[str, str] | None:
    """Return what is wrong with an event, by its type and the sign of its amount."""
    amount = one["data"].get("amount")
    figure = Decimal(amount) if amount is not None else None
    signs: dict[str, tuple[Callable[[Decimal], bool], str]] = {
        "sale.recorded": (lambda value: value >= 0, "0 or more, as it is a sale"),
        "sale.refunded": (lambda value: value <= 0, "0 or less, as it is a refund"),
        "payment.recorded": (bool, "above 0 if the agency paid, below 0 if it was paid"),
    }
    if one["type"] not in _TYPES:
        return {"field": "type", "problem": f"is {one['type']!r}", "expected": "one of " + ", ".join(sorted(_TYPES))}
    if one["type"] in signs:
        fits, expected = signs[one["type"]]
        if figure is None or not fits(figure):
            return {"field": "data.amount", "problem": f"is {amount}", "expected": expected}
    return None


def _content(one: dict[str, Any]) -> object:
    """Return what a retry has in common with the first try."""
    texts = {name: str(value) for name, value in one["data"].items() if name == "amount"}  # 10 is not 10.00
    return [one["type"], one["subject"], one.get("time"), {**one["data"], **texts}]


def _sale_of(one: dict[str, Any]) -> tuple[str, str] | None:
    """Return the identity of the sale that a correction refers to."""
    data = one["data"]
    if one["type"] not in _CORRECTIONS or not data.get("refers_to"):
        return None
    return data.get("refers_to_source") or one["source"], data["refers_to"]


def _status(verdicts: set[str]) -> int:
    """Return the status of a response with these verdicts."""
    if verdicts <= {"recorded", "duplicate", "held"}:
        return 202
    if verdicts == {"unavailable"}:
        return 503
    if verdicts == {"conflict"}:
        return 409
    return 422 if verdicts <= {"rejected", "conflict"} else 207
