"""`quarterhour dac7`: what a platform operator reports of its sellers, by agency and calendar quarter.

The figures follow Annex V of Directive 2011/16/EU, inserted by Council Directive (EU) 2021/514 (DAC7). Section III,
point B, demands for each calendar quarter: the consideration that was paid or credited to the seller, the number of
relevant activities, and the fees, commissions and taxes that the operator withheld or charged. By Section I, point A,
number 10, the consideration is net of these. By point B, number 4 (d), a seller of goods with fewer than 30 activities
and at most 2,000 euros in the year is excluded; by Section III, point A, only residents of a member state are reported.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.registry.agencies.addresses import whole_address
from quarterhour.registry.agencies.vat_ids import MEMBER_STATES
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
    *("agency", "legal_name", "address", "country", "vat_id", "registration_number", "iban"),
    *("calendar_quarter", "currency", "activities", "net_sales", "commission", "tax", "fees", "consideration"),
    *("consideration_eur", "reportable", "reason", "reported_activities", "reported_consideration", "reported_fees"),
)
_EURO: Final = "EUR"
_CENTS: Final = 2
_FEW: Final = 30
_LITTLE: Final = Decimal(2000)
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
    """What an agency sold in a calendar quarter, in one currency, and what the marketplace charged for it.

    ``euros``: the consideration in euros at the exchange rates of the statements; ``None`` if one has none.
    """

    activities: int = 0
    net_sales: Decimal = money.ZERO
    commission: Decimal = money.ZERO
    tax: Decimal = money.ZERO
    euros: Decimal | None = money.ZERO

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
        euros = _in_euros(document)
        return type(self)(
            self.activities + (activities if document.cancels is None else -activities),
            money.add(self.net_sales, document.net),
            money.add(self.commission, document.commission),
            money.add(self.tax, document.tax),
            None if euros is None or self.euros is None else money.add(self.euros, euros),
        )


def _in_euros(document: StatementDocument) -> Decimal | None:
    """Return the consideration of a document in euros; ``None`` without an exchange rate."""
    consideration = money.subtract(document.net, document.payable)
    if document.account.currency == _EURO or consideration.is_zero():
        return consideration
    issued = document.tax_in
    if issued is None or issued.currency != _EURO:
        return None
    return money.rounded_part(consideration, Decimal(1), issued.exchange_rate, _CENTS, money.Rounding.HALF_UP)


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


def why_not_reported(party: Party, figures: Sequence[SellerFigures], *, of_goods: bool = True) -> str:
    """Return why a seller is not reported, by its figures of a year; empty if it is."""
    if party.country is not None and party.country not in MEMBER_STATES:
        return f"resides in {party.country}, which is no member state"
    activities, euros = sum(one.activities for one in figures), [one.euros for one in figures]
    known = [one for one in euros if one is not None]
    if of_goods and activities < _FEW and len(known) == len(euros) and money.total(known) <= _LITTLE:
        return f"goods, fewer than {_FEW} activities and at most {_LITTLE:,} EUR in the year"
    return ""


def not_negative(figures: Sequence[Decimal]) -> list[Decimal]:
    """Return the figures of a year without negative ones, in whole units, as the reporting schema wants.

    One below 0 corrects those before it, the last one first, and then those after it.
    """
    left = list(figures)
    for number, figure in enumerate(figures):
        for other in (*range(number - 1, -1, -1), *range(number + 1, len(left))):
            if figure < 0 < left[other]:
                moved = min(left[other], -left[number])
                left[other], left[number] = money.subtract(left[other], moved), money.add(left[number], moved)
    return [money.to_places(max(one, money.ZERO), 0, money.Rounding.HALF_UP) for one in left]


def dac7_rows(documents: Iterable[StatementDocument], *, of_goods: bool = True) -> list[list[str]]:
    """Return the cells of the file, by agency, calendar quarter and currency; an agency that sold nothing has none."""
    figures, parties = seller_figures(documents)
    of_agency: dict[str, list[SellerFigures]] = defaultdict(list)
    for key, one in figures.items():
        of_agency[key.agency].append(one)
    reasons = {agency: why_not_reported(parties[agency], some, of_goods=of_goods) for agency, some in of_agency.items()}
    reported = dict(_reported(figures))
    return [
        [
            *_cells(key, parties[key.agency], one),
            "no" if reasons[key.agency] else "yes",
            reasons[key.agency],
            *(reported[key] if not reasons[key.agency] else ("", "", "")),
        ]
        for key, one in figures.items()
    ]


def _reported(figures: Mapping[SellerKey, SellerFigures]) -> Iterator[tuple[SellerKey, list[str]]]:
    """Yield the activities, the consideration and the fees that are reported of each calendar quarter."""
    accounts: dict[tuple[str, str], list[SellerKey]] = defaultdict(list)
    for key in figures:
        accounts[key.agency, key.currency].append(key)
    for keys in accounts.values():
        some = [figures[key] for key in keys]
        columns = (
            [Decimal(one.activities) for one in some],
            [one.consideration for one in some],
            [one.fees for one in some],
        )
        for key, row in zip(keys, zip(*map(not_negative, columns), strict=True), strict=True):
            yield key, list(map(money.plain, row))


def _cells(key: SellerKey, party: Party, figures: SellerFigures) -> list[str]:
    address = whole_address(party._asdict())
    who = (key.agency, party.legal_name, address, party.country, party.vat_id, party.registration_number)
    amounts = (figures.net_sales, figures.commission, figures.tax, figures.fees, figures.consideration)
    return [
        *(escape_formula(text or "") for text in (*who, party.iban)),
        *(key.calendar_quarter, key.currency, str(figures.activities)),
        *map(money.plain, amounts),
        "" if figures.euros is None else money.plain(figures.euros),
    ]


def months_of(year: int) -> list[Period]:
    """Return the months of a year."""
    return [Period(year, month) for month in range(1, 13)]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour dac7``."""
    configure_files(parser)
    parser.add_argument("--year", type=_year, required=True, metavar="YEAR", help="the year, such as 2026")
    parser.add_argument("--services", action="store_true", help="sellers of services: few activities exclude nobody")
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
    rows = dac7_rows(statement_documents(files, months), of_goods=not args.services)
    args.out.write_bytes(csv_bytes(DAC7_COLUMNS, rows))
    agencies = len({row[0] for row in rows})
    print(f"{args.out}: {agencies:,} {'agency' if agencies == 1 else 'agencies'}, {counted(len(rows), 'row')}")
    if missing:
        print(f"NOT complete: {_named(missing)} not sealed")
    return 0


def _named(months: Sequence[Period]) -> str:
    return f"{', '.join(map(str, months))} {'is' if len(months) == 1 else 'are'}"
