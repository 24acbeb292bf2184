"""Tables of statements and of accounts."""

from collections.abc import Iterable, Mapping
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from quarterhour.model import money
from quarterhour.model.fields import printable
from quarterhour.model.identifiers import Account
from quarterhour.model.totals import Totals
from quarterhour.statements.listing import Document
from quarterhour.statements.status.plan import Status
from quarterhour_tools.output import counted, print_table

_OF_STATEMENT: Final = ("net", "commission", "tax", "proceeds", "payments", "closing")
_MOST_STATEMENTS: Final = 100
"""The most statements that a table shows."""
_OF_ACCOUNT: Final = ("events", "gross", "refunds", "commission", "payments")
_MOST_ACCOUNTS: Final = 40
"""The most accounts that a table shows."""
_LONGEST: Final = 200


def print_statements(
    console: Console, statements: Iterable[Document], statuses: Mapping[str, str] | None = None
) -> None:
    """Print a table of a period's statements; ``statuses``: the current ones by number, otherwise what lists say."""
    figures = (Column(name, justify="right") for name in _OF_STATEMENT)
    table = Table(
        "number",
        "agency",
        "currency",
        *figures,
        "status",
        box=box.SIMPLE,
        padding=0,
        title_justify="left",
        title_style="",
    )
    further = 0
    some = list(statements)
    known = {**listed_statuses(some), **(statuses or {})}
    for one in some:
        if table.row_count == _MOST_STATEMENTS:
            further += 1
            continue
        texts = (one.number, printable(one.account.agency, _LONGEST), one.account.currency)
        amounts = (money.plain(one.figures[name]) for name in _OF_STATEMENT)
        table.add_row(*map(Text, (*texts, *amounts, known[one.number])))
        table.title = f"Statements of {one.period}"
    print_table(console, table)
    if further:
        console.print(f"... and {counted(further, 'more statement')}")


def listed_statuses(statements: Iterable[Document]) -> dict[str, str]:
    """Return the statuses of a period's statements as its lists say, by number; a cancellation names its statement."""
    known: dict[str, str] = {}
    for one in statements:
        known[one.number] = f"cancels {one.cancels}" if one.cancels else Status.ISSUED
        if one.cancels:
            known[one.cancels] = Status.CANCELLED
    return known


def print_accounts(console: Console, accounts: Mapping[Account, Totals]) -> None:
    """Print a table of accounts with their totals."""
    table = Table("agency", "currency", *(Column(name, justify="right") for name in _OF_ACCOUNT))
    for account, totals in list(accounts.items())[:_MOST_ACCOUNTS]:
        names = (Text(printable(name, _LONGEST)) for name in (account.agency, account.currency))
        table.add_row(*names, *(str(value) for value in totals.as_dict().values()))
    print_table(console, table)
    if len(accounts) > _MOST_ACCOUNTS:
        console.print(f"... and {len(accounts) - _MOST_ACCOUNTS} more accounts")
