"""Reads CSV with the columns of bank lines. `quarterhour payments --map` makes it of other CSV."""

import io
from datetime import date
from itertools import pairwise
from typing import Final

from quarterhour.file_formats.bank.line import (
    CSV,
    LONGEST,
    LONGEST_NAME,
    BadBankRow,
    BankFile,
    BankFileError,
    BankLine,
    check_count,
    in_minor_units,
    joined,
    reference_of,
)
from quarterhour.file_formats.csv.errors import FileError
from quarterhour.file_formats.csv.lines import AS_BROKEN, BROKEN, is_utf_8, numbered
from quarterhour.file_formats.csv.table import BadRow, CsvRecord, names, records
from quarterhour.model import money

NEEDED: Final = ("date", "amount", "currency")
OPTIONAL: Final = ("account", "name", "iban", "reference", "bank_reference")
COLUMNS: Final = (*NEEDED, *OPTIONAL)
_EXPECTED: Final = f"UTF-8 with the columns {', '.join(NEEDED)}, and as you like {', '.join(OPTIONAL)}"


def read_table(content: bytes) -> BankFile:
    """Return the lines of a CSV, and the rows that are none; raise ``BankFileError`` if it has other columns."""
    try:
        if not is_utf_8(content):
            raise BankFileError("is not UTF-8", _EXPECTED)
    except FileError as error:
        raise BankFileError(str(error), _EXPECTED) from error
    text = content.decode("utf-8-sig", AS_BROKEN)
    lines = list(numbered(io.StringIO(text, newline="")))
    rows = records(iter(lines), ",", '"')
    top = next(rows, None)
    header = names(top.cells) if isinstance(top, CsvRecord) else []
    if not set(NEEDED) <= set(header) <= set(COLUMNS) or len(set(header)) != len(header):
        raise BankFileError(f"has the columns {', '.join(header)[:200]}", _EXPECTED)
    found: list[CsvRecord | BadRow] = []
    for row in rows:
        check_count(len(found) + 1)
        found.append(row)
    bounds = pairwise([*(row.line for row in found), len(lines) + 1])
    texts = ["".join(one.text or "" for one in lines[start - 1 : end - 1]) for start, end in bounds]
    read = [_row(row, header, text) for row, text in zip(found, texts, strict=True)]
    good = tuple(one for one in read if isinstance(one, BankLine))
    return BankFile(CSV, good, bad=tuple(one for one in read if isinstance(one, BadBankRow)))


def _row(row: CsvRecord | BadRow, header: list[str], text: str) -> BankLine | BadBankRow:
    """Return the line of a row, or why it is none."""
    text = text.replace(BROKEN, "\ufffd").strip("\r\n")[:LONGEST]
    if isinstance(row, BadRow):
        return BadBankRow(row.line, row.reason, text)
    if len(row.cells) != len(header):
        return BadBankRow(row.line, f"has {len(row.cells)} cells instead of {len(header)}", text)
    cells = {name: cell.strip() for name, cell in zip(header, row.cells, strict=True)}
    try:
        return _line(cells)
    except BankFileError as error:
        known = money.is_currency(cells["currency"])
        amount = money.parse_decimal(cells["amount"]) if known else None
        return BadBankRow(row.line, str(error), text, amount, cells["currency"] if known else "")


def _line(cells: dict[str, str]) -> BankLine:
    if any(BROKEN in one for one in cells.values()):
        raise BankFileError("has bytes that are not UTF-8", "UTF-8")
    amount = money.parse_decimal(cells["amount"])
    if amount is None:
        raise BankFileError(f"has the amount {cells['amount'][:40]!r}", "amounts such as -121.00")
    try:
        booked_on = date.fromisoformat(cells["date"])
    except ValueError as error:
        raise BankFileError(f"has the date {cells['date'][:40]!r}", "dates such as 2026-11-05") from error
    account, name, iban = (cells.get(column, "")[:LONGEST_NAME] for column in ("account", "name", "iban"))
    return in_minor_units(
        BankLine(
            booked_on,
            amount,
            cells["currency"],
            account,
            name,
            iban,
            joined([cells.get("reference")]),
            reference_of(cells.get("bank_reference")),
        )
    )
