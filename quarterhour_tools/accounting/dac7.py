"""`quarterhour dac7`: what a platform operator reports of its sellers, by agency and calendar quarter.

The figures follow Annex V of Directive 2011/16/EU, inserted by Council Directive (EU) 2021/514 (DAC7). Section III,
point B, demands for each calendar quarter: the consideration that was paid or credited to the seller, the number of
relevant activities, and the fees, commissions and taxes that the operator withheld or charged. By Section I, point A,
number 10, the consideration is net of these.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.registry.agencies.addresses import whole_address
from quarterhour.reports.lines import escape_formula
from quarterhour_tools.accounting.document import Party, StatementDocument, in_force
from quarterhour_tools.accounting.documents import configure_files, statement_documents
from quarterhour_tools.accounting.journal_csv import csv_bytes
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted
from quarterhour_tools.statements.files import sealed_periods
from quarterhour_tools.target.deployment import sealed_files

NAME: Final = "dac7"
DESCRIPTION: Final = (
    "Write a CSV file with what a platform operator in the European Union reports of each seller: consideration, "
    "number of activities, and fees, by calendar quarter and currency, from the statements of a year."
)
DAC7_COLUMNS: Final = (
    *("agency", "legal_name", "address", "country", "vat_id", "calendar_quarter", "currency", "activities"),
    *("net_sales", "commission", "tax", "fees", "consideration"),
)
_MONTHS: Final = 3
_FIRST_YEAR: Final = 2000
_LAST_YEAR: Final = 9998


class SellerKey(NamedTuple):
    """An agency, a calendar quarter such as ``2026-Q1``, and a currency."""

    agency: str
    calendar_quarter: str
    currency: str


@dataclass(frozen=True, slots=True)
class SellerFigures:
    """What an agency sold in a calendar quarter, in one currency, and what the marketplace charged for it."""

    activities: int = 0
    net_sales: Decimal = money.ZERO
    commission: Decimal = money.ZERO
    tax: Decimal = money.ZERO

    @property
    def fees(self) -> Decimal:
        """Commission and tax."""
        return money.add(self.commission, self.tax)

    @property
    def consideration(self) -> Decimal:
        """The net sales less the fees."""
        return money.add(self.net_sales, money.negated(self.fees))

    def plus(self, document: StatementDocument) -> Self:
        """Return the figures with those of another document; a cancellation takes back its activities."""
        activities = document.sales - document.cancelled
        return type(self)(
            self.activities + (activities if document.cancels is None else -activities),
            money.add(self.net_sales, document.net),
            money.add(self.commission, document.commission),
            money.add(self.tax, document.tax),
        )


def calendar_quarter_of(period: Period) -> str:
    """Return the calendar quarter of a month: ``2026-Q4``."""
    return f"{period.year}-Q{(period.month - 1) // _MONTHS + 1}"


def seller_figures(documents: Iterable[StatementDocument]) -> tuple[dict[SellerKey, SellerFigures], dict[str, Party]]:
    """Return the figures of sellers, sorted, and the parties of the newest document in force of each agency."""
    figures: dict[SellerKey, SellerFigures] = {}
    newest: dict[str, StatementDocument] = {}
    found = list(documents)
    for one in found:
        agency, currency = one.account.agency, one.account.currency
        key = SellerKey(agency, calendar_quarter_of(one.period), currency)
        figures[key] = figures.get(key, SellerFigures()).plus(one)
    for one in in_force(found):
        agency = one.account.agency
        if agency not in newest or one.age >= newest[agency].age:
            newest[agency] = one
    some = {key: one for key, one in sorted(figures.items()) if one != SellerFigures()}
    return some, {agency: one.customer for agency, one in newest.items()}


def dac7_rows(documents: Iterable[StatementDocument]) -> list[list[str]]:
    """Return the cells of the file, by agency, calendar quarter and currency; an agency that sold nothing has none."""
    figures, parties = seller_figures(documents)
    return [_cells(key, parties[key.agency], one) for key, one in figures.items()]


def _cells(key: SellerKey, party: Party, figures: SellerFigures) -> list[str]:
    who = (key.agency, party.legal_name, whole_address(party._asdict()), party.country, party.vat_id)
    amounts = (figures.net_sales, figures.commission, figures.tax, figures.fees, figures.consideration)
    return [
        *(escape_formula(text or "") for text in who),
        *(key.calendar_quarter, key.currency, str(figures.activities)),
        *map(money.plain, amounts),
    ]


def months_of(year: int) -> list[Period]:
    """Return the months of a year."""
    return [Period(year, month) for month in range(1, 13)]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour dac7``."""
    configure_files(parser)
    parser.add_argument("--year", type=_year, required=True, metavar="YEAR", help="the year, such as 2026")
    parser.add_argument("--partial", action="store_true", help="write what there is, though months are not sealed")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the CSV file to write")


def _year(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and _FIRST_YEAR <= int(text) <= _LAST_YEAR):
        raise argparse.ArgumentTypeError("expected a year such as 2026")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    files = sealed_files(args)
    sealed = set(sealed_periods(files))
    missing = [month for month in months_of(args.year) if month not in sealed]
    if missing and not args.partial:
        raise ToolError(f"{_named(missing)} not sealed: seal them first, or write what there is with --partial")
    months = [month for month in months_of(args.year) if month in sealed]
    rows = dac7_rows(statement_documents(files, months))
    args.out.write_bytes(csv_bytes(DAC7_COLUMNS, rows))
    agencies = len({row[0] for row in rows})
    print(f"{args.out}: {agencies:,} {'agency' if agencies == 1 else 'agencies'}, {counted(len(rows), 'row')}")
    if missing:
        print(f"NOT complete: {_named(missing)} not sealed")
    return 0


def _named(months: Sequence[Period]) -> str:
    return f"{', '.join(map(str, months))} {'is' if len(months) == 1 else 'are'}"
