"""A simulation in made-up time: sixteen functions count one account that has 90 % of all events."""

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from random import Random
from threading import Condition, Thread
from typing import Any, Final

import pytest

from quarterhour.counters.plan import CounterWrite
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour.model.identifiers import Account
from tests.support.builders import AT, record
from tests.support.counter_table import CounterTable
from tests.unit.counters.test_plan import posting

SHARDS: Final = 16
EVENTS: Final = 6_400
EVENTS_A_SECOND: Final = 1_600
BATCH: Final = 20
"""Small batches, so that the functions meet often."""
CALL: Final = 0.006
"""Seconds of a call to the table."""
HOT: Final = "42#GBP"


class Turns:
    """Made-up time for threads: one runs at a time, the one that waits for the earliest instant."""

    def __init__(self) -> None:
        self.now = 0.0
        self._waiting: list[tuple[float, int]] = []
        self._numbers = count()
        self._condition = Condition()
        self._running = 0
        self._current = (0.0, -1)

    def start(self, threads: Sequence[Thread]) -> None:
        self._running = len(threads)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def wait(self, seconds: float) -> None:
        with self._condition:
            mine = (self.now + seconds, next(self._numbers))
            heappush(self._waiting, mine)
            self._running -= 1
            self._next()
            self._condition.wait_for(lambda: self._current == mine)

    def end(self) -> None:
        with self._condition:
            self._running -= 1
            self._next()

    def _next(self) -> None:
        if self._running == 0 and self._waiting:
            self._current = heappop(self._waiting)
            self.now, self._running = self._current[0], 1
            self._condition.notify_all()


class Slow(CounterTable):
    """A table each call of which takes its time, so that others come in between."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self.turns = turns
        self.conflicts = 0

    def account(self, account: Account) -> Any:
        self.turns.wait(CALL)
        return super().account(account)

    def write(self, writes: Sequence[CounterWrite]) -> None:
        self.turns.wait(CALL)
        try:
            super().write(writes)
        except Exception:
            self.conflicts += 1
            raise


class Waiting(ManualClock):
    """A clock whose pauses take turns."""

    def __init__(self, turns: Turns) -> None:
        super().__init__(AT)
        self._turns = turns

    def sleep(self, seconds: float) -> None:
        self._turns.wait(seconds)


@pytest.mark.slow
def test_an_account_with_90_percent_of_all_events_is_counted_exactly_and_keeps_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = Random(11)  # noqa: S311 - the same simulation in every run
    monkeypatch.setattr("quarterhour.aws.retries._JITTER", Random(12))  # noqa: S311
    turns = Turns()
    table = Slow(turns)
    lanes: list[list[tuple[float, dict[str, Any]]]] = [[] for _ in range(SHARDS)]
    for number in range(EVENTS):
        shard, account = random.randrange(SHARDS), HOT if random.random() < 0.9 else f"{random.randrange(50)}#EUR"
        image = posting(account, f"202610230130#{shard:02d}", "1.00", "0.10", number % 3)
        lanes[shard].append((number / EVENTS_A_SECOND, record(number + 1, image)))
    lags: list[float] = []
    redelivered: list[int] = []

    def function(lane: list[tuple[float, dict[str, Any]]]) -> None:
        counters, at = table.function(), 0
        while at < len(lane):
            turns.wait(max(0.0, lane[min(at + BATCH, len(lane)) - 1][0] - turns.now))
            batch = [one for instant, one in lane[at : at + BATCH * 5] if instant <= turns.now]
            answer = counters.apply(batch)["batchItemFailures"]
            numbers = [one["dynamodb"]["SequenceNumber"] for one in batch]
            done = numbers.index(answer[0]["itemIdentifier"]) if answer else len(batch)
            redelivered.append(len(batch) - done)
            at += done
            lags.append(turns.now - lane[at - 1][0])
        turns.end()

    with clock.using(Waiting(turns)):
        turns.start([Thread(target=function, args=(lane,)) for lane in lanes])
    sold = sum(one["dynamodb"]["NewImage"]["currency"]["S"] == "GBP" for lane in lanes for _, one in lane)
    assert table.totals(HOT, "latest").events == table.totals(HOT, "QUARTER#202610230130").events == sold
    assert table.conflicts > SHARDS, "the functions never met"
    half = len(lags) // 2
    assert max(lags[half:]) <= max(lags[:half]) + 1, "it falls behind"
    assert max(lags) < 3
