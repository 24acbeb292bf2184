"""Measures what one request of one event leaves in the logs of the functions, by invoking the real handlers.

Lambda itself logs failures alone, so a function's own lines are all that there is.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from logging import StreamHandler
from typing import Final

from benchmarks.recording import batch
from quarterhour.aws.telemetry import logger
from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.emulator.stack import Stack, open_stack

LINE_BYTES: Final = 26
"""Bytes that CloudWatch adds to each line."""
CONTEXT: Final = {
    "requestId": "JKJaXmPLvHcESHA=",
    "requestTime": "23/Oct/2026:01:40:00 +0000",
    "identity.caller": "AROAXXXXXXXXXXXXXXXXX:quarterhour-shop-production",
    "authorizer.claims.sub": "8b3f7a52-0d0e-4c0e-9a44-6f6d0c6a3c11",
    "routeKey": "POST /events",
    "status": "202",
    "responseLatency": "48",
    "responseLength": "214",
}
"""What API Gateway writes for the variables of a line of the access log."""


def measured() -> dict[str, int]:
    """Return the bytes in the log of a warm invocation, by function: each handles one new event of a known account."""
    clock, logs = ManualClock(datetime(2026, 10, 23, 1, 40, tzinfo=UTC)), StringIO()
    found: dict[str, int] = {}
    with _written_to(logs), using(clock), open_stack("embedded", virtual=True, logs=logs) as stack:
        for event in batch(0, 1)[:2]:
            _taken(logs)
            body, headers = json.dumps(event).encode(), (("content-type", "application/cloudevents+json"),)
            stack.request(Request("POST", "/events", headers=headers, body=body))
            found["ingest"] = _taken(logs)
            found |= _delivered(stack, clock, logs)
        clock.advance(timedelta(hours=1))
        for name in ("report", "watch"):
            stack.invoke(name, {})
            _taken(logs)
            stack.invoke(name, {})
            found[name] = _taken(logs)
    return found


def _delivered(stack: Stack, clock: ManualClock, logs: StringIO) -> dict[str, int]:
    """Deliver a batch of each stream, and return the bytes that its functions log."""
    found = {}
    for _ in range(2):  # what the counters write is then in the entities' stream
        for pump in stack.pumps:
            pump.read(clock.now())
            if pump.deliver(clock.now() + timedelta(minutes=5)):
                found[pump.function.rpartition(":")[2]] = _taken(logs)
    return found


def _taken(logs: StringIO) -> int:
    lines = logs.getvalue().splitlines()
    logs.seek(0)
    logs.truncate()
    return sum(len(line.encode()) + LINE_BYTES for line in lines)


@contextmanager
def _written_to(logs: StringIO) -> Iterator[None]:
    handler = logger.registered_handler
    assert isinstance(handler, StreamHandler)  # noqa: S101 - for the checker of types
    before = handler.setStream(logs)
    try:
        yield
    finally:
        handler.setStream(before)


def access_line(form: str) -> int:
    """Return the bytes of a line in the access log, by the format of the stage."""
    for name, value in CONTEXT.items():
        form = form.replace(f"$context.{name}", value)
    if "$context" in form:
        raise ValueError(f"the access log has a variable without an example: {form}")
    return len(form.encode()) + LINE_BYTES


if __name__ == "__main__":
    print(json.dumps(measured()))
