"""The process dies before or after any step: nothing is lost, and the ledger has nothing twice.

A step is a statement of SQLite, a request, or the report of results. A death is an error that no code catches; the
connections are closed without a commit then, as the system does it after ``kill -9``.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from clients.python.tests.support import URL, made

from quarterhour_client import Verdict, spool
from quarterhour_client.spool import SenderLock, Spool
from quarterhour_client.testing import FakeQuarterhour
from quarterhour_client.transport import Api
from quarterhour_client.worker import Pace, Worker

if TYPE_CHECKING:
    from quarterhour_client import Result

EVENTS = [made(number) for number in range(5)]
REJECTED = ("shop", "order-3:1")


class DeadError(BaseException):
    """The process has died here."""


class Steps:
    """Counts steps, and dies at one of them."""

    def __init__(self, death: int | None) -> None:
        self._death = death
        self.names: list[str] = []

    def step(self, name: str) -> None:
        if len(self.names) == self._death:
            raise DeadError(name)
        self.names.append(name)


class Ledger(FakeQuarterhour):
    """A server that records, and counts, each event that it takes as new."""

    def __init__(self) -> None:
        super().__init__()
        self.verdicts: Counter[tuple[str, str]] = Counter()

    def _verdict(self, one: dict[str, Any], sales: set[tuple[str, str]]) -> dict[str, Any]:
        if (one["source"], one["id"]) == REJECTED:
            return {"verdict": "rejected", "errors": []}
        found = super()._verdict(one, sales)
        self.verdicts[one["source"], one["id"]] += found["verdict"] == "recorded"
        return found


class Machine:
    """What outlives a process: the disk and the server. Each process of it dies at most once."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.server = Ledger()
        self.reported: list[Result] = []
        self.acknowledged: set[str] = set()
        self._monkeypatch = monkeypatch

    def run(self, death: int | None, batches: Iterable[list[Any]]) -> list[str]:
        """Record batches of events and send all, in a process that dies at a step; return the steps."""
        steps = Steps(death)
        opened: list[sqlite3.Connection] = []

        class Connection(sqlite3.Connection):
            def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
                steps.step(f"before {statement[:20].strip()}")
                # The machine goes on, so nothing needs the disk: that saves most of the time.
                cursor = super().execute(statement.replace("= FULL", "= OFF").replace("= NORMAL", "= OFF"), *values)
                steps.step(f"after {statement[:20].strip()}")
                return cursor

            def executemany(self, statement: str, *values: Any) -> sqlite3.Cursor:
                steps.step(f"before {statement[:20].strip()}")
                cursor = super().executemany(statement, *values)
                steps.step(f"after {statement[:20].strip()}")
                return cursor

        def connect(path: str) -> sqlite3.Connection:
            opened.append(sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Connection))
            return opened[-1]

        def report(results: Any) -> None:
            steps.step("before report")
            self.reported.extend(results)
            steps.step("after report")

        api = Api(URL, transport=self.server)

        def post(events: Any) -> Any:
            steps.step("before request")
            answer = api.post_events(events)
            steps.step("after request")
            return answer

        self._monkeypatch.setattr(spool, "connect", connect)
        lock = SenderLock(self.path)
        try:
            self._work(batches, lambda file: Worker(file, lock, post, report, Pace(2, 0, 1)))
        except DeadError:
            pass
        finally:
            for one in opened:
                sqlite3.Connection.close(one)
            lock.release()
        return list(steps.names)

    def _work(self, batches: Iterable[list[Any]], worker_of: Callable[[Spool], Worker]) -> None:
        file = Spool(self.path)
        worker = worker_of(file)
        for events in batches:
            file.add(events)
            self.acknowledged |= {one.id for one in events}
        while file.left():
            worker.step()


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Machine]:
    numbers = iter(range(10_000))
    return lambda: Machine(tmp_path / f"{next(numbers)}.spool", monkeypatch)


BATCHES = [EVENTS[:1], EVENTS[1:4], EVENTS[4:]]


def holds(machine: Machine) -> None:
    """Check the machine after a process that ran to its end."""
    assert set(machine.server.recorded) == {(one.source, one.id) for one in EVENTS} - {REJECTED}
    assert set(machine.server.verdicts.values()) == {1}
    assert {one.id for one in machine.reported} == {one.id for one in EVENTS}
    file = Spool(machine.path)
    assert [(one.id, one.verdict) for one in file.parked()] == [(REJECTED[1], Verdict.REJECTED)]
    assert file.left() == 0
    file.close()


@pytest.mark.slow
def test_a_death_at_any_step_loses_and_doubles_nothing(machines: Callable[[], Machine]) -> None:
    whole = machines()
    steps = whole.run(None, BATCHES)
    holds(whole)
    named = {"before request", "after request", "before report", "after COMMIT", "before DELETE FROM events W"}
    assert named <= set(steps)
    for death in range(len(steps)):
        machine = machines()
        assert len(machine.run(death, BATCHES)) == death
        # Nothing that was acknowledged is lost: it is in the ledger, or in the spool. The job then runs again.
        machine.run(None, [])
        stored = {id_ for _, id_ in machine.server.recorded} | {REJECTED[1]}
        assert machine.acknowledged <= stored, steps[death]
        machine.run(None, BATCHES)
        holds(machine)


@pytest.mark.slow
def test_a_second_death_while_the_job_runs_again_loses_and_doubles_nothing(machines: Callable[[], Machine]) -> None:
    steps = machines().run(None, BATCHES)
    for first in range(0, len(steps), 7):
        for second in range(0, len(steps), 11):
            machine = machines()
            machine.run(first, BATCHES)
            machine.run(second, BATCHES)
            machine.run(None, BATCHES)
            holds(machine)
