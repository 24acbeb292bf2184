"""Converts the rows of a CSV file into events, by a map. It does no I/O."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from quarterhour.ledger.event import Rejection, read_event
from quarterhour.model import money
from quarterhour.orders.events import unreserved
from quarterhour_tools.csv.cells import Cells
from quarterhour_tools.csv.errors import CellError, EmptyCellError
from quarterhour_tools.csv.file import BROKEN
from quarterhour_tools.csv.map import ROW, CsvMap, EventMap, Value
from quarterhour_tools.csv.numbers import NumberForm
from quarterhour_tools.csv.table import BadRow, CsvRecord, Table
from quarterhour_tools.csv.totals import FileTotals


@dataclass(frozen=True, slots=True)
class MappedEvent:
    """A CloudEvent that the ledger accepts, as a JSON object, and its time in UTC."""

    time: datetime | None
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CleanRow:
    """The cells of a row that the map uses, and the physical line on which it starts."""

    line: int
    cells: Cells


def events(
    table: Table, csv_map: CsvMap, settings: dict[str, str] | None = None, *, whole: bool = True
) -> Iterator[MappedEvent | BadRow]:
    """Convert each row into its events, or into one bad row.

    The rows are numbered from 1, bad rows too, so that a fixed row does not change the ids of the others. `settings`
    are the values that the map asks for. The totals of a file are checked if its rows are read as a `whole`.
    """
    totals = FileTotals(csv_map.total) if csv_map.total else None
    line = 0
    for row in clean_rows(table, csv_map, settings):
        line = row.line
        if isinstance(row, BadRow):
            yield row
            continue
        cells = row.cells
        try:
            if totals and totals.is_total(cells):
                totals.compare(line, cells)
                continue
            if totals:
                totals.add(cells)
            yield from [_event(cells, each, csv_map.numbers) for each in csv_map.events if each.when(cells)]
        except CellError as error:
            yield BadRow(line, str(error))
    if totals and whole:
        yield from totals.problems(line)


def clean_rows(table: Table, csv_map: CsvMap, settings: dict[str, str] | None = None) -> Iterator[CleanRow | BadRow]:
    """Yield the cells of each row that the map uses, cleaned, or a bad row."""
    places = [(column, table.header.index(column), clean) for column, clean in csv_map.clean.items()]
    filled = dict.fromkeys((column for column, clean in csv_map.clean.items() if clean.fill_down), "")
    for ordinal, found in enumerate(table.rows, 1):
        row = _usable(found, len(table.header), fill=csv_map.total is not None)
        if isinstance(row, BadRow):
            yield row
            filled = dict.fromkeys(filled, "")  # the row may have held the value that the next ones repeat
            continue
        cells = {column: clean(row.cells[place]) for column, place, clean in places}
        for column, above in filled.items():
            cells[column] = filled[column] = cells[column] or above
        yield CleanRow(row.line, cells | {ROW: str(ordinal), **(settings or {})})


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
        _check_signs(cells, event_map.money, data["currency"], numbers)
    if extra := _filled(event_map.extra, cells, amount):
        data["extra"] = extra
    read = unreserved(read_event(body))
    if isinstance(read, Rejection):
        raise CellError("; ".join(f"{each.field} {each.problem}, not {each.expected}" for each in read.problems))
    return MappedEvent(read.time, body)


def _check_signs(cells: Cells, columns: Iterable[str], currency: str, numbers: NumberForm) -> None:
    """Raise `CellError` if the sign of an amount names another currency than that of the event."""
    if numbers.currencies:
        for column in sorted(columns):
            sign = numbers.read(cells[column]).currency if cells[column] else None
            if sign not in {None, currency}:
                raise CellError(
                    f"{column} is {cells[column]!r}, in {sign}, but the currency of the event is {currency}"
                )


def _filled(values: dict[str, Value], cells: Cells, amount: Decimal) -> dict[str, str]:
    """Return the fields that have a value in this row."""
    filled = {}
    for field, value in values.items():
        with suppress(EmptyCellError):
            filled[field] = value(cells, amount)
    return filled
