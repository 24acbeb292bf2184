"""`quarterhour reconcile`: compares a payment provider's file with the sealed ledger, and explains every difference."""

import argparse
import csv
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Final

from rich import box
from rich.table import Column, Table
from rich.text import Text

from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.map import load_provider_map
from quarterhour.file_formats.csv.provider_map import ProviderMap
from quarterhour.file_formats.csv.seen import seen_rows
from quarterhour.file_formats.csv.table import BadRow, read_table
from quarterhour.model import clock
from quarterhour.model.fields import is_name, printable
from quarterhour.model.periods import start_of, time_zone
from quarterhour.registry.reconciliation.result import document_of
from quarterhour_tools.csv.file import TextFile, open_text
from quarterhour_tools.csv.maps import setting, settings_of
from quarterhour_tools.csv.sums import sums_of_rows
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import as_json, counted, plain_console, print_table
from quarterhour_tools.reconciliation import connection
from quarterhour_tools.reconciliation.disk import Disk, on_disk
from quarterhour_tools.reconciliation.lines import counts
from quarterhour_tools.reconciliation.maps import map_text, shipped
from quarterhour_tools.reconciliation.page import MAX_ROWS, reconciliation_page
from quarterhour_tools.reconciliation.plan import Explanation, Finding, Status, explain
from quarterhour_tools.reconciliation.proposals import propose
from quarterhour_tools.reconciliation.provider_file import MapInUse, Place, ProviderFile, agency_by, read_agencies
from quarterhour_tools.reconciliation.result import COLUMNS, Reconciliation, cells, result_rows
from quarterhour_tools.reconciliation.sealed_lines import Scope, SealedLines
from quarterhour_tools.target.deployment import api, configure_target, month, sealed_files
from quarterhour_tools.target.remote import Remote, failure, segment

NAME: Final = "reconcile"
DESCRIPTION: Final = (
    "Compare each line of a payment provider's file with the sealed lines of the ledger: matched, missing here, "
    "missing there, or different in amount, currency, fee, period or agency. The sums explain the whole difference. "
    "Nothing is recorded: proposals are written for a review. Exit code 1 if lines do not match or rows cannot be read."
)
REPORT: Final = "reconciliation.html"
LINES: Final = "lines.csv"
PROPOSALS: Final = "proposals.ndjson"
_MOST_PROBLEMS: Final = 100
"""The most bad rows that are shown; all are counted."""
_LAST: Final = 1 << 62
"""The place of lines that are not in the file: behind all others."""
_FOUND: Final = 200
_MISSING: Final = 404
_WRITTEN: Final = frozenset({200, 201})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour reconcile``."""
    parser.add_argument("file", metavar="FILE", help="the provider's file, plain or gzipped; - for standard input")
    configure_target(parser).add_argument(
        "folder", nargs="?", type=Path, metavar="DIR", help="the folder of replay --out, or a copy of the S3 bucket"
    )
    parser.add_argument(
        "--map",
        metavar="MAP",
        help="the map from columns to [[provider_line]] (docs/reconciliation.md) or to events: a TOML file, or one "
        f"that comes with the tools: {', '.join(shipped())}; needed without --connection",
    )
    parser.add_argument(
        "--period", type=month, metavar="MONTH", help="the period, such as 2026-11; needed without --connection"
    )
    parser.add_argument("--zone", default="UTC", metavar="ZONE", help="the settings' time_zone (default UTC)")
    parser.add_argument(
        "--set", action="append", default=[], type=setting, metavar="NAME=VALUE", help="a value that the map asks for"
    )
    agencies = parser.add_mutually_exclusive_group()
    agencies.add_argument("--agency", metavar="AGENCY", help="all lines of the file are of this agency")
    agencies.add_argument(
        "--agencies",
        type=Path,
        metavar="CSV",
        help="a file with the columns name and agency: the agency of each name in the provider's file",
    )
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="SOURCE",
        help="only events of this source are this provider's; may be repeated (default: those of all sources)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"write {REPORT}, {LINES} and {PROPOSALS} into this folder"
    )
    parser.add_argument(
        "--store", action="store_true", help="keep the result for the console, as a version of a document"
    )
    parser.add_argument(
        "--connection",
        metavar="NAME",
        help="compare a shop's export with what its webhooks have delivered, and send the orders that never arrived",
    )
    parser.add_argument("--dry-run", action="store_true", help="with --connection, send nothing")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if args.connection:
        return connection.run(args)
    if not args.map or not args.period or args.dry_run:
        raise ToolError("--map and --period are needed to compare with the sealed ledger; --dry-run needs --connection")
    if args.store and args.folder:
        raise ToolError("--store needs --stack or --url: a folder has no console")
    if args.agency is not None and not is_name(args.agency):
        raise ToolError(f"--agency is {args.agency!r}, which no agency can be named")
    try:
        given = _map(args)
        with open_text(args.file, given.csv_map.file.encoding) as file, on_disk() as disk:
            result = _reconciled(args, given, file, disk)
    except MapError as error:
        raise ToolError(f"{args.map}: {error}") from error
    except FileError as error:
        raise ToolError(f"{args.file}: {error}") from error
    if args.out:
        (args.out / REPORT).write_bytes(reconciliation_page(result))
    if args.store:
        _store(api(args), result)
    if args.json:
        print(as_json(result.document()))
    else:
        _show(args, result)
    _warn(args, result)
    return 1 if result.difference_count or result.problem_count else 0


def _map(args: argparse.Namespace) -> MapInUse:
    csv_map = load_provider_map(map_text(args.map), Path(args.map).stem)
    if csv_map.provider is None:
        raise MapError("provider_line", "is missing")
    given = dict(args.set)
    if args.agency and "agency" in csv_map.settings:
        given.setdefault("agency", args.agency)
    return MapInUse(csv_map, csv_map.provider, settings_of(csv_map, given))


def _reconciled(args: argparse.Namespace, given: MapInUse, file: TextFile, disk: Disk) -> Reconciliation:
    provider = given.provider
    try:
        zone = time_zone(args.zone)
    except ValueError as error:
        raise ToolError(f"--zone: {error}") from error
    known = read_agencies(args.agencies) if args.agencies else None
    agencies = {args.agency} if args.agency is not None else set(known.values()) if known is not None else set()
    fees = any(line.fee for line in provider.lines)
    sealed = SealedLines(sealed_files(args), args.period, provider, Scope(agencies, frozenset(args.source)), fees=fees)
    explanation = Explanation(str(args.period))
    result = Reconciliation(
        args.period, provider.provider, Path(args.file).name, clock.now(), sealed.until, explanation
    )
    table = read_table(file.lines(), given.csv_map.file, given.csv_map.used_by)
    with seen_rows() as seen:
        rows = ProviderFile(table, given, Place(args.period, zone), agency_by(args.agency, known), seen)
        result.summary = rows.summary
        for line in rows.lines():
            if isinstance(line, BadRow):
                _problem(result, line)
            else:
                result.provider_totals.add(line, explanation.period)
                result.outside += not counts(line, explanation.period)
                disk.add(line)
    if file.problem:
        read = counted(result.rows, "row")
        raise ToolError(f"{args.file} cannot be read further, after {read}; nothing is compared: {file.problem}")
    for one in sealed.lines():
        result.ledger_totals.add(one, explanation.period)
        disk.add(one)
    disk.index()
    _explain(args, provider, disk, result)
    explanation.check(result.provider_totals, result.ledger_totals)
    return result


def _problem(result: Reconciliation, row: BadRow) -> None:
    result.problem_count += 1
    if len(result.problems) < _MOST_PROBLEMS:
        result.problems.append(printable(f"line {row.line}: {row.reason}"))


def _explain(args: argparse.Namespace, provider: ProviderMap, disk: Disk, result: Reconciliation) -> None:
    """Explain each group, and write what was found in the order of the provider's file."""
    period = result.explanation.period
    with ExitStack() as files:
        lines, proposals = _files(args.out, files)
        for group in disk.groups():
            for finding in explain(*group):
                if finding.counts(period):
                    result.explanation.add(finding)
                    _keep(disk, finding, provider, period)
        for text in disk.rows():
            kept = json.loads(text)
            for row in kept["rows"]:
                lines(row)
                if row["label"] != Status.MATCHED and len(result.differences) < MAX_ROWS:
                    result.differences.append(row)
            for event in kept["events"]:
                result.proposals += 1
                proposals(event)


def _keep(disk: Disk, finding: Finding, provider: ProviderMap, period: str) -> None:
    proposed = propose(finding, provider, disk.first_of)
    place = finding.provider[0].row if finding.provider else _LAST
    rows = list(result_rows(finding, period, proposed))
    disk.keep(place, json.dumps({"rows": rows, "events": proposed.events}))


Write = Callable[[dict[str, Any]], object]


def _files(out: Path | None, files: ExitStack) -> tuple[Write, Write]:
    """Open the files for lines and proposals; without a folder, return functions that write nothing."""
    if out is None:
        return lambda _: None, lambda _: None
    out.mkdir(parents=True, exist_ok=True)
    lines: IO[str] = files.enter_context((out / LINES).open("w", encoding="utf-8", newline=""))
    proposals: IO[str] = files.enter_context((out / PROPOSALS).open("w", encoding="utf-8"))
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(COLUMNS)
    return (
        lambda row: writer.writerow(cells(row)),
        lambda event: proposals.write(json.dumps(event, ensure_ascii=False) + "\n"),
    )


def _store(remote: Remote, result: Reconciliation) -> None:
    """Write the result as the next version of its document; raise ``ToolError`` if it is refused."""
    name = document_of(result.period, result.provider)
    path = f"/documents/{segment(name)}"
    status, existing = remote.send("GET", path)
    if status not in {_FOUND, _MISSING}:
        raise ToolError(failure("GET", path, status, existing))
    seen = existing["version"] if status == _FOUND else 0
    status, answer = remote.put(path, {"seen": seen, "content": result.document()})
    if status not in _WRITTEN:
        raise ToolError(failure("PUT", path, status, answer))


def _show(args: argparse.Namespace, result: Reconciliation) -> None:
    console = plain_console()
    right = [Column(title, justify="right") for title in ("findings", "provider", "ledger", "difference")]
    table = Table("currency", "figure", "reason", *right, box=box.SIMPLE, padding=(0, 1, 0, 0))
    for total in result.totals():
        key = (total["measure"], total["currency"])
        for one in result.sums():
            if (one["measure"], one["currency"]) == key:
                figures = (f"{one['findings']:,}", one["provider"], one["ledger"], one["difference"])
                table.add_row(one["currency"], one["measure"], Text(one["label"]), *figures)
        figures = ("", total["provider"], total["ledger"], total["difference"])
        table.add_row(total["currency"], total["measure"], "total", *figures, end_section=True)
    print_table(console, table)
    for text in sums_of_rows(result.summary, "lines"):
        console.print(text)
    console.print(
        f"{counted(result.rows, 'row')}: {result.matched:,} matched, {result.difference_count:,} not matched, "
        f"{counted(result.proposals, 'proposal')}"
    )
    if args.out:
        console.print(printable(f"written: {args.out / REPORT}, {LINES}, {PROPOSALS}"))


def _warn(args: argparse.Namespace, result: Reconciliation) -> None:
    for one in result.problems:
        print(printable(one), file=sys.stderr)
    if result.problem_count > len(result.problems):
        print(f"... and {counted(result.problem_count - len(result.problems), 'more problem')}", file=sys.stderr)
    end = start_of(result.period.next.first_day, time_zone(args.zone))
    if result.sealed_until is None or result.sealed_until < end:
        until = result.sealed_until.isoformat().replace("+00:00", "Z") if result.sealed_until else "no time"
        print(f"the ledger is sealed until {until}, before the end of {result.period}", file=sys.stderr)
