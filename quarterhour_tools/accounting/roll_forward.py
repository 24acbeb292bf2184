"""`quarterhour roll-forward`: the balances of all accounts over a month, on one sheet.

Opening and movements make closing, account by account; commission that is on no statement yet stands apart.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rich import box
from rich.table import Column, Table

from quarterhour.model import money
from quarterhour.model.fields import printable
from quarterhour.model.periods import Period
from quarterhour.reports.lines import escape_formula
from quarterhour.statements.drafts.draft import ListedDraft
from quarterhour_tools.accounting.document import StatementDocument, in_force
from quarterhour_tools.accounting.documents import configure_files, statement_documents
from quarterhour_tools.accounting.journal_csv import csv_bytes
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import plain_console, print_table
from quarterhour_tools.statements.files import read_drafts_of, sealed_periods
from quarterhour_tools.target.deployment import month, sealed_files

if TYPE_CHECKING:
    from quarterhour.model.identifiers import Account

NAME: Final = "roll-forward"
DESCRIPTION: Final = (
    "Show for each account the balance before the documents that were issued in a month, what these add, and the "
    "balance after them, with sums by currency. Commission of months up to this one that was on no statement by then "
    "stands apart."
)
MOVEMENTS: Final = ("brought_forward", "commission", "tax", "proceeds", "payments")
COLUMNS: Final = ("agency", "currency", "legal_name", "opening", *MOVEMENTS, "closing", "unissued_commission")
"""The columns of the CSV file."""


class Balance(NamedTuple):
    """An account, or a currency without an agency: its balance before, movements by name, and commission not issued.

    Proceeds and payments are negative, as they reduce what the agency owes.
    """

    currency: str
    agency: str = ""
    legal_name: str = ""
    opening: Decimal = money.ZERO
    movements: tuple[Decimal, ...] = (money.ZERO,) * len(MOVEMENTS)
    unissued: Decimal = money.ZERO

    @property
    def closing(self) -> Decimal:
        """The balance after."""
        return money.total((self.opening, *self.movements))

    def plus(self, other: "Balance") -> "Balance":
        """Return the sums of both, with the names of this one."""
        movements = tuple(map(money.add, self.movements, other.movements))
        opening, unissued = money.add(self.opening, other.opening), money.add(self.unissued, other.unissued)
        return self._replace(opening=opening, movements=movements, unissued=unissued)

    def cells(self) -> list[str]:
        """Return the cells of its row."""
        amounts = (self.opening, *self.movements, self.closing, self.unissued)
        return [escape_formula(self.agency), self.currency, escape_formula(self.legal_name), *map(money.plain, amounts)]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour roll-forward``."""
    configure_files(parser)
    parser.add_argument("--month", type=month, required=True, metavar="MONTH", help="of issue, such as 2026-12")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write a CSV file in place of the table")


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    files = sealed_files(args)
    periods = sealed_periods(files)
    if not periods:
        raise ToolError("no period is sealed yet")
    rows = balances(list(statement_documents(files, periods)), list(_drafts(files, periods, args.month)), args.month)
    everything = [*rows, *totals_of(rows)]
    if args.csv:
        args.csv.write_bytes(csv_bytes(COLUMNS, (one.cells() for one in everything)))
        print(f"{args.csv}: {len(rows)} accounts")
        return 0
    columns = [Column(name, justify="right") for name in COLUMNS[3:]]
    table = Table(*COLUMNS[:3], *columns, box=box.SIMPLE, padding=(0, 1, 0, 0))
    for one in everything:
        table.add_row(*map(printable, one.cells()))
    print_table(plain_console(), table)
    return 0


def _drafts(files: Objects, periods: Iterable[Period], until: Period) -> Iterator[tuple[Period, ListedDraft]]:
    return ((one, draft) for one in periods if one <= until for draft in read_drafts_of(files, one))


def balances(
    documents: Sequence[StatementDocument], drafts: Iterable[tuple[Period, ListedDraft]], of: Period
) -> list[Balance]:
    """Return the balances of all accounts over a month of issue, in their order.

    Raises ``ToolError`` if the documents of an account do not follow from each other.
    """
    found: dict[Account, Balance] = {}
    known = [one for one in documents if one.issued_on <= of.last_day]
    for one in sorted(known, key=lambda one: (one.release, one.cancels is None, one.period)):
        before = found.get(one.account, Balance(one.account.currency, one.account.agency))
        if one.opening != before.closing:
            figures = f"opens with {money.plain(one.opening)}, and {money.plain(before.closing)} was before it"
            raise ToolError(f"{one.number} {figures}")
        if Period.of(one.issued_on) < of:
            before = before._replace(opening=one.closing, legal_name=one.name)
        else:
            moved = (one.brought_forward, one.commission, one.tax)
            taken = map(money.negated, (one.proceeds, one.payments))
            before = before.plus(Balance(one.account.currency, movements=(*moved, *taken)))
        found[one.account] = before._replace(legal_name=one.name)
    issued = {(one.period, one.account) for one in in_force(known)}
    for period, draft in drafts:
        if (period, draft.account) not in issued:
            before = found.get(draft.account, Balance(draft.account.currency, draft.account.agency))
            unissued = money.add(before.unissued, draft.figures["commission_exact"])
            found[draft.account] = before._replace(unissued=unissued)
    return [found[account] for account in sorted(found)]


def totals_of(rows: Iterable[Balance]) -> list[Balance]:
    """Return the sums of balances by currency."""
    sums: dict[str, Balance] = {}
    for one in rows:
        sums[one.currency] = sums.get(one.currency, Balance(one.currency, legal_name="total")).plus(one)
    return [sums[currency] for currency in sorted(sums)]
