"""Asks DuckDB and Trino the same of sealed files: ``python -m tests.support.engines DIR``, or the demo's year without.

Every table, view and named query must have the same rows on both, and the lines the sums of the runs' manifests.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
from rich.console import Console
from rich.table import Table

from quarterhour_tools.bucket import Folder
from quarterhour_tools.demo.year import Calendar
from quarterhour_tools.demo.year_run import PARAMETERS, SETTINGS, YEAR_ENDS, run_year
from quarterhour_tools.emulator.engines import EMBEDDED
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import print_table
from quarterhour_tools.replay.replay import replaying
from quarterhour_tools.warehouse.tables import Declared
from tests.support.trino import Trino, running
from tests.support.warehouse import Warehouse

_FIGURES: Final = ("events", "gross", "refunds", "net", "commission", "payments")
_COMMAND: Final = r"""
import re, sys
from quarterhour_tools.entry import main
status = main()
print(re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1])
sys.exit(status)
"""
"""`quarterhour`, which then prints the most memory that it held. What the system counts includes that of its parent."""
_KIB_A_MIB: Final = 1024
_ALONE: Final = ("sealed_lines", "pinned_rates")
"""The tables in whose folders are no files of other kinds, which only a view leaves out."""
Row = tuple[Any, ...]
Sums = dict[tuple[str, str, str], Counter[str]]


@dataclass(frozen=True, slots=True)
class Question:
    """A query for both engines; ``ordered``: whether it says in which order its rows are."""

    name: str
    sql: str
    ordered: bool


def questions(declared: Declared) -> Iterator[Question]:
    """Yield a query for all rows of each table that can be read whole and of each view, and the named queries."""
    for table in (one for one in declared.tables if one.name in _ALONE):
        columns = ", ".join(f'"{name}"' for name in (*table.columns, *(one.name for one in table.partitions)))
        yield Question(table.name, f"SELECT {columns} FROM {table.name}", ordered=False)  # noqa: S608
    for view in declared.views:
        yield Question(view.name, f"SELECT * FROM {view.name}", ordered=False)  # noqa: S608
    for query in declared.queries.values():
        yield Question(query.name, query.sql, ordered=True)


def difference(question: Question, mine: Iterable[Sequence[Any]], theirs: Iterable[Sequence[Any]]) -> str:
    """Return the first difference of DuckDB's rows and Trino's; an empty text if there is none."""
    pairs: Iterable[tuple[Row | None, Row | None]]
    if question.ordered:
        pairs = zip_longest(map(tuple, mine), map(tuple, theirs))
    else:
        duckdb_, trino = Counter(map(tuple, mine)), Counter(map(tuple, theirs))
        pairs = zip_longest((duckdb_ - trino).elements(), (trino - duckdb_).elements())
    return next((f"DuckDB has {one}, Trino {other}" for one, other in pairs if one != other), "")


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows that `quarterhour sql` wrote; CPU seconds of the process, and the most memory it held in MiB."""

    rows: list[Row]
    seconds: float
    mib: float


def answered(folder: Path, question: Question) -> Answer:
    """Ask DuckDB, as people do: by `quarterhour sql`, in a new process."""
    with TemporaryDirectory() as place:
        file = f"{place}/rows.parquet"
        arguments = ("sql", str(folder), "-c", question.sql, "--format", "parquet", "--out", file)
        begun = _of_children()
        ended = subprocess.run(  # noqa: S603 - our own arguments
            [sys.executable, "-c", _COMMAND, *arguments], stdout=subprocess.PIPE, text=True, check=False
        )
        seconds = _of_children() - begun
        if ended.returncode:
            raise ToolError(f"`quarterhour sql` failed with {question.name}")
        with duckdb.connect() as connection:
            rows = connection.execute("SELECT * FROM read_parquet(?)", [file]).fetchall()
    return Answer(rows, seconds, int(ended.stdout.splitlines()[-1]) / _KIB_A_MIB)


def _of_children() -> float:
    """Return the CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def manifest_sums(folder: Path) -> Sums:
    """Return the figures of each account in each period, added up from the manifests of all runs."""
    sums: Sums = defaultdict(Counter)
    for file in folder.glob("reports/**/manifest.json"):
        for account in json.loads(file.read_text("utf-8"))["accounts"]:
            for period, figures in account["periods"].items():
                sums[account["agency"], account["currency"], period].update(_decimals(figures))
    return sums


def _decimals(figures: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: Decimal(figures[name]) for name in _FIGURES if name in figures}
    return {**found, "net": found["gross"] + found["refunds"]}


def unlike_manifests(folder: Path, periods: Iterable[Row]) -> str:
    """Return the first difference of the rows of the query ``periods`` and the manifests; empty if there is none."""
    rows = {row[:3]: dict(zip(_FIGURES, row[3:], strict=True)) for row in periods}
    sums = manifest_sums(folder)
    keys = sorted(rows.keys() | sums.keys())
    return next(
        (f"{key}: {rows.get(key)}, manifests {sums.get(key)}" for key in keys if rows.get(key) != sums.get(key)), ""
    )


def by_currency(totals: Iterable[Row]) -> Iterator[str]:
    """Yield the sums of each currency, of the rows of the query ``totals``."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for _, currency, *figures in totals:
        sums[currency].update(dict(zip(_FIGURES, figures, strict=True)), accounts=1)
    for currency, of in sorted(sums.items()):
        amounts = (f"{name} {Decimal(of[name]).normalize():f}" for name in _FIGURES[1:])
        yield f"{currency}: {of['accounts']} accounts, {of['events']:,} lines, {', '.join(amounts)}"


def compare(folder: Path, trino: Trino, warehouse: Warehouse, console: Console) -> list[str]:
    """Print the sums of each currency, and what each query takes; return the differences."""
    table = Table("query", "rows", "DuckDB, CPU s", "MiB", "Trino, CPU s")
    problems = []
    for question in questions(Declared.of(warehouse.template)):
        mine = answered(folder, question)
        begun = trino.cpu_seconds()
        theirs = warehouse.run(question.sql)
        seconds = trino.cpu_seconds() - begun
        found = [difference(question, mine.rows, theirs)]
        if question.name == "totals":
            console.print("\n".join(by_currency(mine.rows)))
        if question.name == "periods":
            found.append(unlike_manifests(folder, mine.rows))
        problems += [f"{question.name}: {one}" for one in found if one]
        table.add_row(question.name, f"{len(theirs):,}", f"{mine.seconds:.1f}", f"{mine.mib:,.0f}", f"{seconds:.1f}")
    print_table(console, table)
    problems += [f"the nightly check finds {row}" for row in warehouse.differences()]
    return problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print the figures and the differences; return 1 if there are any, 2 if it could not run."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.engines", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="sealed files, such as of replay --out")
    args = parser.parse_args(arguments)
    console = Console(highlight=False, markup=False)
    try:
        with ExitStack() as context:
            place = Path(context.enter_context(TemporaryDirectory()))
            folder = (args.folder or made(place / "year")).resolve()
            Folder(folder)
            trino = context.enter_context(running(place))
            (place / "links").mkdir()
            warehouse = Warehouse(trino, "compared", folder, place / "links")
            begun = trino.cpu_seconds()
            warehouse.load()
            files, seconds = len([*folder.glob("ledger/**/*.gz")]), trino.cpu_seconds() - begun
            console.print(f"{files:,} files of lines, loaded on Trino in {seconds:.0f} CPU s")
            problems = compare(folder, trino, warehouse, console)
    except ToolError as error:
        sys.stderr.write(f"engines: {error}\n")
        return 2
    for problem in problems:
        console.print(problem)
    console.print(
        f"{len(problems)} differences" if problems else "The rows are the same, and the sums those of the manifests."
    )
    return 1 if problems else 0


def made(folder: Path) -> Path:
    """Make the year of `quarterhour demo`, and return the folder of its sealed files."""
    with open_stack(EMBEDDED, PARAMETERS, virtual=True, settings=SETTINGS) as stack, replaying(stack) as replay:
        run_year(stack, replay, Calendar(YEAR_ENDS))
        stack.bucket.copy_to(folder)
    return folder


if __name__ == "__main__":
    sys.exit(main())
