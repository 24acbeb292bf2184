"""Simulates a stream of events: how requests become stream batches, and which accounts each batch has. Pure.

An *account batch* is all events of one account in one stream batch. The counters write once for it. Requests arrive at
random instants, at the same rate all day. Each event of a request belongs to a random account, by the accounts' shares.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from random import Random
from typing import Final

from benchmarks.assumptions import BATCH_RECORDS, CALLS_AT_A_TIME
from quarterhour.aws.tables import BATCH_WRITE

DAYS_A_MONTH: Final = 30
"""Days of the month whose cost is estimated."""
HOURS_A_MONTH: Final = DAYS_A_MONTH * 24
ENTITY_STREAM_SHARDS: Final = 4
"""Shards of the Entity table's stream, each of which is delivered by itself: those of a new on-demand table."""
SEED: Final = 24
"""The seed of the random numbers, so that each run simulates the same stream."""
_HOUR: Final = 3600
_SIMULATED_EVENTS: Final = 40_000
_SIMULATED_HOURS: Final = 48


@dataclass(frozen=True, slots=True)
class Traffic:
    """Events of a month, and how they arrive.

    ``skew``: the exponent of Zipf's law, by which the accounts share the events; with 0, all have equal shares.
    ``batching_window``: seconds for which a stream collects records. ``records_a_request``: stream records of a
    request.
    """

    events: int = 5_000_000
    accounts: int = 300
    skew: float = 0.0
    events_a_request: int = 1
    batching_window: int = 5
    records_a_request: int = 1

    def shares(self) -> list[float]:
        """Return the accounts' shares of the events, the largest first."""
        weights = [1 / rank**self.skew for rank in range(1, self.accounts + 1)]
        return [weight / sum(weights) for weight in weights]


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """A stream batch: the second of its delivery, its events, its accounts, their pairs with quarter-hours."""

    second: float
    events: int
    accounts: set[int]
    quarter_hours: set[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class StreamLoad:
    """What the streams deliver in the hours in which so many events arrive on average.

    ``counter_batches``, ``snapshot_batches``: invocations of the functions. ``counter_waits``, ``snapshot_waits``: how
    often they wait for calls, of which they make ``CALLS_AT_A_TIME`` together. A call of the counters writes up to
    ``BATCH_WRITE`` accounts, a call of the snapshots one. ``account_batches``: the number of each account.
    ``quarter_hours``: pairs of an account and a quarter-hour in which it has events.
    """

    hours: float
    events: int
    counter_batches: int
    counter_waits: int
    snapshot_batches: int
    snapshot_waits: int
    account_batches: Sequence[int]
    quarter_hours: int

    def scaled_to_month(self, number: float) -> float:
        """Return how many a month has of what these hours have so many of."""
        return number * HOURS_A_MONTH / self.hours


@cache
def simulate(traffic: Traffic, seed: int = SEED) -> StreamLoad:
    """Simulate some hours of a month: as many as hold ``_SIMULATED_EVENTS`` events, in whole quarter-hours."""
    an_hour = traffic.events / HOURS_A_MONTH
    hours = min(_SIMULATED_HOURS, max(1, round(4 * _SIMULATED_EVENTS / an_hour)) / 4)
    random = Random(seed)  # noqa: S311 - the same stream in every run
    batches = list(stream(traffic, hours, random))
    account_batches: Counter[int] = Counter()
    quarter_hours: set[tuple[int, int]] = set()
    for batch in batches:
        account_batches.update(batch.accounts)
        quarter_hours |= batch.quarter_hours
    changed = list(_changed_accounts(batches, traffic.batching_window))
    events = sum(batch.events for batch in batches)
    return StreamLoad(
        hours=events / an_hour,
        events=events,
        counter_batches=len(batches),
        counter_waits=sum(call_waits(len(batch.accounts), BATCH_WRITE) for batch in batches),
        snapshot_batches=len(changed),
        snapshot_waits=sum(call_waits(accounts, 1) for accounts in changed),
        account_batches=[account_batches[account] for account in range(traffic.accounts)],
        quarter_hours=len(quarter_hours),
    )


def call_waits(accounts: int, accounts_a_call: int) -> int:
    """Return how often an invocation waits for calls, some of which it makes together."""
    calls = -(-accounts // accounts_a_call)
    return -(-calls // CALLS_AT_A_TIME)


def stream(traffic: Traffic, hours: float, random: Random) -> Iterator[StreamBatch]:
    """Yield the stream batches: a batching window opens with its first record, and ends early if the batch is full."""
    shares = list(accumulate(traffic.shares()))
    everyone = range(traffic.accounts)
    gap = traffic.events_a_request * HOURS_A_MONTH * _HOUR / traffic.events
    second, ends, records, events = 0.0, 0.0, 0, 0
    accounts: set[int] = set()
    quarter_hours: set[tuple[int, int]] = set()
    while (second := second + random.expovariate(1 / gap)) < hours * _HOUR:
        if records and (second >= ends or records + traffic.records_a_request > BATCH_RECORDS):
            yield StreamBatch(min(ends, second), events, accounts, quarter_hours)
            records, events, accounts, quarter_hours = 0, 0, set(), set()
        if not records:
            ends = second + traffic.batching_window
        chosen = set(random.choices(everyone, cum_weights=shares, k=traffic.events_a_request))
        records += traffic.records_a_request
        events += traffic.events_a_request
        accounts |= chosen
        quarter_hours |= {(account, int(second // 900)) for account in chosen}
    if records:
        yield StreamBatch(ends, events, accounts, quarter_hours)


def _changed_accounts(batches: Sequence[StreamBatch], batching_window: int) -> Iterator[int]:
    """Yield the accounts in each batch of the Entity table's stream, which gets a record of each counted account."""
    for shard in range(ENTITY_STREAM_SHARDS):
        ends, changed = 0.0, 0
        for batch in batches:
            accounts = sum(1 for account in batch.accounts if account % ENTITY_STREAM_SHARDS == shard)
            if changed and (batch.second >= ends or changed + accounts > BATCH_RECORDS):
                yield changed
                changed = 0
            if accounts and not changed:
                ends = batch.second + batching_window
            changed += accounts
        if changed:
            yield changed
