"""Reads CSV with the columns of bank lines. `quarterhour payments --map` makes it of other CSV."""

import csv
import io
from collections.abc import Mapping
from datetime import date
from typing import Final

from quarterhour.file_formats.bank.line import (
    CSV,
    LONGEST_NAME,
    BankFile,
    BankFileError,
    BankLine,
    check_count,
    joined,
    reference_of,
)
from quarterhour.model import money

NEEDED: Final = ("date", "amount", "currency")
OPTIONAL: Final = ("account", "name", "iban", "reference", "bank_reference")
COLUMNS: Final = (*NEEDED, *OPTIONAL)
_EXPECTED: Final = f"UTF-8 with the columns {', '.join(NEEDED)}, and as you like {', '.join(OPTIONAL)}"


def read_table(content: bytes) -> BankFile:
    """Return the lines of a CSV; raise ``BankFileError`` with the line of the first cell that cannot be read."""
    try:
        text = content.decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        header = [one.strip() for one in reader.fieldnames or ()]
        if not set(NEEDED) <= set(header) <= set(COLUMNS) or len(set(header)) != len(header):
            raise BankFileError(f"has the columns {', '.join(header)[:200]}", _EXPECTED)
        reader.fieldnames = header
        lines: list[BankLine] = []
        for row in reader:
            check_count(len(lines) + 1)
            lines.append(_line(row, reader.line_num))
    except UnicodeDecodeError as error:
        raise BankFileError(f"is not UTF-8 at byte {error.start}", _EXPECTED) from error
    except csv.Error as error:
        raise BankFileError(f"is not CSV: {error}", _EXPECTED) from error
    return BankFile(CSV, tuple(lines))


def _line(row: Mapping[str, str | None], number: int) -> BankLine:
    if None in row or None in row.values():
        raise BankFileError(f"has another number of cells in line {number}", "a cell for each column")
    cells = {name: (text or "").strip() for name, text in row.items()}
    amount = money.parse_decimal(cells["amount"])
    if amount is None:
        raise BankFileError(f"has the amount {cells['amount'][:40]!r} in line {number}", "amounts such as -121.00")
    if not money.is_currency(cells["currency"]):
        raise BankFileError(f"has the currency {cells['currency'][:40]!r} in line {number}", "codes such as EUR")
    try:
        booked_on = date.fromisoformat(cells["date"])
    except ValueError as error:
        problem = f"has the date {cells['date'][:40]!r} in line {number}"
        raise BankFileError(problem, "dates such as 2026-11-05") from error
    account, name, iban = (cells.get(column, "")[:LONGEST_NAME] for column in ("account", "name", "iban"))
    return BankLine(
        booked_on,
        amount,
        cells["currency"],
        account,
        name,
        iban,
        joined([cells.get("reference")]),
        reference_of(cells.get("bank_reference")),
    )
