"""A stack that answers over HTTP, and the requests to it."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import open_stack
from tests.support.system import World, apart


@contextmanager
def served(clock: ManualClock, parameters: Mapping[str, Any] | None = None) -> Iterator[tuple[Server, World]]:
    """Serve a stack at the time of a clock; yield the server and the system.

    A test uses the system only within ``server.turns.taken()``.
    """
    server = Server(0)
    own, settings = apart(parameters or {})
    with (
        using(clock),
        open_stack("embedded", own, s3_url=server.url, virtual=True, settings=settings) as stack,
        server.serving(stack),
    ):
        yield server, World(stack, clock)


def call(
    url: str, body: Any = None, kind: str = "application/cloudevents+json", method: str | None = None
) -> tuple[int, Any]:
    """Send a request, and return the status and the JSON of its response."""
    content = json.dumps(body).encode() if body else None
    return answered(Request(url, content, {"content-type": kind}, method=method))  # noqa: S310 - our own


def answered(request: Request) -> tuple[int, Any]:
    """Return the status and the JSON of a response, of an error, too."""
    try:
        with urlopen(request) as answer:  # noqa: S310 - our own
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def until(probe: Callable[[], Any]) -> Any:
    """Call a probe repeatedly until it returns something."""
    for _ in range(150):
        answer = probe()
        if answer:
            return answer
        threading.Event().wait(0.2)
    raise TimeoutError
