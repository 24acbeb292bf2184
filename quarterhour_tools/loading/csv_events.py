"""`quarterhour csv`: converts a CSV file of sales into events, one JSON object per line, by a TOML map.

`events` converts rows into events and does no I/O. `run` reads the file and writes the result. `docs/csv.md` describes
the map.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from quarterhour.ledger.event import Rejection, read_event
from quarterhour.model import money
from quarterhour_tools.loading.csv_cells import Cells
from quarterhour_tools.loading.csv_errors import CellError, EmptyCellError, FileError, MapError
from quarterhour_tools.loading.csv_file import BROKEN, UTF_8, TextFile, open_text
from quarterhour_tools.loading.csv_map import ROW, EventMap, Mapping, Value, load_mapping, read_map, shipped_maps
from quarterhour_tools.loading.csv_numbers import NumberForm
from quarterhour_tools.loading.csv_table import BadRow, Record, Table, read_table
from quarterhour_tools.loading.csv_totals import Totals
from quarterhour_tools.output import counted as counted_things
from quarterhour_tools.output import printable

MOST_SHOWN: Final = 100
"""How many bad rows are shown; the others are counted."""


@dataclass(frozen=True, slots=True)
class Event:
    """A CloudEvent that the ledger accepts, as a JSON object, and its time in UTC."""

    time: datetime | None
    body: dict[str, Any]


def events(
    table: Table, mapping: Mapping, settings: dict[str, str] | None = None, *, whole: bool = True
) -> Iterator[Event | BadRow]:
    """Convert each row into its events, or into one bad row.

    The rows are numbered from 1, bad rows too, so that a fixed row does not change the ids of the others. `settings`
    are the values that the map asks for. The totals of a file are checked if its rows are read as a `whole`.
    """
    places = [(column, table.header.index(column), clean) for column, clean in mapping.clean.items()]
    filled = dict.fromkeys((column for column, clean in mapping.clean.items() if clean.fill_down), "")
    totals = Totals(mapping.total) if mapping.total else None
    line = 0
    for ordinal, found in enumerate(table.rows, 1):
        line = found.line
        row = _usable(found, len(table.header), fill=totals is not None)
        if isinstance(row, BadRow):
            yield row
            filled = dict.fromkeys(filled, "")  # the row may have held the value that the next ones repeat
            continue
        cells = {column: clean(row.cells[place]) for column, place, clean in places}
        for column, above in filled.items():
            cells[column] = filled[column] = cells[column] or above
        cells |= {ROW: str(ordinal), **(settings or {})}
        try:
            if totals and totals.is_total(cells):
                totals.state(line, cells)
                continue
            if totals:
                totals.add(cells)
            yield from [_event(cells, each, mapping.numbers) for each in mapping.events if each.when(cells)]
        except CellError as error:
            yield BadRow(line, str(error))
    if totals and whole:
        yield from totals.problems(line)


def _usable(row: Record | BadRow, columns: int, *, fill: bool) -> Record | BadRow:
    """Return a row whose cells can be used, or a bad row. With `fill`, cells may be missing at the end."""
    if isinstance(row, BadRow):
        return row
    if fill:
        row.cells.extend([""] * (columns - len(row.cells)))
    if len(row.cells) != columns:
        return BadRow(row.line, f"has {len(row.cells)} columns instead of {columns}")
    text = "".join(row.cells)
    if "\0" in text:
        return BadRow(row.line, "holds NUL bytes")
    if not text.isascii() and BROKEN in text:
        return BadRow(
            row.line, "holds bytes that are not of the file's encoding: correct them, or set encoding in [file]"
        )
    return row


def _event(cells: Cells, event_map: EventMap, numbers: NumberForm) -> Event:
    """Return one event of a row; raise `CellError` if a cell is unusable or the ledger would reject the event."""
    amount = event_map.amount(cells) if event_map.amount else money.ZERO
    body: dict[str, Any] = {"specversion": "1.0"}
    body |= {field: value(cells, amount) for field, value in event_map.envelope.items()}
    if event_map.time:
        body["time"] = event_map.time(cells, amount).isoformat().replace("+00:00", "Z")
    figures = {"amount": money.plain(amount)} if event_map.amount else {}
    data: dict[str, Any] = {**figures, **_filled(event_map.data, cells, amount)}
    body["data"] = data
    if currency := data.get("currency"):
        data["currency"] = currency.strip().upper()
        _check_signs(cells, event_map.money, data["currency"], numbers)
    if extra := _filled(event_map.extra, cells, amount):
        data["extra"] = extra
    read = read_event(body)
    if isinstance(read, Rejection):
        raise CellError("; ".join(f"{each.field} {each.problem}, not {each.expected}" for each in read.problems))
    return Event(read.time, body)


def _check_signs(cells: Cells, columns: Iterable[str], currency: str, numbers: NumberForm) -> None:
    """Raise `CellError` if the sign of an amount names another currency than that of the event."""
    if numbers.currencies:
        for column in sorted(columns):
            sign = numbers.read(cells[column]).currency if cells[column] else None
            if sign not in {None, currency}:
                raise CellError(
                    f"{column} is {cells[column]!r}, in {sign}, but the currency of the event is {currency}"
                )


def _filled(values: dict[str, Value], cells: Cells, amount: Decimal) -> dict[str, str]:
    """Return the fields that have a value in this row."""
    filled = {}
    for field, value in values.items():
        with suppress(EmptyCellError):
            filled[field] = value(cells, amount)
    return filled


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `quarterhour csv`."""
    parser.add_argument("file", metavar="FILE", help="a CSV file, plain or gzipped; - for standard input")
    parser.add_argument(
        "--map",
        required=True,
        metavar="MAP",
        help="the map from columns to the fields of events (docs/csv.md): a TOML file, or a map that comes with the "
        f"tools: {', '.join(shipped_maps())}",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="a value that the map asks for in [settings], such as agency=42; may be repeated",
    )
    parser.add_argument("--from", dest="start", type=_time, metavar="ISO", help="only events at or after this time")
    parser.add_argument("--to", dest="end", type=_time, metavar="ISO", help="only events before this time")
    parser.add_argument("--limit", type=_count, metavar="N", help="only the first N rows")
    parser.add_argument(
        "--json", action="store_true", help='end standard error with {"rows": ..., "events": ..., "bad": ...}'
    )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError("expected NAME=VALUE")
    return name, value


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Write events to standard output, bad rows to standard error; return 0, 1 with bad rows, 2 after an error."""
    try:
        mapping = load_mapping(read_map(args.map))
        settings = _settings(mapping, dict(args.set))
        with open_text(args.file, mapping.file.encoding) as file:
            if file.detected and file.encoding != UTF_8:
                print(f"{printable(args.file)}: read as {file.encoding}, which was detected", file=sys.stderr)
            return _convert(file, mapping, settings, args)
    except MapError as error:
        print(f"{printable(args.map)}: {printable(error)}", file=sys.stderr)
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe: write nothing more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except FileError as error:
        print(f"{printable(args.file)}: {printable(error)}", file=sys.stderr)
    except OSError as error:
        print(f"{printable(args.file)}: cannot be read: {printable(error)}", file=sys.stderr)
    if args.json:
        _print_counts(Counter(), as_json=True)
    return 2


def _settings(mapping: Mapping, given: dict[str, str]) -> dict[str, str]:
    """Return the values that a map asks for; raise `MapError` if one is missing or unknown."""
    for name, meaning in mapping.settings.items():
        if name not in given:
            raise MapError(f"settings.{name}", f"give --set {name}=...: {meaning}")
    for name in given:
        if name not in mapping.settings:
            raise MapError(f"settings.{name}", "the map asks for no such value")
    return given


def _convert(file: TextFile, mapping: Mapping, settings: dict[str, str], args: argparse.Namespace) -> int:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    start, end = (
        bound.replace(tzinfo=bound.tzinfo or mapping.zone) if bound else None for bound in (args.start, args.end)
    )
    counts = Counter[str]()
    table = read_table(file.lines(), mapping.file, mapping.used_by)

    def counted() -> Iterator[Record | BadRow]:
        for row in islice(table.rows, args.limit):
            counts["rows"] += 1
            yield row

    rows = Table(table.header, counted())
    for outcome in events(rows, mapping, settings, whole=args.limit is None):
        if isinstance(outcome, BadRow):
            counts["bad"] += 1
            if counts["bad"] <= MOST_SHOWN:
                print(f"line {outcome.line}: {printable(outcome.reason)}", file=sys.stderr)
        elif _within(outcome.time, start, end):
            counts["events"] += 1
            sys.stdout.buffer.write(encode(outcome.body).encode() + b"\n")
    sys.stdout.buffer.flush()
    if counts["bad"] > MOST_SHOWN:
        print(f"... and {counted_things(counts['bad'] - MOST_SHOWN, 'more bad row')}", file=sys.stderr)
    if file.problem:
        read = counted_things(counts["rows"], "row")
        print(
            f"{printable(args.file)}: cannot be read further, after {read}: {printable(file.problem)}", file=sys.stderr
        )
    _print_counts(counts, as_json=args.json)
    return 2 if file.problem else 1 if counts["bad"] else 0


def _print_counts(counts: Counter[str], *, as_json: bool) -> None:
    if as_json:
        text = json.dumps({name: counts[name] for name in ("rows", "events", "bad")})
    else:
        text = f"{counts['rows']} rows, {counts['events']} events, {counts['bad']} bad rows"
    print(text, file=sys.stderr)


def _within(time: datetime | None, start: datetime | None, end: datetime | None) -> bool:
    """Tell whether a time lies in [start, end); an event without a time lies only in a range without bounds."""
    if time is None:
        return start is None and end is None
    return (start is None or start <= time) and (end is None or time < end)
