"""Journal entries as a plain CSV file, pure."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from quarterhour.model import money
from quarterhour.reports.lines import escape_formula
from quarterhour_tools.accounting.journal_entries import JournalEntry, Role

COLUMNS: Final = (
    *("date", "number", "document", "period", "agency", "currency", "role", "account"),
    *("debit", "credit", "vat_code", "text", "service_date", "due_date", "clears", "kind"),
)
"""The columns of the plain file; `docs/accounting.md` describes them."""


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
            escape_formula(document.number),
            "credit_note" if document.is_credit_note else "statement",
            str(document.period),
            escape_formula(document.account.agency),
            document.account.currency,
        )
        due = document.due_on.isoformat() if document.due_on else ""
        for line in entry.lines():
            size, posting = money.plain(line.amount.copy_abs()), line.posting
            debit, credit = (size, "") if line.amount > 0 else ("", size)
            is_paid = posting.role is Role.PAYMENTS
            yield [
                posting.day.isoformat(),
                *begins,
                *(line.role.value, line.account, debit, credit, escape_formula(line.vat_code)),
                escape_formula(posting.text),
                posting.service.isoformat() if posting.service else "",
                "" if is_paid else due,
                escape_formula(posting.number) if is_paid else "",
                posting.kind,
            ]
