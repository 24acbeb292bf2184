"""`quarterhour journal`: writes the journal entries of a period's statements for an accounting system."""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from quarterhour.model import clock, fields
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import printable
from quarterhour_tools.accounting.account_map import AccountForm, AccountMap, MapProblemsError, read_account_map
from quarterhour_tools.accounting.datev import datev_files
from quarterhour_tools.accounting.document_lines import documents_by_number, with_lines
from quarterhour_tools.accounting.documents import choose, configure_files, configure_period
from quarterhour_tools.accounting.journal_csv import plain_journal
from quarterhour_tools.accounting.journal_entries import JournalEntry, journal_entries
from quarterhour_tools.accounting.journal_files import JournalFiles
from quarterhour_tools.accounting.payment_shares import cleared_by
from quarterhour_tools.accounting.xero import xero_files
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted
from quarterhour_tools.target.deployment import sealed_files

NAME: Final = "journal"
DESCRIPTION: Final = (
    "Write a balanced journal entry for each statement and credit note of a period: as plain CSV, as a DATEV file or "
    "for Xero. A TOML map names the accounts. Documents that it has no account for are left out, and named."
)
_PLAIN: Final = "csv"
_DATEV: Final = "datev"
_XERO: Final = "xero"
_ISSUE: Final = "issue"
_PERIOD_END: Final = "period-end"
_LONGEST: Final = 500
_FORMS: Final = {
    # No spreadsheet may run an account, not even one that begins with a full-width form of these characters.
    _PLAIN: AccountForm(
        re.compile(r"[^\s=+@\uff1d\uff0b\uff0d\uff20-][^\n\r]{0,49}"),
        "an account: 1 to 50 characters, not like a formula",
    ),
    _DATEV: AccountForm(re.compile(r"(?!0+\Z)[0-9]{1,9}", re.ASCII), "an account of 1 to 9 digits, as DATEV has"),
    _XERO: AccountForm(
        re.compile(r"[A-Za-z0-9./-]{1,10}", re.ASCII),
        "an account code of 1 to 10 letters and digits",
        has_parties=False,
    ),
}
"""The formats, and the accounts that each has."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour journal``."""
    configure_files(parser)
    configure_period(parser)
    parser.add_argument(
        "--accounts", type=Path, required=True, metavar="FILE", help="a map as in examples/accounting/accounts.toml"
    )
    parser.add_argument("--format", choices=_FORMS, default=_PLAIN, help="the file's format (default csv)")
    parser.add_argument("--currency", type=_currency, metavar="CODE", help="only the documents in this currency")
    parser.add_argument(
        "--date",
        choices=(_ISSUE, _PERIOD_END),
        default=_ISSUE,
        help="the date of what is charged: that of issue (default), or the last day of the period",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write")


def _currency(text: str) -> str:
    if fields.currency(text) is None:
        raise argparse.ArgumentTypeError(f"expected {fields.CURRENCY}")
    return text


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code: 1 if documents are left out."""
    try:
        return _write(args)
    except MapProblemsError as error:
        _show(error.problems)
        found = counted(len(error.problems), "problem")
        raise ToolError(f"nothing is written: {found} with {args.accounts}") from error


def _show(problems: Iterable[FieldProblem]) -> None:
    for one in problems:
        print(printable(f"{one.field} {one.problem}: expected {one.expected}", _LONGEST), file=sys.stderr)


def _write(args: argparse.Namespace) -> int:
    try:
        text = args.accounts.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise ToolError(f"{args.accounts} cannot be read: {error}") from error
    accounts = read_account_map(text, _FORMS[args.format])
    files = sealed_files(args)
    choice = choose(files, args)
    chosen = (one for one in choice.documents(files) if args.currency in {None, one.account.currency})
    documents = [with_lines(files, one, kinds=accounts.names_kinds) for one in chosen]
    named = documents_by_number(files, cleared_by(documents))
    journal = journal_entries(documents, accounts, named, at_period_end=args.date == _PERIOD_END)
    made = _made(args.format, f"Quarterhour {choice.period or choice.issued}", journal.entries, accounts)
    left_out = journal.left_out | made.left_out
    outs = {args.out.with_stem(f"{args.out.stem}{suffix}"): content for suffix, content in made.files.items()}
    for out, content in outs.items():
        out.write_bytes(content)
    written = [one for one in journal.entries if one.document.number not in left_out]
    lines = sum(1 for entry in written for _ in entry.lines())
    where = ", ".join(map(str, outs)) or "nothing is written"
    print(f"{where}: {counted(len(written), 'journal')} {choice} with {counted(lines, 'line')}")
    if without := len(documents) - len(written) - len(left_out):
        print(f"{counted(without, 'document')} without a journal, as nothing was charged or paid")
    if not left_out:
        return 0
    _show([*journal.problems, *made.problems])
    print(f"{counted(len(left_out), 'document')} left out: {', '.join(sorted(left_out))}", file=sys.stderr)
    return 1


def _made(form: str, name: str, entries: Sequence[JournalEntry], accounts: AccountMap) -> JournalFiles:
    if form == _DATEV:
        return datev_files(entries, accounts, clock.now(), name)
    if form == _XERO:
        return xero_files(entries, accounts)
    return JournalFiles({"": plain_journal(entries)}, [], frozenset())
