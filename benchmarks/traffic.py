"""A simulated stream of events, pure: how requests of some accounts become stream batches, and the groups in these.

A group holds the events of one account in one stream batch: what the counters write once for. Requests arrive at
random, evenly over the day; each of their events belongs to an account at random, by its share.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final

from benchmarks.assumptions import BATCH_RECORDS, CALLS_AT_A_TIME

DAYS_A_MONTH: Final = 30
HOURS_A_MONTH: Final = DAYS_A_MONTH * 24
ENTITY_STREAM_SHARDS: Final = 4
"""Shards of the Entity table's stream, each of which is delivered by itself: those of a new on-demand table."""
SEED: Final = 24
_HOUR: Final = 3600
_SIMULATED_EVENTS: Final = 40_000
_SIMULATED_HOURS: Final = 48


@dataclass(frozen=True, slots=True)
class Traffic:
    """The load of a month.

    ``skew``: the exponent of Zipf's law, by which the accounts share the events; 0 is evenly. ``batch``: events a
    request. ``window``: seconds for which a stream collects records. ``records``: stream records of a request.
    """

    events: int = 5_000_000
    accounts: int = 300
    skew: float = 0.0
    batch: int = 1
    window: int = 5
    records: int = 1

    def shares(self) -> list[float]:
        """Return the accounts' shares of the events, the largest first."""
        weights = [1 / rank**self.skew for rank in range(1, self.accounts + 1)]
        return [weight / sum(weights) for weight in weights]


@dataclass(frozen=True, slots=True)
class Batch:
    """A stream batch: the second of its delivery, its events, its accounts, their pairs with quarter-hours."""

    second: float
    events: int
    accounts: set[int]
    quarter_hours: set[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Load:
    """What the stream delivers in the hours in which so many events arrive on average.

    ``batches``: invocations of the counters. ``rounds``: the turns in which they handle their groups,
    ``CALLS_AT_A_TIME`` at a time. ``changes``: invocations of the snapshots. ``groups``: groups by account.
    ``quarter_hours``: pairs of an account and a quarter-hour in which it has events.
    """

    hours: float
    events: int
    batches: int
    rounds: int
    changes: int
    change_rounds: int
    groups: Sequence[int]
    quarter_hours: int

    def a_month(self, number: float) -> float:
        """Return what a number of these hours is in a month."""
        return number * HOURS_A_MONTH / self.hours


def simulate(traffic: Traffic, seed: int = SEED) -> Load:
    """Simulate some hours of a month: as many as hold ``_SIMULATED_EVENTS`` events, in whole quarter-hours."""
    an_hour = traffic.events / HOURS_A_MONTH
    hours = min(_SIMULATED_HOURS, max(1, round(4 * _SIMULATED_EVENTS / an_hour)) / 4)
    random = Random(seed)  # noqa: S311 - the same stream in every run
    batches = list(stream(traffic, hours, random))
    groups: Counter[int] = Counter()
    quarter_hours: set[tuple[int, int]] = set()
    for batch in batches:
        groups.update(batch.accounts)
        quarter_hours |= batch.quarter_hours
    changes = list(_changes(batches, traffic.window))
    events = sum(batch.events for batch in batches)
    return Load(
        hours=events / an_hour,
        events=events,
        batches=len(batches),
        rounds=sum(-(-len(batch.accounts) // CALLS_AT_A_TIME) for batch in batches),
        changes=len(changes),
        change_rounds=sum(-(-accounts // CALLS_AT_A_TIME) for accounts in changes),
        groups=[groups[account] for account in range(traffic.accounts)],
        quarter_hours=len(quarter_hours),
    )


def stream(traffic: Traffic, hours: float, random: Random) -> Iterator[Batch]:
    """Yield the batches: a window opens with its first record, and ends early once the batch is full."""
    shares = list(accumulate(traffic.shares()))
    everyone = range(traffic.accounts)
    gap = traffic.batch * HOURS_A_MONTH * _HOUR / traffic.events
    second, ends, records, events = 0.0, 0.0, 0, 0
    accounts: set[int] = set()
    quarter_hours: set[tuple[int, int]] = set()
    while (second := second + random.expovariate(1 / gap)) < hours * _HOUR:
        if records and (second >= ends or records + traffic.records > BATCH_RECORDS):
            yield Batch(min(ends, second), events, accounts, quarter_hours)
            records, events, accounts, quarter_hours = 0, 0, set(), set()
        if not records:
            ends = second + traffic.window
        chosen = set(random.choices(everyone, cum_weights=shares, k=traffic.batch))
        records += traffic.records
        events += traffic.batch
        accounts |= chosen
        quarter_hours |= {(account, int(second // 900)) for account in chosen}
    if records:
        yield Batch(ends, events, accounts, quarter_hours)


def _changes(batches: Sequence[Batch], window: int) -> Iterator[int]:
    """Yield the number of accounts in each batch of the Entity table's stream, which changes as the counters do."""
    for shard in range(ENTITY_STREAM_SHARDS):
        ends, changed = 0.0, 0
        for batch in batches:
            accounts = sum(1 for account in batch.accounts if account % ENTITY_STREAM_SHARDS == shard)
            if changed and (batch.second >= ends or changed + accounts > BATCH_RECORDS):
                yield changed
                changed = 0
            if accounts and not changed:
                ends = batch.second + window
            changed += accounts
        if changed:
            yield changed
