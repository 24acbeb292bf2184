"""Estimates what a million events and a whole month cost in AWS from measured units and speeds, in us-east-1.

`python -m benchmarks.cost` prints the table of docs/operations.md; its options are the shape of the load.
`python -m benchmarks.cost --months` prints the tables of docs/benchmarks.md, `python -m benchmarks.cost --template`
what docs/deployment.md says, computed from template.yaml.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Final

from benchmarks.functions import ROOT
from quarterhour.reports.plan import SHARDS_A_PART
from quarterhour.web.static_files import ASSETS, INDEX
from quarterhour_tools.emulator.stack import TEMPLATE
from quarterhour_tools.emulator.template import Template

EVENTS: Final = 1_000_000
FUNCTION: Final = "AWS::Serverless::Function"

WRITE: Final = Decimal("0.625") / 1_000_000
"""Dollars a write unit, on demand."""
READ: Final = Decimal("0.125") / 1_000_000
STORED: Final = Decimal("0.25") + Decimal("0.20")
"""Dollars a gigabyte and month, in a table and in its point-in-time recovery."""
REQUEST: Final = Decimal("1.00") / 1_000_000
INVOCATION: Final = Decimal("0.20") / 1_000_000
GIGABYTE_SECOND: Final = Decimal("0.0000133334")
S3_PUT: Final = Decimal("5.00") / 1_000_000
LOGGED: Final = Decimal("0.50") / 1_000_000_000
"""Dollars a byte of logs."""

SENT: Final = Decimal("0.09") / 1_000_000_000
"""Dollars a byte that leaves AWS; the first 100 GB of an account each month are free and not counted as such."""
METRIC: Final = Decimal("0.30")
"""Dollars a custom metric and month."""
TRANSITION: Final = Decimal("0.025") / 1_000
"""Dollars a state transition of a Step Functions workflow of the standard kind."""
LINES_STORED: Final = Decimal("0.023")
"""Dollars a gigabyte and month, in S3."""
SNAPSHOT_KEPT: Final = Decimal("0.0000015046")
"""Dollars a second and gigabyte of a function that starts from a snapshot."""
SNAPSHOT_RESTORED: Final = Decimal("0.0001397998")
"""Dollars a gigabyte of a process that starts from a snapshot."""

RECORDING_UNITS: Final = Decimal("2.000")
COUNTING_UNITS: Final = Decimal("0.150")
CUSTOMER_UNITS: Final = Decimal("2.04")
REPORTING_UNITS: Final = Decimal("0.068")
RECORDED_A_SECOND: Final = 6_000
REPORTED_A_SECOND: Final = 60_000
"""Events a second and core: what busy cores reached at least, docs/benchmarks.md."""
CORES_A_GIGABYTE: Final = Decimal(1024) / 1769
BATCHED: Final = 100
"""The events that a stream delivers at once."""
BATCH_SECONDS: Final = Decimal("0.2")
"""Seconds with half a gigabyte, for counters or snapshots of a batch: estimated, not measured. More memory, fewer."""
REQUEST_SECONDS: Final = Decimal("0.02")
"""Seconds with a gigabyte, for a request's way there and back: estimated, not measured."""
BYTES_KEPT: Final = 850
"""Of an event of 250 bytes and its claim, with what DynamoDB adds to each."""
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
DASHBOARD: Final = Decimal(3)
ALARM_METRIC: Final = Decimal("0.10")
WATCHES: Final = 2_880
"""Invocations of the watch in a month."""
SECONDS_A_MONTH: Final = 30 * 86_400
PEAK: Final = 4
"""How many times the average rate the shards must take."""
EVENTS_A_SHARD: Final = 1_000
"""A second: DynamoDB's limit of a partition."""
PART_TRANSITIONS: Final = 2
"""Of a part in a quarter-hour's run: estimated, not measured."""
RUN_TRANSITIONS: Final = 6
"""Of a run besides its parts: estimated, not measured."""
PAGE_SECONDS: Final = Decimal("0.005")
"""Seconds for a file of the console: estimated, not measured."""
MONTHS: Final = (1, 5, 100, 10_000)
"""Millions of events."""
BATCHES: Final = (1, 100, 500)
"""Events a request."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The load: events a request, the share of events with a customer not seen that day, reports a month."""

    batch: int = 500
    new_customers: Decimal = Decimal(0)
    reports: int = 720


@dataclass(frozen=True, slots=True)
class Line:
    """A part of the cost: its purpose, its computation, dollars."""

    what: str
    how: str
    dollars: Decimal


def estimate(shape: Shape) -> Iterator[Line]:
    """Yield the parts of the cost of a million events."""
    requests = -(-EVENTS // shape.batch)
    batches = EVENTS // BATCHED
    recording = Decimal(EVENTS) / RECORDED_A_SECOND / CORES_A_GIGABYTE + requests * REQUEST_SECONDS
    reporting = Decimal(EVENTS) / REPORTED_A_SECOND / CORES_A_GIGABYTE
    streaming = 2 * batches * BATCH_SECONDS / 2
    seconds = recording + streaming + reporting
    invocations = requests + 2 * batches + shape.reports
    yield _units("recording", RECORDING_UNITS, "writes", WRITE)
    yield _units("counters and snapshots", COUNTING_UNITS, "writes", WRITE)
    if shape.new_customers:
        yield _units("new customers", CUSTOMER_UNITS * shape.new_customers, "writes", WRITE)
    yield _units("reports", REPORTING_UNITS, "reads", READ)
    yield Line("HTTP API", f"{requests:,} requests of {shape.batch:,} x $1.00/million", requests * REQUEST)
    yield Line("Lambda, requests", f"{invocations:,} x $0.20/million", invocations * INVOCATION)
    gigabyte_seconds = f"recording {recording:,.0f}, streams {streaming:,.0f}, reports {reporting:,.0f}"
    yield Line("Lambda, compute", f"GB-s: {gigabyte_seconds} x ${GIGABYTE_SECOND}", seconds * GIGABYTE_SECOND)
    puts = shape.reports * 6
    yield Line("S3", f"{shape.reports:,} reports of 4 quarter-hours: {puts:,} puts x $5.00/million", puts * S3_PUT)
    logged = invocations * BYTES_LOGGED
    yield Line("logs", f"{invocations:,} x {BYTES_LOGGED:,} bytes x $0.50/GB", logged * LOGGED)
    gigabytes = Decimal(EVENTS * BYTES_KEPT) / 1_000_000_000
    yield Line("each month kept", f"{gigabytes:.2f} GB x ($0.25 + $0.20 recovery)", gigabytes * STORED)


def table(shape: Shape) -> str:
    """Return the estimate as a table in Markdown."""
    lines = list(estimate(shape))
    rows = [f"| {line.what} | {line.how} | ${line.dollars:.4f} |" for line in lines]
    total = sum((line.dollars for line in lines), Decimal(0))
    return "\n".join(["| what | how | dollars |", "|---|---|---|", *rows, f"| **together** | | **${total:.2f}** |"])


def shards(millions: int) -> int:
    """Return the shards that a month of so many million events needs, evenly spread but for its peak."""
    return -(-millions * EVENTS * PEAK // (SECONDS_A_MONTH * EVENTS_A_SHARD))


def month(millions: int, batch: int) -> Iterator[Line]:
    """Yield what a month of so many million events costs, service by service, with what it costs without any event."""
    events = millions * EVENTS
    # Reports do not grow with the events, so theirs are counted once.
    per_million = {line.what: line.dollars for line in estimate(Shape(batch=batch, reports=0))}
    fixed = {line.what: line.dollars - per_million[line.what] for line in estimate(Shape(batch=batch))}
    requests = -(-events // batch)
    parts = -(-shards(millions) // SHARDS_A_PART)

    def of(*names: str) -> Decimal:
        return sum((millions * per_million[name] + fixed[name] for name in names), Decimal(0))

    yield Line("DynamoDB writes and reads", "", of("recording", "counters and snapshots", "reports"))
    yield Line("DynamoDB storage and recovery", "", of("each month kept"))
    yield Line("HTTP API", "", of("HTTP API"))
    watching = WATCHES * (INVOCATION + GIGABYTE_SECOND)
    yield Line("Lambda", "", of("Lambda, requests", "Lambda, compute") + watching)
    yield Line("S3", "", of("S3") + events * BYTES_SEALED * LINES_STORED / 1_000_000_000)
    in_parts = WATCHES * (RUN_TRANSITIONS + PART_TRANSITIONS * parts) if parts > 1 else 0
    yield Line("Step Functions", "", in_parts * TRANSITION)
    metrics = ALARM_METRICS * ALARM_METRIC + (OWN_METRICS + ROUTE_METRICS) * METRIC + DASHBOARD
    yield Line("CloudWatch logs", "", of("logs") + requests * ACCESS_BYTES * LOGGED)
    yield Line("CloudWatch metrics, alarms, dashboard", "", metrics)
    yield Line("data out", "", (events + requests) * BYTES_ANSWERED * SENT)


def months() -> str:
    """Return the cost of a month, for each number of events and of events a request, as tables in Markdown."""
    return "\n\n".join(map(_months, BATCHES))


def _months(batch: int) -> str:
    columns = [list(month(millions, batch)) for millions in MONTHS]
    titles = " | ".join(f"{millions:,} million" for millions in MONTHS)
    events = "1 event" if batch == 1 else f"{batch} events"
    rows = [f"| requests of {events} | {titles} |", "|---|" + "---:|" * len(MONTHS)]
    rows += [
        f"| {lines[0].what} | {' | '.join(f'${line.dollars:,.2f}' for line in lines)} |"
        for lines in zip(*columns, strict=True)
    ]
    sums = [sum((line.dollars for line in column), Decimal(0)) for column in columns]
    rows.append(f"| **together** | {' | '.join(f'**${one:,.2f}**' for one in sums)} |")
    return "\n".join(rows)


def snapshots(template: Template) -> str:
    """Return what starting from snapshots costs, as a table in Markdown."""
    functions = [one for one in template.resources(FUNCTION).values() if "SnapStart" in one]
    gigabytes = Decimal(sum(one["MemorySize"] for one in functions)) / 1024
    what = f"snapshots of {len(functions)} functions with {gigabytes.normalize():f} GB of memory, at any load"
    kept = (
        f"{what}: ${SNAPSHOT_KEPT} for a GB and second | ${gigabytes * SNAPSHOT_KEPT * SECONDS_A_MONTH:.2f} in 30 days"
    )
    restored = f"each new process: ${SNAPSHOT_RESTORED} for a GB of memory"
    thousand = f"${SNAPSHOT_RESTORED * 1000:.2f} for 1,000 processes with 1 GB"
    return "\n".join(("| what | dollars |", "|---|---|", f"| {kept} |", f"| {restored} | {thousand} |"))


def strangers(template: Template) -> Decimal:
    """Return the dollars that calls without a token cost a month at most, at the rate that the template permits."""
    rate = int(template.parameters["ConsoleThrottleRate"])
    memory = {Path(one["CodeUri"]).name: one["MemorySize"] for one in template.resources(FUNCTION).values()}
    a_second = Decimal(0)
    for route, function in template.open_routes().items():
        sizes = {path.name: path.stat().st_size for path in (ROOT / "functions" / function / "static").rglob("*.*")}
        sent = max(sizes.values()) if route.path.startswith(ASSETS) else sizes[INDEX]
        compute = PAGE_SECONDS * memory[function] / 1024 * GIGABYTE_SECOND
        logged = (BYTES_LOGGED + ACCESS_BYTES) * LOGGED
        a_second += rate * (REQUEST + INVOCATION + compute + logged + sent * SENT)
    return a_second * SECONDS_A_MONTH


def _units(what: str, each: Decimal, kind: str, price: Decimal) -> Line:
    how = f"{each.normalize():f} {kind} an event x ${price * 1_000_000:.3f}/million"
    return Line(what, how, EVENTS * each * price)


def main() -> None:
    """Print the table for a shape of the load."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    for one in fields(Shape):
        parser.add_argument(f"--{one.name.replace('_', '-')}", type=type(one.default), default=one.default)
    parser.add_argument("--months", action="store_true", help="the cost of whole months, with all services")
    parser.add_argument("--template", action="store_true", help="what depends on the template alone")
    options = vars(parser.parse_args())
    of_months, of_template = options.pop("months"), options.pop("template")
    if of_template:
        template = Template.load(TEMPLATE)
        print(snapshots(template), f"calls without a token: ${strangers(template):,.0f} a month at most", sep="\n\n")
    else:
        print(months() if of_months else table(Shape(**options)))


if __name__ == "__main__":
    main()
