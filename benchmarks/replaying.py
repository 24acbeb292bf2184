"""Times `quarterhour replay` of real events against a released version, in turns, each in a fresh process."""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.functions import ROOT
from benchmarks.released import COMMIT, RELEASED, checked_out
from quarterhour_tools.errors import ToolError

MAP: Final = ROOT / "examples" / "online_retail.toml"
DAYS: Final = 7
DATA: Final = "QUARTERHOUR_REPLAY_DATA"
"""The environment variable that names the CSV file."""

_KIB_A_MIB: Final = 1024

Outcome = dict[str, Any]
"""What `quarterhour replay --json` printed."""


@dataclass(frozen=True, slots=True)
class Run:
    """One replay: CPU seconds of the process, the most memory it held in MiB, and the outcome that it printed."""

    seconds: float
    mib: float
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Comparison:
    """The runs of this version and of the released one."""

    events: int
    own: Sequence[Run]
    released: Sequence[Run]

    @property
    def ratio(self) -> float:
        """How many times as fast this version is: the median of the rounds."""
        return median(old.seconds / new.seconds for new, old in zip(self.own, self.released, strict=True))


def compare(data: Path, released: str = COMMIT, days: int = DAYS, rounds: int = 1) -> Comparison:
    """Replay the first days of a CSV file with both versions.

    Both run with this version's dependencies. Raises ``ToolError`` if a version cannot run, or the sums differ.
    """
    with TemporaryDirectory() as folder, checked_out(released) as old:
        events = Path(folder) / "events.ndjson"
        number = _convert(data, events, days)
        own, before = [], []
        for _ in range(rounds):
            before.append(replay(old, events))
            own.append(replay(ROOT, events))
    if not all(agree(new.outcome, old.outcome, number) for new, old in zip(own, before, strict=True)):
        raise ToolError("the versions differ in what they recorded")
    return Comparison(number, own, before)


def agree(new: Outcome, old: Outcome, lines: int) -> bool:
    """Whether two versions sealed and verified all lines, and agree in every figure that the older one has."""
    accounts = new["accounts"]
    return (
        all(one["verified"] and one["lines"] == lines for one in (new, old))
        and accounts.keys() == old["accounts"].keys()
        and all(figures.items() <= accounts[name].items() for name, figures in old["accounts"].items())
    )


def replay(version: Path, events: Path, *options: str) -> Run:
    """Replay a file of events with the version in a folder, in a new process."""
    paths = (version, version / "layers" / "quarterhour")
    with subprocess.Popen(  # noqa: S603 - our own arguments
        [*_command(version), "replay", str(events), "--json", *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        cwd=version,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        printed, errors = process.stdout, process.stderr
        output = printed.read() if printed else ""
        said = errors.read() if errors else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ToolError(f"`quarterhour replay` of {version} failed: {said.strip()[-500:]}")
    return Run(used.ru_utime + used.ru_stime, used.ru_maxrss / _KIB_A_MIB, json.loads(output))


def _command(version: Path) -> list[str]:
    """Return the command line of a version's `quarterhour`, as its project file declares it."""
    project = tomllib.loads((version / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["quarterhour"].partition(":")
    return [sys.executable, "-c", f"import sys; from {module} import {function}; sys.exit({function}())"]


def _convert(data: Path, events: Path, days: int) -> int:
    """Write the events of the first days of a CSV file; return their number."""
    plain = events.with_suffix(".csv")
    plain.write_bytes(gzip.decompress(data.read_bytes()) if data.suffix == ".gz" else data.read_bytes())
    lines = subprocess.run(  # noqa: S603 - our own arguments
        [*_command(ROOT), "csv", str(plain), "--map", str(MAP)], check=True, stdout=subprocess.PIPE
    ).stdout.splitlines(keepends=True)
    end = _day(lines[0]) + timedelta(days=days)
    chosen = [line for line in lines if _day(line) < end]
    events.write_bytes(b"".join(chosen))
    return len(chosen)


def _day(line: bytes) -> date:
    return date.fromisoformat(json.loads(line)["time"][:10])


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print the figures; return 2 if a version could not run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replaying", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the Online Retail CSV file, plain or .gz")
    parser.add_argument("--released", default=COMMIT, help=f"the commit to compare with (default: {RELEASED})")
    parser.add_argument("--days", type=int, default=DAYS, help="of the file, from its first (default 7)")
    parser.add_argument("--rounds", type=int, default=3, help="of both, in turns (default 3)")
    args = parser.parse_args(arguments)
    try:
        found = compare(args.data, args.released, args.days, args.rounds)
    except (ToolError, OSError) as error:
        print(f"replaying: {error}", file=sys.stderr)
        return 2
    print(f"{found.events:,} events, {found.ratio:.2f} times as fast")
    for name, runs in (("released", found.released), ("this", found.own)):
        print(
            f"{name}: {', '.join(f'{run.seconds:.1f}' for run in runs)} CPU s, {max(run.mib for run in runs):,.0f} MiB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
