"""`quarterhour csv`: converts a CSV file of sales into events, one JSON object per line, by a TOML map.

`records` splits lines of text into rows, and `events` converts rows into events; both do no I/O. `run` reads the file
and writes the result. `docs/csv.md` describes the map.
"""

import argparse
import csv
import gzip
import json
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from quarterhour.ledger.event import Rejection, read_event
from quarterhour.model import money
from quarterhour_tools.loading.csv_cells import CellError, Cells, EmptyCellError
from quarterhour_tools.loading.csv_map import ROW, EventMap, MapError, Mapping, Value, load_mapping
from quarterhour_tools.output import printable


@dataclass(frozen=True, slots=True)
class Record:
    """One row of the file: its cells, and the physical line on which it starts."""

    line: int
    cells: list[str]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row without an event: the physical line on which it starts, and the reason."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Event:
    """A CloudEvent that the ledger accepts, as a JSON object, and its time in UTC."""

    time: datetime | None
    body: dict[str, Any]


def records(lines: Iterable[str], mapping: Mapping) -> Iterator[Record | BadRow]:
    """Split lines of text, with their ends, into rows. A quoted cell may hold line ends; blank lines are skipped."""
    reader = csv.reader(
        lines,
        delimiter=mapping.delimiter,
        quotechar=mapping.quote,
        quoting=csv.QUOTE_MINIMAL if mapping.quote else csv.QUOTE_NONE,
        strict=True,
    )
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield BadRow(line, f"is not CSV: {error}")
            continue
        if cells:
            yield Record(line, cells)


def events(rows: Iterable[Record | BadRow], mapping: Mapping) -> Iterator[Event | BadRow]:
    """Convert each row into its events, or into one bad row.

    The first row is the header unless the map names the columns. The rows after it are numbered from 1, bad rows too,
    so that a fixed row does not change the ids of the others. Raises `MapError` if the file lacks a column in use.
    """
    rows = iter(rows)
    header = mapping.header or _header(next(rows, None))
    for column, field in mapping.used_by.items():
        if header.count(column) != 1:
            found = "more than one column" if column in header else "no column"
            raise MapError(field, f"the file has {found} {column!r}; it has {', '.join(header)}")
    places = [(column, header.index(column), clean) for column, clean in mapping.clean.items()]
    for ordinal, row in enumerate(rows, 1):
        if isinstance(row, BadRow):
            yield row
        elif len(row.cells) != len(header):
            yield BadRow(row.line, f"has {len(row.cells)} columns instead of {len(header)}")
        elif not _decoded(row.cells):
            yield BadRow(row.line, f"holds bytes that are not {mapping.encoding}")
        else:
            cells = {column: clean(row.cells[place]) for column, place, clean in places}
            cells[ROW] = str(ordinal)
            try:
                yield from [_event(cells, each) for each in mapping.events if each.when(cells)]
            except CellError as error:
                yield BadRow(row.line, str(error))


def _header(first: Record | BadRow | None) -> list[str]:
    if not isinstance(first, Record):
        raise MapError("file.columns", "the file has no header line, and the map names no columns")
    return [name.strip() for name in first.cells]


def _decoded(cells: list[str]) -> bool:
    """Tell whether every byte of a row was decoded; the other bytes are lone surrogates."""
    text = "".join(cells)
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _event(cells: Cells, event_map: EventMap) -> Event:
    """Return one event of a row; raise `CellError` if a cell is unusable or the ledger would reject the event."""
    amount = event_map.amount(cells) if event_map.amount else money.ZERO
    body: dict[str, Any] = {"specversion": "1.0"}
    body |= {field: value(cells, amount) for field, value in event_map.envelope.items()}
    if event_map.time:
        body["time"] = event_map.time(cells).isoformat().replace("+00:00", "Z")
    figures = {"amount": money.plain(amount)} if event_map.amount else {}
    body["data"] = figures | _filled(event_map.data, cells, amount)
    if extra := _filled(event_map.extra, cells, amount):
        body["data"]["extra"] = extra
    read = read_event(body)
    if isinstance(read, Rejection):
        raise CellError("; ".join(f"{each.field} {each.problem}, not {each.expected}" for each in read.problems))
    return Event(read.time, body)


def _filled(values: dict[str, Value], cells: Cells, amount: Decimal) -> dict[str, str]:
    """Return the fields that have a value in this row."""
    filled = {}
    for field, value in values.items():
        with suppress(EmptyCellError):
            filled[field] = value(cells, amount)
    return filled


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `quarterhour csv`."""
    parser.add_argument("file", metavar="FILE", help="a CSV file, plain or .gz; - for standard input")
    parser.add_argument(
        "--map", required=True, metavar="MAP.toml", help="the map from columns to the fields of events (docs/csv.md)"
    )
    parser.add_argument("--from", dest="start", type=_time, metavar="ISO", help="only events at or after this time")
    parser.add_argument("--to", dest="end", type=_time, metavar="ISO", help="only events before this time")
    parser.add_argument("--limit", type=_count, metavar="N", help="only the first N rows")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Write events to standard output, bad rows to standard error; return 0, 1 with bad rows, 2 after an error."""
    try:
        mapping = load_mapping(_read_map(args.map))
        with _open(args.file, mapping.encoding) as lines:
            return _convert(lines, mapping, args)
    except MapError as error:
        print(f"{args.map}: {printable(error)}", file=sys.stderr)
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe: write nothing more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, EOFError, UnicodeError, zlib.error) as error:
        print(f"{args.file}: cannot be read: {printable(error)}", file=sys.stderr)
    return 2


def _read_map(name: str) -> str:
    try:
        return Path(name).read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise MapError("map", f"cannot be read: {error}") from None


def _open(name: str, encoding: str) -> TextIO:
    """Open a file, a .gz file or standard input as text; bytes that cannot be decoded become lone surrogates."""
    if name == "-":
        return TextIOWrapper(sys.stdin.buffer, encoding, "surrogateescape", newline="")
    opener = gzip.open if name.endswith(".gz") else open
    return opener(name, "rt", encoding=encoding, errors="surrogateescape", newline="")


def _convert(lines: Iterable[str], mapping: Mapping, args: argparse.Namespace) -> int:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    start, end = (
        bound.replace(tzinfo=bound.tzinfo or mapping.zone) if bound else None for bound in (args.start, args.end)
    )
    tally = Counter(rows=0 if mapping.header else -1)  # the header does not count as a row

    def counted() -> Iterator[Record | BadRow]:
        for row in records(lines, mapping):
            if tally["rows"] == args.limit:
                return
            tally["rows"] += 1
            yield row

    for outcome in events(counted(), mapping):
        if isinstance(outcome, BadRow):
            tally["bad rows"] += 1
            print(f"line {outcome.line}: {printable(outcome.reason)}", file=sys.stderr)
        elif _within(outcome.time, start, end):
            tally["events"] += 1
            sys.stdout.buffer.write(encode(outcome.body).encode() + b"\n")
    sys.stdout.buffer.flush()
    print(", ".join(f"{tally[name]} {name}" for name in ("rows", "events", "bad rows")), file=sys.stderr)
    return 1 if tally["bad rows"] else 0


def _within(time: datetime | None, start: datetime | None, end: datetime | None) -> bool:
    """Tell whether a time lies in [start, end); an event without a time lies only in a range without bounds."""
    if time is None:
        return start is None and end is None
    return (start is None or start <= time) and (end is None or time < end)
