"""Measures a report of the newest quarter-hour of a generated ledger in a separate process: read units, speed, memory.

Arguments: what to measure (one of the functions here), the ledger as a JSON object, and further numbers that the
function takes. The environment is that of the report function.
"""

import csv
import gzip
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import boto3

from benchmarks.functions import Context, Handler, load
from benchmarks.made_up import NEWEST, Ledger, MadeUp
from benchmarks.metering import Meter, Tables
from benchmarks.timing import cpu_seconds, on_one_core
from quarterhour.model.clock import ManualClock, using
from quarterhour.reports.keys import run_id
from quarterhour.reports.plan import SHARDS_A_PART, parts_of

CLOSED: Final = NEWEST.end + timedelta(minutes=10)
"""The instant at which the newest quarter-hour may be sealed."""


def units(ledger: Ledger, unsealed: int) -> dict[str, float]:
    """Return the read units for each event of a report: of the ledger, and of all tables."""
    with MadeUp(ledger, unsealed).installed():
        meter = _meter()
        with meter.installed():
            _report(load(), unsealed * ledger.events)
    bill = meter.take()
    events = unsealed * ledger.events
    return {"ledger": bill.reads[_table()] / events, "all": bill.read_units / events}


def scan(ledger: Ledger) -> dict[str, float]:
    """Return the read units for each event of the newest quarter-hour with a full scan.

    What fits is kept here, not by a filter in the request, so that the meter sees what was read; DynamoDB charges the
    same for both.
    """
    with MadeUp(ledger).installed():
        meter = _meter()
        with meter.installed():
            pages = boto3.client("dynamodb").get_paginator("scan").paginate(TableName=_table(), ConsistentRead=True)
            fitting = (item["quarter_hour"]["S"].startswith(str(NEWEST)) for page in pages for item in page["Items"])
            _expect(sum(fitting), ledger.events)
    return {"all": meter.take().read_units / ledger.events}


def _meter() -> Meter:
    return Meter(Tables(boto3.Session().client("dynamodb")))  # its own session is not metered


def speed(ledger: Ledger, rounds: int) -> dict[str, float]:
    """Return how many lines a second of CPU are reported, in the fastest round after a first one."""
    on_one_core()
    with MadeUp(ledger, keeps_pages=True).installed() as aws:
        handler = load()

        def reported() -> None:
            aws.reset()
            _report(handler, ledger.events)

        reported()
        return {"rate": ledger.events / min(cpu_seconds(reported) for _ in range(rounds))}


def loop(ledger: Ledger, rounds: int) -> dict[str, float]:
    """Return the lines a second of CPU of what people write first: a query loop, ``csv.writer`` and gzip.

    Its table has an item for each event.
    """
    on_one_core()
    with MadeUp(ledger, keeps_pages=True).installed():
        pages = boto3.client("dynamodb").get_paginator("query")

        def written() -> None:
            with TemporaryFile() as file, gzip.open(file, "wt", encoding="utf-8", newline="") as text:
                writer, lines = csv.writer(text), 0
                for partition in ledger.partitions():
                    for page in pages.paginate(
                        TableName=_table(),
                        ConsistentRead=True,
                        KeyConditionExpression="quarter_hour = :partition",
                        ExpressionAttributeValues={":partition": {"S": str(partition)}},
                    ):
                        for item in page["Items"]:
                            writer.writerow(value["S"] for value in item.values())
                            lines += 1
            _expect(lines, ledger.events)

        written()
        return {"rate": ledger.events / min(cpu_seconds(written) for _ in range(rounds))}


def memory(ledger: Ledger) -> dict[str, float]:
    """Return the most memory that this process ever held, in MiB, after a report (on Linux)."""
    with MadeUp(ledger).installed(), using(ManualClock(CLOSED)):
        handler = load()
        lines = [handler(step, Context("report"))["lines"] for step in steps(ledger.shards)]
        _expect(lines[-1], ledger.events)
    # Not what getrusage says: that knows the process as it was before it became this program, too.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (peak,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return {"mib": int(peak.split()[1]) / 1024}


def steps(shards: int) -> list[dict[str, Any]]:
    """Return the events that report the newest quarter-hour: a tick, then its parts and publishing, if several."""
    parts = parts_of(NEWEST, -(-shards // SHARDS_A_PART))
    if len(parts) == 1:
        return [{}]
    run = run_id(NEWEST, NEWEST)
    return [{}, *({"seal": {"run": run, "part": str(part)}} for part in parts), {"publish": run}]


def _report(handler: Handler, events: int) -> None:
    with using(ManualClock(CLOSED)):
        _expect(handler({}, Context("report"))["lines"], events)


def _expect(found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{found} events instead of {expected}")


def _table() -> str:
    return os.environ["LEDGER_TABLE"]


_MEASURES: Final[Mapping[str, Callable[..., dict[str, float]]]] = {
    "units": units,
    "scan": scan,
    "speed": speed,
    "loop": loop,
    "memory": memory,
}


def main() -> None:
    """Run the measurement that the arguments select, and print it."""
    _, what, ledger, *numbers = sys.argv
    measure = _MEASURES[what]
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        measured = measure(Ledger(**json.loads(ledger)), *map(int, numbers))
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
