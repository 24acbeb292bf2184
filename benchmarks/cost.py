"""Estimates what a month costs in AWS, from metered units, a simulated stream and measured speeds, in us-east-1.

`python -m benchmarks.cost` prints a month part by part; its options are the shape of the load. `--months` and
`--windows` print the tables of docs/benchmarks.md, `--template` what docs/deployment.md says, computed from
template.yaml. `--measure` meters the units again, and `--write` writes all tables into the pages.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Final

from benchmarks.assumptions import CALL_SECONDS, CALLS_AT_A_TIME, CORE_MEGABYTES
from benchmarks.functions import ROOT
from benchmarks.pages import PAGE, README, insert
from benchmarks.prices import (
    ALARM_METRIC_MONTH,
    DASHBOARD_MONTH,
    GB,
    GB_SECOND,
    INVOCATION,
    KEY_REQUEST,
    LOG_BYTE,
    LOG_BYTE_MONTH,
    METRIC_MONTH,
    MILLION,
    READ,
    RECOVERY_GB_MONTH,
    REQUEST,
    S3_GB_MONTH,
    S3_PUT,
    SENT_BYTE,
    SNAPSHOT_GB_RESTORED,
    SNAPSHOT_GB_SECOND,
    TABLE_GB_MONTH,
    TRANSITION,
    WRITE,
)
from benchmarks.traffic import DAYS_A_MONTH, HOURS_A_MONTH, Load, Traffic, simulate
from benchmarks.units import BATCHES, Units, measure, store, stored_units
from quarterhour.reports.plan import SHARDS_A_PART
from quarterhour.web.static_files import ASSETS, INDEX
from quarterhour_tools.emulator.stack import TEMPLATE
from quarterhour_tools.emulator.template import Function, Template

FUNCTION: Final = "AWS::Serverless::Function"

RECORDED_A_SECOND: Final = 6_000
REPORTED_A_SECOND: Final = 60_000
"""Events a second and core: what busy cores reached at least, docs/benchmarks.md."""
GROUPS_A_SECOND: Final = 1_400
"""Groups a second and core, in counters and in snapshots: what the counters reached, docs/benchmarks.md."""
CORES_A_GIGABYTE: Final = Decimal(1024) / CORE_MEGABYTES
REQUEST_SECONDS: Final = Decimal("0.02")
"""Seconds of a request or of a stream batch, its calls and its work aside: estimated, not measured."""
BATCH_SECONDS: Final = Decimal("0.003")
BYTES_LOGGED: Final = 1_500
"""Of one invocation: Lambda's three lines and the function's metrics."""
BYTES_ANSWERED: Final = 200
"""Of a receipt, and as much again of each request's headers."""
BYTES_SEALED: Final = 30
"""Of a compressed line: estimated, not measured."""
ACCESS_BYTES: Final = 400
"""Of a line of the access log."""
ALARM_METRICS: Final = 45
OWN_METRICS: Final = 22
ROUTE_METRICS: Final = 6
"""Metrics that alarms look at, of the functions, of the route POST /events; docs/operations.md."""
WATCHES: Final = 2_880
"""Invocations of the watch in a month."""
SECONDS_A_MONTH: Final = HOURS_A_MONTH * 3600
PEAK: Final = 4
"""How many times the average rate the shards must take."""
EVENTS_A_SHARD: Final = 1_000
"""A second: DynamoDB's limit of a partition."""
PUTS_A_REPORT: Final = 6
PART_TRANSITIONS: Final = 2
"""Of a part in a quarter-hour's run: estimated, not measured."""
RUN_TRANSITIONS: Final = 6
"""Of a run besides its parts: estimated, not measured."""
PAGE_SECONDS: Final = Decimal("0.005")
"""Seconds for a file of the console: estimated, not measured."""
KEY_SECONDS: Final = 300
"""For which a connection to DynamoDB keeps a table's key, before it requests the key from KMS again."""

EVENTS: Final = (5 * MILLION, 100 * MILLION)
ACCOUNTS: Final = (10, 300, 1_000)
LOPSIDED: Final = (300, 1_000)
"""Numbers of accounts that are shown with shares by Zipf's law, too."""
FEW_BATCHES: Final = (1, 100)
"""Events a request in the README."""
WINDOWS: Final = (1, 5, 15, 60, 300)
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The load of a month: its traffic, the share of events with a customer not seen that day, the reports."""

    traffic: Traffic = field(default_factory=Traffic)
    new_customers: Decimal = Decimal(0)
    reports: int = 720


@dataclass(frozen=True, slots=True)
class Line:
    """A part of the cost: its purpose, its computation, dollars."""

    what: str
    how: str
    dollars: Decimal


@dataclass(frozen=True, slots=True)
class Counted:
    """What counters and snapshots cost in a month: their write units, read units, bytes of the accounts' past."""

    groups: float
    counters: float
    snapshots: float
    reads: float
    stored: float


def counted(load: Load, units: Units) -> Counted:
    """Return the units of a load: those of its groups, and of the windows that its accounts enter and leave."""
    groups = load.a_month(sum(load.groups))
    paces = [units.pace(number / load.hours) for number in load.groups if number]
    return Counted(
        groups,
        groups * units.counters.writes + HOURS_A_MONTH * sum(pace.counters for pace in paces),
        groups * units.snapshots.writes + HOURS_A_MONTH * sum(pace.snapshots for pace in paces),
        groups * (units.counters.reads + units.snapshots.reads) + HOURS_A_MONTH * sum(pace.reads for pace in paces),
        sum(pace.stored for pace in paces),
    )


@cache
def simulated(traffic: Traffic) -> Load:
    """Return what ``simulate`` returns; each load is simulated once."""
    return simulate(traffic)


def month(shape: Shape, units: Units, template: Template) -> Iterator[Line]:
    """Yield what a month costs, service by service."""
    traffic = shape.traffic
    recorded = units.recorded[traffic.batch]
    load = simulated(replace(traffic, records=max(1, round(recorded.records))))
    functions = template.functions(lambda resource, _: resource)
    state = counted(load, units)
    events, requests = traffic.events, -(-traffic.events // traffic.batch)
    invocations = {
        "ingest": Decimal(requests),
        "counters": _a_month(load, load.batches),
        "snapshots": _a_month(load, load.changes),
        "report": Decimal(shape.reports),
        "watch": Decimal(WATCHES),
    }

    yield _writes("recording", recorded.writes * events, events)
    yield _writes("counters", state.counters, events)
    yield _writes("snapshots", state.snapshots, events)
    if shape.new_customers:
        yield _writes("new customers", units.customer * float(shape.new_customers) * events, events)
    reports = units.reported
    proofs = load.a_month(load.quarter_hours)
    reads = state.reads + events * reports.event + proofs * reports.account + shape.reports * reports.run
    yield Line("reads of counters and reports", _how(reads, events, "reads", READ), Decimal(reads) * READ)
    stored = Decimal(events * recorded.stored + state.stored) / GB
    how = f"{stored:.2f} GB x ({_dollars(TABLE_GB_MONTH)} + {_dollars(RECOVERY_GB_MONTH)})"
    yield Line("DynamoDB storage and recovery", how, stored * (TABLE_GB_MONTH + RECOVERY_GB_MONTH))
    how = f"{requests:,} requests of {_events(traffic.batch)} x {_dollars(REQUEST * MILLION)}/million"
    yield Line("HTTP API", how, requests * REQUEST)
    number = sum(invocations.values(), Decimal(0))
    yield Line("Lambda, requests", f"{number:,.0f} x {_dollars(INVOCATION * MILLION)}/million", number * INVOCATION)
    yield _compute(shape, load, units, functions)
    yield _s3(shape)
    parts = -(-shards(events) // SHARDS_A_PART)
    transitions = WATCHES * (RUN_TRANSITIONS + PART_TRANSITIONS * parts) if parts > 1 else 0
    how = f"{transitions:,} transitions x {_dollars(TRANSITION * 1_000, 3)}/1,000"
    yield Line("Step Functions", how, transitions * TRANSITION)
    logged = number * BYTES_LOGGED + requests * ACCESS_BYTES
    yield Line("logs", f"{logged / GB:,.2f} GB x {_dollars(LOG_BYTE * GB)}/GB", logged * LOG_BYTE)
    days = int(template.parameters["LogRetentionDays"])
    how = f"{logged / GB:,.2f} GB for {days} days x {_dollars(LOG_BYTE_MONTH * GB)}/GB"
    yield Line("logs kept", how, logged * LOG_BYTE_MONTH * days / DAYS_A_MONTH)
    metrics = ALARM_METRICS * ALARM_METRIC_MONTH + (OWN_METRICS + ROUTE_METRICS) * METRIC_MONTH + DASHBOARD_MONTH
    yield Line("metrics, alarms, dashboard", "the same at any load", metrics)
    keys = key_requests(invocations, functions)
    how = f"{keys:,.0f} requests at most x {_dollars(KEY_REQUEST * 10_000)}/10,000"
    yield Line("KMS", how, keys * KEY_REQUEST)
    sent = (events + requests) * BYTES_ANSWERED
    yield Line("data out", f"{Decimal(sent) / GB:,.2f} GB x {_dollars(SENT_BYTE * GB)}/GB", sent * SENT_BYTE)


def _a_month(load: Load, number: int) -> Decimal:
    return Decimal(round(load.a_month(number)))


def _dollars(price: Decimal, places: int = 2) -> str:
    return f"${price:.{places}f}"


def _events(number: int) -> str:
    return "1 event" if number == 1 else f"{number} events"


def _writes(what: str, units: float, events: int) -> Line:
    return Line(what, _how(units, events, "writes", WRITE), Decimal(units) * WRITE)


def _how(units: float, events: int, kind: str, price: Decimal) -> str:
    return f"{units / events:.3f} {kind} an event x {_dollars(price * MILLION, 3)}/million"


def _compute(shape: Shape, load: Load, units: Units, functions: Mapping[str, Function]) -> Line:
    """Return the cost of the time for which functions run, in gigabyte-seconds."""
    traffic = shape.traffic

    def gigabytes(function: str) -> Decimal:
        return Decimal(functions[function].memory) / 1024

    requests = -(-traffic.events // traffic.batch)
    groups = _a_month(load, sum(load.groups))
    recording = Decimal(traffic.events) / RECORDED_A_SECOND / CORES_A_GIGABYTE
    recording += requests * REQUEST_SECONDS * gigabytes("ingest")
    streaming = 2 * groups / GROUPS_A_SECOND / CORES_A_GIGABYTE
    for function, stage, batches, rounds in (
        ("counters", units.counters, load.batches, load.rounds),
        ("snapshots", units.snapshots, load.changes, load.change_rounds),
    ):
        waiting = _a_month(load, rounds) * Decimal(stage.calls) * Decimal(str(CALL_SECONDS))
        streaming += (_a_month(load, batches) * BATCH_SECONDS + waiting) * gigabytes(function)
    runs = Decimal(traffic.events) / REPORTED_A_SECOND / CORES_A_GIGABYTE
    runs += shape.reports * gigabytes("report") + WATCHES * gigabytes("watch")
    how = f"GB-s: recording {recording:,.0f}, streams {streaming:,.0f}, runs {runs:,.0f} x ${GB_SECOND}"
    return Line("Lambda, compute", how, (recording + streaming + runs) * GB_SECOND)


def _s3(shape: Shape) -> Line:
    puts = shape.reports * PUTS_A_REPORT
    lines = Decimal(shape.traffic.events * BYTES_SEALED) / GB
    how = f"{puts:,} puts x {_dollars(S3_PUT * MILLION)}/million, {lines:.2f} GB x {_dollars(S3_GB_MONTH, 3)}"
    return Line("S3", how, puts * S3_PUT + lines * S3_GB_MONTH)


def key_requests(invocations: Mapping[str, Decimal], functions: Mapping[str, Function]) -> Decimal:
    """Return the requests to KMS at most: each connection asks for each table's key, and again after some minutes."""
    most = Decimal(SECONDS_A_MONTH) / KEY_SECONDS
    return sum(
        (
            min(number, most)
            * CALLS_AT_A_TIME
            * sum(name.endswith("_TABLE") for name in functions[function].environment)
            for function, number in invocations.items()
        ),
        Decimal(0),
    )


def shards(events: int) -> int:
    """Return the shards that a month of so many events needs, evenly spread but for its peak."""
    return -(-events * PEAK // (SECONDS_A_MONTH * EVENTS_A_SHARD))


# ---------------------------------------------------------------- tables


def table(shape: Shape, units: Units, template: Template) -> str:
    """Return a month part by part, and what starting from snapshots would add, as a table in Markdown."""
    lines = [line for line in month(shape, units, template) if line.dollars]
    rows = [f"| {line.what} | {line.how} | ${line.dollars:,.2f} |" for line in lines]
    together = f"| **together** | | **${_sum(lines):,.2f}** |"
    functions, gigabytes, dollars = snap_start(template)
    more = f"| `SnapStart=on` adds | {functions} functions with {gigabytes.normalize():f} GB | ${dollars:,.2f} |"
    return "\n".join(["| what | how | dollars |", "|---|---|---:|", *rows, together, more])


def months(units: Units, template: Template) -> str:
    """Return months of requests of one event, by events and accounts, as tables in Markdown."""
    return "\n\n".join(_months(events, units, template) for events in EVENTS)


def _months(events: int, units: Units, template: Template) -> str:
    every = [(accounts, 0) for accounts in ACCOUNTS] + [(accounts, 1) for accounts in LOPSIDED]
    titles = [f"{accounts:,} accounts{', Zipf' if skew else ''}" for accounts, skew in every]
    columns = [list(month(Shape(Traffic(events, accounts, skew)), units, template)) for accounts, skew in every]
    rows = [
        [lines[0].what, *(f"${line.dollars:,.2f}" for line in lines)]
        for lines in zip(*columns, strict=True)
        if any(line.dollars for line in lines)
    ]
    return _grid([f"{events // MILLION} million events", *titles], [*rows, _together(columns)])


def totals(units: Units, template: Template, batches: Sequence[int] = BATCHES) -> str:
    """Return what months cost by events, accounts and events a request, as a table in Markdown."""
    titles = [f"{accounts:,} accounts" for accounts in ACCOUNTS]
    rows = []
    for events in EVENTS:
        for batch in batches:
            shapes = [Shape(Traffic(events, accounts, batch=batch)) for accounts in ACCOUNTS]
            dollars = [f"${_sum(month(shape, units, template)):,.0f}" for shape in shapes]
            rows.append([f"{events // MILLION} million events, {_events(batch)} a request", *dollars])
    return _grid(["a month", *titles], rows)


def windows(units: Units, template: Template) -> str:
    """Return what a month of 300 accounts costs by the streams' batching window, as a table in Markdown."""
    rows = []
    for window in WINDOWS:
        cells = []
        for events in EVENTS:
            shape = Shape(Traffic(events, window=window))
            state = counted(simulated(shape.traffic), units)
            writes = (state.counters + state.snapshots) / events
            cells += [f"{writes:.2f}", f"${_sum(month(shape, units, template)):,.0f}"]
        rows.append([f"`{window}`", f"{window} s", f"{2 * window} s", *cells])
    titles = [f"{events // MILLION} million: {what}" for events in EVENTS for what in ("writes an event", "a month")]
    return _grid(["`BatchingWindowSeconds`", "totals wait", "snapshots wait", *titles], rows)


def _grid(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (titles, *rows)]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(titles) - 1), *lines[1:]])


def _together(columns: Sequence[Sequence[Line]]) -> list[str]:
    return ["**together**", *(f"**${_sum(column):,.2f}**" for column in columns)]


def _sum(lines: Iterable[Line]) -> Decimal:
    return sum((line.dollars for line in lines), Decimal(0))


def snap_start(template: Template) -> tuple[int, Decimal, Decimal]:
    """Return the functions that can start from snapshots, their gigabytes, and the dollars that this costs a month."""
    functions = [one for one in template.resources(FUNCTION).values() if "SnapStart" in one]
    gigabytes = Decimal(sum(one["MemorySize"] for one in functions)) / 1024
    return len(functions), gigabytes, gigabytes * SNAPSHOT_GB_SECOND * SECONDS_A_MONTH


def snapshots(template: Template) -> str:
    """Return what starting from snapshots costs, as a table in Markdown."""
    functions, gigabytes, dollars = snap_start(template)
    what = f"snapshots of {functions} functions with {gigabytes.normalize():f} GB of memory, at any load"
    kept = f"{what}: ${SNAPSHOT_GB_SECOND} for a GB and second | ${dollars:.2f} in 30 days"
    restored = f"each new process: ${SNAPSHOT_GB_RESTORED} for a GB of memory"
    thousand = f"${SNAPSHOT_GB_RESTORED * 1000:.2f} for 1,000 processes with 1 GB"
    return "\n".join(("| what | dollars |", "|---|---|", f"| {kept} |", f"| {restored} | {thousand} |"))


def strangers(template: Template) -> Decimal:
    """Return the dollars that answered calls without a token cost a month at most, at the rate of the template.

    The access log of refused calls is a further cost, which the template does not limit.
    """
    rate = int(template.parameters["ConsoleThrottleRate"])
    memory = {Path(one["CodeUri"]).name: one["MemorySize"] for one in template.resources(FUNCTION).values()}
    a_second = Decimal(0)
    for route, function in template.open_routes().items():
        sizes = {path.name: path.stat().st_size for path in (ROOT / "functions" / function / "static").rglob("*.*")}
        sent = max(sizes.values()) if route.path.startswith(ASSETS) else sizes[INDEX]
        compute = PAGE_SECONDS * memory[function] / 1024 * GB_SECOND
        logged = (BYTES_LOGGED + ACCESS_BYTES) * LOG_BYTE
        a_second += rate * (REQUEST + INVOCATION + compute + logged + sent * SENT_BYTE)
    return a_second * SECONDS_A_MONTH


def pages(units: Units, template: Template) -> Iterator[tuple[Path, str, str]]:
    """Yield the tables of the pages: page, name of its markers, text."""
    yield PAGE, "month", table(Shape(), units, template)
    yield PAGE, "months", months(units, template)
    yield PAGE, "totals", totals(units, template)
    yield README, "totals", totals(units, template, FEW_BATCHES)
    yield PAGE, "windows", windows(units, template)


def main() -> None:
    """Print the selected table, or write all tables into the pages."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    for one in fields(Traffic):
        if one.name != "records":
            choices = BATCHES if one.name == "batch" else None
            parser.add_argument(f"--{one.name}", type=type(one.default), default=one.default, choices=choices)
    parser.add_argument("--new-customers", type=Decimal, default=Shape().new_customers)
    parser.add_argument("--reports", type=int, default=Shape().reports)
    parser.add_argument("--months", action="store_true", help="months by events, accounts and events a request")
    parser.add_argument("--windows", action="store_true", help="a month by the streams' batching window")
    parser.add_argument("--template", action="store_true", help="what depends on the template alone")
    parser.add_argument("--measure", action="store_true", help="meter the units again, which takes a minute")
    parser.add_argument("--write", action="store_true", help="write all tables into the pages")
    options = parser.parse_args()
    template = Template.load(TEMPLATE)
    if options.measure:
        store(measure())
    units = stored_units()
    if options.write:
        for page, name, text in pages(units, template):
            insert(page, name, text)
    elif options.template:
        print(snapshots(template), f"calls without a token: ${strangers(template):,.0f} a month at most", sep="\n\n")
    elif options.months:
        print(months(units, template), totals(units, template), sep="\n\n")
    elif options.windows:
        print(windows(units, template))
    else:
        traffic = Traffic(options.events, options.accounts, options.skew, options.batch, options.window)
        print(table(Shape(traffic, options.new_customers, options.reports), units, template))


if __name__ == "__main__":
    main()
