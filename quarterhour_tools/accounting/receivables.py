"""`quarterhour receivables`: what was open of all documents at the end of a day, by how long it had been due.

It is computed from sealed files alone, so a day that is over always gives the same.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple

from rich import box
from rich.table import Column, Table

from quarterhour.model import money
from quarterhour.model.clock import iso_seconds, parse_iso
from quarterhour.model.fields import printable
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import start_of, time_zone
from quarterhour.reports.lines import escape_formula
from quarterhour.statements.receivables.plan import Age, Receivable
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.documents import configure_files, statement_documents
from quarterhour_tools.accounting.journal_csv import csv_bytes
from quarterhour_tools.accounting.open_items import allocated
from quarterhour_tools.accounting.sealed_payments import SealedPayment, SealedPayments, sealed_payments
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted, plain_console, print_table
from quarterhour_tools.statements.files import sealed_periods
from quarterhour_tools.target.deployment import sealed_files

NAME: Final = "receivables"
DESCRIPTION: Final = (
    "Show what was open at the end of a day, by the documents that were issued and the payments that were recorded "
    "until then: a row for each document, and one for the payments of an account that clear nothing, with sums by "
    "currency. The same day always gives the same."
)
_NAMES: Final = ("agency", "currency", "legal_name", "number", "period", "issued_on", "due_on")
_AMOUNTS: Final = (*map(str, Age), "credits", "unallocated", "balance")
COLUMNS: Final = (*_NAMES, *_AMOUNTS)
"""The columns of the CSV file."""


class OpenItem(NamedTuple):
    """What is open of a document, or without one what clears nothing; its amount is in one column.

    Credits are below 0. The balance is what is open and credits, less what is unallocated.
    """

    names: tuple[str, ...]
    column: str
    amount: Decimal

    @property
    def balance(self) -> Decimal:
        """What it adds to what the agency owes."""
        return money.negated(self.amount) if self.column == "unallocated" else self.amount

    def amounts(self) -> Mapping[str, Decimal]:
        """Return its amounts by column."""
        return {**dict.fromkeys(_AMOUNTS, money.ZERO), self.column: self.amount, "balance": self.balance}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour receivables``."""
    configure_files(parser)
    parser.add_argument("--on", type=_day, required=True, metavar="DAY", help="a day that is over, such as 2026-12-31")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write a CSV file in place of the table")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError("expected a day such as 2026-12-31") from error


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    files = sealed_files(args)
    periods = sealed_periods(files)
    if not periods:
        raise ToolError("no period is sealed yet")
    documents = list(statement_documents(files, periods))
    payments = sealed_payments(files, periods[0])
    items = open_items(documents, payments, args.on)
    rows = [(one.names, one.amounts()) for one in items]
    cells = [[*map(escape_formula, names), *map(money.plain, of.values())] for names, of in [*rows, *totals_of(items)]]
    if args.csv:
        args.csv.write_bytes(csv_bytes(COLUMNS, cells))
        print(f"{args.csv}: {counted(len(items), 'open item')} at the end of {args.on}")
        return 0
    columns = [Column(name, justify="right") for name in _AMOUNTS]
    table = Table(*_NAMES, *columns, box=box.SIMPLE, padding=(0, 1, 0, 0))
    for row in cells:
        table.add_row(*map(printable, row))
    print_table(plain_console(), table)
    return 0


def open_items(documents: Sequence[StatementDocument], payments: SealedPayments, on: date) -> list[OpenItem]:
    """Return what was open at the end of a day, by account, the oldest documents first.

    Raises ``ToolError`` if the lines of the day are not sealed yet.
    """
    zones = {one.time_zone for one in documents}
    over = max((start_of(on + timedelta(1), time_zone(zone)) for zone in zones), default=_end(on))
    if payments.until is None or payments.until < max(over, _end(on)):
        until = iso_seconds(payments.until) if payments.until else "no line"
        raise ToolError(f"{on} is not sealed yet, of which payments and documents may still come: sealed until {until}")
    issued: dict[Account, list[StatementDocument]] = {}
    for one in documents:
        if one.issued_on <= on:
            issued.setdefault(one.account, []).append(one)
    paid: dict[Account, list[SealedPayment]] = {}
    for payment in payments.payments:
        if parse_iso(payment.recorded_at) < _end(on):
            paid.setdefault(payment.account, []).append(payment)
    return [
        item
        for account in sorted(issued.keys() | paid.keys())
        for item in _of_account(account, issued.get(account, []), paid.get(account, []), on)
    ]


def _end(on: date) -> datetime:
    """Return the end of a day in UTC, by which payments count."""
    return datetime(on.year, on.month, on.day, tzinfo=UTC) + timedelta(1)


def _of_account(
    account: Account, documents: Sequence[StatementDocument], payments: Sequence[SealedPayment], on: date
) -> Iterator[OpenItem]:
    found = allocated(documents, payments)
    newest = max(documents, key=lambda one: one.age, default=None)
    party = (account.agency, account.currency, newest.name if newest else "")
    for one in found.receivables:
        if one.open:
            yield OpenItem((*party, *_names_of(one)), one.age(on) or "credits", one.open)
    if found.unallocated:
        yield OpenItem((*party, "", "", "", ""), "unallocated", found.unallocated)


def _names_of(one: Receivable) -> tuple[str, ...]:
    document = one.document
    due_on = document.due_on.isoformat() if document.due_on else ""
    return document.number, str(document.period), document.issued_on.isoformat(), due_on


def totals_of(items: Iterable[OpenItem]) -> list[tuple[tuple[str, ...], Mapping[str, Decimal]]]:
    """Return the sums of items by currency, as rows."""
    sums: dict[str, dict[str, Decimal]] = {}
    for item in items:
        of = sums.setdefault(item.names[1], dict.fromkeys(_AMOUNTS, money.ZERO))
        for name, amount in item.amounts().items():
            of[name] = money.add(of[name], amount)
    return [(("", currency, "total", "", "", "", ""), sums[currency]) for currency in sorted(sums)]
