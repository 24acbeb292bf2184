"""The deployed system, as a shop and its accountants meet it: events go in over HTTP, and answers come out."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from urllib.parse import urlencode

from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.engines import EMBEDDED
from quarterhour_tools.emulator.faults import Faults, Spec
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.stack import Stack, open_stack
from tests.support.events import by_sign
from tests.support.requests import events_request

START = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)

# A module's system and a test's own stand side by side in one account.
_STAGES = count()


@dataclass(slots=True)
class World:
    """The system on a clock that is set by hand."""

    stack: Stack
    clock: ManualClock
    recorded: list[dict[str, Any]] = field(default_factory=list)
    turn: Callable[[], AbstractContextManager[None]] = nullcontext
    """Waits for a turn at the stack: that of its server, if it is served."""

    def sell(self, amount: str, agency: str = "42", currency: str = "GBP", **data: Any) -> dict[str, Any]:
        """Record an event now, and return its receipt."""
        data.setdefault("commission_rate", "0.125")
        event = by_sign(f"e{len(self.recorded)}", amount, agency=agency, currency=currency, **data)
        answer = self._answer(events_request(event))
        (item,) = answer.json()["items"]
        assert item["verdict"] == "recorded", item
        self.recorded.append(item)
        receipt: dict[str, Any] = item["receipt"]
        return receipt

    def write(self, path: str, content: Mapping[str, Any], seen: int = 0) -> None:
        """Write a version of a document after those that were seen."""
        headers = (("content-type", "application/json"), ("host", "localhost"))
        body = json.dumps({"seen": seen, "content": content}).encode()
        answer = self._answer(Request("PUT", path, headers=headers, body=body))
        assert answer.status in {200, 201}, answer.json()

    def change_settings(self, **changed: Any) -> None:
        """Let finance change settings, which every function knows at once, as it starts again."""
        found = self.get("/documents/settings")
        seen, before = (found.json()["version"], found.json()["content"]) if found.status == 200 else (0, {})
        self.write("/documents/settings", {**before, **changed}, seen)
        for function in self.stack.functions:
            self.stack.cold_start(function)

    def pass_time(self, **span: float) -> None:
        """Deliver all stream records, then advance the clock."""
        self.drain()
        self.clock.advance(timedelta(**span))

    def drain(self) -> None:
        """Deliver all stream records, including those that the deliveries produce."""
        with self.turn():
            busy = True
            while busy:
                busy = False
                for pump in self.stack.pumps:
                    pump.read(self.clock.now())
                    busy = bool(pump.deliver(self.clock.now() + timedelta(minutes=1))) or busy

    def _answer(self, request: Request) -> Response:
        with self.turn():
            return self.stack.request(request)

    def report(self) -> dict[str, Any]:
        """Run the report function."""
        result: dict[str, Any] = self.stack.invoke("report", {})
        return result

    def get(self, path: str, **parameters: Any) -> Response:
        """Send a reading request; ``from_`` means ``from``, which is a Python keyword."""
        query = urlencode({name.rstrip("_"): value for name, value in parameters.items()})
        return self._answer(Request("GET", path, query))

    def read(self, path: str, **parameters: Any) -> Any:
        """Send a reading request that succeeds, and return what it answers."""
        answer = self.get(path, **parameters)
        assert answer.status == 200, answer.body
        assert answer.headers["content-type"] == "application/json"
        return answer.json()

    def refused(self, path: str, **parameters: Any) -> dict[str, Any]:
        """Send a request with a bad parameter, and return what is said of it."""
        answer = self.get(path, **parameters)
        assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json"), answer.body
        (problem,) = answer.json()["errors"]
        assert problem["problem"]
        assert problem["expected"]
        return dict(problem)

    def missing(self, path: str, **parameters: Any) -> str:
        """Ask for what is not there, and return the reason that is given."""
        answer = self.get(path, **parameters)
        assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json"), answer.body
        return str(answer.json()["detail"])

    def pages(self, path: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield the pages of a request to the last."""
        page = self.read(path, **parameters)
        while True:
            yield page
            if page["next"] is None:
                return
            page = self.read(path, **{**parameters, "next": page["next"]})

    def all(self, path: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return the items of all pages of a request."""
        return [item for page in self.pages(path, **parameters) for item in page["items"]]


def apart(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of the template among some options, and the settings of finance, whose names are small."""
    settings = {name: value for name, value in options.items() if name.islower()}
    return {name: value for name, value in options.items() if name not in settings}, settings


@contextmanager
def opened(
    options: Mapping[str, Any] | None = None,
    *,
    engine: str = EMBEDDED,
    start: datetime = START,
    executes: bool = True,
    faults: Faults | None = None,
) -> Iterator[World]:
    """Deploy the system for the length of the block.

    ``options``: parameters of the template, and settings of finance. ``executes``: execute the state machines.
    ``faults`` occur while functions run.
    """
    clock = ManualClock(start)
    parameters, settings = apart({"Stage": f"test-{next(_STAGES)}", **(options or {})})
    with (
        using(clock),
        open_stack(engine, parameters, virtual=True, executes=executes, faults=faults, settings=settings) as stack,
    ):
        yield World(stack, clock)


@contextmanager
def faulty(spec: str = "") -> Iterator[tuple[World, Faults]]:
    """Deploy the system with faults at hand, which strike while they are at work."""
    with Faults(Spec.parse(spec)).installed() as faults, opened() as world:
        yield world, faults
