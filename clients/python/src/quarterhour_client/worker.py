"""The worker: threads that send what waits in the spool, in batches, until the client is closed."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quarterhour_client.delivery import Delivery
from quarterhour_client.errors import ClosedError, SpoolCorruptError
from quarterhour_client.plan import MAX_BATCH, pause

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from quarterhour_client.plan import Answer, Waiting
    from quarterhour_client.spool import SenderLock, Spool
    from quarterhour_client.verdicts import Result

log = logging.getLogger("quarterhour_client")

_POLL_SECONDS = 1.0
"""Between two looks for events of other processes, and for the lock of a process that has ended."""
_THREADS = 2
"""Threads for each connection: one works on the spool while another waits for an answer."""


@dataclass(frozen=True)
class Pace:
    """How events are batched: up to ``batch`` in a request, ``linger`` seconds after the first of them is seen."""

    batch: int = MAX_BATCH
    linger: float = 0.2
    connections: int = 2


class Worker:
    """Sends the events of a spool, and loses none whichever step is the last before the process dies.

    It takes a batch, posts it, reports the results, then removes or parks the events. Events that were posted and not
    removed are posted again, and are duplicates then.
    """

    def __init__(
        self,
        spool: Spool,
        lock: SenderLock,
        post: Callable[[Sequence[Waiting]], Answer],
        report: Callable[[Sequence[Result]], None],
        pace: Pace,
    ) -> None:
        """Take what posts events, and what is called with the results of a batch before its events are removed."""
        self._spool = spool
        self._lock = lock
        self._report = report
        self._pace = pace
        self._slots = threading.BoundedSemaphore(pace.connections)
        self._post = post
        self._delivery = Delivery(self._posted, self._wait)
        self._taking = threading.Lock()
        self._changed = threading.Condition()
        self._stopped = False
        self._fresh = 0  # events recorded since the last look
        self._hurries = 0  # callers of flush
        self._cursor = 0  # the number of the last event that was taken
        self._trouble: str | None = None
        self.failed: SpoolCorruptError | None = None
        self._threads = [
            threading.Thread(target=self.run, name=f"quarterhour-{number}", daemon=True)
            for number in range(_THREADS * pace.connections)
        ]

    @property
    def trouble(self) -> str | None:
        """Why nothing can be sent now; ``None`` if nothing is wrong."""
        found = self._delivery.trouble
        return str(self.failed) if self.failed else self._trouble or (found.reason if found else None)

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float) -> None:
        """Begin no further request; wait for those under way, up to ``timeout`` seconds each."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout)

    def wake(self, events: int) -> None:
        """Look for events soon."""
        with self._changed:
            self._fresh += events
            self._changed.notify_all()

    def hurry(self, by: int) -> None:
        """Send what waits without lingering, while more calls have added 1 than -1."""
        with self._changed:
            self._hurries += by
            self._fresh += 1
            self._changed.notify_all()

    def wait_for_change(self, seconds: float) -> None:
        """Wait until something was sent or recorded, or the time is over."""
        with self._changed:
            if not self._stopped:
                self._changed.wait(seconds)

    def run(self) -> None:
        """Send until ``stop`` is called, or the spool turns out to be damaged."""
        failures = 0
        while not self._stopped:
            try:
                self.step()
                failures, self._trouble = 0, None
            except ClosedError:  # noqa: PERF203 - a failure ends no thread
                return
            except SpoolCorruptError as error:
                self._fail(error)
            except Exception as error:
                failures += 1
                self._trouble = f"{type(error).__name__}: {error}"
                if failures == 1:
                    log.exception("the spool cannot be worked on; trying again")
                self._wait(pause(failures, 0.1, 0.5))

    def step(self) -> None:
        """Take the next batch, if there is one, and deliver it; raise what the spool raises."""
        batch = self._next()
        if not batch:
            return
        try:
            for pairs in self._delivery.deliver(batch):
                self._report([result for _, result in pairs])
                self._spool.finish(
                    [one for one, result in pairs if result.verdict.is_stored],
                    [(one, result) for one, result in pairs if result.verdict.is_parked],
                )
                with self._changed:
                    self._changed.notify_all()
        except BaseException:
            # Take it again: what the server has is a duplicate then.
            with self._taking:
                self._cursor = min(self._cursor, batch[0].seq - 1)
            raise

    def _posted(self, events: Sequence[Waiting]) -> Answer:
        with self._slots:
            return self._post(events)

    def _next(self) -> list[Waiting]:
        """Return the next batch; nothing if there is none yet, or another process sends."""
        with self._taking:
            if not self._lock.acquire():
                self._idle(lambda: False)
                return []
            batch = self._take()
            if not batch:
                self._idle(lambda: self._fresh > 0)
                batch = self._take()
            if len(batch) < self._pace.batch and batch and not self._hurries and not self._stopped:
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._stopped or self._hurries or self._fresh >= self._pace.batch - len(batch),
                        self._pace.linger,
                    )
                batch = self._take()
            if self._stopped or not batch:
                return []
            self._cursor = batch[-1].seq
            return batch

    def _take(self) -> list[Waiting]:
        with self._changed:
            self._fresh = 0
        return self._spool.take(self._cursor, self._pace.batch)

    def _idle(self, ended: Callable[[], bool]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or ended(), _POLL_SECONDS)

    def _wait(self, seconds: float) -> bool:
        """Wait; return whether to go on."""
        with self._changed:
            return not self._changed.wait_for(lambda: self._stopped, seconds)

    def _fail(self, error: SpoolCorruptError) -> None:
        log.error("%s", error)
        with self._changed:
            self.failed = error
            self._stopped = True
            self._changed.notify_all()
