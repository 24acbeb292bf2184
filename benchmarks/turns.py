"""A clock for concurrent work: one thread runs at a time, and time passes while all threads wait."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count


class Turns:
    """Gives the turn to the thread that wakes first, and sets the clock to that instant. Runs are reproducible."""

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._waiting: list[tuple[datetime, int, threading.Event]] = []
        self._number = count()
        self._errors: list[BaseException] = []

    def now(self) -> datetime:
        """Return the instant at which the running thread woke."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Give the turn to other threads for some seconds; outside of ``run`` there are no others."""
        turn = self._line_up(seconds)
        self._next()
        turn.wait()

    def run(self, works: Sequence[Callable[[], None]]) -> None:
        """Do all the work side by side; raises the first error of any, once all has ended."""
        threads = [threading.Thread(target=self._work, args=(work, self._line_up(0))) for work in works]
        for thread in threads:
            thread.start()
        self._next()
        for thread in threads:
            thread.join()
        for error in self._errors:
            raise error

    def _work(self, work: Callable[[], None], turn: threading.Event) -> None:
        turn.wait()
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - ``run`` raises it
            self._errors.append(error)
        finally:
            self._next()

    def _line_up(self, seconds: float) -> threading.Event:
        turn = threading.Event()
        heappush(self._waiting, (self._now + timedelta(seconds=seconds), next(self._number), turn))
        return turn

    def _next(self) -> None:
        if self._waiting:
            self._now, _, turn = heappop(self._waiting)
            turn.set()
