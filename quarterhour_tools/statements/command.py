"""`quarterhour statements`: lists, downloads and opens the statements of a period, runs what is due, decides drafts."""

import argparse
import json
import sys
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from quarterhour.model.fields import printable
from quarterhour.statements.document.invoice import why_no_invoice
from quarterhour.statements.keys import PAGE, STATEMENT
from quarterhour.statements.listing import Document
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import as_json, counted, plain_console
from quarterhour_tools.statements import drafts
from quarterhour_tools.statements.files import read_statements, sealed_periods, statement_as_dict
from quarterhour_tools.statements.invoice_cii import statement_cii
from quarterhour_tools.statements.pdf import PDF, NoPdfError, statement_pdf
from quarterhour_tools.statements.tables import listed_statuses, print_statements
from quarterhour_tools.target.deployment import api, configure_target, invoke, month, sealed_files

NAME: Final = "statements"
DESCRIPTION: Final = (
    "List the statements of a period, from a folder, a deployed stack or an emulator; download their files, and "
    "open them in the browser. With --drafts, list the drafts that have no statement yet, and why. Release them, "
    "hold one back, or cancel a statement. With --run, seal the periods that are due, without waiting for the "
    "watch."
)

_MOST_OPENED: Final = 10
"""The most statements that are opened at once."""
_UNKNOWN: Final = "unknown"
_ONLY_REASON: Final = "--reason goes with --hold, --cancel, and --release of named agencies alone"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour statements``."""
    target = configure_target(parser)
    target.add_argument(
        "folder", nargs="?", type=Path, metavar="DIR", help="the folder of replay --out, or a copy of the S3 bucket"
    )
    parser.add_argument(
        "--period", type=month, metavar="MONTH", help="the period, such as 2026-11 (default: the last one)"
    )
    parser.add_argument("--agency", metavar="NAME", help="only the statements of this agency")
    parser.add_argument("--currency", metavar="CODE", help="only the statements in this currency")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--open", action="store_true", help="download the statements and open them in the browser")
    action.add_argument(
        "--run",
        dest="run_due",
        action="store_true",
        help="seal the periods that are due, and release what is decided; with --period, fail if that one cannot be "
        "sealed next, and say why",
    )
    action.add_argument(
        "--drafts",
        action="store_true",
        help="list the drafts without a statement, and the checks that they do not pass (default: of every period)",
    )
    action.add_argument(
        "--release",
        nargs="*",
        metavar="AGENCY",
        help="release the drafts of these agencies; without one, all of the period or of every period that are not "
        "held. Exit code 1 if one was refused",
    )
    action.add_argument("--hold", metavar="AGENCY", help="hold the agency's draft of the period back")
    action.add_argument(
        "--cancel", metavar="AGENCY", help="cancel the agency's statement of the period; its draft is then held"
    )
    parser.add_argument(
        "--reason",
        metavar="TEXT",
        help="why a draft is held or a statement cancelled, or why a doubtful tax is right; it is kept",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--out", type=Path, metavar="DIR", help="download the statements' files into this folder")
    parser.add_argument(
        "--pdf",
        action="store_true",
        help="with --out, write a tagged PDF/A-3a of each statement, too, with an electronic invoice inside (Factur-X)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if action := _action(args):
        return action(args)
    if args.pdf and args.out in {None, args.folder}:
        raise ToolError("--pdf needs --out with another folder: among the sealed files, a PDF would be one too many")
    files = sealed_files(args)
    statements = list(_chosen(args, files))
    if args.open and len(statements) > _MOST_OPENED:
        raise ToolError(f"{len(statements)} statements are too many to open: choose an --agency")
    code = 0
    if args.json:
        print(as_json(list(map(statement_as_dict, statements))))
    elif not statements:
        print("no statement is released yet: --drafts lists what waits, and why")
    elif args.folder:
        print_statements(plain_console(), statements)
    else:
        code = _show_current(args, statements)
    folder = args.out or (args.folder if args.folder or not args.open else Path(mkdtemp(prefix="statements-")))
    if folder and not _write(args, files, statements, folder):
        return 1
    return code


def _write(args: argparse.Namespace, files: Objects, statements: Sequence[Document], folder: Path) -> bool:
    """Download statements into a folder, unless it is that of the statements; print what to look at, and open it.

    Return whether no PDF is missing: a statement with letters that no font has, or with a broken logo, gets none.
    """
    whole = True
    if folder != args.folder:
        _download_all(files, statements, folder)
    for one in statements:
        try:
            shown = (_write_pdf(folder, one) if args.pdf else folder / one.prefix / PAGE).resolve()
        except NoPdfError as error:
            print(f"{one.number} has no PDF: {error}", file=sys.stderr)
            whole = False
            continue
        if not args.json:
            print(shown)
        if args.open:
            webbrowser.open(shown.as_uri())
    return whole


def _action(args: argparse.Namespace) -> Callable[[argparse.Namespace], int] | None:
    """Return what is done instead of listing statements; raise ``ToolError`` for options that do not go with it."""
    decides = args.hold is not None or args.cancel is not None
    if args.json and (args.open or args.run_due):
        raise ToolError("--json does not go with --open or --run: leave it out")
    if bool(args.reason) != decides and not (args.reason and args.release):
        raise ToolError("--reason goes with --hold and --cancel: both need it" if decides else _ONLY_REASON)
    if decides and not args.period:
        raise ToolError("--hold and --cancel need a --period")
    if args.release is not None:
        return drafts.release
    if decides:
        return drafts.hold if args.hold is not None else drafts.cancel
    if args.drafts:
        return drafts.list_drafts
    return _run_due if args.run_due else None


def _show_current(args: argparse.Namespace, statements: Sequence[Document]) -> int:
    """Print the table with the current statuses; return 1 if they are missing because the API gives none."""
    code = 0
    try:
        statuses = _statuses(args, statements)
    except (ToolError, BotoCoreError, ClientError) as error:
        print(f"the statuses are missing, because the API gives none: {printable(error)}", file=sys.stderr)
        statuses, code = dict.fromkeys(listed_statuses(statements), _UNKNOWN), 1
    print_statements(plain_console(), statements, statuses)
    return code


def _chosen(args: argparse.Namespace, files: Objects) -> Iterator[Document]:
    """Yield the statements that the arguments choose; raise ``ToolError`` if there are none."""
    periods = sealed_periods(files)
    if not periods:
        raise ToolError("no period is sealed yet")
    period = args.period or periods[-1]
    if period not in periods:
        raise ToolError(f"{period} is not sealed; the sealed periods are {', '.join(map(str, periods))}")
    found = [
        one
        for one in read_statements(files, [period])
        if args.agency in {None, one.account.agency} and args.currency in {None, one.account.currency}
    ]
    if args.agency and not found:
        raise ToolError(f"{period} has no statement of the agency {args.agency}")
    yield from found


def _statuses(args: argparse.Namespace, statements: Sequence[Document]) -> dict[str, str]:
    """Return the statuses of a period's statements from the API, by number."""
    if not statements:
        return {}
    query = {"period": str(statements[0].period), **({"agency": args.agency} if args.agency else {})}
    found = api(args).pages("/statements", query)
    return {one["number"]: one["status"] for one in found}


def _download_all(files: Objects, statements: Sequence[Document], folder: Path) -> None:
    """Write the files of all statements below a folder; then raise ``ToolError`` with those that are not written."""
    wrong: list[str] = []
    for one in statements:
        try:
            _download(files, one, folder)
        except ToolError as error:
            wrong.append(str(error))
    if wrong:
        raise ToolError("; ".join(wrong))


def _download(files: Objects, statement: Document, folder: Path) -> None:
    """Write the files of a statement below a folder; raise ``ToolError`` if one differs from its hash in the list."""
    for name, sealed in statement.files.items():
        key = statement.key_of(name)
        content = files.sealed(key, sealed.sha256, "list")
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _write_pdf(folder: Path, statement: Document) -> Path:
    """Write the PDF of a downloaded statement beside its page; say it if there is no invoice inside, and why."""
    place = folder / statement.prefix
    document = json.loads((place / STATEMENT).read_bytes())
    if why := why_no_invoice(document):
        print(f"{statement.number}: its PDF has no electronic invoice inside: {why}", file=sys.stderr)
    file = place / PDF
    issued_on = date.fromisoformat(document["issued_on"])
    file.write_bytes(statement_pdf((place / PAGE).read_bytes(), statement_cii(document), issued_on))
    return file


def _run_due(args: argparse.Namespace) -> int:
    if args.folder:
        raise ToolError("--run needs a stack: name it with --stack or --url")
    request = {"period": str(args.period)} if args.period else {}
    made = released = 0
    while True:
        answer = invoke(args, "Statements", request)
        made += answer["drafts"]
        released += answer.get("documents", 0)
        for period in answer["periods"]:
            print(f"{period} is sealed", flush=True)
        if answer["next"] != "run":
            break
        request = {}  # the period is under way now
    if answer["next"] == "parts":
        due = invoke(args, "Watch", {})["statements_due"]
        print(f"{due} is large: the state machine runs it in parts")
    print(f"{counted(made, 'draft')} made, {counted(released, 'document')} released")
    return 0
