"""Measures how many postings a second the counters function counts, by the accounts in a batch.

`python -m benchmarks.many_accounts` prints the table of docs/benchmarks.md, `--write` writes it into that page.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks import children
from benchmarks.assumptions import BATCH_RECORDS, CALL_SECONDS, CALLS_AT_A_TIME, CORE_MEGABYTES
from benchmarks.pages import PAGE, insert
from quarterhour_tools.emulator.template import TEMPLATE, Template

ACCOUNTS: Final = (1, 30, 300, 1_000)
"""Accounts in a batch."""
QUICK: Final = (300,)
"""Accounts in a batch, if less is measured."""
MEMORIES: Final = (512, 1_024, CORE_MEGABYTES)
"""Megabytes of memory of the counters function, which the table compares."""
_BATCHES: Final = 3
"""Stream batches that a process times. The fastest one counts."""


@dataclass(frozen=True, slots=True)
class BatchTime:
    """What counting a stream batch takes: CPU seconds and AWS calls."""

    seconds: float
    calls: int


@dataclass(frozen=True, slots=True)
class Speed:
    """The times of a stream batch with so many accounts, in each round."""

    accounts: int
    rounds: Sequence[BatchTime]

    @property
    def best(self) -> BatchTime:
        """The fastest round."""
        return min(self.rounds, key=lambda batch: batch.seconds)

    @property
    def a_cpu_second(self) -> float:
        """The postings that are counted in a CPU second."""
        return BATCH_RECORDS / self.best.seconds

    def in_lambda(self, memory: int) -> float:
        """Return the postings a second with so many megabytes, where each call to AWS takes ``CALL_SECONDS``.

        Up to ``CALLS_AT_A_TIME`` calls wait for AWS together. Their threads share one core: Python's global lock leaves
        nothing to a second one.
        """
        cpu = self.best.seconds / min(1, memory / CORE_MEGABYTES)
        return BATCH_RECORDS / max(cpu, (cpu + self.best.calls * CALL_SECONDS) / min(self.best.calls, CALLS_AT_A_TIME))


def measure(accounts: Sequence[int] = ACCOUNTS, rounds: int = 1) -> list[Speed]:
    """Measure batches of so many accounts, each round in a new process."""
    return [Speed(number, [_measured(number) for _ in range(rounds)]) for number in accounts]


def _measured(accounts: int) -> BatchTime:
    return BatchTime(**children.run("counters", ["-m", "benchmarks.counting", str(accounts), str(_BATCHES)]))


def own_memory() -> int:
    """Return the megabytes of the counters function, by default."""
    return Template.load(TEMPLATE).functions(lambda resource, _: resource)["counters"].memory


def table(speeds: Sequence[Speed]) -> str:
    """Return the postings a second by accounts and memory, as a table in Markdown."""
    titles = " | ".join(f"{memory:,} MB" for memory in MEMORIES)
    rows = [f"| accounts in a batch of {BATCH_RECORDS:,} | {titles} |"]
    rows.append("|---|" + "---:|" * len(MEMORIES))
    for one in speeds:
        counted = " | ".join(f"{one.in_lambda(memory):,.0f}" for memory in MEMORIES)
        rows.append(f"| {one.accounts:,} | {counted} |")
    return "\n".join(rows)


def main() -> int:
    """Measure, and print the table or write it into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_accounts", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each batch (default 3)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    options = parser.parse_args()
    measured = table(measure(rounds=options.rounds))
    print(measured)
    if options.write:
        insert(PAGE, "counting", measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
