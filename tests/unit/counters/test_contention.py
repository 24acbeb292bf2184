"""A simulation in made-up time: sixteen functions count one account that has 90 % of all events."""

from collections.abc import Iterable, Sequence
from functools import partial
from random import Random
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError

from benchmarks.turns import Turns
from quarterhour.aws.workers import Workers
from quarterhour.counters.plan import CounterChange, CounterWrite
from quarterhour.counters.windows import AccountState
from quarterhour.ledger.postings.segments import postings_of
from quarterhour.model import clock
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


class Slow(CounterTable):
    """A table each call of which takes its time, so that others come in between."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self.turns = turns
        self.conflicts = 0

    def account(self, account: Account) -> AccountState:
        self.turns.sleep(CALL)
        return super().account(account)

    def accounts(self, accounts: Iterable[Account], _workers: Workers) -> dict[Account, AccountState]:
        self.turns.sleep(CALL)
        return {account: super(Slow, self).account(account) for account in accounts}

    def write(self, writes: Sequence[CounterWrite]) -> None:
        self.turns.sleep(CALL)
        self._write(writes)

    def update(self, changes: Sequence[CounterChange], _workers: Workers) -> list[CounterChange]:
        self.turns.sleep(CALL)
        conflicts = []
        for one in changes:
            try:
                self._write([one])
            except ClientError:
                conflicts.append(one)
        return conflicts

    def _write(self, writes: Sequence[CounterWrite]) -> None:
        try:
            super().write(writes)
        except Exception:
            self.conflicts += 1
            raise


@pytest.mark.slow
def test_an_account_with_90_percent_of_all_events_is_counted_exactly_and_keeps_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = Random(11)  # noqa: S311 - the same simulation in every run
    monkeypatch.setattr("quarterhour.aws.retries._JITTER", Random(12))  # noqa: S311
    turns = Turns(AT)
    table = Slow(turns)
    lanes: list[list[tuple[float, dict[str, Any]]]] = [[] for _ in range(SHARDS)]
    for number in range(EVENTS):
        shard, account = random.randrange(SHARDS), HOT if random.random() < 0.9 else f"{random.randrange(50)}#EUR"
        image = posting(account, f"202610230130#{shard:02d}", "1.00", "0.10", number % 3)
        lanes[shard].append((number / EVENTS_A_SECOND, record(number + 1, image)))
    lags: list[float] = []
    redelivered: list[int] = []

    def elapsed() -> float:
        return (turns.now() - AT).total_seconds()

    def function(lane: list[tuple[float, dict[str, Any]]]) -> None:
        counters, at = table.function(), 0
        while at < len(lane):
            turns.sleep(max(0.0, lane[min(at + BATCH, len(lane)) - 1][0] - elapsed()))
            batch = [one for instant, one in lane[at : at + BATCH * 5] if instant <= elapsed()]
            answer = counters.apply(batch)["batchItemFailures"]
            numbers = [one["dynamodb"]["SequenceNumber"] for one in batch]
            done = numbers.index(answer[0]["itemIdentifier"]) if answer else len(batch)
            redelivered.append(len(batch) - done)
            at += done
            lags.append(elapsed() - lane[at - 1][0])

    with clock.using(turns):
        turns.run([partial(function, lane) for lane in lanes])
    images = (one["dynamodb"]["NewImage"] for lane in lanes for _, one in lane)
    sold = sum(values["currency"] == "GBP" for image in images for values in postings_of(image))
    assert table.totals(HOT, "latest").events == table.totals(HOT, "QUARTER#202610230130").events == sold
    assert table.conflicts > SHARDS, "the functions never met"
    half = len(lags) // 2
    assert max(lags[half:]) <= max(lags[:half]) + 1, "it falls behind"
    assert max(lags) < 3
