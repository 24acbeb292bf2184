"""`POST /events` in memory, with the faults of a bad day: what a sender sees, and what is recorded in the end."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from quarterhour_client.plan import Answer, Waiting, request_body

from quarterhour.model import exact_json

FAULTS: Final = (
    "lost request",
    "lost answer",
    "half an answer",
    "429",
    "500",
    "503",
    "HTML",
    "half unavailable",
    "413",
    "other items",
)
JSON: Final = {"content-type": "application/json"}
PROBLEM: Final = {"content-type": "application/problem+json"}


def answer(status: int, content: Any, **headers: str) -> Answer:
    return Answer(status, {**JSON, **headers}, json.dumps(content).encode())


class FakeApi:
    """Records events by their id. ``fault`` names the fault of the next request, ``""`` for none."""

    def __init__(self, fault: Callable[[], str] = lambda: "") -> None:
        self.recorded: dict[str, Any] = {}
        self.requests: list[int] = []
        """The number of events of each request."""
        self._fault = fault

    def post(self, waiting: Sequence[Waiting]) -> Answer:
        body = request_body(waiting)
        try:
            exact_json.parse(body)
        except ValueError as error:
            return answer(400, {"errors": [{"field": "body", "problem": str(error), "expected": "JSON"}]}, **PROBLEM)
        events = json.loads(body)
        self.requests.append(len(events))
        assert 1 <= len(events) <= 500
        assert len(body) <= 4_000_000
        fault = self._fault()
        refused = {
            "429": answer(429, {"message": "Too Many Requests"}, **{"retry-after": "7"}),
            "500": answer(500, {"message": "Internal Server Error"}),
            "HTML": Answer(200, {"content-type": "text/html"}, b"<html><body>Be back soon</body></html>"),
            "413": Answer(413, PROBLEM, b'{"errors": [{"field": "body", "problem": "is large", "expected": "less"}]}'),
            "401": answer(401, {"message": "Unauthorized"}),
            "403": answer(403, {"message": "Forbidden"}),
            "404": answer(404, {"message": "Not Found"}),
            "bare 413": answer(413, {"message": "Request Too Long"}),
        }
        if fault in refused and not (fault == "413" and len(events) == 1):
            return refused[fault]
        if fault == "lost request":
            raise ConnectionError("connection reset")
        every = 2 if fault == "half unavailable" else 1 if fault == "503" else 0
        items = [
            {"index": index, "verdict": "unavailable"} if every and index % every == 0 else self._record(index, event)
            for index, event in enumerate(events)
        ]
        made = answer(503 if fault == "503" else 207, {"items": items[1:] if fault == "other items" else items})
        if fault == "lost answer":
            raise ConnectionError("timed out")
        return Answer(made.status, made.headers, made.content[: len(made.content) // 2]) if "half an" in fault else made

    def _record(self, index: int, event: Any) -> dict[str, Any]:
        if not isinstance(event, dict) or "id" not in event:
            problem = {"field": "id", "problem": "is missing", "expected": "a text"}
            return {"index": index, "verdict": "rejected", "errors": [problem]}
        if event.get("type") == "sale.refunded":
            problem = {"field": "data.refers_to", "problem": "is unknown", "expected": "the sale"}
            return {"index": index, "verdict": "held", "held": {"reason": "unknown_sale", "problems": [problem]}}
        known = self.recorded.setdefault(event["id"], event)
        if known is event:
            return {"index": index, "source": "shop", "id": event["id"], "verdict": "recorded"}
        return {"index": index, "verdict": "duplicate" if known == event else "conflict"}


class Time:
    """A clock that moves only when a sender waits on it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def seconds(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def in_turn(*faults: str) -> Callable[[], str]:
    """Return faults one after the other, then none."""
    left = list(faults)
    return lambda: left.pop(0) if left else ""
