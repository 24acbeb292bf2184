"""Exchange rates from a CSV file, for `quarterhour rates` and `quarterhour replay --rates`."""

import argparse
import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from quarterhour.exchange_rates.exchange_rate import MAX_SOURCE
from quarterhour.model import instants
from quarterhour.model.clock import iso_millis
from quarterhour.web import parameters
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_file import open_source
from quarterhour_tools.operations.deployment import api, configure_target
from quarterhour_tools.output import printable

STATED: Final = "stated"
REFUSED: Final = "refused"
AHEAD: Final = "ahead of the end"
HELP: Final = (
    "CSV with the columns date (an instant, or a date for its midnight UTC), currency, units_per_base (or another name "
    "that begins with units_per_) and optionally source; plain or .gz, - for standard input"
)

_UNITS: Final = "units_per_"
_TAKEN: Final = frozenset({200, 201})
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """One exchange rate of the file: a currency's units per base currency, in force from an instant on."""

    as_of: datetime
    currency: str
    units: str
    source: str
    number: int

    @property
    def path(self) -> str:
        """The path of its request."""
        return f"/exchange-rates/{self.currency}"

    @property
    def body(self) -> dict[str, str]:
        """The body of its request."""
        return {"units_per_base": self.units, "source": self.source, "as_of": iso_millis(self.as_of)}


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line without an exchange rate, and the reason."""

    number: int
    problem: str


def read(name: str) -> tuple[list[Row], list[BadRow]]:
    """Return the exchange rates of a file in the order of time, and the bad lines.

    Raises ``ToolError`` if the file cannot be read or lacks a column.
    """
    rows: list[Row] = []
    bad: list[BadRow] = []
    with open_source(name) as source:
        for one in _rows(name, source.lines):
            if isinstance(one, Row):
                rows.append(one)
            else:
                bad.append(one)
    return sorted(rows), bad


def _rows(name: str, lines: Iterable[bytes]) -> Iterator[Row | BadRow]:
    try:
        reader = csv.DictReader((line.decode("utf-8-sig") for line in lines), strict=True)
        columns = list(reader.fieldnames or ())
        named = [column for column in columns if column.startswith(_UNITS)]
        if not named or not {"date", "currency"} <= set(columns):
            found = printable(", ".join(columns), _SHOWN)
            raise ToolError(f"{name}: the columns are {found}: expected date, currency, units_per_base")
        if len(named) > 1:
            raise ToolError(f"{name}: there are {printable(', '.join(named), _SHOWN)}: expected one of them")
        units = named[0]
        for row in reader:
            try:
                as_of = instants.moment(row["date"] or "")
            except ValueError:
                yield BadRow(
                    reader.line_num, f"the date is {printable(repr(row['date']), _SHOWN)}: expected {parameters.MOMENT}"
                )
                continue
            stated_by = row.get("source") or Path(name).name[-MAX_SOURCE:]
            yield Row(as_of, row["currency"] or "", row[units] or "", stated_by, reader.line_num)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ToolError(f"{name}: {error}") from error


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour rates``."""
    parser.add_argument("file", metavar="FILE", help=HELP)
    configure_target(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    rows, bad = read(args.file)
    remote = api(args)
    found = state(rows, bad, remote.put, lambda line: print(printable(line)))
    print(f"{found[STATED]:,} {STATED}, {found[REFUSED]:,} {REFUSED}")
    return 0 if not found[REFUSED] else 1


def state(
    rows: Iterable[Row],
    bad: Iterable[BadRow],
    put: Callable[[str, Any], tuple[int, Any]],
    report: Callable[[str], None],
) -> Counter[str]:
    """Send exchange rates with ``put``, which returns status and body; return how many were stated and refused.

    ``report`` gets a message for each refused exchange rate and for each bad line.
    """
    found: Counter[str] = Counter()
    for one in bad:
        found[REFUSED] += 1
        report(f"line {one.number}: {one.problem}")
    for row in rows:
        status, answer = put(row.path, row.body)
        found[STATED if status in _TAKEN else REFUSED] += 1
        if status not in _TAKEN:
            report(f"line {row.number}: {answer.get('detail', json.dumps(answer))}")
    return found
