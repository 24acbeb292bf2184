"""A clock that runs on from an instant as fast as the machine's, and a stack that is served by it."""

import time
import webbrowser
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from quarterhour.model import clock
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import Stack


class RunningClock:
    """A clock that shows an instant now, and then runs on."""

    def __init__(self, start: datetime) -> None:
        self._start = start.astimezone(UTC)
        self._began = time.monotonic()

    def now(self) -> datetime:
        """Return the current instant in UTC."""
        return self._start + timedelta(seconds=time.monotonic() - self._began)

    def sleep(self, seconds: float) -> None:
        """Wait ``seconds`` of real time."""
        time.sleep(seconds)


def serve_from(server: Server, stack: Stack, at: datetime, page: str = "/", *, browser: bool = True) -> None:
    """Serve the console and the API with a clock that runs on from an instant, until Ctrl-C.

    ``browser``: open ``page`` in the browser, if the machine has one.
    """
    since = f"{at:%Y-%m-%d %H:%M}"
    print(f"The console is on {server.url}. Its clock runs on from {since} UTC. Ctrl-C stops it.", flush=True)
    if browser:
        webbrowser.open(server.url + page)
    with clock.using(RunningClock(at)), suppress(KeyboardInterrupt):
        server.serve(stack)
