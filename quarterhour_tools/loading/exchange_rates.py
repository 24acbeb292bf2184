"""Exchange rates from a CSV file, for `quarterhour rates` and `quarterhour replay --rates`."""

import argparse
import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from quarterhour.file_formats.csv.errors import FileError
from quarterhour.model import instants
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import InvalidError, in_words
from quarterhour.model.fields import printable
from quarterhour.registry.exchange_rates.exchange_rate import MAX_SOURCE, read_request
from quarterhour.registry.exchange_rates.keys import CODE, is_code
from quarterhour.web import parameters
from quarterhour_tools.csv.file import TextFile, open_text
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted
from quarterhour_tools.target.deployment import api, configure_target, moment

NAME: Final = "rates"
DESCRIPTION: Final = (
    "Enter exchange rates from a CSV file, or from that of the European Central Bank, in the order of time. A "
    "second run changes nothing. Exit code 1 if some were refused."
)

ENTERED: Final = "entered"
REFUSED: Final = "refused"
AHEAD: Final = "ahead of the end"
FILE_HELP: Final = (
    "CSV with the columns date (an instant, or a date for its midnight UTC), currency, units_per_base (or another name "
    "that begins with units_per_) and optionally source; or the file eurofxref-hist.csv of the European Central Bank; "
    "plain or .gz, - for standard input"
)
SHOWN: Final = 100
"""How many refused rates are shown; the others are counted."""
MOST: Final = 1_000_000
"""The most exchange rates of a file; they are in memory."""

_UNITS: Final = "units_per_"
_DATE: Final = "date"
_CURRENCY: Final = "currency"
_SOURCE: Final = "source"
_ECB: Final = "ECB"
_EURO: Final = "EUR"
_NO_RATE: Final = frozenset({"", "N/A"})
_TAKEN: Final = frozenset({200, 201})
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True, order=True)
class RateRow:
    """One exchange rate of the file: a currency's units per base currency, in force from an instant on.

    ``base`` is empty if the file does not name the base currency.
    """

    as_of: datetime
    currency: str
    units: str
    source: str
    number: int
    base: str = ""

    @property
    def path(self) -> str:
        """The path of its request."""
        return f"/exchange-rates/{self.currency}"

    @property
    def body(self) -> dict[str, str]:
        """The body of its request."""
        base = {"base": self.base} if self.base else {}
        return {"units_per_base": self.units, "source": self.source, "as_of": iso_millis(self.as_of), **base}


@dataclass(frozen=True, slots=True)
class BadRateRow:
    """A line without an exchange rate, and the reason."""

    number: int
    problem: str


RateCells = Sequence[str]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The place of the date in a line, and what returns the line's rates: currency, units and source of each.

    ``base`` is the base currency; empty if the file does not name it.
    """

    date: int
    base: str
    rates: Callable[[RateCells], Iterable[tuple[str, str, str]]]


@dataclass(slots=True)
class RateFile:
    """The exchange rates of a file in the order of time, the first of its bad rows, and the number of all bad rows."""

    rows: list[RateRow] = field(default_factory=list)
    bad: list[BadRateRow] = field(default_factory=list)
    refused: int = 0


def read(name: str, start: datetime | None = None) -> RateFile:
    """Return the exchange rates of a file, those as of ``start`` or later.

    Raises ``ToolError`` if the file cannot be read to its end, lacks a column, or has more than ``MOST`` rates.
    """
    found = RateFile()
    try:
        with open_text(name, None) as file:
            _collect(found, _rates(name, file), start)
    except OSError as error:
        raise ToolError(f"{name}: {error.strerror}") from error
    except (FileError, csv.Error) as error:
        raise ToolError(f"{name}: {error}") from error
    found.rows.sort()
    return found


def _collect(found: RateFile, rates: Iterable[RateRow | BadRateRow], start: datetime | None) -> None:
    for one in rates:
        if isinstance(one, BadRateRow):
            found.refused += 1
            if found.refused <= SHOWN:
                found.bad.append(one)
        elif start is None or one.as_of >= start:
            found.rows.append(one)
            if len(found.rows) > MOST:
                raise FileError(f"has more than {MOST:,} exchange rates: split the file")


def _rates(name: str, file: TextFile) -> Iterator[RateRow | BadRateRow]:
    reader = csv.reader(file.texts(), strict=True)
    columns = next(reader, [])
    layout = _of_ecb(columns) or _of_lines(name, columns)
    for cells in filter(None, reader):
        yield from _of_line(layout, reader.line_num, cells, len(columns))
    if file.problem:
        raise FileError(f"cannot be read to its end: {file.problem}")


def _of_ecb(columns: RateCells) -> _Layout | None:
    """Return the layout of the European Central Bank's file: a column for each currency, per euro, and an empty one.

    ``None`` if the columns are others.
    """
    codes = [code for code in columns[1:] if code]
    if not codes or columns[0].lower() != _DATE or not all(map(is_code, codes)):
        return None

    def rates(cells: RateCells) -> Iterator[tuple[str, str, str]]:
        named = zip(columns[1:], cells[1:], strict=True)
        return ((code, units, _ECB) for code, units in named if units not in _NO_RATE)

    return _Layout(0, _EURO, rates)


def _of_lines(name: str, columns: RateCells) -> _Layout:
    """Return the layout of a file with a line for each rate; raise ``FileError`` if the columns are others."""
    named = [column for column in columns if column.startswith(_UNITS)]
    if not named or not {_DATE, _CURRENCY} <= set(columns):
        found = printable(", ".join(columns), _LONGEST)
        expected = "date, currency, units_per_base, or Date and a column for each currency"
        raise FileError(f"the columns are {found}: expected {expected}")
    if len(named) > 1:
        raise FileError(f"there are {printable(', '.join(named), _LONGEST)}: expected one of them")
    currency, units = columns.index(_CURRENCY), columns.index(named[0])
    source = columns.index(_SOURCE) if _SOURCE in columns else None
    file = Path(name).name[-MAX_SOURCE:]

    def rates(cells: RateCells) -> Iterator[tuple[str, str, str]]:
        source_name = "" if source is None else cells[source]
        yield cells[currency], cells[units], source_name or file

    base = named[0].removeprefix(_UNITS).upper()
    return _Layout(columns.index(_DATE), base if is_code(base) else "", rates)


def _of_line(layout: _Layout, number: int, cells: RateCells, expected: int) -> Iterator[RateRow | BadRateRow]:
    """Yield the rates of a line; a bad row for each that is invalid, and one for a line that cannot be read."""
    if len(cells) != expected:
        yield BadRateRow(number, f"has {counted(len(cells), 'cell')}: expected {expected}, as in the first line")
        return
    date = cells[layout.date]
    try:
        as_of = instants.moment(date)
    except ValueError:
        yield BadRateRow(number, f"the date is {printable(repr(date), _LONGEST)}: expected {parameters.MOMENT}")
        return
    for currency, units, source in layout.rates(cells):
        row = RateRow(as_of, currency, units, source, number, layout.base)
        if not is_code(currency):
            yield BadRateRow(number, f"currency is {printable(repr(currency), _LONGEST)}: expected {CODE}")
            continue
        try:
            read_request(row.body, as_of)
        except InvalidError as error:
            yield BadRateRow(number, f"{currency}: {in_words(error.problems)}")
        else:
            yield row


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour rates``."""
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    parser.add_argument(
        "--from",
        dest="start",
        type=moment,
        metavar="INSTANT",
        help="only the rates as of this instant, or date, or later",
    )
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    file = read(args.file, args.start)
    remote = api(args)
    found = enter(file, remote.put, lambda line: print(printable(line)))
    print(f"{found[ENTERED]:,} {ENTERED}, {found[REFUSED]:,} {REFUSED}")
    return 0 if not found[REFUSED] else 1


def enter(file: RateFile, put: Callable[[str, Any], tuple[int, Any]], report: Callable[[str], None]) -> Counter[str]:
    """Send exchange rates with ``put``, which returns status and body; return how many were entered and refused.

    Bad rows are refused. ``report`` gets a message for each of the first ``SHOWN`` that are refused.
    """
    found = Counter({ENTERED: 0, REFUSED: file.refused})
    for bad in file.bad:
        report(f"line {bad.number}: {bad.problem}")
    for row in file.rows:
        status, answer = put(row.path, row.body)
        found[ENTERED if status in _TAKEN else REFUSED] += 1
        if status not in _TAKEN and found[REFUSED] <= SHOWN:
            report(f"line {row.number}: {row.currency}: {answer.get('detail', json.dumps(answer))}")
    if found[REFUSED] > SHOWN:
        report(f"{found[REFUSED] - SHOWN:,} more are refused")
    return found
