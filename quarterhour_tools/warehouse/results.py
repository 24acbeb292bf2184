"""The rows of a query as text: a table for a terminal, CSV and JSON. Numbers stay exact."""

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from itertools import islice
from typing import Any, Final, TextIO

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from quarterhour.model import money
from quarterhour.model.fields import printable
from quarterhour.reports.lines import escape_formula
from quarterhour_tools.output import print_table
from quarterhour_tools.warehouse.database import Rows, SqlError

MOST_SHOWN: Final = 1000
"""The most rows of a table; CSV, JSON and Parquet have all."""
_AT_ONCE: Final = 1000
CURRENCY: Final = "currency"
"""The column that names the currency of the amounts in a row."""
_DECIMAL: Final = "DECIMAL"
_NUMBERS: Final = frozenset(
    {_DECIMAL, "DOUBLE", "FLOAT", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
    | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
)
"""DuckDB's types of numbers."""
Row = tuple[Any, ...]


class Result:
    """The rows of a query, read once: as they are computed, never all in memory."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.columns = rows.columns
        self._types = tuple(one.partition("(")[0] for one in rows.types)
        self._currency = self.columns.index(CURRENCY) if CURRENCY in self.columns else None

    def is_number(self, column: int) -> bool:
        """Return whether a column holds numbers."""
        return self._types[column] in _NUMBERS

    def is_decimal(self, column: int) -> bool:
        """Return whether a column holds decimals, such as amounts."""
        return self._types[column] == _DECIMAL

    def rows(self) -> Iterator[Row]:
        """Yield the rows."""
        while some := self._rows.fetch(_AT_ONCE):
            yield from some

    def texts(self) -> Iterator[list[str | None]]:
        """Yield the rows with each value as text; ``None`` for NULL."""
        for row in self.rows():
            digits = self._digits(row)
            yield [_text(value, digits) for value in row]

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as objects of JSON: a decimal is a string, as in the API; what is no number is null.

        Raises ``SqlError`` if two columns have the same name.
        """
        if repeated := [name for name, count in Counter(self.columns).items() if count > 1]:
            raise SqlError(
                f"two columns are named {repeated[0]}, which JSON cannot hold: give one another name with AS"
            )
        for row in self.rows():
            digits = self._digits(row)
            yield {name: _json(value, digits) for name, value in zip(self.columns, row, strict=True)}

    def _digits(self, row: Row) -> int:
        """Return the decimal places that an amount of a row has at least: those of its currency, if it names one."""
        currency = None if self._currency is None else row[self._currency]
        return money.minor_digits(currency) if isinstance(currency, str) else 0


def decimal_text(value: Decimal, digits: int = 0) -> str:
    """Return a decimal without the zeros at its end, but with so many decimal places at least."""
    whole, _, fraction = money.plain(value).partition(".")
    fraction = fraction.rstrip("0").ljust(digits, "0")
    return f"{whole}.{fraction}" if fraction else whole


def _text(value: Any, digits: int) -> str | None:  # noqa: ANN401 - a database holds any value
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case Decimal():
            return decimal_text(value, digits)
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _json(value: Any, digits: int) -> bool | float | str | None:  # noqa: ANN401 - a database holds any value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (bool, int)) else _text(value, digits)


def write_table(result: Result, file: TextIO) -> None:
    """Write the first rows as a table, and say whether there are more."""
    console = Console(file=file, highlight=False, markup=False, soft_wrap=True)
    table = Table(
        *(
            Column(Text(printable(name)), justify="right" if result.is_number(index) else "left")
            for index, name in enumerate(result.columns)
        )
    )
    texts = result.texts()
    for row in islice(texts, MOST_SHOWN):
        table.add_row(*(Text("" if cell is None else printable(cell)) for cell in row))
    print_table(console, table)
    if next(texts, None) is not None:
        console.print(f"... and more rows than the {MOST_SHOWN:,} of a table: the other formats have all")


def write_csv(result: Result, file: TextIO) -> None:
    """Write all rows as CSV, with the columns first; no spreadsheet runs a text as a formula."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(escape_formula, result.columns))
    numbers = [result.is_number(index) for index in range(len(result.columns))]
    for row in result.texts():
        cells = ("" if cell is None else cell for cell in row)
        writer.writerow([cell if number else escape_formula(cell) for cell, number in zip(cells, numbers, strict=True)])


def write_json(result: Result, file: TextIO) -> None:
    """Write all rows as a list of JSON objects, one in each line."""
    between = "[\n"
    for row in result.objects():
        file.write(between + json.dumps(row, ensure_ascii=False))
        between = ",\n"
    file.write("[]\n" if between == "[\n" else "\n]\n")


WRITERS: Final[dict[str, Callable[[Result, TextIO], None]]] = {
    "table": write_table,
    "csv": write_csv,
    "json": write_json,
}
"""The formats of text."""
