"""Meters what recording, counting and reporting cost, for the cost of a month; keeps it in units.json.

`python -m benchmarks.cost --measure` writes that file. What depends on time, such as the windows that an account enters
and leaves, is metered over some hours of simulated time, for accounts with few and with many groups an hour.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import log
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks import children
from benchmarks.made_up import Ledger
from benchmarks.metering import Bill, Tables
from benchmarks.recording import batch
from benchmarks.sizes import STORED_BYTES, item_size
from benchmarks.traffic import SEED
from benchmarks.writing import System, system
from quarterhour.ledger.http import MAX_BATCH

FILE: Final = Path(__file__).parent / "units.json"
BATCHES: Final = (1, 10, 100, 500)
"""Events a request."""
PACES: Final[Mapping[float, int]] = {0.25: 5, 1: 2, 4: 1, 16: 1, 64: 1}
"""Groups of an account in an hour, each with the days over which it is metered."""
START: Final = datetime(2026, 11, 4, tzinfo=UTC)
"""Of each metered span: a midnight, and October's cut-off."""
_BEFORE: Final = (datetime(2026, 10, 31, 12, tzinfo=UTC), datetime(2026, 11, 3, 23, 55, tzinfo=UTC))
"""When the account has its first events, so that it leaves windows of each kind in the span."""
_APART: Final = timedelta(seconds=5)
"""The least time between two groups of an account: the default of ``BatchingWindowSeconds``."""
_GROUPS: Final = 20
"""In one window, of which the cost of a group is the mean."""
_QUARTER_HOURS: Final = 4
_FEW_ACCOUNTS: Final = 10
_MANY_ACCOUNTS: Final = 100


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event in requests of some size: write units, stream records a request, bytes that are stored."""

    writes: float
    records: float
    stored: float


@dataclass(frozen=True, slots=True)
class Stage:
    """What a group costs in a function on a stream, within windows that the account has entered before."""

    writes: float
    reads: float
    calls: float


@dataclass(frozen=True, slots=True)
class Pace:
    """What an account costs in an hour beside its groups, as it enters and leaves windows, and the bytes of its past.

    ``groups``: its groups in an hour. ``counters`` and ``snapshots`` are write units, ``stored`` the bytes of counters
    and snapshots that expire, once as many expire as are written.
    """

    groups: float
    counters: float
    snapshots: float
    reads: float
    stored: float


@dataclass(frozen=True, slots=True)
class Reported:
    """The read units of reports: of an event, of an account in a quarter-hour (its proof), of a run."""

    event: float
    account: float
    run: float


@dataclass(frozen=True, slots=True)
class Units:
    """All that is metered; ``customer`` are the write units of an event's customer who is new."""

    recorded: Mapping[int, Recorded]
    counters: Stage
    snapshots: Stage
    paces: tuple[Pace, ...]
    customer: float
    reported: Reported

    def pace(self, groups: float) -> Pace:
        """Return what an account with so many groups an hour costs beside them, between those that were metered.

        Slower than the slowest, the cost is proportional to the groups; faster than the fastest, it is the same, as an
        hour has no more windows.
        """
        slowest, fastest = self.paces[0], self.paces[-1]
        if groups <= slowest.groups:
            return _between(Pace(0, 0, 0, 0, 0), slowest, groups / slowest.groups)
        for low, high in pairwise(self.paces):
            if groups <= high.groups:
                return _between(low, high, log(groups / low.groups) / log(high.groups / low.groups))
        return fastest


def _between(low: Pace, high: Pace, share: float) -> Pace:
    before, after = asdict(low), asdict(high)
    return Pace(**{name: before[name] + share * (after[name] - before[name]) for name in before})


def stored_units() -> Units:
    """Return what was metered last."""
    values = json.loads(FILE.read_text("utf-8"))
    return Units(
        {int(events): Recorded(**one) for events, one in values["recorded"].items()},
        Stage(**values["counters"]),
        Stage(**values["snapshots"]),
        tuple(Pace(**one) for one in values["paces"]),
        values["customer"],
        Reported(**values["reported"]),
    )


def store(units: Units) -> None:
    """Write the file that ``stored_units`` reads."""
    FILE.write_text(json.dumps(asdict(units), indent=2) + "\n", "utf-8")


def measure(paces: Iterable[float] = PACES) -> Units:
    """Meter everything, on the embedded engine and with the made-up AWS; ``paces`` are some of ``PACES``."""
    counters, snapshots = _stages()
    return Units(
        {events: _recorded(events) for events in BATCHES},
        counters,
        snapshots,
        tuple(_pace(groups, counters, snapshots) for groups in paces),
        _customer(),
        _reported(),
    )


def _recorded(events: int) -> Recorded:
    with system() as one:
        some = batch(0)
        bills = [one.record(some[first : first + events]) for first in range(0, MAX_BATCH, events)]
        writes = one.units(sum(bills, Bill()), "IdentityTable", "LedgerTable")
        items = [item for table in ("IdentityTable", "LedgerTable") for item in _items(one, table)]
        records = sum(1 for _ in _items(one, "LedgerTable")) * events / MAX_BATCH
        return Recorded(writes, records, sum(item_size(item) + STORED_BYTES for item in items) / MAX_BATCH)


def _stages() -> tuple[Stage, Stage]:
    """Meter groups of one account that follow each other within all its windows."""
    with system(start=START + timedelta(minutes=1)) as one:
        _group(one, 0)
        bills = [_group(one, number) for number in range(1, _GROUPS + 1)]
        counters, snapshots = (sum((bill[name] for bill in bills), Bill()) for name in ("counters", "snapshots"))
    return _stage(counters), _stage(snapshots)


def _stage(bill: Bill) -> Stage:
    return Stage(bill.write_units / _GROUPS, bill.read_units / _GROUPS, bill.calls.total() / _GROUPS)


def _group(one: System, number: int) -> dict[str, Bill]:
    """Record and deliver one event, and return what the functions on the streams cost."""
    one.record(batch(number, 1)[:1])
    one.clock.advance(_APART)
    return one.deliver_to_each()


def _pace(groups: float, counters: Stage, snapshots: Stage) -> Pace:
    """Meter one account over some days."""
    span = timedelta(days=PACES[groups])
    instants = list(_instants(groups, span))
    middle = START + span / 2
    with system(start=_BEFORE[0]) as one:
        for number, instant in enumerate(_BEFORE):
            one.clock.advance_to(instant)
            _group(one, number)
        before = _expiring(one, middle)
        counting, keeping = Bill(), Bill()
        for number, instant in enumerate(instants, len(_BEFORE)):
            one.clock.advance_to(instant)
            bills = _group(one, number)
            counting += bills["counters"]
            keeping += bills["snapshots"]
        stored = _expiring(one, middle) - before
    metered, hours = len(instants), span / timedelta(hours=1)
    return Pace(
        groups,
        counters=(counting.write_units - metered * counters.writes) / hours,
        snapshots=(keeping.write_units - metered * snapshots.writes) / hours,
        reads=((counting + keeping).read_units - metered * (counters.reads + snapshots.reads)) / hours,
        stored=stored / hours,
    )


def _instants(groups: float, span: timedelta) -> Iterator[datetime]:
    """Yield the instants of an account's groups from ``START`` on."""
    random = Random(SEED)  # noqa: S311 - the same instants in every run
    gap = timedelta(hours=1) / groups - _APART
    instant = START
    while (instant := instant + _APART + gap * random.expovariate(1)) < START + span:
        yield instant


def _expiring(one: System, written: datetime) -> float:
    """Return the bytes of all items that expire, with their index entries, times the hours for which each is kept.

    ``written``: the mean instant at which the items were written, as they do not tell theirs.
    """
    indexes = Tables(one.stack.dynamodb).table(one.stack.ref("EntityTable")).indexes
    total = 0.0
    for item in _items(one, "EntityTable"):
        if "expires_at" in item:
            kept = datetime.fromtimestamp(int(item["expires_at"]["N"]), UTC) - written
            entries = [entry for index in indexes if (entry := index.entry(item))]
            total += sum(item_size(each) + STORED_BYTES for each in (item, *entries)) * (kept / timedelta(hours=1))
    return total


def _items(one: System, table: str) -> Iterator[dict[str, Any]]:
    pages = one.stack.dynamodb.get_paginator("scan").paginate(TableName=one.stack.ref(table))
    return (item for page in pages for item in page["Items"])


def _customer() -> float:
    """Meter events of customers who were never seen, against events without one."""
    with system() as one:
        one.record(batch(0))
        one.deliver()
        one.record(batch(MAX_BATCH))
        without = one.deliver()
        one.record(batch(2 * MAX_BATCH, customers=True))
        return one.units(one.deliver(), "EntityTable") - one.units(without, "EntityTable")


def _reported() -> Reported:
    """Meter runs over the same events of few and of more accounts."""
    few, many = (_run(accounts) for accounts in (_FEW_ACCOUNTS, _MANY_ACCOUNTS))
    events = _QUARTER_HOURS * MAX_BATCH
    pairs = _QUARTER_HOURS * (_MANY_ACCOUNTS - _FEW_ACCOUNTS)
    account = ((many["all"] - many["ledger"]) - (few["all"] - few["ledger"])) * events / pairs
    run = (few["all"] - few["ledger"]) * events - account * _QUARTER_HOURS * _FEW_ACCOUNTS
    return Reported(few["ledger"], account, run)


def _run(accounts: int) -> dict[str, float]:
    ledger = asdict(Ledger(_QUARTER_HOURS, MAX_BATCH, accounts=accounts))
    measured: dict[str, float] = children.run(
        "report", ["-m", "benchmarks.reporting", "units", json.dumps(ledger), str(_QUARTER_HOURS)]
    )
    return measured
