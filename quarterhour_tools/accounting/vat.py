"""`quarterhour vat`: the VAT of a period or a month of issue by country, scheme and percentage, and the EC sales list.

The EC sales list is the recapitulative statement of Article 262 of Directive 2006/112/EC. It names what is charged by
reverse charge, by the VAT id of the recipient in another member state.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich import box
from rich.table import Column, Table
from rich.text import Text

from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import printable
from quarterhour.model.periods import Period
from quarterhour.registry.agencies.agency import REVERSE_CHARGE
from quarterhour.registry.agencies.vat_ids import MEMBER_STATES, letters_of, state_of
from quarterhour.reports.lines import escape_formula
from quarterhour_tools.accounting.document import IssuerFigures, StatementDocument, TaxedBase
from quarterhour_tools.accounting.document_lines import documents_by_number, with_lines
from quarterhour_tools.accounting.documents import Choice, Span, choose, configure_files, configure_period, span
from quarterhour_tools.accounting.journal_csv import csv_bytes
from quarterhour_tools.accounting.payment_shares import CORRECTING, Share, cleared_by, payment_shares, unknown_vat
from quarterhour_tools.bucket import Objects
from quarterhour_tools.output import as_json, plain_console, print_table
from quarterhour_tools.target.deployment import sealed_files

NAME: Final = "vat"
DESCRIPTION: Final = (
    "Sum up what the documents of a month or several, or those issued then, charge and its VAT, by the agency's "
    "country, scheme and percentage, in each currency and in the issuer's, less what bad debts and cash discounts "
    "correct. With --ec-sales, list what is charged by reverse charge to VAT ids in other member states."
)
VAT_COLUMNS: Final = (
    *("country", "scheme", "percent", "currency", "correction", "documents", "base", "tax"),
    *("issuer_currency", "issuer_base", "issuer_tax"),
)
SALES_COLUMNS: Final = ("country", "vat_id", "currency", "documents", "base", "issuer_currency", "issuer_base")
_LAST_PERIOD: Final = Period(9999, 12)
_LONGEST: Final = 500


@dataclass(slots=True)
class TaxSums:
    """The sums of rows of tax; ``issuer`` is ``None`` if one of them is not known in the issuer's currency."""

    documents: int
    base: Decimal
    tax: Decimal
    issuer: IssuerFigures | None

    def join(self, other: "TaxSums") -> None:
        """Add other sums."""
        self.documents += other.documents
        self.base, self.tax = money.add(self.base, other.base), money.add(self.tax, other.tax)
        ours, theirs = self.issuer, other.issuer
        if ours and theirs and ours.currency == theirs.currency:
            base, tax = money.add(ours.base, theirs.base), money.add(ours.tax, theirs.tax)
            self.issuer = IssuerFigures(ours.currency, base, tax)
        else:
            self.issuer = None

    def as_dict(self) -> dict[str, Any]:
        """Return the sums as programs get them."""
        issuer = self.issuer
        return {
            "documents": self.documents,
            "base": money.plain(self.base),
            "tax": money.plain(self.tax),
            "issuer_currency": issuer.currency if issuer else None,
            "issuer_base": money.plain(issuer.base) if issuer else None,
            "issuer_tax": money.plain(issuer.tax) if issuer else None,
        }


class TaxKind(NamedTuple):
    """What the VAT is summed up by; ``country`` is empty for a customer without one.

    ``correction``: the kind of payments that correct what was charged, empty of what is charged.
    """

    country: str
    scheme: str
    percent: Decimal
    currency: str
    correction: str


class SoldTo(NamedTuple):
    """The recipient of services by reverse charge, in a currency; ``vat_id`` is empty if it was not registered."""

    country: str
    vat_id: str
    currency: str


class DeclaredRow(NamedTuple):
    """A row of tax of a document; ``correction``: the kind of a payment on it that corrects the row of another one."""

    document: StatementDocument
    row: TaxedBase
    correction: str = ""


def charged(documents: Iterable[StatementDocument]) -> Iterator[DeclaredRow]:
    """Yield the rows of tax of documents."""
    return (DeclaredRow(one, row) for one in documents for row in one.taxes)


def corrected(
    documents: Iterable[StatementDocument], named: Mapping[str, StatementDocument], dated: Callable[[date], bool]
) -> tuple[list[DeclaredRow], list[FieldProblem]]:
    """Return what payments of some days on documents correct, and a problem for each whose VAT is not known.

    ``named``: the statements that payments clear, by number. The figures are those that a journal books.
    """
    rows: list[DeclaredRow] = []
    problems: list[FieldProblem] = []
    for document in documents:
        for paid, shares in payment_shares(document, named):
            if not dated(paid.day):
                continue
            if shares is None:
                problems.append(unknown_vat(document, paid))
            rows += (DeclaredRow(document, _less(one.row, one), paid.kind) for one in shares or () if one.row)
    return rows, problems


def _less(row: TaxedBase, share: Share) -> TaxedBase:
    """Return a row with what a part of a payment takes from it."""
    issuer = share.issuer
    if issuer:
        issuer = IssuerFigures(issuer.currency, money.negated(issuer.base), money.negated(issuer.tax))
    return row._replace(base=money.negated(share.base), tax=money.negated(share.tax), issuer=issuer)


def vat_of(rows: Iterable[DeclaredRow]) -> dict[TaxKind, TaxSums]:
    """Return the sums of rows by kind of tax, sorted; rows over nothing are left out."""
    found: dict[TaxKind, TaxSums] = {}
    for document, row, correction in rows:
        country, currency = row.country or "", document.account.currency
        _add(found, TaxKind(country, row.scheme, row.percent.normalize(), currency, correction), row)
    return dict(sorted(found.items()))


def ec_sales_of(rows: Iterable[DeclaredRow]) -> dict[SoldTo, TaxSums]:
    """Return the sums of reverse charge in other member states than the issuer's, by recipient, sorted."""
    found: dict[SoldTo, TaxSums] = {}
    for document, row, _ in rows:
        home = state_of(document.owner.vat_id, document.owner.country)
        state = state_of(row.vat_id, row.country)
        if row.scheme == REVERSE_CHARGE and state in MEMBER_STATES and state != home:
            _add(found, SoldTo(letters_of(state), row.vat_id or "", document.account.currency), row)
    return dict(sorted(found.items()))


def _add(found: dict[Any, TaxSums], key: object, row: TaxedBase) -> None:
    one = TaxSums(1, row.base, row.tax, row.issuer)
    if row.is_zero:
        return
    if key in found:
        found[key].join(one)
    else:
        found[key] = one


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour vat``."""
    configure_files(parser)
    configure_period(parser, span, "SPAN")
    parser.add_argument("--ec-sales", action="store_true", help="list the reverse charge by VAT id instead")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a JSON object instead of a table")
    form.add_argument("--csv", type=Path, metavar="FILE", help="write a CSV file instead of a table")


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code: 1 if the VAT of a correction is not known."""
    files = sealed_files(args)
    choice = choose(files, args)
    corrections, problems = _corrections(files, choice)
    declared = [*charged(choice.documents(files)), *corrections]
    columns = SALES_COLUMNS if args.ec_sales else VAT_COLUMNS
    sums: dict[Any, TaxSums] = dict(ec_sales_of(declared) if args.ec_sales else vat_of(declared))
    rows = [_as_row(key, some, columns) for key, some in sums.items()]
    if args.json:
        chosen = {name: str(one) if one else None for name, one in choice._asdict().items()}
        print(as_json({**chosen, "ec_sales" if args.ec_sales else "vat": rows, "sums": _totals(sums)}))
    elif args.csv:
        args.csv.write_bytes(csv_bytes(columns, (map(_cell, row.values()) for row in rows)))
        print(args.csv)
    else:
        _show(f"{'EC sales' if args.ec_sales else 'VAT'} {choice}", columns, [*rows, *_totals(sums)])
    for one in problems:
        print(printable(f"{one.field} {one.problem}: expected {one.expected}; left out", _LONGEST), file=sys.stderr)
    return 1 if problems else 0


def _corrections(files: Objects, choice: Choice) -> tuple[list[DeclaredRow], list[FieldProblem]]:
    """Return what payments correct: those of documents of the chosen periods, or those of the chosen months of issue.

    A payment is dated by itself, as in a journal: those of a month can be on documents of it and of later ones.
    """
    issued = choice.issued
    of_any_day = Choice(choice.period or (issued and Span(issued.first, _LAST_PERIOD)), None)
    paid = (with_lines(files, one, kinds=False) for one in of_any_day.documents(files) if one.paid_lines)
    documents = [one for one in paid if any(each.kind in CORRECTING for each in one.paid)]
    named = documents_by_number(files, cleared_by(documents))
    return corrected(documents, named, lambda day: issued is None or issued.holds(Period.of(day)))


def _totals(sums: Mapping[Any, TaxSums]) -> list[dict[str, Any]]:
    """Return the sums of all rows by currency and issuer's currency. A document can be in several rows."""
    found: dict[tuple[str, str | None], TaxSums] = {}
    for key, one in sums.items():
        of = key.currency, one.issuer.currency if one.issuer else None
        if of in found:
            found[of].join(one)
        else:
            found[of] = TaxSums(one.documents, one.base, one.tax, one.issuer)
    return [
        {"currency": currency, **{name: value for name, value in some.as_dict().items() if name != "documents"}}
        for (currency, _), some in sorted(found.items(), key=lambda entry: (entry[0][0], entry[0][1] or ""))
    ]


def _as_row(key: TaxKind | SoldTo, sums: TaxSums, columns: Sequence[str]) -> dict[str, Any]:
    """Return a row as programs get it, with its columns in order."""
    values = {**key._asdict(), **sums.as_dict()}
    if isinstance(key, TaxKind):
        values["percent"] = money.plain(key.percent)
    return {name: values[name] for name in columns}


def _cell(value: str | int | None) -> str:
    """Return a value as a cell; only texts can be formulas, and a negative amount is none."""
    if value is None:
        return ""
    text = str(value)
    return text if money.parse_decimal(text) is not None else escape_formula(text)


def _show(title: str, columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    figures = {"percent", "documents", "base", "tax", "issuer_base", "issuer_tax"}
    heads = (Column(name.replace("_", " "), justify="right" if name in figures else "left") for name in columns)
    table = Table(*heads, box=box.SIMPLE, padding=0, title=title, title_justify="left", title_style="")
    for row in rows:
        cells = (row.get(name) for name in columns)
        table.add_row(*(Text("" if value is None else printable(value)) for value in cells))
    print_table(plain_console(), table)
