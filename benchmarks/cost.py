"""Estimates the cost of a million events in AWS from measured units and speeds, at the prices of us-east-1.

`python -m benchmarks.cost` prints the table of docs/operations.md; its options are the shape of the load.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Final

EVENTS: Final = 1_000_000

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

RECORDING_UNITS: Final = Decimal("2.000")
COUNTING_UNITS: Final = Decimal("0.130")
CUSTOMER_UNITS: Final = Decimal("4.08")
REPORTING_UNITS: Final = Decimal("0.068")
RECORDED_A_SECOND: Final = 1_210
REPORTED_A_SECOND: Final = 16_976
"""Events a second and core, docs/benchmarks.md."""
CORES_A_GIGABYTE: Final = Decimal(1024) / 1769
BATCHED: Final = 100
"""The events that a stream delivers at once."""
BATCH_SECONDS: Final = Decimal("0.2")
"""Seconds with half a gigabyte, for counters or snapshots of a batch: estimated, not measured."""
REQUEST_SECONDS: Final = Decimal("0.02")
"""Seconds with a gigabyte, for a request's way there and back: estimated, not measured."""
BYTES_KEPT: Final = 850
"""Of an event of 250 bytes and its claim, with what DynamoDB adds to each."""
BYTES_LOGGED: Final = 1_500
"""Of one invocation: Lambda's three lines and the function's metrics."""


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


def _units(what: str, each: Decimal, kind: str, price: Decimal) -> Line:
    how = f"{each.normalize():f} {kind} an event x ${price * 1_000_000:.3f}/million"
    return Line(what, how, EVENTS * each * price)


def main() -> None:
    """Print the table for a shape of the load."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__)
    for one in fields(Shape):
        parser.add_argument(f"--{one.name.replace('_', '-')}", type=type(one.default), default=one.default)
    print(table(Shape(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
