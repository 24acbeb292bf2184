"""Meters the units of recording, counting and reporting, from which the cost of a month is computed.

`python -m benchmarks.cost --measure` writes them to units.json. The units of the windows that an account enters and
leaves depend on time. They are metered over days of simulated time, for accounts with few and with many account batches
an hour. An *account batch* is all events of one account in one stream batch.
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
from benchmarks.traffic import SEED
from benchmarks.writing import System, system
from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour.ledger.postings.segments import archived_item, count_of
from quarterhour_tools.emulator.dynamodb.sizes import STORED_BYTES, item_size, item_write_units

FILE: Final = Path(__file__).parent / "units.json"
EVENTS_A_REQUEST: Final = (1, 10, 100, 500)
"""The sizes of the requests whose recording is metered."""
DAYS_METERED: Final[Mapping[float, int]] = {0.25: 5, 1: 2, 4: 1, 16: 1, 64: 1}
"""The days over which an account's windows are metered, by its account batches an hour."""
START: Final = datetime(2026, 11, 4, tzinfo=UTC)
"""The start of each metered span: midnight UTC, when October is cut off."""
_BEFORE: Final = (datetime(2026, 10, 31, 12, tzinfo=UTC), datetime(2026, 11, 3, 23, 55, tzinfo=UTC))
"""The instants of the account's first events, so that it leaves windows of each kind in the span."""
_APART: Final = timedelta(seconds=5)
"""The least time between two account batches of an account: the streams' batching window."""
_IN_ONE_WINDOW: Final = 20
"""The account batches in one window, whose mean is the units of an account batch."""
_QUARTER_HOURS: Final = 4
"""The quarter-hours of a metered report."""
_FEW_ACCOUNTS: Final = 10
_MANY_ACCOUNTS: Final = 100
"""The accounts of two reports of as many events: the difference is for their proofs."""


@dataclass(frozen=True, slots=True)
class RecordingUnits:
    """What recording takes in requests of one size.

    ``writes``: write units of an event. ``records``: stream records of a request. ``stored_bytes``: bytes that an event
    takes in the tables. ``archived_bytes``: those that it takes once it is archived. ``archive_writes``: write units of
    an event for that.
    """

    writes: float
    records: float
    stored_bytes: float
    archived_bytes: float
    archive_writes: float


@dataclass(frozen=True, slots=True)
class AccountBatchUnits:
    """What a function on a stream uses for an account batch, within windows that the account has entered before.

    ``writes`` and ``reads`` are units of DynamoDB. ``calls`` are those of a stream batch with one account.
    """

    writes: float
    reads: float
    calls: float


@dataclass(frozen=True, slots=True)
class WindowUnits:
    """What the windows that an account enters and leaves use in an hour, besides its account batches.

    ``account_batches``: those of the account in an hour. ``counters`` and ``snapshots``: write units. ``reads``: read
    units. ``stored_bytes``: bytes of its counters and snapshots that expire, once as many expire as are written.
    """

    account_batches: float
    counters: float
    snapshots: float
    reads: float
    stored_bytes: float


@dataclass(frozen=True, slots=True)
class ReportUnits:
    """The read units of reports: for an event, for an account in a quarter-hour (its proof), for a run."""

    event: float
    account: float
    run: float


@dataclass(frozen=True, slots=True)
class Units:
    """All that is metered.

    ``recording``: by the events a request. ``windows``: from few account batches an hour to many. ``customer``: write
    units for an event's customer who is new. ``logged``: bytes in the log of an invocation, by function.
    """

    recording: Mapping[int, RecordingUnits]
    counters: AccountBatchUnits
    snapshots: AccountBatchUnits
    windows: tuple[WindowUnits, ...]
    customer: float
    report: ReportUnits
    logged: Mapping[str, int]

    def window_units(self, account_batches: float) -> WindowUnits:
        """Return the units of an account's windows in an hour, interpolated, by its account batches an hour.

        Below the fewest that were metered, the units are proportional to the account batches. Above the most, they are
        those of the most, as an hour has no more windows.
        """
        fewest, most = self.windows[0], self.windows[-1]
        if account_batches <= fewest.account_batches:
            return _between(WindowUnits(0, 0, 0, 0, 0), fewest, account_batches / fewest.account_batches)
        for low, high in pairwise(self.windows):
            if account_batches <= high.account_batches:
                share = log(account_batches / low.account_batches) / log(high.account_batches / low.account_batches)
                return _between(low, high, share)
        return most


def _between(low: WindowUnits, high: WindowUnits, share: float) -> WindowUnits:
    before, after = asdict(low), asdict(high)
    return WindowUnits(**{name: before[name] + share * (after[name] - before[name]) for name in before})


def load_units() -> Units:
    """Return the units in the file, which were metered last."""
    values = json.loads(FILE.read_text("utf-8"))
    return Units(
        {int(events): RecordingUnits(**one) for events, one in values["recording"].items()},
        AccountBatchUnits(**values["counters"]),
        AccountBatchUnits(**values["snapshots"]),
        tuple(WindowUnits(**one) for one in values["windows"]),
        values["customer"],
        ReportUnits(**values["report"]),
        values["logged"],
    )


def save_units(units: Units) -> None:
    """Write the file that ``load_units`` reads."""
    FILE.write_text(json.dumps(asdict(units), indent=2) + "\n", "utf-8")


def measure(account_batches_an_hour: Iterable[float] = DAYS_METERED) -> Units:
    """Meter everything, on the embedded engine and with the made-up AWS.

    ``account_batches_an_hour``: those of the accounts whose windows are metered, some of ``DAYS_METERED``.
    """
    counters, snapshots = _account_batch_units()
    return Units(
        {events: _recording_units(events) for events in EVENTS_A_REQUEST},
        counters,
        snapshots,
        tuple(_window_units(an_hour, counters, snapshots) for an_hour in account_batches_an_hour),
        _customer(),
        _report_units(),
        children.run("ingest", ["-m", "benchmarks.logs"]),
    )


def _recording_units(events: int) -> RecordingUnits:
    with system() as one:
        some = batch(0)
        bills = [one.record(some[first : first + events]) for first in range(0, MAX_BATCH, events)]
        writes = one.units(sum(bills, Bill()), "IdentityTable", "LedgerTable")
        claims, ledger = (list(_items(one, table)) for table in ("IdentityTable", "LedgerTable"))
        archived = [archived_item(item, count_of(item), None) for item in ledger]
        return RecordingUnits(
            writes,
            len(ledger) * events / MAX_BATCH,
            _stored_bytes(claims + ledger) / MAX_BATCH,
            _stored_bytes(claims + archived) / MAX_BATCH,
            sum(item_write_units(*pair, ()) for pair in zip(ledger, archived, strict=True)) / MAX_BATCH,
        )


def _stored_bytes(items: Iterable[dict[str, Any]]) -> int:
    return sum(item_size(item) + STORED_BYTES for item in items)


def _account_batch_units() -> tuple[AccountBatchUnits, AccountBatchUnits]:
    """Meter account batches of one account that follow each other within all its windows."""
    with system(start=START + timedelta(minutes=1)) as one:
        _account_batch(one, 0)
        bills = [_account_batch(one, number) for number in range(1, _IN_ONE_WINDOW + 1)]
        counters, snapshots = (sum((bill[name] for bill in bills), Bill()) for name in ("counters", "snapshots"))
    return _mean(counters), _mean(snapshots)


def _mean(bill: Bill) -> AccountBatchUnits:
    units = (bill.write_units, bill.read_units, bill.calls.total())
    return AccountBatchUnits(*(number / _IN_ONE_WINDOW for number in units))


def _account_batch(one: System, number: int) -> dict[str, Bill]:
    """Record and deliver one event, which is an account batch; return the bills of the functions on the streams."""
    one.record(batch(number, 1)[:1])
    one.clock.advance(_APART)
    return one.deliver_to_each()


def _window_units(an_hour: float, counters: AccountBatchUnits, snapshots: AccountBatchUnits) -> WindowUnits:
    """Meter one account with so many account batches an hour, over some days."""
    span = timedelta(days=DAYS_METERED[an_hour])
    instants = list(_instants(an_hour, span))
    middle = START + span / 2
    with system(start=_BEFORE[0]) as one:
        for number, instant in enumerate(_BEFORE):
            one.clock.advance_to(instant)
            _account_batch(one, number)
        before = _byte_hours(one, middle)
        counting, keeping = Bill(), Bill()
        for number, instant in enumerate(instants, len(_BEFORE)):
            one.clock.advance_to(instant)
            bills = _account_batch(one, number)
            counting += bills["counters"]
            keeping += bills["snapshots"]
        byte_hours = _byte_hours(one, middle) - before
    metered, hours = len(instants), span / timedelta(hours=1)
    return WindowUnits(
        an_hour,
        counters=(counting.write_units - metered * counters.writes) / hours,
        snapshots=(keeping.write_units - metered * snapshots.writes) / hours,
        reads=((counting + keeping).read_units - metered * (counters.reads + snapshots.reads)) / hours,
        stored_bytes=byte_hours / hours,
    )


def _instants(an_hour: float, span: timedelta) -> Iterator[datetime]:
    """Yield the instants of an account's batches from ``START`` on, on average so many an hour."""
    random = Random(SEED)  # noqa: S311 - the same instants in every run
    gap = timedelta(hours=1) / an_hour - _APART
    instant = START
    while (instant := instant + _APART + gap * random.expovariate(1)) < START + span:
        yield instant


def _byte_hours(one: System, written: datetime) -> float:
    """Return the sum of bytes times hours over all items that expire, with their index entries.

    Divided by the hours in which the items were written, it is the bytes that are stored in the long run. An item does
    not have the instant of its writing, so ``written``, their mean, counts for all.
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


def _report_units() -> ReportUnits:
    """Meter runs over the same events of few and of more accounts."""
    few, many = (_run(accounts) for accounts in (_FEW_ACCOUNTS, _MANY_ACCOUNTS))
    events = _QUARTER_HOURS * MAX_BATCH
    pairs = _QUARTER_HOURS * (_MANY_ACCOUNTS - _FEW_ACCOUNTS)
    account = ((many["all"] - many["ledger"]) - (few["all"] - few["ledger"])) * events / pairs
    run = (few["all"] - few["ledger"]) * events - account * _QUARTER_HOURS * _FEW_ACCOUNTS
    return ReportUnits(few["ledger"], account, run)


def _run(accounts: int) -> dict[str, float]:
    ledger = asdict(Ledger(_QUARTER_HOURS, MAX_BATCH, accounts=accounts, events_a_segment=MAX_BATCH))
    measured: dict[str, float] = children.run(
        "report", ["-m", "benchmarks.reporting", "units", json.dumps(ledger), str(_QUARTER_HOURS)]
    )
    return measured
