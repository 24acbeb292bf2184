"""Converts the rows of a CSV file into events, by a map. It does no I/O."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import ROW, Value
from quarterhour.file_formats.csv.errors import CellError, EmptyCellError
from quarterhour.file_formats.csv.event_map import EventMap
from quarterhour.file_formats.csv.lines import BROKEN
from quarterhour.file_formats.csv.map import CsvMap
from quarterhour.file_formats.csv.numbers import NumberForm
from quarterhour.file_formats.csv.table import BadRow, CsvRecord, Table
from quarterhour.file_formats.csv.totals import FileTotals
from quarterhour.ledger.events.event import Event, Rejection, read_event
from quarterhour.model import money


@dataclass(frozen=True, slots=True)
class MappedEvent:
    """A CloudEvent that the ledger accepts: as a JSON object, and as the event that the ledger reads in it."""

    body: dict[str, Any]
    event: Event


def events(
    table: Table, csv_map: CsvMap, settings: dict[str, str] | None = None, *, whole: bool = True
) -> Iterator[MappedEvent | BadRow]:
    """Convert each row into its events, or into one bad row.

    `settings` are the values that the map asks for. The totals of a file are checked if its rows are read as a `whole`.
    """
    converter = Converter(table.header, csv_map.of_language(table.language), settings)
    for row in table.rows:
        yield from converter.convert(row)
    if whole:
        yield from converter.problems_of_totals()


class Converter:
    """Converts the rows of a file, in their order.

    The rows are numbered from 1, bad rows too, so that a fixed row does not change the ids of the others. `rows` is the
    number of rows so far, `line` that of the last one's line, and `filled` has the values that empty cells repeat.
    """

    def __init__(self, header: list[str], csv_map: CsvMap, settings: dict[str, str] | None = None) -> None:
        self._width = len(header)
        self._map = csv_map
        self._settings = csv_map.values | (settings or {})
        places = {column: place for place, column in enumerate(header)}  # a column that the file may lack has none
        self._places = [(column, places.get(column), clean) for column, clean in csv_map.clean.items()]
        self.rows = 0
        self.line = 0
        self.filled = dict.fromkeys((column for column, clean in csv_map.clean.items() if clean.fill_down), "")
        self.totals = FileTotals(csv_map.total) if csv_map.total else None

    def clean(self, found: CsvRecord | BadRow) -> Cells | BadRow:
        """Return the cells of the next row that the map uses, cleaned, or a bad row."""
        self.rows += 1
        self.line = found.line
        row = _usable(found, self._width, fill=self.totals is not None)
        if isinstance(row, BadRow):
            # The row may have held the value that the next ones repeat.
            self.filled = dict.fromkeys(self.filled, "")
            return row
        cells = {column: clean("" if place is None else row.cells[place]) for column, place, clean in self._places}
        for column, above in self.filled.items():
            cells[column] = self.filled[column] = cells[column] or above
        for column, lookup in self._map.lookups.items():
            cells[column] = lookup(cells[lookup.column])
        return cells | {ROW: str(self.rows), **self._settings}

    def convert(self, found: CsvRecord | BadRow) -> list[MappedEvent] | list[BadRow]:
        """Return the events of the next row, or one bad row."""
        cells = self.clean(found)
        if isinstance(cells, BadRow):
            return [cells]
        try:
            if self.take_totals(cells) or self._map.exclusion_of(cells):
                return []
            return [_event(cells, each, self._map.numbers) for each in self._map.events if each.when(cells)]
        except CellError as error:
            return [BadRow(self.line, str(error))]

    def take_totals(self, cells: Cells) -> bool:
        """Return whether a row is a line of totals, which is kept; any other row is added to the sums.

        Raises `CellError` if one of its numbers is none.
        """
        if self.totals is None:
            return False
        if self.totals.is_total(cells):
            self.totals.compare(self.line, cells)
            return True
        self.totals.add(cells)
        return False

    def problems_of_totals(self) -> list[BadRow]:
        """Return a bad row for each total of the file that the rows do not add up to."""
        return list(self.totals.problems(self.line)) if self.totals else []


def _usable(row: CsvRecord | BadRow, columns: int, *, fill: bool) -> CsvRecord | BadRow:
    """Return a row whose cells can be used, or a bad row. With `fill`, cells may be missing at the end."""
    if isinstance(row, BadRow):
        return row
    if fill:
        row.cells.extend([""] * (columns - len(row.cells)))
    if len(row.cells) != columns:
        return BadRow(row.line, f"has {len(row.cells)} columns instead of {columns}")
    text = "".join(row.cells)
    if "\0" in text:
        return BadRow(row.line, "holds NUL bytes")
    if not text.isascii() and BROKEN in text:
        return BadRow(
            row.line, "holds bytes that are not of the file's encoding: correct them, or set encoding in [file]"
        )
    return row


def _event(cells: Cells, event_map: EventMap, numbers: NumberForm) -> MappedEvent:
    """Return one event of a row; raise `CellError` if a cell is unusable or the ledger would reject the event."""
    amount = event_map.amount(cells) if event_map.amount else money.ZERO
    body: dict[str, Any] = {"specversion": "1.0"}
    body |= {field: value(cells, amount) for field, value in event_map.envelope.items()}
    if event_map.time:
        body["time"] = event_map.time(cells, amount).isoformat().replace("+00:00", "Z")
    figures = {"amount": money.plain(amount)} if event_map.amount else {}
    data: dict[str, Any] = {**figures, **_filled(event_map.data, cells, amount)}
    body["data"] = data
    if currency := data.get("currency"):
        data["currency"] = currency.strip().upper()
        check_signs(cells, event_map.money, data["currency"], numbers)
    if extra := _filled(event_map.extra, cells, amount):
        data["extra"] = extra
    read = read_event(body)
    if isinstance(read, Rejection):
        raise CellError("; ".join(f"{each.field} {each.problem}, not {each.expected}" for each in read.problems))
    return MappedEvent(body, read)


def check_signs(cells: Cells, columns: Iterable[str], currency: str, numbers: NumberForm) -> None:
    """Raise `CellError` if the sign of an amount names another currency than that of the event."""
    if numbers.currencies:
        for column in sorted(columns):
            shown = numbers.read(cells[column]).currency if cells[column] else None
            if shown is not None and currency not in shown.split():
                named = " or ".join(shown.split())
                raise CellError(
                    f"{column} is {cells[column]!r}, in {named}, but the currency of the event is {currency}"
                )


def _filled(values: dict[str, Value], cells: Cells, amount: Decimal) -> dict[str, str]:
    """Return the fields that have a value in this row."""
    filled = {}
    for field, value in values.items():
        with suppress(EmptyCellError):
            filled[field] = value(cells, amount)
    return filled
