"""Measures every budget and prints a table: metric, budget, measurement, verdict. Fails if a budget is missed."""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from benchmarks import children
from benchmarks.assumptions import BATCH_RECORDS, CALL_SECONDS, CALLS_AT_A_TIME
from benchmarks.console import measured as measured_pages
from benchmarks.console import write_block
from benchmarks.cost import stream_units
from benchmarks.crosscheck import crosscheck
from benchmarks.killing import measure as measure_killing
from benchmarks.many_accounts import ACCOUNTS as COUNTED_ACCOUNTS
from benchmarks.many_accounts import QUICK as FEW_COUNTED
from benchmarks.many_accounts import measure as measure_counting
from benchmarks.many_accounts import own_memory
from benchmarks.orders import SIZES, TIMED_ITEMS, costs, rush
from benchmarks.pages import PAGE, README, insert
from benchmarks.peers import LOOP, OWN, POWERTOOLS, WRITES, comparison
from benchmarks.producing import CONNECTIONS
from benchmarks.producing import measure as measure_producing
from benchmarks.responding import AGENCIES, BATCHES, longest_read
from benchmarks.sealing import ACCOUNTS, sealing
from benchmarks.sending import ANSWER_SECONDS
from benchmarks.sending import measure as measure_sending
from benchmarks.starting import starts
from benchmarks.table import MISSED, Line, at_least, at_most, show
from benchmarks.traffic import Traffic, simulate
from benchmarks.units import DAYS_METERED
from benchmarks.units import measure as measure_units
from benchmarks.writing import cost, counting, indexing, order_fee_units, recording
from quarterhour_tools.errors import ToolError

Ledger = Mapping[str, int]
"""The parameters of a generated ledger."""

EVENTS: Final = 1000
"""Events per quarter-hour for the comparison of read units."""
MOST_RECORDED: Final = {1: 2.0, 10: 1.10, 100: 1.05, 500: 1.04}
"""The most write units an event, by the events of a request."""
MOST_STORED: Final = 400
MOST_CALLS: Final = 0.045
EVENTS_A_SEGMENT: Final = 500
"""Events of a segment of the made-up ledger, as requests of so many make."""
RECORDED: Final = {"details": 1, "events_a_segment": EVENTS_A_SEGMENT}
"""A made-up ledger of real sales, recorded in such requests."""
MOST_READ: Final = 0.008
ORDER_UNITS: Final = 4
ITEM_UNITS: Final = 2
HOUR: Final = 4
"""Quarter-hours in an hourly report."""
LARGE: Final = {"item_bytes": 4 << 10, "events_a_segment": 100}
"""A made-up ledger of large events."""
MOST_SHARDS: Final = 64
WORKERS: Final = (1, 8, 32)
"""Calls at a time."""
OTHER_REQUESTS: Final = (
    ("ingest", "refunds", "500 linked refunds of 500 sales"),
    ("write", "order", f"an order of {TIMED_ITEMS} items"),
    ("read", "read", "a read of an account"),
    ("counters", "stream batch", "a stream batch of 500 events of 5 accounts"),
    ("report", "report", "a report of 2,000 events in 4 shards"),
)
EXIT_MISSED: Final = 3
"""The exit code if a budget is missed: an error ends Python with 1."""
PROCESSES: Final = 2
"""Processes at once, if their time is not measured."""

RULES: Final = (
    "Units by DynamoDB's published sizing rules, metered on the requests to the embedded engine. The rules do not say "
    "what a transaction's index entries cost; they count double, as the transaction does."
)
MADE_UP: Final = (
    f"On a ledger that is made as it is read: {EVENTS} sales in each quarter-hour, in segments of {EVENTS_A_SEGMENT}, "
    "as detailed as real ones."
)
WHOLE_RUN: Final = (
    "Four quarter-hours, 100 events of each account in each: with the control items and the proof of the counters."
)
SCAN: Final = (
    "What people start with: an item for each event; read the table, keep what has the quarter-hour. A filter costs "
    "the same."
)
IN_A_ROW: Final = f"Calls that wait for each other, where {CALLS_AT_A_TIME} are made at a time."
EMBEDDED: Final = "Of the whole request on the embedded engine, whose time it mostly is, with one call at a time."
AT_ONCE: Final = (
    "Until the last order is written, each retried as clients do, against the time that the units allow; on a clock "
    "that moves while all wait. The table's capacity is empty at first; a refused claim takes units too."
)
CPU: Final = (
    "CPU time of both, in turns in one process; AWS answers at once, so nothing hides our part. boto3 and Python's "
    "garbage collector as they come. The best round of each."
)
LINES: Final = (
    "CPU time, in turns, each in new processes, of sales as detailed as real ones. The loop reads an item for each "
    "event, as people's tables have it. AWS answers at once. The best round of each."
)
DISTANT: Final = (
    f"By the clock, on a quiet machine: every made-up call takes {CALL_SECONDS * 1000:.0f} ms. The fastest round, with "
    "its CPU time, and how many of its calls have to wait for each other."
)
ALLOWED: Final = "The CPU time, and twice the calls that have to wait for each other."
CRASHED: Final = "On the embedded engine; the last call takes effect, its answer is lost, and the batch is sent again."
SEALED: Final = (
    "A quarter-hour whose shards each record 1,000 events a second, DynamoDB's limit of a partition, sealed as one "
    "run. Measured on this core: CPU time of the slowest part for a line, and of publishing the totals of "
    f"{ACCOUNTS:,} accounts in every part. From them follows a full quarter-hour, with the share of a core that "
    "belongs to the report function's MemorySize. Assumed: as many parts side by side as the state machine says, cores "
    "of Lambda as fast as this one, no waiting for AWS."
)
STATEMENT_SPEED: Final = (
    "CPU time of both, in one process: a month of sealed files, one of each quarter-hour; the lines, list, manifest "
    "and pages are written, and AWS answers at once."
)
SENT: Final = (
    "By the clock, in turns, on a quiet machine: 8 requests at a time to a server in another process, which takes "
    f"{ANSWER_SECONDS * 1000:.0f} ms for each, as recording does. The bare client posts bodies that are in memory, and "
    "looks only at the status. Ours reads and checks the lines, and keeps a receipt of each."
)
PRODUCED: Final = (
    f"By the clock, in turns, on a quiet machine: {CONNECTIONS} requests at a time to a server in another process, "
    f"which takes {ANSWER_SECONDS * 1000:.0f} ms for each. Bare httpx posts bodies that are in memory. The library "
    "also stores the events in its spool, synchronized, and removes them."
)
KILLED: Final = (
    "Over HTTP to `quarterhour up`. 5 % of the requests fail, before or after their effect. `kill -9` ends the process "
    "while requests are under way. The events in the ledger are counted, and the account's sums are exact."
)
SENT_CPU: Final = (
    "The best round of each. The budget grows with the bare client's time on a machine where that is above 2 µs."
)
MOST_TOGETHER: Final = 0.02
MOST_ALONE: Final = 1.55
MOST_IN_A_MONTH: Final = 3.4
LEAST_REPORTED: Final = 5
_REPORTS: Final = 3
"""Reports that a process times. The fastest one counts."""
MONTH: Final = (
    "The account batches (the events of one account in one stream batch) are from a simulated stream of events that "
    "arrive evenly at random. The units of an account batch, and of the windows that accounts with few and with many "
    "events enter and leave, are from days of simulated time on the embedded engine."
)
COUNTED: Final = (
    f"CPU time, in fresh processes on one core; AWS answers at once. A batch has {BATCH_RECORDS:,} postings, without "
    "customers. The best round."
)
COUNTED_IN_LAMBDA: Final = (
    f"With the share of a core that belongs to the memory, and calls to AWS of {CALL_SECONDS * 1000:.0f} ms. A "
    "stream shard brings up to 1,000 events a second."
)
LEAST_SENT: Final = 0.95
LEAST_PRODUCED: Final = 0.9
KILLS: Final = 20
MOST_SENT: Final = 10
BARE_SENT: Final = 2
"""Microseconds of the bare client's CPU time, for which ``MOST_SENT`` is the budget of ours."""
LEAST_STATEMENTS: Final = 0.2
LEAST_LINES: Final = 4_000
"""The least lines a second of drafts whose accounts have one line each."""
LEAST: Final = {LOOP: 7, POWERTOOLS: 17, WRITES: 1.1}
"""How many times as fast as each peer recording must be."""
FRESH: Final = "CPU time in fresh processes, in turns, without Python's own start."
LARGEST: Final = "The most that a new process ever held, of the interpreter's first byte on; AWS is made up in it."


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of the measurements."""

    tables: Sequence[int]
    """Sizes of the table, in events."""
    rounds: int
    starts: int
    lines: int
    """The events of the timed report."""
    sealed: Sequence[int]
    """The shards whose sealing is compared with their recording."""
    part_lines: int
    quarter_hours: Sequence[Ledger]
    """The sizes of the reports whose memory is measured, in events."""
    statements: Sequence[tuple[int, int]]
    """The lines and the accounts of statement runs; the first is held against the budget."""
    calls: int
    """The calls to DynamoDB Local."""
    slow_orders: Sequence[int]
    """Items of the orders that are sent to a table of one write unit a second."""
    sent: int
    """The events that are sent."""
    killed: int
    """The events that are sent by a job that is killed."""
    accounts: Sequence[int]
    """The accounts in the batches that are counted."""
    pages: int
    """How often each page of the console is shown."""
    account_batches_an_hour: Sequence[float]
    """The account batches an hour of the accounts whose windows are metered."""


FULL: Final = Extent(
    tables=(10**3, 10**4, 10**5, 10**6),
    rounds=7,
    starts=15,
    lines=30_000,
    sealed=(1, 8, 16, MOST_SHARDS),
    part_lines=10_000,
    quarter_hours=(
        {"events": 10**4, **RECORDED},
        {"events": 10**5, **RECORDED},
        {"events": 10**6, **RECORDED},
        {"events": 10**6, "shards": MOST_SHARDS, **RECORDED},
        {"events": 10**5, "shards": MOST_SHARDS, **LARGE},
    ),
    statements=((10**6, 10**3), (10**6, 1), (10**4, 10**4)),
    calls=500,
    slow_orders=SIZES,
    sent=100_000,
    killed=100_000,
    accounts=COUNTED_ACCOUNTS,
    pages=7,
    account_batches_an_hour=tuple(DAYS_METERED),
)
QUICK: Final = Extent(
    tables=(10**3, 10**4),
    rounds=2,
    starts=3,
    lines=10_000,
    sealed=(8, MOST_SHARDS),
    part_lines=4_000,
    quarter_hours=(
        {"events": 10**4, **RECORDED},
        {"events": 4 * 10**4, "shards": MOST_SHARDS, **RECORDED},
        {"events": 3 * 10**4, "shards": MOST_SHARDS, **LARGE},
    ),
    statements=((10**5, 10**2),),
    calls=100,
    slow_orders=SIZES[:-1],
    sent=40_000,
    killed=2_000,
    accounts=FEW_COUNTED,
    pages=0,
    account_batches_an_hour=(16,),
)


def writing(_: Extent) -> Iterator[Line]:
    """Measure write units and AWS calls, from an event's arrival to its snapshots."""
    recorded = [recording(events) for events in MOST_RECORDED]
    worst = max(recorded, key=lambda one: one.units - MOST_RECORDED[one.events])
    yield Line(
        f"write units per recorded event, requests of {', '.join(map(str, MOST_RECORDED))}",
        ", ".join(f"{one.units:.3f}" for one in recorded),
        "<= " + ", ".join(map(str, MOST_RECORDED.values())),
        at_most(MOST_RECORDED[worst.events], worst.units),
        (RULES,),
    )
    of_hundred, largest = recorded[-2:]
    yield Line(
        f"bytes stored per event, claim and ledger, requests of {of_hundred.events}",
        f"{of_hundred.stored:.0f}",
        f"<= {MOST_STORED}",
        at_most(MOST_STORED, of_hundred.stored),
        (RULES,),
    )
    yield Line(
        f"AWS calls per recorded event, requests of {largest.events}",
        f"{largest.calls:.3f}",
        f"<= {MOST_CALLS}",
        at_most(MOST_CALLS, largest.calls),
    )
    one = cost()
    yield Line(
        "write units per event for counters + snapshots, 100 events of an account in a batch",
        f"{one.counted_units:.3f}",
        f"<= {MOST_TOGETHER:.2f}",
        at_most(MOST_TOGETHER, one.counted_units),
        (RULES,),
    )
    spread = counting(16)
    yield Line(
        "  the same, over 16 shards",
        f"{spread:.3f}",
        f"<= {MOST_TOGETHER:.2f}",
        at_most(MOST_TOGETHER, spread),
        (RULES,),
    )
    yield Line(f"  the same, over {MOST_SHARDS} shards", f"{counting(MOST_SHARDS):.3f}", notes=(RULES,))
    yield Line(
        "  the same, each event of a customer that was never seen",
        f"{one.customers_units:.2f}",
        "<= 2.3",
        at_most(2.3, one.customers_units),
        (RULES,),
    )
    indexed = indexing()
    yield Line(
        "write units per event for the index of agencies, 200 events of each in a quarter-hour",
        f"{indexed:.3f}",
        "<= 0.03",
        at_most(0.03, indexed),
        (RULES,),
    )
    yield Line(
        "AWS calls per recorded event, the first batch of 500 of a function",
        f"{one.calls:.3f}",
        "<= 0.10",
        at_most(0.10, one.calls),
    )
    yield Line(
        "write units per event that the rate card of its agency's group charges, with a fee",
        f"{one.charged_units:.3f}",
        "<= 1.1",
        at_most(1.1, one.charged_units),
        (RULES,),
    )
    for lines in (1, 5):
        units = order_fee_units(lines)
        most = 1.1 + 1 / lines
        name = f"  the same, with a fee once an order, lines of an order: {lines}"
        yield Line(name, f"{units:.3f}", f"<= {most:.1f}", at_most(most, units), (RULES,))
    yield Line(
        "  AWS calls per event",
        f"{one.charged_calls:.3f}",
        "<= 0.10",
        at_most(0.10, one.charged_calls),
    )
    yield Line(
        "  read units per event, 5 agencies in 5 groups",
        f"{one.charged_reads:.3f}",
        "<= 0.04",
        at_most(0.04, one.charged_reads),
    )
    yield Line(
        "  calls in a row that read the rate cards",
        f"{one.charged_rounds}",
        "<= 2",
        at_most(2, one.charged_rounds),
    )


def counting_month(extent: Extent) -> Iterator[Line]:
    """Meter counters and snapshots of a simulated month, with all the windows that accounts enter and leave."""
    traffic = Traffic()
    used = stream_units(simulate(traffic), measure_units(extent.account_batches_an_hour))
    alone = used.counters / used.account_batches
    both = (used.counters + used.snapshots) / traffic.events
    yield Line(
        "write units per event for counters, all windows, each event of another account in its batch",
        f"{alone:.2f}",
        f"<= {MOST_ALONE}",
        at_most(MOST_ALONE, alone),
        (RULES, MONTH),
    )
    yield Line(
        "  counters + snapshots, a month of 5 million events, 300 accounts, 5-second batches",
        f"{both:.2f}",
        f"<= {MOST_IN_A_MONTH:.1f}",
        at_most(MOST_IN_A_MONTH, both),
        (RULES, MONTH),
    )


def reading(extent: Extent) -> Iterator[Line]:
    """Measure read units over the size of the table, and those of a full scan."""
    ledgers = [{"quarter_hours": events // EVENTS, "events": EVENTS, **RECORDED} for events in extent.tables]
    units = [_reporting("units", ledger, 1)["ledger"] for ledger in ledgers]
    sizes = " .. ".join(map(_shown, (extent.tables[0], extent.tables[-1])))
    yield Line(
        f"read units per event reported, {sizes} events in the table",
        " .. ".join(f"{one:.3f}" for one in (units[0], units[-1])),
        f"<= {MOST_READ}, the same",
        at_most(MOST_READ, max(units)) if len(set(units)) == 1 else MISSED,
        (MADE_UP,),
    )
    whole = _reporting("units", ledgers[-1], HOUR)["all"]
    yield Line("  all that an hourly run reads", f"{whole:.3f}", "<= 0.07", at_most(0.07, whole), (MADE_UP, WHOLE_RUN))
    scans = _side_by_side([("scan", {**ledger, "events_a_segment": 0}) for ledger in ledgers])
    for events, scan in zip(extent.tables, scans, strict=True):
        yield Line(f"  a scan with a filter instead, {_shown(events)} events", f"{scan['all']:.3f}", notes=(SCAN,))


def orders(extent: Extent) -> Iterator[Line]:
    """Measure what orders of each size cost, and how long they take at once on a table of bounded capacity."""
    every = costs(extent.rounds)
    sizes = ", ".join(_shown(one.items) for one in every)
    dearest = max((one.write_units - ORDER_UNITS) / one.items for one in every)
    yield Line(
        f"write units of an order, {sizes} items",
        ", ".join(f"{one.write_units:,g}" for one in every),
        f"{ORDER_UNITS} + {ITEM_UNITS} an item",
        at_most(ITEM_UNITS, dearest),
        (RULES,),
    )
    yield Line("  read units to read it back", ", ".join(f"{one.read_units:g}" for one in every), notes=(RULES,))
    calls = ", ".join(f"{one.calls} ({one.in_a_row})" for one in every)
    yield Line("  AWS calls (of these in a row)", calls, notes=(IN_A_ROW,))
    latencies = ", ".join(f"{one.milliseconds:,.0f}" for one in every)
    yield Line("  latency, ms", latencies, notes=(EMBEDDED,))
    for units, rushing in ((25, SIZES), (1, extent.slow_orders)):
        rushed = rush(units, rushing)
        allowed = sum(ORDER_UNITS + ITEM_UNITS * items for items in rushing) / units
        over = max(rushed.seconds) / allowed
        yield Line(
            f"orders of {', '.join(map(_shown, rushing))} items at once, {units} write units a second: time",
            f"{over:.2f}x ({max(rushed.seconds):,.0f} s), {rushed.lost} lost",
            "<= 1.2x, 0 lost",
            at_most(1.2, over) if not rushed.lost else MISSED,
            (AT_ONCE,),
        )


@cache
def _compared(rounds: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    speed = children.run("ingest", ["-m", "benchmarks.peers", "speed", str(rounds)])
    return speed, children.run("ingest", ["-m", "benchmarks.peers", "conduct"])


def recording_peers(extent: Extent) -> Iterator[Line]:
    """Compare recording with what people write with boto3, or take from a library."""
    timed, behaved = _compared(extent.rounds)
    for name, least in LEAST.items():
        measured = timed[name]
        yield Line(
            f"events recorded per CPU second, against {name}",
            f"{measured['times']:.2f}x ({measured['own']:,.0f}/s)",
            f">= {least}x",
            at_least(least, measured["times"]),
            (CPU,),
        )
    own = behaved[OWN]
    harm = own["doubled"] + own["crash_lost"] + own["crash_doubled"]
    yield Line(
        f"events lost or doubled by a crash after each of {own['crashes']} calls, or by a batch sent twice",
        f"{harm}",
        "0",
        at_most(0, harm),
        (CRASHED,),
    )


def latency(extent: Extent) -> Iterator[Line]:
    """Time requests by the clock, where each call takes some milliseconds, beside their longest row of calls."""
    for workers in WORKERS:
        one = _latency("ingest", "one event", extent, workers)
        times = one["wall"] / (one["in_a_row"] * CALL_SECONDS * 1000)
        yield Line(
            f"time of a request of 1 event, {workers} calls at a time, against its calls in a row",
            f"{times:.2f}x ({_took(one)})",
            "<= 1.3x",
            at_most(1.3, times),
            (DISTANT,),
        )
    for workers in WORKERS:
        many = _latency("ingest", "events", extent, workers)
        allowed = many["cpu"] + 2 * many["in_a_row"] * CALL_SECONDS * 1000
        yield Line(
            f"time of a request of 500 events, {workers} calls at a time",
            _took(many),
            f"<= {allowed:.0f} ms",
            at_most(allowed, many["wall"]),
            (DISTANT, ALLOWED),
        )
    for function, what, shown in OTHER_REQUESTS:
        yield Line(f"  {shown}", _took(_latency(function, what, extent, CALLS_AT_A_TIME)), notes=(DISTANT,))


def _latency(function: str, what: str, extent: Extent, workers: int) -> dict[str, float]:
    arguments = ["-m", "benchmarks.latency", what, str(5 * extent.rounds)]
    measured: dict[str, float] = children.run(function, arguments, {"QUARTERHOUR_WORKERS": str(workers)})
    return measured


def _took(timed: Mapping[str, float]) -> str:
    return f"{timed['wall']:.0f} ms, CPU {timed['cpu']:.0f}, {timed['in_a_row']:.0f} of {timed['calls']:.0f} calls"


def counting_speed(extent: Extent) -> Iterator[Line]:
    """Measure how fast batches of few and of many accounts are counted."""
    speeds = measure_counting(extent.accounts, max(1, extent.rounds // 2))
    shown = ", ".join(_shown(one.accounts) for one in speeds)
    yield Line(
        f"postings of {shown} accounts in a batch counted per CPU second",
        ", ".join(f"{one.a_cpu_second:,.0f}" for one in speeds),
        notes=(COUNTED,),
    )
    yield Line(
        f"  postings counted per second with {own_memory():,} MB",
        ", ".join(f"{one.in_lambda(own_memory()):,.0f}" for one in speeds),
        notes=(COUNTED_IN_LAMBDA,),
    )


def reporting_speed(extent: Extent) -> Iterator[Line]:
    """Compare how fast lines are sealed with a query loop over a table that has an item for each event."""
    sales = {"quarter_hours": 1, "events": extent.lines, **RECORDED}
    single = {**sales, "events_a_segment": 0}
    rates = [
        (_reporting("speed", sales, _REPORTS)["rate"], _reporting("loop", single, _REPORTS)["rate"])
        for _ in range(extent.rounds)
    ]
    own, loop = (max(column) for column in zip(*rates, strict=True))
    yield Line(
        "lines sealed per CPU second, against a query loop with csv.writer and gzip",
        f"{own / loop:.2f}x ({own:,.0f}/s)",
        f">= {LEAST_REPORTED}x",
        at_least(LEAST_REPORTED, own / loop),
        (LINES,),
    )


def sealing_speed(extent: Extent) -> Iterator[Line]:
    """Compare sealing, in parts side by side, with what the shards can record."""
    shown = ", ".join(map(str, extent.sealed))
    every = [sealing(shards, extent.part_lines, extent.rounds // 2) for shards in extent.sealed]
    yield Line(
        f"lines sealed per second by parts, against events recorded per second, {shown} shards",
        ", ".join(f"{one.times:.1f}x" for one in every),
        ">= 2x",
        at_least(2.0, min(one.times for one in every)),
        (SEALED,),
    )
    yield Line(
        "  seconds to seal a full quarter-hour",
        ", ".join(f"{one.all:.0f}" for one in every),
        notes=(SEALED,),
    )


def memory(extent: Extent) -> Iterator[Line]:
    """Measure the memory of reports of one quarter-hour."""
    ledgers = [{"quarter_hours": 1, **quarter_hour} for quarter_hour in extent.quarter_hours]
    for ledger, measured in zip(ledgers, _side_by_side([("memory", ledger) for ledger in ledgers]), strict=True):
        size = f" of {_shown(ledger['item_bytes'])} bytes" if "item_bytes" in ledger else ""
        yield Line(
            f"report memory, {_shown(ledger['events'])} events{size}, shards: {ledger.get('shards', 1)}",
            f"{measured['mib']:.0f} MiB",
            "<= 160 MiB",
            at_most(160, measured["mib"]),
            (LARGEST,),
        )


def statements(extent: Extent) -> Iterator[Line]:
    """Time drafts and their release against reading the sealed files; measure memory, and the cost of a statement."""
    for lines, accounts in extent.statements:
        arguments = ["-m", "benchmarks.statements", str(lines), str(accounts)]
        measured: dict[str, float] = children.run("statements", arguments)
        what = f"{_shown(lines)} lines of {_shown(accounts)} {'accounts' if accounts > 1 else 'account'}"
        budget, verdict = "", ""
        if (lines, accounts) == extent.statements[0]:
            budget, verdict = f">= {LEAST_STATEMENTS}x", at_least(LEAST_STATEMENTS, measured["ratio"])
        elif lines == accounts:
            budget, verdict = f">= {LEAST_LINES:,}/s", at_least(LEAST_LINES, measured["rate"])
        yield Line(
            f"drafts and release of {what}, lines per second and core, against csv.reader",
            f"{measured['ratio']:.2f}x ({measured['rate']:,.0f}/s)",
            budget,
            verdict,
            (STATEMENT_SPEED,),
        )
        yield Line(
            "  its memory", f"{measured['mib']:.0f} MiB", "<= 256 MiB", at_most(256, measured["mib"]), (LARGEST,)
        )
        yield Line(
            "  files and write units of a statement, and their cost",
            f"{measured['puts']:.2f}, {measured['units']:.1f}, ${measured['cost'] * 1000:.3f} a thousand",
            notes=(RULES,),
        )


def reconciling(extent: Extent) -> Iterator[Line]:
    """Time the comparison of a provider's file with sealed files against reading both; measure its memory."""
    lines = extent.tables[-1]
    measured: dict[str, float] = children.run("read", ["-m", "benchmarks.reconciling", str(lines)])
    yield Line(
        f"`reconcile` of {_shown(lines)} lines of each side, lines per second and core, against csv.reader",
        f"{measured['ratio']:.2f}x",
    )
    yield Line("  its memory", f"{measured['mib']:.0f} MiB", "<= 256 MiB", at_most(256, measured["mib"]), (LARGEST,))


def starting(extent: Extent) -> Iterator[Line]:
    """Time the start of the functions behind the API against that of boto3 alone."""
    for function in ("ingest", "read", "write"):
        measured = starts(function, extent.starts)
        most = 1.15 if function == "ingest" else 1.25
        yield Line(
            f"init of the function {function}, against importing boto3 + creating a client",
            f"{measured['ratio']:.2f}x ({measured['seconds'] * 1000:.0f} ms)",
            f"<= {most}x",
            at_most(most, measured["ratio"]),
            (FRESH,),
        )


def responding(_: Extent) -> Iterator[Line]:
    """Time reads from the emulator while it is busy."""
    seconds = longest_read()
    yield Line(
        f"longest read from quarterhour up after {BATCHES} batches of {AGENCIES} new agencies",
        f"{seconds:.2f} s",
        "<= 0.5 s",
        at_most(0.5, seconds),
    )


def sending(extent: Extent) -> Iterator[Line]:
    """Time `quarterhour send` against a bare HTTP client that posts the same batches."""
    measured = measure_sending(extent.sent, extent.rounds)
    yield Line(
        "events sent per second, against a bare HTTP client posting the same batches",
        f"{measured['ratio']:.2f}x ({measured['rate']:,.0f}/s)",
        f">= {LEAST_SENT}x",
        at_least(LEAST_SENT, measured["ratio"]),
        (SENT,),
    )
    ours, bare = measured["microseconds"], measured["bare_microseconds"]
    most = MOST_SENT * max(1, bare / BARE_SENT)
    yield Line(
        "  CPU time of an event, and of the bare client",
        f"{ours:.1f} µs, {bare:.1f} µs ({ours / bare:.0f}x)",
        f"<= {most:.0f} µs",
        at_most(most, ours),
        (SENT_CPU,),
    )


def producing(extent: Extent) -> Iterator[Line]:
    """Time the producer library against bare httpx that posts the same batches."""
    measured = measure_producing(extent.sent, extent.rounds)
    yield Line(
        "events recorded and sent per second by the producer library, against bare httpx",
        f"{measured['ratio']:.2f}x ({measured['rate']:,.0f}/s)",
        f">= {LEAST_PRODUCED}x",
        at_least(LEAST_PRODUCED, measured["ratio"]),
        (PRODUCED,),
    )
    yield Line("  events of a full spool sent", f"{measured['sending']:.2f}x")
    outcome = measure_killing(extent.killed, KILLS)
    yield Line(
        f"events lost or doubled, {extent.killed:,} of the producer library, {KILLS} kills, 5 % of requests fail",
        f"{outcome.lost + outcome.doubled}{'' if outcome.exact else ', sums differ'}",
        "0",
        at_most(0, outcome.lost + outcome.doubled + (not outcome.exact)),
        (KILLED,),
    )
    yield Line(
        "  requests (of these failed), events sent again",
        f"{outcome.requests:,} ({outcome.faults:,}), {outcome.duplicates:,}",
    )


def showing(extent: Extent) -> Iterator[Line]:
    """Time pages of the console from click to figures, against their calls to the API."""
    return measured_pages(extent.pages) if extent.pages else iter(())


def metering(extent: Extent) -> Iterator[Line]:
    """Compare the meter with DynamoDB Local, if that is available."""
    try:
        differing = len(crosscheck(extent.calls))
    except ToolError as error:
        yield Line("the meter against DynamoDB Local", "not compared", notes=(str(error),))
        return
    yield Line(
        "calls that DynamoDB Local counts other than the meter",
        f"{differing} of {extent.calls}",
        "0",
        at_most(0, differing),
    )


def _reporting(what: str, ledger: Ledger, *numbers: int) -> dict[str, float]:
    arguments = ["-m", "benchmarks.reporting", what, json.dumps(ledger), *map(str, numbers)]
    measured: dict[str, float] = children.run("report", arguments)
    return measured


def _side_by_side(requests: Sequence[tuple[str, Ledger]]) -> list[dict[str, float]]:
    with ThreadPoolExecutor(PROCESSES) as pool:
        return list(pool.map(lambda one: _reporting(*one), requests))


def _shown(events: int) -> str:
    return f"{events:,}"


MEASUREMENTS: Final[Sequence[Callable[[Extent], Iterator[Line]]]] = (
    writing,
    counting_month,
    reading,
    orders,
    recording_peers,
    latency,
    counting_speed,
    reporting_speed,
    sealing_speed,
    memory,
    statements,
    reconciling,
    starting,
    responding,
    sending,
    producing,
    showing,
    metering,
)


def main() -> int:
    """Measure and print; return 3 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything, as in CI")
    parser.add_argument("--write", action="store_true", help="write the results into README.md and docs/benchmarks.md")
    options = parser.parse_args()
    extent = QUICK if options.quick else FULL
    began = time.monotonic()
    found: dict[Callable[[Extent], Iterator[Line]], list[Line]] = {}
    for measurement in MEASUREMENTS:
        started = time.monotonic()
        found[measurement] = list(measurement(extent))
        print(f"{measurement.__name__}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    lines = [line for some in found.values() for line in some]
    print(show(lines))
    compared = comparison(*_compared(extent.rounds))
    print(f"\n{compared}")
    if options.write:
        others = [line for measurement, some in found.items() if measurement is not showing for line in some]
        insert(PAGE, "results", f"```text\n{show(others, notes=False)}\n```")
        write_block(found[showing])
        for page in (PAGE, README):
            insert(page, "peers", compared)
    print(f"\nPython {platform.python_version()}, {platform.machine()}, {time.monotonic() - began:.0f} s")
    return EXIT_MISSED if any(line.verdict == MISSED for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
