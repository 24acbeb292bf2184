"""`quarterhour journal`: writes the journal entries of a period's statements for an accounting system."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from quarterhour.model import clock, fields
from quarterhour.model.fields import printable
from quarterhour_tools.accounting.account_map import AccountForm, AccountMap, MapProblemsError, read_account_map
from quarterhour_tools.accounting.datev import datev_journal
from quarterhour_tools.accounting.documents import choose, configure_files, configure_period
from quarterhour_tools.accounting.journal_csv import plain_journal, xero_journal
from quarterhour_tools.accounting.journal_entries import JournalEntry, journal_entries
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted
from quarterhour_tools.target.deployment import sealed_files

NAME: Final = "journal"
HELP: Final = "write the journal entries of a period for an accounting system"
DESCRIPTION: Final = (
    "Write a balanced journal entry for each statement and credit note of a period: as plain CSV, as a DATEV file or "
    "for Xero. A TOML map names the accounts. Nothing is written unless every amount has an account."
)
_PLAIN: Final = "csv"
_DATEV: Final = "datev"
_XERO: Final = "xero"
_FORMS: Final = {
    # No spreadsheet may run an account, not even one that begins with a full-width form of these characters.
    _PLAIN: AccountForm(
        re.compile(r"[^\s=+@\uff1d\uff0b\uff0d\uff20-][^\n\r]{0,49}"),
        "an account: 1 to 50 characters, not like a formula",
    ),
    _DATEV: AccountForm(re.compile(r"(?!0+\Z)[0-9]{1,9}", re.ASCII), "an account of 1 to 9 digits, as DATEV has"),
    _XERO: AccountForm(re.compile(r"[A-Za-z0-9./-]{1,10}", re.ASCII), "an account code of 1 to 10 letters and digits"),
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
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write")


def _currency(text: str) -> str:
    if fields.currency(text) is None:
        raise argparse.ArgumentTypeError(f"expected {fields.CURRENCY}")
    return text


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    try:
        return _write(args)
    except MapProblemsError as error:
        for one in error.problems:
            print(printable(f"{one.field} {one.problem}: expected {one.expected}"), file=sys.stderr)
        found = counted(len(error.problems), "problem")
        raise ToolError(f"nothing is written: {found} with {args.accounts}") from error


def _write(args: argparse.Namespace) -> int:
    try:
        text = args.accounts.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise ToolError(f"{args.accounts} cannot be read: {error}") from error
    accounts = read_account_map(text, _FORMS[args.format])
    files = sealed_files(args)
    choice = choose(files, args)
    documents = [one for one in choice.documents(files) if args.currency in {None, one.account.currency}]
    entries = journal_entries(documents, accounts)
    args.out.write_bytes(_writer(args.format, f"Quarterhour {choice.period or choice.issued}")(entries, accounts))
    lines = sum(1 for entry in entries for _ in entry.lines())
    without = len(documents) - len(entries)
    print(f"{args.out}: {counted(len(entries), 'journal')} {choice} with {counted(lines, 'line')}")
    if without:
        print(f"{counted(without, 'document')} without a journal, as nothing was charged or paid")
    return 0


def _writer(form: str, name: str) -> Callable[[Sequence[JournalEntry], AccountMap], bytes]:
    if form == _DATEV:
        return lambda entries, accounts: datev_journal(entries, accounts, clock.now(), name)
    if form == _XERO:
        return xero_journal
    return lambda entries, _: plain_journal(entries)
