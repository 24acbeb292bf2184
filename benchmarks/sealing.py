"""Compares how fast a quarter-hour is sealed, in parts side by side, with how fast its shards can record.

As a program, measures a run in this process, which has the environment of the report function. Arguments: the number of
shards, the lines of each part, the number of rounds.
"""

import json
import os
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any, Final

from benchmarks import children
from benchmarks.assumptions import PARTS_AT_A_TIME
from benchmarks.cost import CORES_A_GIGABYTE, EVENTS_A_SHARD
from benchmarks.functions import Context, load
from benchmarks.made_up import Ledger, MadeUp
from benchmarks.reporting import CLOSED, steps
from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour.model.clock import ManualClock, using
from quarterhour.model.quarter_hours import LENGTH
from quarterhour.reports.plan import SHARDS_A_PART
from quarterhour_tools.emulator.template import TEMPLATE, Template

ACCOUNTS: Final = 1_000
"""Accounts of the quarter-hour: publishing adds up accounts, not lines."""


@dataclass(frozen=True, slots=True)
class Speed:
    """The CPU seconds of a run: of each line of its slowest part, and of publishing.

    A run of a single part publishes within it.
    """

    line: float
    publish: float = 0.0


@dataclass(frozen=True, slots=True)
class Sealing:
    """The seconds to seal a quarter-hour whose shards record all they can: its slowest part, and all of it."""

    part: float
    all: float

    @property
    def times(self) -> float:
        """How many times as fast as recording."""
        return LENGTH.total_seconds() / self.all


def sealing(shards: int, lines: int, rounds: int) -> Sealing:
    """Measure parts of so many lines, and return how long a quarter-hour of these shards takes in Lambda."""
    measured = children.run("report", ["-m", "benchmarks.sealing", *map(str, (shards, lines, rounds))])
    template = Template.load(TEMPLATE)
    memory = template.functions(lambda resource, _: resource)["report"].memory
    cores = float(CORES_A_GIGABYTE) * memory / 1024
    return at_limit(shards, Speed(**measured), PARTS_AT_A_TIME, cores)


def at_limit(shards: int, speed: Speed, concurrency: int, cores: float) -> Sealing:
    """Return how long a quarter-hour takes, with so many parts side by side, each on this share of a core."""
    parts = _parts(shards)
    part = speed.line * -(-shards // parts) * EVENTS_A_SHARD * LENGTH.total_seconds() / cores
    return Sealing(part, -(-parts // concurrency) * part + speed.publish / cores)


def _parts(shards: int) -> int:
    return -(-shards // SHARDS_A_PART)


# ---------------------------------------------------------------- in a separate process


def measure(shards: int, lines: int, rounds: int) -> Speed:
    """Seal a quarter-hour with so many lines in each part, in several rounds; return the speed of the fastest."""
    parts = _parts(shards)
    ledger = Ledger(1, parts * lines, shards, ACCOUNTS, details=True, events_a_segment=MAX_BATCH)
    with MadeUp(ledger, keeps_pages=True).installed() as aws, using(ManualClock(CLOSED)):
        handler = load()

        def seconds(event: dict[str, Any], expected: int) -> float:
            start = process_time()
            sealed = handler(event, Context("report"))["lines"]
            end = process_time()
            if sealed != expected:
                raise ValueError(f"{sealed} lines instead of {expected}")
            return end - start

        def timed() -> list[float]:
            """Return the CPU seconds of each part, and of publishing them if there are several."""
            aws.reset()
            if parts == 1:
                return [seconds({}, lines)]
            tick, *seals, publish = steps(shards)
            seconds(tick, 0)  # plans the run
            return [*(seconds(seal, lines) for seal in seals), seconds(publish, ledger.events)]

        timed()  # makes the pages
        best = [min(step) for step in zip(*(timed() for _ in range(rounds)), strict=True)]
    return Speed(max(best[:parts]) / lines, sum(best[parts:]))


def main() -> None:
    """Run the measurement, and print it."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        measured = measure(*map(int, sys.argv[1:]))
    print(json.dumps(asdict(measured)))


if __name__ == "__main__":
    main()
