"""``Client``: stores events in a durable spool, and sends them in the background."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from quarterhour_client.plan import MAX_BATCH
from quarterhour_client.results import Results
from quarterhour_client.spool import MAX_BYTES, MAX_EVENTS, SenderLock, Spool
from quarterhour_client.transport import TIMEOUT, Api
from quarterhour_client.worker import Pace, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import httpx
    from typing_extensions import Self

    from quarterhour_client.events import Event
    from quarterhour_client.spool import Parked
    from quarterhour_client.verdicts import Result

log = logging.getLogger("quarterhour_client")

EXIT_SECONDS = 5.0
"""For what waits when the process ends. What is left stays in the spool."""
_LOOK_SECONDS = 0.5


class Client:
    """Records events exactly once, whenever the process dies.

    ``record`` returns once the events are on the disk. Threads send them. Several processes may have clients of the
    same spool: one of them sends, and another takes over when it ends. All methods can be called from any thread.
    """

    def __init__(  # noqa: PLR0913 - the settings of a client
        self,
        url: str,
        spool: str | os.PathLike[str],
        *,
        auth: httpx.Auth | None = None,
        on_result: Callable[[Result], None] | None = None,
        max_events: int = MAX_EVENTS,
        max_bytes: int = MAX_BYTES,
        batch: int = MAX_BATCH,
        linger: float = 0.2,
        connections: int = 2,
        timeout: float = TIMEOUT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Open the spool, and start to send what it holds.

        ``on_result`` is called in a thread of the client with each result; a result may come twice if the process
        dies. ``max_events`` and ``max_bytes`` bound the spool. A request has up to ``batch`` events, and waits
        ``linger`` seconds for them. Up to ``connections`` requests are under way at a time, each with a ``timeout``
        in seconds. Raises ``SpoolCorruptError`` or another ``SpoolError``.
        """
        if not 1 <= batch <= MAX_BATCH:
            raise ValueError(f"batch is {batch}; expected 1 to {MAX_BATCH}")
        if connections < 1:
            raise ValueError(f"connections is {connections}; expected 1 or more")
        path = Path(spool)
        self._api = Api(url, auth=auth, timeout=timeout, connections=connections, transport=transport)
        self._spool = Spool(path, max_events=max_events, max_bytes=max_bytes)
        self._lock = SenderLock(path)
        self._process = os.getpid()
        self._closed = False
        self._on_result = on_result
        self._subscribed: WeakSet[Results] = WeakSet()
        self._subscribing = threading.Lock()
        pace = Pace(batch, linger, connections)
        self._worker = Worker(self._spool, self._lock, self._api.post_events, self._report, pace)
        atexit.register(self.close)
        self._worker.start()

    def record(self, *events: Event) -> int:
        """Store events on the disk, all or none, and return how many are new to the spool.

        Recording an event again is harmless, whether it was sent or not. Raises ``SpoolFullError``,
        ``SpoolWriteError`` (a full disk) or ``EventConflictError``: then nothing of this call was stored.
        """
        if self._worker.failed:
            raise self._worker.failed
        new = self._spool.add(events)
        self._worker.wake(new)
        return new

    def results(self) -> Results:
        """Return an iterator of results from now on; it ends when nothing waits to be sent, or the client is closed.

        Of a spool that several processes share, each sees the results of what it sends itself.
        """
        results = Results(lambda: self._closed or self._worker.failed is not None or not self._spool.is_waiting())
        with self._subscribing:
            self._subscribed.add(results)
        return results

    def flush(self, timeout: float | None = None) -> int:
        """Send what is recorded by now without delay; return how many of it are left after ``timeout`` seconds.

        0 means that each has a final verdict. ``trouble`` says why events are left.
        """
        end = time.monotonic() + timeout if timeout is not None else None
        if self._worker.failed:
            raise self._worker.failed
        through = self._spool.last()
        self._worker.hurry(+1)
        try:
            while self._spool.is_waiting(through):
                if self._worker.failed:
                    raise self._worker.failed
                seconds = _LOOK_SECONDS if end is None else min(_LOOK_SECONDS, end - time.monotonic())
                if seconds <= 0:
                    return self._spool.left(through)
                self._worker.wait_for_change(seconds)
            return 0
        finally:
            self._worker.hurry(-1)

    def waiting(self) -> int:
        """Return how many events wait to be sent."""
        return self._spool.left()

    @property
    def trouble(self) -> str | None:
        """Why nothing can be sent now; ``None`` if nothing is wrong."""
        return self._worker.trouble

    def parked(self) -> Iterator[Parked]:
        """Yield the events that the server did not take, with the reasons, the oldest first."""
        return self._spool.parked()

    def resend(self, parked: Parked, event: Event | None = None) -> bool:
        """Send a parked event again, or a corrected event in its place; return whether it was still parked.

        Correct a ``rejected`` event under its own id, and give a ``conflict`` a new one.
        """
        found = self._spool.resend(parked, event)
        self._worker.wake(1)
        return found

    def discard(self, parked: Parked) -> bool:
        """Remove a parked event for ever; return whether it was still parked."""
        return self._spool.discard(parked)

    def close(self, timeout: float = EXIT_SECONDS) -> int:
        """Flush for up to ``timeout`` seconds, then stop; return how many events are left. They stay in the spool.

        The exit of the process does the same.
        """
        if self._closed or self._process != os.getpid():
            return 0
        left = 0
        try:
            left = self.flush(timeout)
        finally:
            self._closed = True
            atexit.unregister(self.close)
            self._worker.stop(1.0)
            self._api.close()
            self._lock.release()
            self._spool.close()
        if left:
            log.warning("%s: %d events are left; the next client of this spool sends them", self._spool.path, left)
        return left

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _report(self, results: Sequence[Result]) -> None:
        with self._subscribing:
            subscribers = list(self._subscribed)
        for subscribed in subscribers:
            subscribed.put(results)
        if self._on_result:
            for result in results:
                try:
                    self._on_result(result)
                except Exception:  # noqa: PERF203 - the other results are reported
                    log.exception("on_result failed for the event %s of %s", result.id, result.source)
