"""Journal entries as Xero's files of sales invoices and of bills, pure.

Xero keeps its own accounts of customers and suppliers, which no journal can post to: an invoice opens an item there.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.reports.lines import escape_formula
from quarterhour_tools.accounting.account_map import AccountMap, MapProblemsError, XeroSettings
from quarterhour_tools.accounting.journal_csv import csv_bytes
from quarterhour_tools.accounting.journal_entries import JournalEntry, Posting, Role
from quarterhour_tools.accounting.journal_files import JournalFiles

_CONTACT: Final = (
    *("*ContactName", "EmailAddress", "POAddressLine1", "POAddressLine2", "POAddressLine3", "POAddressLine4"),
    *("POCity", "PORegion", "POPostalCode", "POCountry", "*InvoiceNumber"),
)
_TRACKING: Final = ("TrackingName1", "TrackingOption1", "TrackingName2", "TrackingOption2", "Currency")
INVOICE_COLUMNS: Final = (
    *(*_CONTACT, "Reference", "*InvoiceDate", "*DueDate", "Total", "InventoryItemCode", "*Description"),
    *("*Quantity", "*UnitAmount", "Discount", "*AccountCode", "*TaxType", "TaxAmount", *_TRACKING, "BrandingTheme"),
)
"""The columns of Xero's template of sales invoices."""
BILL_COLUMNS: Final = (
    *(*_CONTACT, "*InvoiceDate", "*DueDate", "Total", "InventoryItemCode", "Description"),
    *("*Quantity", "*UnitAmount", "*AccountCode", "*TaxType", "TaxAmount", *_TRACKING),
)
"""The columns of Xero's template of bills."""
BILLS: Final = "-bills"
"""What the name of the file of bills has more than that of the invoices."""


class _Line(NamedTuple):
    """A line of an invoice that opens or clears an item: above 0, the contact owes it."""

    entry: JournalEntry
    number: str
    posting: Posting


def xero_files(entries: Sequence[JournalEntry], accounts: AccountMap) -> JournalFiles:
    """Return the files of sales invoices and of bills; an amount below 0 makes a credit note of one.

    Commission, balances brought forward and what stands in place of money are invoices, and the proceeds of customers
    are bills. Money itself is in neither: it comes with the bank's feed. Raises ``MapProblemsError``.
    """
    settings = accounts.xero
    if settings is None:
        expected = "[xero] with no_tax, the name of the tax rate of lines without tax, and dates"
        raise MapProblemsError([FieldProblem("xero", "is missing", expected)])
    untaxed = [(one.document.number, problem) for one in entries for problem in _without_code(one)]
    left_out = frozenset(number for number, _ in untaxed)
    lines = [line for one in entries if one.document.number not in left_out for line in _lines(one)]
    invoices = [_cells(one, settings, INVOICE_COLUMNS, 1) for one in lines if one.posting.role is not Role.PROCEEDS]
    bills = [_cells(one, settings, BILL_COLUMNS, -1) for one in lines if one.posting.role is Role.PROCEEDS]
    files = {"": csv_bytes(INVOICE_COLUMNS, invoices)}
    if bills:
        files[BILLS] = csv_bytes(BILL_COLUMNS, bills)
    return JournalFiles(files, [problem for _, problem in untaxed], left_out)


def _without_code(entry: JournalEntry) -> Iterator[FieldProblem]:
    """Yield the taxed accounts of an entry for which the map names no tax rate of Xero."""
    for one in entry.postings:
        if one.tax and not one.accounts.vat_code:
            problem = f"is missing ({entry.document.number})"
            yield FieldProblem(f"{one.accounts.key}.vat_code", problem, "the name of Xero's tax rate")


def _lines(entry: JournalEntry) -> Iterator[_Line]:
    """Yield the lines of an entry. What stands in place of money is a credit note with a number of its own."""
    number = 0
    for one in entry.postings:
        if one.role is not Role.PAYMENTS:
            yield _Line(entry, entry.document.number, one)
        elif one.kind:
            number += 1
            yield _Line(entry, f"{entry.document.number}/{number}", one)


def _cells(line: _Line, settings: XeroSettings, columns: Sequence[str], sign: int) -> list[str]:
    document, posting = line.entry.document, line.posting
    due = posting.day if posting.role in {Role.PAYMENTS, Role.PROCEEDS} else document.payable_on
    unit, tax = (money.plain(money.multiply(Decimal(sign), amount)) for amount in (posting.base, posting.tax))
    filled = {
        "*ContactName": escape_formula(document.name),
        "*InvoiceNumber": escape_formula(line.number),
        "Reference": escape_formula(posting.number if posting.role is Role.PAYMENTS else str(document.period)),
        "*InvoiceDate": posting.day.strftime(settings.dates),
        "*DueDate": due.strftime(settings.dates),
        "*Description": escape_formula(posting.text),
        "Description": escape_formula(posting.text),
        "*Quantity": "1",
        "*UnitAmount": unit,
        "*AccountCode": posting.accounts.account,
        "*TaxType": escape_formula(posting.accounts.vat_code or settings.no_tax),
        "TaxAmount": tax,
        "Currency": document.account.currency,
    }
    return [filled.get(name, "") for name in columns]
