"""Converts the rows of a bank's CSV file into the CSV that the ledger reads, by a map. It does no I/O."""

import csv
import io
from collections.abc import Iterator

from quarterhour.file_formats.bank.table import COLUMNS
from quarterhour.file_formats.csv.compiler import CURRENCY
from quarterhour.file_formats.csv.errors import CellError, EmptyCellError
from quarterhour.file_formats.csv.events import Converter
from quarterhour.file_formats.csv.line_map import LineMap
from quarterhour.file_formats.csv.map import CsvMap
from quarterhour.file_formats.csv.table import BadRow, Table
from quarterhour.model import money


def bank_lines(table: Table, csv_map: CsvMap, line_map: LineMap, settings: dict[str, str]) -> Iterator[str | BadRow]:
    """Yield the header, then the row of each line of the bank, or a bad row."""
    yield _written(COLUMNS)
    converter = Converter(table.header, csv_map, settings)
    for row in table.rows:
        cells = converter.clean(row)
        if isinstance(cells, BadRow):
            yield cells
            continue
        try:
            if line_map.when(cells):
                amount = line_map.amount(cells)
                texts = {"date": line_map.booked_on(cells).isoformat(), "amount": money.plain(amount)}
                for name, value in line_map.texts.items():
                    try:
                        texts[name] = value(cells, amount)
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
