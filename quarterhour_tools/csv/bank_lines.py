"""Converts the rows of a bank's CSV file into the CSV that the ledger reads, by a map. It does no I/O."""

import csv
import io
from collections.abc import Iterator

from quarterhour.model import money
from quarterhour.receivables.bank.table import COLUMNS
from quarterhour_tools.csv.errors import CellError, EmptyCellError
from quarterhour_tools.csv.events import clean_rows
from quarterhour_tools.csv.map import CURRENCY, CsvMap, LineMap
from quarterhour_tools.csv.table import BadRow, Table


def bank_lines(table: Table, csv_map: CsvMap, line_map: LineMap, settings: dict[str, str]) -> Iterator[str | BadRow]:
    """Yield the header, then the row of each line of the bank, or a bad row."""
    yield _written(COLUMNS)
    for row in clean_rows(table, csv_map, settings):
        if isinstance(row, BadRow):
            yield row
            continue
        try:
            if line_map.when(row.cells):
                amount = line_map.amount(row.cells)
                texts = {"date": line_map.booked_on(row.cells).isoformat(), "amount": money.plain(amount)}
                for name, value in line_map.texts.items():
                    try:
                        texts[name] = value(row.cells, amount)
                    except EmptyCellError:
                        if name == CURRENCY:
                            raise
                yield _written([texts.get(name, "") for name in COLUMNS])
        except CellError as error:
            yield BadRow(row.line, str(error))


def _written(cells: tuple[str, ...] | list[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()
