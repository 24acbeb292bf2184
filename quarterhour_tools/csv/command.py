"""`quarterhour csv`: converts a CSV file of sales into events, one JSON object per line, by a TOML map.

`run` reads the file and writes the result. `docs/csv.md` describes the map.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import BinaryIO, Final

from quarterhour.file_formats.csv.errors import EncodingError, FileError, MapError
from quarterhour.file_formats.csv.events import MappedEvent, converted, sums_of
from quarterhour.file_formats.csv.guess import Given, guess
from quarterhour.file_formats.csv.lines import COMMONEST, UTF_8
from quarterhour.file_formats.csv.map import CsvMap, load_map, shipped_maps
from quarterhour.file_formats.csv.summary import ConvertedRow, FileSummary
from quarterhour.file_formats.csv.table import read_table
from quarterhour.model import money
from quarterhour.model.fields import printable
from quarterhour_tools.csv.file import STDIN, TextFile, open_text
from quarterhour_tools.csv.maps import read_map, setting, settings_of
from quarterhour_tools.csv.sums import lines_of
from quarterhour_tools.output import counted

NAME: Final = "csv"
DESCRIPTION: Final = "Convert a CSV file of sales into NDJSON of events, by a TOML map; or propose a map for it."

MOST_SHOWN: Final = 100
"""How many bad rows are shown; the others are counted."""
_OUTSIDE: Final = "outside --from and --to"
"""The rule that excludes the rows whose events are all outside the span of time."""
_MOST_DIGITS: Final = 12
"""The most digits of a number of rows."""
_NEED_NO_NAME: Final = frozenset({UTF_8, "utf-16", "utf-32"})
"""The encodings that a file shows by itself."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `quarterhour csv`."""
    parser.add_argument("file", metavar="FILE", help="a CSV file, plain or gzipped; - for standard input")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--guess",
        action="store_true",
        help="propose a map for the file: TOML on standard output, with what is certain, questions, and three rows "
        "as events. Exit code 1 if there are questions",
    )
    what.add_argument(
        "--map",
        metavar="MAP",
        help="the map from columns to the fields of events (docs/csv.md): a TOML file, or a map that comes with the "
        f"tools: {', '.join(shipped_maps())}",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=setting,
        metavar="NAME=VALUE",
        help="a value that the map asks for in [settings], such as agency=42; may be repeated",
    )
    parser.add_argument("--from", dest="start", type=_time, metavar="ISO", help="only events at or after this time")
    parser.add_argument("--to", dest="end", type=_time, metavar="ISO", help="only events before this time")
    parser.add_argument("--limit", type=_count, metavar="N", help="only the first N rows")
    parser.add_argument(
        "--json", action="store_true", help='end standard error with {"rows": ..., "events": ..., "bad": ...}'
    )


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError("expected an ISO 8601 date or time, such as 2026-10-23T02:00") from error


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"expected a whole number of at most {_MOST_DIGITS} digits")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Write events to standard output, bad rows to standard error; return 0, 1 with bad rows, 2 after an error."""
    try:
        if args.guess:
            return _guess(args.file, as_json=args.json)
        csv_map = load_map(read_map(args.map))
        settings = settings_of(csv_map, dict(args.set))
        if csv_map.must_not_change:
            print(f"{printable(args.file)} must never change: {csv_map.must_not_change}", file=sys.stderr)
        with open_text(args.file, csv_map.file.encoding) as file:
            if file.detected and file.encoding != UTF_8:
                print(f"{printable(args.file)}: read as {file.encoding}, which was detected", file=sys.stderr)
            return _convert(file, csv_map, settings, args)
    except MapError as error:
        print(f"{printable(args.map or args.file)}: {printable(error)}", file=sys.stderr)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe: it needs no message
        _write_nothing_more()
    except _OutputError as error:
        _write_nothing_more()
        print(f"standard output: cannot be written: {printable(error)}", file=sys.stderr)
    except FileError as error:
        print(f"{printable(args.file)}: {printable(error)}", file=sys.stderr)
    except OSError as error:
        print(f"{printable(args.file)}: cannot be read: {printable(error)}", file=sys.stderr)
    if args.json:
        _print_summary(FileSummary(), as_json=True)
    return 2


class _OutputError(Exception):
    """Standard output cannot be written, for example because the disk is full."""


@contextmanager
def _writing() -> Iterator[BinaryIO]:
    """Yield standard output; raise `_OutputError` if it cannot be written, and `BrokenPipeError` if nobody reads it."""
    try:
        yield sys.stdout.buffer
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _OutputError(error) from None


def _write_nothing_more() -> None:
    """Discard what is still to be written, also at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _guess(name: str, *, as_json: bool) -> int:
    """Write a proposal of a map to standard output; return 1 if it has questions."""
    try:
        with open_text(name, None) as file:
            encoding = None if file.encoding in _NEED_NO_NAME else file.encoding
            text, proposal = guess(file.lines(), Given(name), encoding=encoding, encoding_in_doubt=False)
    except EncodingError as error:
        if name == STDIN:
            raise
        print(f"{printable(name)}: {printable(error)}", file=sys.stderr)
        with open_text(name, COMMONEST) as file:
            text, proposal = guess(file.lines(), Given(name), encoding=COMMONEST, encoding_in_doubt=True)
    with _writing() as out:
        out.write(text.encode())
        out.flush()
    if as_json:
        print(json.dumps({"questions": proposal.questions, "unused": proposal.unused}), file=sys.stderr)
    return 1 if proposal.questions else 0


def _convert(file: TextFile, csv_map: CsvMap, settings: dict[str, str], args: argparse.Namespace) -> int:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    start, end = (
        bound.replace(tzinfo=bound.tzinfo or csv_map.zone) if bound else None for bound in (args.start, args.end)
    )
    summary, shown = FileSummary(), 0
    table = read_table(file.lines(), csv_map.file, csv_map.used_by)
    rows = replace(table, rows=islice(table.rows, args.limit))
    with _writing() as out:  # the errors of reading are in file.problem
        for row in converted(rows, csv_map, settings, whole=args.limit is None):
            if row.bad:
                shown += 1
                if shown <= MOST_SHOWN:
                    print(f"line {row.line}: {printable(row.bad)}", file=sys.stderr)
            within = tuple(one for one in row.events if _within(one.event.time, start, end))
            _add(summary, row, within)
            for one in within:
                out.write(encode(one.body).encode() + b"\n")
        out.flush()
    if shown > MOST_SHOWN:
        print(f"... and {counted(shown - MOST_SHOWN, 'more bad row')}", file=sys.stderr)
    if file.problem:
        read = counted(summary.file.rows, "row")
        print(
            f"{printable(args.file)}: cannot be read further, after {read}: {printable(file.problem)}", file=sys.stderr
        )
    _print_summary(summary, as_json=args.json)
    return 2 if file.problem else 0 if summary.is_good else 1


def _add(summary: FileSummary, row: ConvertedRow, within: tuple[MappedEvent, ...]) -> None:
    """Add a row, of which the events `within` the span of time are written."""
    outside = [one for one in row.events if one not in within]
    if outside and not within:
        summary.exclude(_OUTSIDE, row.amounts)
        return
    summary.add(replace(row, events=within))
    if outside:
        amounts = sums_of(outside)
        summary.converted.add({currency: money.negated(amount) for currency, amount in amounts.items()}, 0)
        summary.exclude(_OUTSIDE, amounts, 0)


def _print_summary(summary: FileSummary, *, as_json: bool) -> None:
    print(json.dumps(summary.as_dict()) if as_json else "\n".join(lines_of(summary)), file=sys.stderr)


def _within(time: datetime | None, start: datetime | None, end: datetime | None) -> bool:
    """Tell whether a time lies in [start, end); an event without a time lies only in a range without bounds."""
    if time is None:
        return start is None and end is None
    return (start is None or start <= time) and (end is None or time < end)
