"""`quarterhour payments`: matches a bank's file to statements, and records the payments that are certain.

The ids of the events come from the bank's lines. So the same file again, or one that overlaps, records nothing twice.
"""

import argparse
import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple

from quarterhour_client import Result, Verdict
from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from quarterhour.file_formats.bank.line import FILE, FORMATS
from quarterhour.file_formats.bank.table import COLUMNS
from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import CURRENCY
from quarterhour.file_formats.csv.errors import CellError, EmptyCellError, FileError, MapError
from quarterhour.file_formats.csv.events import Converter
from quarterhour.file_formats.csv.line_map import LineMap
from quarterhour.file_formats.csv.map import CsvMap, load_line_map
from quarterhour.file_formats.csv.seen import seen_rows
from quarterhour.file_formats.csv.table import BadRow, read_table
from quarterhour.file_formats.csv.table import Table as CsvTable
from quarterhour.model import money
from quarterhour.model.fields import printable
from quarterhour.statements.receivables.matching import LineOutcome
from quarterhour_tools.accounting.payers import Assigned, assign
from quarterhour_tools.accounting.payment_sums import OUTCOMES, WHEN, show_sums
from quarterhour_tools.csv.file import open_text
from quarterhour_tools.csv.maps import read_map
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import as_json, counted, plain_console, print_table
from quarterhour_tools.target.deployment import api, configure_target
from quarterhour_tools.target.remote import IN_LEDGER, Remote, as_item, failure, reasons


class ExcludedRow(NamedTuple):
    """A row that a map leaves out, by a named rule or by ``when``; ``None`` for what cannot be read of it.

    ``bad``: the line and the reason of a row that cannot be read.
    """

    rule: str
    amount: Decimal | None = None
    currency: str | None = None
    bad: BadRow | None = None


def bank_lines(
    table: CsvTable, whole_map: CsvMap, line_map: LineMap, settings: dict[str, str]
) -> Iterator[str | ExcludedRow]:
    """Yield the header, then for each row the line of the bank, or a row that is none."""
    yield _written(COLUMNS)
    csv_map = whole_map.of_language(table.language)
    with seen_rows() as seen:
        converter = Converter(table.header, csv_map, settings, seen)
        yield from _bank_rows(table, csv_map, converter, csv_map.line or line_map)


def _bank_rows(
    table: CsvTable, csv_map: CsvMap, converter: Converter, line_map: LineMap
) -> Iterator[str | ExcludedRow]:
    for row in table.rows:
        cells = converter.clean(row)
        if isinstance(cells, BadRow):
            yield ExcludedRow(LineOutcome.BAD, bad=cells)
            continue
        try:
            if excluded := csv_map.exclusion_of(cells):
                yield _excluded(excluded.rule, cells, line_map)
            elif line_map.when(cells):
                yield _row(cells, line_map)
            else:
                yield _excluded(WHEN, cells, line_map)
        except CellError as error:
            bad = BadRow(row.line, str(error))
            yield _excluded(LineOutcome.BAD, cells, line_map)._replace(bad=bad)


def _row(cells: Cells, line_map: LineMap) -> str:
    amount = line_map.amount(cells)
    texts = {"date": line_map.booked_on(cells).isoformat(), "amount": money.plain(amount)}
    for name, value in line_map.texts.items():
        try:
            texts[name] = value(cells, amount)
        except EmptyCellError:
            if name == CURRENCY:
                raise
    currency = texts[CURRENCY]
    if not money.is_currency(currency):
        raise CellError(f"line.currency: {currency!r} is no code of ISO 4217 such as EUR")
    if money.on_statement(amount, currency) != amount:
        raise CellError(f"line.amount: {money.plain(amount)} has more decimal places than {currency}")
    return _written([texts.get(name, "") for name in COLUMNS])


def _excluded(rule: str, cells: Cells, line_map: LineMap) -> ExcludedRow:
    try:
        amount = line_map.amount(cells)
        currency = line_map.texts[CURRENCY](cells, amount)
    except CellError:
        return ExcludedRow(rule)
    return ExcludedRow(rule, amount, currency) if money.is_currency(currency) else ExcludedRow(rule)


def _written(cells: tuple[str, ...] | list[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


NAME: Final = "payments"
DESCRIPTION: Final = (
    "Match the lines of a bank's file (CAMT.053, MT940 or CSV) to what is open of statements, and say why. With "
    "--record, the payments that are certain are recorded, each once: the same file again records nothing. Exit code "
    "1 if a line or the file needs a look."
)
_MOST_ROWS: Final = 200
"""The most lines that the table shows."""
_LONGEST: Final = 40
_MOST_BAD: Final = 100
"""The most bad rows that are shown."""
_ALWAYS: Final = (LineOutcome.CERTAIN, LineOutcome.REVIEW, LineOutcome.RECORDED, LineOutcome.NO_PAYMENT)
"""The outcomes that are counted even if there is none."""

_Json = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour payments``."""
    parser.add_argument("file", metavar="FILE", help="the bank's file")
    configure_target(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--format", choices=FORMATS, help="its format (default: the one that its content shows)")
    form.add_argument(
        "--map", metavar="MAP", help="the map from the columns of its CSV to [line] (docs/accounting.md): a TOML file"
    )
    parser.add_argument("--record", action="store_true", help="record the payments that are certain")
    parser.add_argument(
        "--assign",
        action="append",
        nargs="+",
        metavar=("LINE", "AGENCY"),
        default=[],
        help="record a line, by its number, as a payment of AGENCY, for the statement that follows or the oldest; "
        "its registration learns who paid",
    )
    parser.add_argument(
        "--review",
        type=Path,
        metavar="NDJSON",
        help="write the payments that are not certain here: check them, then use `quarterhour send`",
    )
    parser.add_argument("--json", action="store_true", help="print the lines as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    remote = api(args)
    content, excluded = _content(args)
    found = _matched(remote, content, args.format)
    if assigned := [Assigned.parse(one) for one in args.assign]:
        assign(remote, found["lines"], assigned)
        found = _matched(remote, content, args.format)
    lines: list[_Json] = found["lines"]
    found["sums"] = _with_excluded(found["sums"], excluded)
    bad = [one.bad for one in excluded if one.bad]
    found["bad"] += [{"line": one.line, "reason": one.reason, "text": one.text} for one in bad]
    found["unread"] += sum(1 for one in excluded if one.bad and not one.currency)
    certain = [event for one in lines if one["certain"] for event in one["events"]]
    results = _record(remote, certain) if args.record else {}
    if args.review:
        _write(args.review, (event for one in lines if not one["certain"] for event in one["events"]))
    if args.json:
        for one in lines:
            one["verdicts"] = [as_item(result) for result in _of_line(one, results)]
        print(as_json(found))
    else:
        _show(plain_console(), found, results, recorded=args.record)
    for problem in found["problems"]:
        print(printable(problem), file=sys.stderr)
    for row in found["bad"][:_MOST_BAD]:
        print(f"line {row['line']}: {printable(row['reason'])}", file=sys.stderr)
    if found["bad"]:
        more = f"... {len(found['bad']) - _MOST_BAD} more; " if len(found["bad"]) > _MOST_BAD else ""
        print(f"{more}{counted(len(found['bad']), 'bad row')}: correct the file, and send it again", file=sys.stderr)
    return 1 if found["problems"] or found["bad"] or any(_needs_a_look(one, results) for one in lines) else 0


def _of_line(line: Mapping[str, Any], results: Mapping[str, Result]) -> list[Result]:
    """Return the outcomes of the payments of a line."""
    return [results[event["id"]] for event in line["events"] if event["id"] in results]


def _needs_a_look(line: Mapping[str, Any], results: Mapping[str, Result]) -> bool:
    refused = any(one.verdict not in IN_LEDGER for one in _of_line(line, results))
    return refused or line["outcome"] == LineOutcome.REVIEW


def _content(args: argparse.Namespace) -> tuple[bytes, list[ExcludedRow]]:
    """Return the bytes to send, of the file or of the CSV that a map makes of it, and the rows that it leaves out."""
    try:
        return _mapped(args.file, args.map) if args.map else (Path(args.file).read_bytes(), [])
    except MapError as error:
        raise ToolError(f"{args.map}: {error}") from error
    except (FileError, OSError) as error:
        raise ToolError(f"{args.file} cannot be read: {error}") from error


def _mapped(name: str, map_name: str) -> tuple[bytes, list[ExcludedRow]]:
    csv_map = load_line_map(read_map(map_name))
    if csv_map.line is None or csv_map.settings:
        raise MapError("settings", "is unknown in a map of a bank's lines")
    with open_text(name, csv_map.file.encoding) as file:
        rows = list(bank_lines(read_table(file.lines(), csv_map.file, csv_map.used_by), csv_map, csv_map.line, {}))
        if file.problem:
            raise FileError(file.problem)
    content = "".join(one for one in rows if isinstance(one, str)).encode()
    return content, [one for one in rows if isinstance(one, ExcludedRow)]


def _with_excluded(sums: Sequence[_Json], excluded: Iterable[ExcludedRow]) -> list[_Json]:
    """Return the sums by currency with the rows that a map leaves out."""
    found = {one["currency"]: dict(one) for one in sums}
    left_out: dict[tuple[str, str], list[Decimal]] = {}
    for row in excluded:
        if row.currency or not row.bad:
            left_out.setdefault((row.currency or "", row.rule), []).append(row.amount or money.ZERO)
    for (currency, rule), amounts in left_out.items():
        own = money.total(amounts)
        before = found.get(currency, {"lines": 0, "amount": "0", "outcomes": []})
        found[currency] = {
            "currency": currency,
            "lines": before["lines"] + len(amounts),
            "amount": money.plain(money.add(Decimal(before["amount"]), own)),
            "outcomes": [*before["outcomes"], {"outcome": rule, "lines": len(amounts), "amount": money.plain(own)}],
        }
    return [found[currency] for currency in sorted(found)]


def _matched(remote: Remote, content: bytes, format_: str | None) -> _Json:
    """Return the lines of a file with what they match; raise ``ToolError`` with the reason if it is refused."""
    path = f"/bank-files?format={format_}" if format_ else "/bank-files"
    status, body = remote.exchange("POST", path, FILE, content)
    if status != HTTPStatus.OK:
        raise ToolError(printable(failure("POST", "/bank-files", status, body)))
    found: _Json = body
    return found


def _record(remote: Remote, events: Sequence[_Json]) -> dict[str, Result]:
    """Record payments and return their outcomes by id; raise ``ToolError`` if the ledger stays unavailable."""
    results = {one.id: one for one in remote.record(events)}
    if left := [one for one in results.values() if one.verdict is Verdict.UNAVAILABLE]:
        raise ToolError(f"the ledger is unavailable; the same command goes on: {printable(reasons(left[0]))}")
    return results


def _write(path: Path, events: Iterable[_Json]) -> None:
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in events)
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error}") from error


def _show(console: Console, found: _Json, results: Mapping[str, Result], *, recorded: bool) -> None:
    lines: list[_Json] = found["lines"]
    amount = Column("amount", justify="right")
    table = Table("line", "date", "payer", amount, "", "pays", "why", box=box.SIMPLE, padding=(0, 1, 0, 0))
    for one in lines[:_MOST_ROWS]:
        pays = ", ".join(f"{event['subject']}: {_statement(event)}" for event in one["events"])
        texts = (str(one["line"]), one["date"], one["name"] or one["iban"], one["amount"], one["currency"], pays)
        table.add_row(
            *(Text(printable(text, _LONGEST)) for text in texts), Text(printable(_why(one, _of_line(one, results))))
        )
    if lines:
        print_table(console, table)
    if len(lines) > _MOST_ROWS:
        console.print(f"... and {counted(len(lines) - _MOST_ROWS, 'more line')}")
    show_sums(console, found)
    counts = Counter(one["outcome"] for one in lines)
    console.print(f"{counted(len(lines), 'line')}: {', '.join(f'{counts[one]} {OUTCOMES[one]}' for one in _ALWAYS)}")
    if recorded:
        verdicts = Counter(one.verdict.value for one in results.values())
        done = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items()))
        console.print(f"payments: {done or 'none'}")
    elif counts["certain"]:
        console.print("nothing is recorded: --record records what is certain")


def _statement(event: Mapping[str, Any]) -> str:
    return str(event["data"].get("statement", "the oldest"))


def _why(line: Mapping[str, Any], results: Sequence[Result]) -> str:
    """Return why a line is certain, or is not, and what the ledger has refused of it."""
    refused = [reasons(one) or one.verdict.value for one in results if one.verdict not in IN_LEDGER]
    return "; ".join([line["reason"], *refused])
