"""Journal entries as a plain CSV file and as Xero's manual journals, pure."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.reports.lines import escape_formula
from quarterhour_tools.accounting.account_map import AccountMap, MapProblemsError
from quarterhour_tools.accounting.journal_entries import JournalEntry

COLUMNS: Final = (
    *("date", "number", "document", "period", "agency", "currency", "role", "account"),
    *("debit", "credit", "vat_code", "text"),
)
"""The columns of the plain file; `docs/accounting.md` describes them."""
XERO_COLUMNS: Final = (
    *("*Narration", "*Date", "Description", "*AccountCode", "*TaxRate", "*Amount"),
    *("TrackingName1", "TrackingOption1", "TrackingName2", "TrackingOption2"),
)
"""The columns of Xero's template for the import of manual journals."""


def plain_journal(entries: Iterable[JournalEntry]) -> bytes:
    """Return the plain CSV file: a row for each line, with its amount as a debit or as a credit."""
    return csv_bytes(COLUMNS, _plain_rows(entries))


def csv_bytes(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> bytes:
    """Return a CSV file in UTF-8. No cell runs as a formula in a spreadsheet; amounts may begin with a minus."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()


def _plain_rows(entries: Iterable[JournalEntry]) -> Iterator[list[str]]:
    for entry in entries:
        document = entry.document
        begins = (
            document.issued_on.isoformat(),
            escape_formula(document.number),
            "credit_note" if document.is_credit_note else "statement",
            str(document.period),
            escape_formula(document.account.agency),
            document.account.currency,
        )
        for line in entry.lines():
            size = money.plain(line.amount.copy_abs())
            debit, credit = (size, "") if line.amount > 0 else ("", size)
            code = escape_formula(line.vat_code)
            yield [*begins, line.role.value, line.account, debit, credit, code, escape_formula(entry.text)]


def xero_journal(entries: Sequence[JournalEntry], accounts: AccountMap) -> bytes:
    """Return Xero's file of manual journals: one for each entry, whose amounts add up to 0.

    A manual journal has no currency, so every entry must be in the ledger's own. Raises ``MapProblemsError``.
    """
    problems = list(_xero_problems(entries, accounts))
    if problems:
        raise MapProblemsError(problems)
    return csv_bytes(XERO_COLUMNS, _xero_rows(entries, accounts.no_tax or ""))


def _xero_problems(entries: Sequence[JournalEntry], accounts: AccountMap) -> Iterator[FieldProblem]:
    if accounts.no_tax is None:
        yield FieldProblem("xero", "is missing", "[xero] with no_tax, the name of the tax rate of lines without tax")
    foreign = [entry.document for entry in entries if entry.document.account.currency != accounts.currency]
    if foreign:
        problem = f"is {accounts.currency}, and {foreign[0].number} is in {foreign[0].account.currency}"
        expected = "documents in the ledger's currency, as Xero's manual journals have no other; choose with --currency"
        yield FieldProblem("currency", problem, expected)


def _xero_rows(entries: Iterable[JournalEntry], no_tax: str) -> Iterator[list[str]]:
    for entry in entries:
        narration = escape_formula(f"{entry.document.number} {entry.text}")
        day = f"{entry.document.issued_on:%d/%m/%Y}"
        for line in entry.lines():
            amount, rate = money.plain(line.amount), line.vat_code or no_tax
            yield [narration, day, line.role.value, line.account, rate, amount, "", "", "", ""]
