"""Estimates what a month costs in AWS, from metered units, a simulated stream and measured speeds, in us-east-1.

`python -m benchmarks.cost` prints a month part by part; its options describe the month. `--months` and
`--batching-windows` print the tables of docs/benchmarks.md. `--idle` prints a month without an event. `--template`
prints the costs in docs/deployment.md, which depend on template.yaml alone. `--measure` meters the units again.
`--write` writes all tables into the pages, and prints which of them changed.
"""

import argparse
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from math import ceil
from pathlib import Path
from typing import Any, Final

from benchmarks.assumptions import CALL_SECONDS, CORE_MEGABYTES
from benchmarks.functions import ROOT
from benchmarks.logs import access_line
from benchmarks.pages import PAGE, README, insert
from benchmarks.prices import (
    ALARM_METRIC_MONTH,
    DASHBOARD_MONTH,
    GB,
    GB_SECOND,
    INVOCATION,
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
from benchmarks.traffic import DAYS_A_MONTH, HOURS_A_MONTH, StreamLoad, Traffic, simulate
from benchmarks.units import EVENTS_A_REQUEST, Units, load_units, measure, save_units
from quarterhour.aws.telemetry import WITH_ZEROS, Metric
from quarterhour.reports.plan import SHARDS_A_PART
from quarterhour.web.static_files import ASSETS, INDEX
from quarterhour_tools.emulator.template import TEMPLATE, Function, Template

FUNCTION: Final = "AWS::Serverless::Function"
ALARM: Final = "AWS::CloudWatch::Alarm"

RECORDED_A_SECOND: Final = 6_000
"""Events recorded per CPU second: what a busy core reached at least, docs/benchmarks.md."""
REPORTED_A_SECOND: Final = 60_000
"""Events reported per CPU second: what a busy core reached at least, docs/benchmarks.md."""
COUNTED_A_SECOND: Final = 6_000
"""Account batches counted per CPU second, of one event each: ``python -m benchmarks.many_accounts``."""
SNAPSHOTS_A_SECOND: Final = 1_400
"""Account batches whose snapshots are written per CPU second, each with its own call: estimated, not measured."""
CORES_A_GIGABYTE: Final = Decimal(1024) / CORE_MEGABYTES
"""Processor cores that a gigabyte of a function's memory brings."""
REQUEST_SECONDS: Final = Decimal("0.02")
"""Seconds of a request besides the CPU time of its events: estimated, not measured."""
BATCH_SECONDS: Final = Decimal("0.003")
"""Seconds of a stream batch besides its calls and the CPU time of its accounts: estimated, not measured."""
BYTES_ANSWERED: Final = 200
"""Bytes of a receipt, and as many of a response's headers."""
BYTES_SEALED: Final = 30
"""Bytes of a compressed line in a sealed file: estimated, not measured."""
WATCHES: Final = 2_880
"""Invocations of the watch function in a month."""
SECONDS_A_MONTH: Final = HOURS_A_MONTH * 3600
PEAK: Final = 4
"""The peak that the shards must take, as a multiple of the average rate."""
EVENTS_A_SHARD: Final = 1_000
"""Events a second of a ledger shard at most: DynamoDB's limit of a partition."""
PUTS_A_REPORT: Final = 6
"""PUT requests to S3 of a report."""
PART_TRANSITIONS: Final = 2
"""State transitions for each part of a quarter-hour's run: estimated, not measured."""
RUN_TRANSITIONS: Final = 6
"""State transitions of a run besides those of its parts: estimated, not measured."""
PAGE_SECONDS: Final = Decimal("0.005")
"""Seconds for a file of the console: estimated, not measured."""
RUN_SECONDS: Final = Decimal(2)
"""Seconds of a run without events, which is often the first of a process: estimated, not measured."""

EVENTS: Final = (5 * MILLION, 100 * MILLION)
"""Events of the months in the tables."""
ACCOUNTS: Final = (10, 300, 1_000)
"""Accounts of the months in the tables, with equal shares."""
ZIPF_ACCOUNTS: Final = (300, 1_000)
"""Accounts of the months in the tables, with shares by Zipf's law."""
README_EVENTS_A_REQUEST: Final = (1, 100)
"""Events a request in the README's table."""
BATCHING_WINDOWS: Final = (1, 5, 15, 60, 300)
"""Seconds of the batching windows that a table compares."""


@dataclass(frozen=True, slots=True)
class Month:
    """What is processed in a month.

    ``new_customers``: the share of events with a customer who was not seen that day. ``reports``: the number of runs.
    """

    traffic: Traffic = field(default_factory=Traffic)
    new_customers: Decimal = Decimal(0)
    reports: int = 720


@dataclass(frozen=True, slots=True)
class CostLine:
    """A part of the cost: the service or its purpose, the calculation as text, the result in dollars."""

    service: str
    calculation: str
    dollars: Decimal


@dataclass(frozen=True, slots=True)
class StreamUnits:
    """What counters and snapshots use in a month.

    ``account_batches``: their number. ``counters`` and ``snapshots``: write units. ``reads``: read units of both.
    ``stored_bytes``: bytes of counters and snapshots that expire.
    """

    account_batches: float
    counters: float
    snapshots: float
    reads: float
    stored_bytes: float


def stream_units(load: StreamLoad, units: Units) -> StreamUnits:
    """Return the units of a load: of its account batches, and of the windows that its accounts enter and leave."""
    batches = load.scaled_to_month(sum(load.account_batches))
    windows = [units.window_units(number / load.hours) for number in load.account_batches if number]
    return StreamUnits(
        batches,
        batches * units.counters.writes + HOURS_A_MONTH * sum(one.counters for one in windows),
        batches * units.snapshots.writes + HOURS_A_MONTH * sum(one.snapshots for one in windows),
        batches * (units.counters.reads + units.snapshots.reads) + HOURS_A_MONTH * sum(one.reads for one in windows),
        sum(one.stored_bytes for one in windows),
    )


def estimate(month: Month, units: Units, template: Template) -> Iterator[CostLine]:
    """Yield what a month costs, service by service."""
    traffic = month.traffic
    recording = units.recording[traffic.events_a_request]
    load = simulate(replace(traffic, records_a_request=max(1, round(recording.records))))
    functions = template.functions(lambda resource, _: resource)
    used = stream_units(load, units)
    events, requests = traffic.events, -(-traffic.events // traffic.events_a_request)
    invocations = {
        "ingest": Decimal(requests),
        "counters": _in_month(load, load.counter_batches),
        "snapshots": _in_month(load, load.snapshot_batches),
        "report": Decimal(month.reports),
        "watch": Decimal(WATCHES),
    }

    yield _writes("recording", recording.writes * events, events)
    yield _writes("counters", used.counters, events)
    yield _writes("snapshots", used.snapshots, events)
    if month.new_customers:
        yield _writes("new customers", units.customer * float(month.new_customers) * events, events)
    report = units.report
    proofs = load.scaled_to_month(load.quarter_hours)
    reads = used.reads + events * report.event + proofs * report.account + month.reports * report.run
    yield CostLine("reads of counters and reports", _units(reads, events, "reads", READ), Decimal(reads) * READ)
    stored = Decimal(events * recording.stored_bytes + used.stored_bytes) / GB
    calculation = f"{stored:.2f} GB x ({_dollars(TABLE_GB_MONTH)} + {_dollars(RECOVERY_GB_MONTH)})"
    yield CostLine("DynamoDB storage and recovery", calculation, stored * (TABLE_GB_MONTH + RECOVERY_GB_MONTH))
    calculation = (
        f"{requests:,} requests of {_events(traffic.events_a_request)} x {_dollars(REQUEST * MILLION)}/million"
    )
    yield CostLine("HTTP API", calculation, requests * REQUEST)
    number = sum(invocations.values(), Decimal(0))
    yield CostLine("Lambda, requests", f"{number:,.0f} x {_dollars(INVOCATION * MILLION)}/million", number * INVOCATION)
    yield _compute(month, load, units, functions)
    yield _s3(month)
    parts = -(-shards(events) // SHARDS_A_PART)
    transitions = WATCHES * (RUN_TRANSITIONS + PART_TRANSITIONS * parts) if parts > 1 else 0
    calculation = f"{transitions:,} transitions x {_dollars(TRANSITION * 1_000, 3)}/1,000"
    yield CostLine("Step Functions", calculation, transitions * TRANSITION)
    logged = sum((units.logged[name] * count for name, count in invocations.items()), Decimal(0))
    yield from _logs(logged + requests * access_bytes(template), template)
    yield from watching(template, own_metrics(template))
    sent = (events + requests) * BYTES_ANSWERED
    yield CostLine("data out", f"{Decimal(sent) / GB:,.2f} GB x {_dollars(SENT_BYTE * GB)}/GB", sent * SENT_BYTE)


def _in_month(load: StreamLoad, number: int) -> Decimal:
    return Decimal(round(load.scaled_to_month(number)))


def _dollars(price: Decimal, places: int = 2) -> str:
    return f"${price:.{places}f}"


def _events(number: int) -> str:
    return "1 event" if number == 1 else f"{number} events"


def _writes(purpose: str, units: float, events: int) -> CostLine:
    return CostLine(purpose, _units(units, events, "writes", WRITE), Decimal(units) * WRITE)


def _units(units: float, events: int, kind: str, price: Decimal) -> str:
    return f"{units / events:.3f} {kind} an event x {_dollars(price * MILLION, 3)}/million"


def _compute(month: Month, load: StreamLoad, units: Units, functions: Mapping[str, Function]) -> CostLine:
    """Return the cost of the time for which functions run, in gigabyte-seconds."""
    traffic = month.traffic

    def gigabytes(function: str) -> Decimal:
        return Decimal(functions[function].memory) / 1024

    requests = -(-traffic.events // traffic.events_a_request)
    account_batches = _in_month(load, sum(load.account_batches))
    recording = Decimal(traffic.events) / RECORDED_A_SECOND / CORES_A_GIGABYTE
    recording += requests * REQUEST_SECONDS * gigabytes("ingest")
    streaming = (account_batches / COUNTED_A_SECOND + account_batches / SNAPSHOTS_A_SECOND) / CORES_A_GIGABYTE
    for function, one, batches, waits in (
        ("counters", units.counters, load.counter_batches, load.counter_waits),
        ("snapshots", units.snapshots, load.snapshot_batches, load.snapshot_waits),
    ):
        waiting = _in_month(load, waits) * Decimal(one.calls) * Decimal(str(CALL_SECONDS))
        streaming += (_in_month(load, batches) * BATCH_SECONDS + waiting) * gigabytes(function)
    runs = Decimal(traffic.events) / REPORTED_A_SECOND / CORES_A_GIGABYTE
    runs += month.reports * gigabytes("report") + WATCHES * gigabytes("watch")
    calculation = f"GB-s: recording {recording:,.0f}, streams {streaming:,.0f}, runs {runs:,.0f} x ${GB_SECOND}"
    return CostLine("Lambda, compute", calculation, (recording + streaming + runs) * GB_SECOND)


def _s3(month: Month) -> CostLine:
    puts = month.reports * PUTS_A_REPORT
    lines = Decimal(month.traffic.events * BYTES_SEALED) / GB
    calculation = f"{puts:,} puts x {_dollars(S3_PUT * MILLION)}/million, {lines:.2f} GB x {_dollars(S3_GB_MONTH, 3)}"
    return CostLine("S3", calculation, puts * S3_PUT + lines * S3_GB_MONTH)


def _logs(logged: Decimal, template: Template) -> Iterator[CostLine]:
    yield CostLine("logs", f"{logged / GB:,.2f} GB x {_dollars(LOG_BYTE * GB)}/GB", logged * LOG_BYTE)
    days = int(template.parameters["LogRetentionDays"])
    calculation = f"{logged / GB:,.2f} GB for {days} days x {_dollars(LOG_BYTE_MONTH * GB)}/GB"
    yield CostLine("logs kept", calculation, logged * LOG_BYTE_MONTH * days / DAYS_A_MONTH)


def access_bytes(template: Template) -> int:
    """Return the bytes of a line in the access log of the machines' API."""
    (api,) = template.resources("AWS::Serverless::HttpApi").values()
    return access_line(api["AccessLogSettings"]["Format"])


def request_bytes(units: Units, template: Template) -> int:
    """Return the bytes that a request of one event leaves in the logs, of all functions together."""
    return access_bytes(template) + sum(units.logged[name] for name in ("ingest", "counters", "snapshots"))


def watching(template: Template, own: Collection[str]) -> Iterator[CostLine]:
    """Yield what alarms, the functions' ``own`` metrics and the dashboard cost, of the template with its parameters."""
    looked_at = sum(len(list(_looked_at(one))) for one in template.deployed(ALARM).values())
    calculation = f"{looked_at} metrics x {_dollars(ALARM_METRIC_MONTH)}"
    yield CostLine("alarms", calculation, looked_at * ALARM_METRIC_MONTH)
    yield CostLine("metrics", f"{len(own)} metrics x {_dollars(METRIC_MONTH)}", len(own) * METRIC_MONTH)
    shown = len(template.deployed("AWS::CloudWatch::Dashboard"))
    yield CostLine("dashboard", f"{shown} dashboard x {_dollars(DASHBOARD_MONTH)}", shown * DASHBOARD_MONTH)


def _looked_at(alarm: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the metrics of an alarm."""
    if "MetricName" in alarm:
        yield alarm
    yield from (one["MetricStat"]["Metric"] for one in alarm.get("Metrics", ()) if "MetricStat" in one)


def own_metrics(template: Template) -> set[str]:
    """Return the metrics that the functions write: those of alarms and, for each way in, the events recorded.

    The intake brings connections, and writes its unavailable events too, which the dashboard shows.
    """
    of_alarms = [one for alarm in template.deployed(ALARM).values() for one in _looked_at(alarm)]
    own = {f"{one['MetricName']} of {one['Dimensions'][0]['Value']}" for one in of_alarms if _is_own(one)}
    takes_in = any(one.endswith(" of intake") for one in own)
    ways = {"ingest", "intake", "connections"} if takes_in else {"ingest"}
    of_dashboard = {f"{Metric.EVENTS_UNAVAILABLE} of intake"} if takes_in else set()
    return own | {f"{Metric.EVENTS_RECORDED} of {one}" for one in ways} | of_dashboard


def _is_own(metric: Mapping[str, Any]) -> bool:
    return not str(metric["Namespace"]).startswith("AWS/")


def idle(units: Units, template: Template) -> Iterator[CostLine]:
    """Yield what a month costs without an event: a report writes no file then, and moves the checkpoint."""
    runs = {"report": Month().reports, "watch": WATCHES}
    yield from watching(template, WITH_ZEROS)
    number = sum(runs.values())
    yield CostLine("Lambda, requests", f"{number:,} x {_dollars(INVOCATION * MILLION)}/million", number * INVOCATION)
    functions = template.functions(lambda resource, _: resource)
    seconds = sum((count * RUN_SECONDS * functions[name].memory / 1024 for name, count in runs.items()), Decimal(0))
    yield CostLine("Lambda, compute", f"{seconds:,.0f} GB-s x ${GB_SECOND}", seconds * GB_SECOND)
    calculation = f"{runs['report']:,} writes x {_dollars(WRITE * MILLION, 3)}/million"
    yield CostLine("writes of report", calculation, runs["report"] * WRITE)
    reads = Decimal(number * units.report.run)
    calculation = f"{reads:,.0f} reads x {_dollars(READ * MILLION, 3)}/million"
    yield CostLine("reads of report and watch", calculation, reads * READ)
    logged = sum((Decimal(units.logged[name] * count) for name, count in runs.items()), Decimal(0))
    yield from _logs(logged, template)


def shards(events: int) -> int:
    """Return the shards that a month of so many events needs, at an even rate except for the peak."""
    return -(-events * PEAK // (SECONDS_A_MONTH * EVENTS_A_SHARD))


# ---------------------------------------------------------------- tables


def month_table(month: Month, units: Units, template: Template) -> str:
    """Return a month part by part, and what starting from snapshots would add, as a table in Markdown."""
    lines = [line for line in estimate(month, units, template) if line.dollars]
    rows = [f"| {line.service} | {line.calculation} | ${line.dollars:,.2f} |" for line in lines]
    together = f"| **together** | | **${_sum(lines):,.2f}** |"
    functions, gigabytes, dollars = snap_start(template)
    more = f"| `SnapStart=on` adds | {functions} functions with {gigabytes.normalize():f} GB | ${dollars:,.2f} |"
    return "\n".join(["| service | calculation | dollars |", "|---|---|---:|", *rows, together, more])


def idle_table(units: Units, template: Template) -> str:
    """Return a month without an event part by part, as a table in Markdown."""
    lines = [line for line in idle(units, template) if line.dollars]
    rows = [f"| {line.service} | {line.calculation} | ${line.dollars:,.2f} |" for line in lines]
    together = f"| **together** | | **${_sum(lines):,.2f}** |"
    return "\n".join(["| service | calculation | dollars |", "|---|---|---:|", *rows, together])


def months_tables(units: Units, template: Template) -> str:
    """Return months of requests of one event, by events and accounts, as tables in Markdown."""
    return "\n\n".join(_months_table(events, units, template) for events in EVENTS)


def _months_table(events: int, units: Units, template: Template) -> str:
    every = [(accounts, 0) for accounts in ACCOUNTS] + [(accounts, 1) for accounts in ZIPF_ACCOUNTS]
    titles = [f"{accounts:,} accounts{', Zipf' if skew else ''}" for accounts, skew in every]
    columns = [list(estimate(Month(Traffic(events, accounts, skew)), units, template)) for accounts, skew in every]
    rows = [
        [lines[0].service, *(f"${line.dollars:,.2f}" for line in lines)]
        for lines in zip(*columns, strict=True)
        if any(line.dollars for line in lines)
    ]
    return _grid([f"{events // MILLION} million events", *titles], [*rows, _together(columns)])


def totals_table(units: Units, template: Template, events_a_request: Sequence[int] = EVENTS_A_REQUEST) -> str:
    """Return what months cost by events, accounts and events a request, as a table in Markdown."""
    titles = [f"{accounts:,} accounts" for accounts in ACCOUNTS]
    rows = []
    for events in EVENTS:
        for size in events_a_request:
            months = [Month(Traffic(events, accounts, events_a_request=size)) for accounts in ACCOUNTS]
            dollars = [f"${_sum(estimate(month, units, template)):,.0f}" for month in months]
            rows.append([f"{events // MILLION} million events, {_events(size)} a request", *dollars])
    return _grid(["a month", *titles], rows)


def batching_table(units: Units, template: Template) -> str:
    """Return what a month of 300 accounts costs by the streams' batching window, as a table in Markdown."""
    rows = []
    for seconds in BATCHING_WINDOWS:
        cells = []
        for events in EVENTS:
            month = Month(Traffic(events, batching_window=seconds))
            used = stream_units(simulate(month.traffic), units)
            writes = (used.counters + used.snapshots) / events
            cells += [f"{writes:.2f}", f"${_sum(estimate(month, units, template)):,.0f}"]
        rows.append([f"`{seconds}`", f"{seconds} s", f"{2 * seconds} s", *cells])
    titles = [f"{events // MILLION} million: {title}" for events in EVENTS for title in ("writes an event", "a month")]
    return _grid(["batching window", "totals wait", "snapshots wait", *titles], rows)


def archive_table(units: Units) -> str:
    """Return what storing a month's events costs, before and after they are archived, as a table in Markdown."""
    events, price = EVENTS[0], TABLE_GB_MONTH + RECOVERY_GB_MONTH
    rows = []
    for size, one in units.recording.items():
        stored, archived = (Decimal(events * each) / GB for each in (one.stored_bytes, one.archived_bytes))
        once = events * (Decimal(one.archive_writes) * WRITE + Decimal(units.report.event) * READ)
        saved = (stored - archived) * price
        row = [_events(size), f"{stored:.2f} GB", f"${stored * price:.2f}", f"{archived:.2f} GB"]
        rows.append([*row, f"${archived * price:.2f}", f"${once:.2f}", f"{once / saved:.0f} months"])
    titles = ["a request", "before", "a month", "archived", "a month", "once", "paid back after"]
    return _grid(titles, rows)


def _grid(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (titles, *rows)]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(titles) - 1), *lines[1:]])


def _together(columns: Sequence[Sequence[CostLine]]) -> list[str]:
    return ["**together**", *(f"**${_sum(column):,.2f}**" for column in columns)]


def _sum(lines: Iterable[CostLine]) -> Decimal:
    return sum((line.dollars for line in lines), Decimal(0))


def snap_start(template: Template) -> tuple[int, Decimal, Decimal]:
    """Return the functions that can start from snapshots, their gigabytes, and the dollars that this costs a month."""
    functions = [one for one in template.deployed(FUNCTION).values() if "SnapStart" in one]
    gigabytes = Decimal(sum(one["MemorySize"] for one in functions)) / 1024
    return len(functions), gigabytes, gigabytes * SNAPSHOT_GB_SECOND * SECONDS_A_MONTH


def snap_start_table(template: Template) -> str:
    """Return what starting from snapshots costs, as a table in Markdown."""
    functions, gigabytes, dollars = snap_start(template)
    snapshots = f"snapshots of {functions} functions with {gigabytes.normalize():f} GB of memory, at any load"
    kept = f"{snapshots}: ${SNAPSHOT_GB_SECOND} for a GB and second | ${dollars:.2f} in 30 days"
    restored = f"each new process: ${SNAPSHOT_GB_RESTORED} for a GB of memory"
    thousand = f"${SNAPSHOT_GB_RESTORED * 1000:.2f} for 1,000 processes with 1 GB"
    return "\n".join(("| what | dollars |", "|---|---|", f"| {kept} |", f"| {restored} | {thousand} |"))


def unauthenticated_cost(template: Template) -> Decimal:
    """Return the dollars that the console's files cost a month at most, if calls are answered, by the template's rate.

    Rounded up to a full 50, because they change a little with the size of the console's files. Refused calls also cost
    a line each in the access log, which the template does not limit.
    """
    rates = template.resources("AWS::ApiGatewayV2::Stage")["PeopleStage"]["RouteSettings"]
    (rate,) = {one["ThrottlingRateLimit"] for one in rates.values()}
    memory = {Path(one["CodeUri"]).name: one["MemorySize"] for one in template.resources(FUNCTION).values()}
    sizes = {path.name: path.stat().st_size for path in (ROOT / "functions" / "console" / "static").rglob("*.*")}
    a_second = Decimal(0)
    for route in (one for one in template.open_routes() if f"{one.method} {one.path}" in rates):
        sent = max(sizes.values()) if route.path.startswith(ASSETS) else sizes[INDEX]
        compute = PAGE_SECONDS * memory["console"] / 1024 * GB_SECOND
        logged = access_bytes(template) * LOG_BYTE
        a_second += rate * (REQUEST + INVOCATION + compute + logged + sent * SENT_BYTE)
    return Decimal(50 * ceil(a_second * SECONDS_A_MONTH / 50))


def pages(units: Units, template: Template) -> Iterator[tuple[Path, str, str]]:
    """Yield the tables of the pages: page, name of its markers, text."""
    yield PAGE, "month", month_table(Month(), units, template)
    yield PAGE, "idle", idle_table(units, template)
    yield PAGE, "months", months_tables(units, template)
    yield PAGE, "totals", totals_table(units, template)
    yield README, "totals", totals_table(units, template, README_EVENTS_A_REQUEST)
    yield PAGE, "batching-windows", batching_table(units, template)
    yield PAGE, "archive", archive_table(units)


def main() -> None:
    """Print the selected table, or write all tables into the pages."""
    # With abbreviations, --batch would be taken for --batching-window.
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__, allow_abbrev=False)
    for one in fields(Traffic):
        if one.name != "records_a_request":
            option = f"--{one.name.replace('_', '-')}"
            choices = EVENTS_A_REQUEST if one.name == "events_a_request" else None
            parser.add_argument(option, type=type(one.default), default=one.default, choices=choices)
    parser.add_argument("--new-customers", type=Decimal, default=Month().new_customers)
    parser.add_argument("--reports", type=int, default=Month().reports)
    parser.add_argument("--idle", action="store_true", help="a month without an event, and the logs of a request")
    parser.add_argument("--months", action="store_true", help="months by events, accounts and events a request")
    parser.add_argument("--batching-windows", action="store_true", help="a month by the streams' batching window")
    parser.add_argument("--template", action="store_true", help="costs that depend on the template alone")
    parser.add_argument("--measure", action="store_true", help="meter the units again, which takes a minute")
    parser.add_argument("--write", action="store_true", help="write all tables into the pages")
    options = parser.parse_args()
    template = Template.load(TEMPLATE)
    if options.measure:
        save_units(measure())
    units = load_units()
    if options.write:
        for page, name, text in pages(units, template):
            changed = insert(page, name, text)
            print(f"{page.relative_to(ROOT)}: table {name}, {'written' if changed else 'unchanged'}")
    elif options.template:
        without_token = unauthenticated_cost(template)
        print(snap_start_table(template), f"calls without a token: ${without_token:,.0f} a month at most", sep="\n\n")
    elif options.idle:
        logged = f"logs of a request of one event: {request_bytes(units, template)} bytes"
        print(idle_table(units, template), logged, sep="\n\n")
    elif options.months:
        print(months_tables(units, template), totals_table(units, template), sep="\n\n")
    elif options.batching_windows:
        print(batching_table(units, template))
    else:
        traffic = Traffic(
            options.events, options.accounts, options.skew, options.events_a_request, options.batching_window
        )
        print(month_table(Month(traffic, options.new_customers, options.reports), units, template))


if __name__ == "__main__":
    main()
