"""Measures how many postings a second the counters function counts, by the accounts in a batch, against a release.

`python -m benchmarks.many_accounts` prints the table of docs/benchmarks.md, `--write` writes it into that page.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import children
from benchmarks.assumptions import BATCH_RECORDS, CALL_SECONDS, CALLS_AT_A_TIME, CORE_MEGABYTES
from benchmarks.functions import ROOT
from benchmarks.pages import PAGE, insert
from benchmarks.released import RELEASED, checked_out
from quarterhour_tools.emulator.stack import TEMPLATE
from quarterhour_tools.emulator.template import Template
from quarterhour_tools.errors import ToolError

ACCOUNTS: Final = (1, 30, 300, 1_000)
"""Accounts in a batch."""
BUDGETED: Final = 300
"""Accounts in the batch that has a budget."""
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
    """The times of a stream batch with so many accounts: of this version and of the released one, in each round."""

    accounts: int
    own: Sequence[BatchTime]
    released: Sequence[BatchTime]

    @property
    def best(self) -> BatchTime:
        """The fastest round of this version."""
        return min(self.own, key=lambda batch: batch.seconds)

    @property
    def a_cpu_second(self) -> float:
        """The postings that this version counts in a CPU second."""
        return BATCH_RECORDS / self.best.seconds

    @property
    def ratio(self) -> float:
        """How many times as fast this version is: the median of the rounds."""
        return median(old.seconds / new.seconds for new, old in zip(self.own, self.released, strict=True))

    def in_lambda(self, memory: int) -> float:
        """Return the postings a second with so many megabytes, where each call to AWS takes ``CALL_SECONDS``.

        Up to ``CALLS_AT_A_TIME`` calls wait for AWS together. Their threads share one core: Python's global lock leaves
        nothing to a second one.
        """
        cpu = self.best.seconds / min(1, memory / CORE_MEGABYTES)
        return BATCH_RECORDS / max(cpu, (cpu + self.best.calls * CALL_SECONDS) / min(self.best.calls, CALLS_AT_A_TIME))


def compare(accounts: Sequence[int] = ACCOUNTS, rounds: int = 1) -> list[Speed]:
    """Measure both versions in turns, each time in a new process; raise ``ToolError`` if git lacks the release."""
    with checked_out() as released:
        return [_compared(released, number, rounds) for number in accounts]


def _compared(released: Path, accounts: int, rounds: int) -> Speed:
    pairs = [(_measured(ROOT, accounts), _measured(released, accounts)) for _ in range(rounds)]
    own, before = zip(*pairs, strict=True)
    return Speed(accounts, own, before)


def _measured(version: Path, accounts: int) -> BatchTime:
    arguments = ["-m", "benchmarks.counting", str(accounts), str(_BATCHES)]
    return BatchTime(**children.run("counters", arguments, version=version))


def own_memory() -> int:
    """Return the megabytes of the counters function, by default."""
    return Template.load(TEMPLATE).functions(lambda resource, _: resource)["counters"].memory


def table(speeds: Sequence[Speed]) -> str:
    """Return the postings a second by accounts and memory, as a table in Markdown."""
    titles = " | ".join(f"{memory:,} MB" for memory in MEMORIES)
    rows = [f"| accounts in a batch of {BATCH_RECORDS:,} | {titles} | against {RELEASED} |"]
    rows.append("|---|" + "---:|" * (len(MEMORIES) + 1))
    for one in speeds:
        counted = " | ".join(f"{one.in_lambda(memory):,.0f}" for memory in MEMORIES)
        rows.append(f"| {one.accounts:,} | {counted} | {one.ratio:.2f}x |")
    return "\n".join(rows)


def main() -> int:
    """Measure, and print the table or write it into the page; return 2 if git lacks the release."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_accounts", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of both versions, in turns (default 3)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    options = parser.parse_args()
    try:
        measured = table(compare(rounds=options.rounds))
    except ToolError as error:
        print(f"many_accounts: {error}", file=sys.stderr)
        return 2
    print(measured)
    if options.write:
        insert(PAGE, "counting", measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
