"""The totals that a file of events must have, read from a CSV file: a row for each account and month."""

import csv
from collections.abc import Mapping, Sequence
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Final

from quarterhour.model import fields, money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import PERIOD, Period
from quarterhour_tools.errors import ToolError

KEY: Final = ("agency", "currency", "month")
FIGURES: Final = ("events", "gross", "refunds", "commission", "payments")
_COLUMNS: Final = (*KEY, *FIGURES)

AccountPeriod = tuple[Account, Period]
"""An account and a month."""


def expected_totals(file: Path) -> dict[AccountPeriod, dict[str, Decimal]]:
    """Return the expected figures of each account and month; an empty cell is no expectation.

    Raises ``ToolError``, which names the line, if the file is not such a table.
    """
    found: dict[AccountPeriod, dict[str, Decimal]] = {}
    reader = csv.reader(StringIO(_text(file), newline=""), strict=True)
    try:
        columns = next(reader, [])
        _check_columns(columns)
        for cells in filter(None, reader):
            _add(found, *_row(columns, cells))
    except (ValueError, csv.Error) as error:
        raise ToolError(f"{file}: line {max(reader.line_num, 1)}: {error}") from error
    return found


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ToolError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ToolError(f"{file} is not UTF-8: {error}") from error


def _check_columns(columns: Sequence[str]) -> None:
    known = f"expected {', '.join(KEY)}, and any of {', '.join(FIGURES)}"
    for name in columns:
        if name not in _COLUMNS:
            raise ValueError(f"the column {fields.shown(name)} is not known: {known}")
        if columns.count(name) > 1:
            raise ValueError(f"the column {name} is there twice: {known}")
    for name in KEY:
        if name not in columns:
            raise ValueError(f"the column {name} is missing: {known}")


def _add(found: dict[AccountPeriod, dict[str, Decimal]], place: AccountPeriod, figures: dict[str, Decimal]) -> None:
    if place in found:
        raise ValueError(f"{place[0]} {place[1]} is in an earlier line already")
    found[place] = figures


def _row(columns: Sequence[str], cells: Sequence[str]) -> tuple[AccountPeriod, dict[str, Decimal]]:
    if len(cells) != len(columns):
        raise ValueError(f"it has {len(cells)} cells: expected {len(columns)}, as many as columns")
    row = dict(zip(columns, cells, strict=True))
    return _place(row), {name: _figure(name, row[name]) for name in FIGURES if row.get(name)}


def _place(row: Mapping[str, str]) -> AccountPeriod:
    agency, currency = row["agency"], row["currency"]
    if not fields.is_name(agency):
        raise _invalid("agency", agency, fields.NAME)
    if currency != money.NO_CURRENCY and not money.is_currency(currency):
        raise _invalid("currency", currency, fields.CURRENCY)
    try:
        return Account(agency, currency), Period.parse(row["month"])
    except ValueError as error:
        raise _invalid("month", row["month"], PERIOD) from error


def _figure(name: str, text: str) -> Decimal:
    value = money.parse_decimal(text)
    if value is None or (name == "events" and (value < 0 or value != int(value))):
        raise _invalid(name, text, "a whole number of 0 or more" if name == "events" else fields.AMOUNT)
    return value


def _invalid(name: str, text: str, expected: str) -> ValueError:
    return ValueError(f"{name} is {fields.shown(text)}: expected {expected}")
