"""Converts the rows of a CSV file into events, by a map. It does no I/O."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from quarterhour.file_formats.amounts import in_minor_units
from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import CURRENCY, ROW, Value
from quarterhour.file_formats.csv.errors import CellError, EmptyCellError, MapError
from quarterhour.file_formats.csv.event_map import EventMap
from quarterhour.file_formats.csv.lines import BROKEN
from quarterhour.file_formats.csv.map import CsvMap
from quarterhour.file_formats.csv.numbers import NumberForm
from quarterhour.file_formats.csv.seen import SeenRows, seen_rows
from quarterhour.file_formats.csv.shares import Orders
from quarterhour.file_formats.csv.summary import ConvertedRow, CurrencySums
from quarterhour.file_formats.csv.table import BadRow, CsvRecord, Table
from quarterhour.file_formats.csv.totals import FileTotals
from quarterhour.file_formats.item_key import key_of
from quarterhour.ledger.events.event import ROW_KEY, RUNNING_TOTAL, YES, Event, Rejection, read_event
from quarterhour.model import money

_KEY: Final = "\0"
"""Begins the names of columns within which others are repeated, in `filled`."""
_ROW_KEY_LENGTH: Final = 24
_OF_PLACE: Final = frozenset({"extra", "line", "refers_to"})
"""The data of an event that can hold the number of a row, too."""
TOTALS: Final = "totals"
"""The rule that excludes the lines of totals."""


@dataclass(frozen=True, slots=True)
class MappedEvent:
    """A CloudEvent that the ledger accepts: as a JSON object, and as the event that the ledger reads in it."""

    body: dict[str, Any]
    event: Event


def converted(
    table: Table, csv_map: CsvMap, settings: dict[str, str] | None = None, *, whole: bool = True
) -> Iterator[ConvertedRow]:
    """Convert each row; then yield the problems of the file's totals, if it is read as a `whole`.

    `settings` are the values that the map asks for.
    """
    with seen_rows() as seen:
        converter = Converter(table.header, csv_map.of_language(table.language), settings, seen)
        for row in converter.rows_of(table.rows):
            yield converter.convert(row)
        if whole:
            yield from converter.problems_of_totals()


class Converter:
    """Converts the rows of a file, in their order.

    The rows are numbered from 1, bad rows too, so that a fixed row does not change the ids of the others. `rows` is the
    number of rows so far, `line` that of the last one's line, and `filled` has the values that empty cells repeat.
    `seen` knows the ids of the rows before.
    """

    def __init__(self, header: list[str], csv_map: CsvMap, settings: dict[str, str] | None, seen: SeenRows) -> None:
        self._width = len(header)
        self._map = csv_map
        self._settings = csv_map.values | (settings or {})
        self._seen = seen
        for name in csv_map.counters:
            if name in header:
                raise MapError(f"counters.{name}", "is the name of a column of the file, too")
        places = {column: place for place, column in enumerate(header)}  # a column that the file may lack has none
        self._places = [(column, places.get(column), clean) for column, clean in csv_map.clean.items()]
        self.rows = 0
        self.line = 0
        self._within = {column: clean.within for column, clean in csv_map.clean.items() if clean.fill_down}
        # Beside the values, what the row above has in the columns within which they are repeated.
        keys = (f"{_KEY}{column}" for column in self._within.values() if column)
        self.filled = dict.fromkeys([*self._within, *keys], "")
        self.orders = Orders(csv_map.shares, self._light) if csv_map.shares else None
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
        cells = self._cells(row)
        for column, key in self._within.items():
            above = "" if key and cells[key] != self.filled[f"{_KEY}{key}"] else self.filled[column]
            cells[column] = self.filled[column] = cells[column] or above
        for key in filter(None, self._within.values()):
            self.filled[f"{_KEY}{key}"] = cells[key]
        for column, lookup in self._map.lookups.items():
            cells[column] = lookup(cells[lookup.column])
        counted = {
            name: str(self._seen.count([name, *of(cells)], self.rows)) for name, of in self._map.counters.items()
        }
        counted |= {name: key_of(of(cells)) for name, of in self._map.keys.items()}
        cells |= {ROW: str(self.rows), **self._settings, **counted}
        return cells | self.orders.shares(cells) if self.orders else cells

    def rows_of(self, rows: Iterator[CsvRecord | BadRow]) -> Iterator[CsvRecord | BadRow]:
        """Return rows, those of an order after all of them were read, if the map has shares of orders."""
        return self.orders.rows(rows) if self.orders else rows

    def _cells(self, row: CsvRecord) -> dict[str, str]:
        return {column: clean("" if place is None else row.cells[place]) for column, place, clean in self._places}

    def _light(self, row: CsvRecord) -> Cells | None:
        """Return the cells of a row as they are by themselves; `None` if it cannot be used."""
        usable = _usable(row, self._width, fill=self.totals is not None)
        return None if isinstance(usable, BadRow) else self._cells(usable)

    def convert(self, found: CsvRecord | BadRow) -> ConvertedRow:
        """Return what becomes of the next row."""
        cells = self.clean(found)
        if isinstance(cells, BadRow):
            return ConvertedRow(cells.line, bad=cells.reason)
        try:
            if rule := self.rule_of(cells):
                return ConvertedRow(self.line, rule=rule, amounts={} if rule == TOTALS else self.amounts(cells))
            of_row = [each for each in self._map.events if each.when(cells)]
            made = [self._event(cells, each) for each in of_row if not each.rule]
            self.take(cells, [str(one.event.identity) for one in made])
            left_out = tuple((each.rule, sums) for each in of_row if each.rule and (sums := _sums_by(each, cells)))
            return ConvertedRow(self.line, tuple(made), amounts=self._amounts_of(made, cells), left_out=left_out)
        except CellError as error:
            return ConvertedRow(self.line, bad=str(error), amounts=self.amounts_of_bad(cells))

    def _event(self, cells: Cells, event_map: EventMap) -> MappedEvent:
        """Return one event of a row; raise `CellError` if a cell is unusable or the ledger would reject the event.

        If its id depends on the place of the row, its row key says which row it is: equal rows are numbered.
        """
        body = _body(cells, event_map, self._map.numbers)
        if event_map.by_row and (parts := _row_parts(body)):
            key = key_of(parts, _ROW_KEY_LENGTH)
            body[ROW_KEY] = f"{key}:{self._seen.count([ROW_KEY, key], self.rows)}"
        read = read_event(body)
        if isinstance(read, Rejection):
            raise CellError("; ".join(f"{each.field} {each.problem}, not {each.expected}" for each in read.problems))
        return MappedEvent(body, read)

    def rule_of(self, cells: Cells) -> str:
        """Return the name of the rule that excludes a row; the empty text if none does.

        Raises `CellError` if a number of a line of totals, or of a row that they sum up, is none.
        """
        if self._take_totals(cells):
            return TOTALS
        exclusion = self._map.exclusion_of(cells)
        return exclusion.rule if exclusion else ""

    def take(self, cells: Cells, ids: list[str]) -> None:
        """Keep the ids of a row; raise `CellError` if it has none, or if another row, or itself, has one already."""
        if not ids:
            raise self.untaken(cells)
        for one in ids:
            if (line := self._seen.first_line(one)) is not None:
                raise CellError(f"has the id of line {line}, {one!r}: the map does not tell these rows apart")
        if len(set(ids)) < len(ids):
            raise CellError(f"makes two events with one id: {', '.join(map(repr, ids))}")
        self._seen.add(ids, self.line)

    def untaken(self, cells: Cells) -> CellError:
        """Return the error of a row that nothing in the map takes and no rule excludes."""
        values = ", ".join(f"{column} is {cells[column]!r}" for column in self._map.tested)
        return CellError(f"no rule of the map takes this row, and no [[exclude]] leaves it out: {values}")

    def amounts(self, cells: Cells) -> CurrencySums | None:
        """Return what a row without events adds to the sums of the file; `None` if that cannot be read."""
        sums: dict[str, Decimal] = {}
        for each in [self._map.row] if self._map.row else self._map.figures:
            try:
                amount = each.amount(cells)
            except EmptyCellError:
                continue
            except CellError:
                return None
            try:
                currency = each.currency(cells, amount).strip().upper()
            except CellError:
                return None
            if not money.is_currency(currency):
                return None
            sums[currency] = money.add(sums.get(currency, money.ZERO), amount)
        return sums

    def amounts_of_bad(self, cells: Cells) -> CurrencySums | None:
        """Return what a bad row adds to the sums of the file; `None` if the columns of the map's amounts are empty."""
        return self.amounts(cells) or (None if self._map.row or self._map.figures else {})

    def _amounts_of(self, made: list[MappedEvent], cells: Cells) -> CurrencySums | None:
        """Return what a row adds to the sums of the file: its events, which must agree with `[row]`."""
        sums = sums_of(made)
        if self._map.row is None:
            return sums
        declared = self.amounts(cells)
        all_have_one = all("amount" in one.body["data"] for one in made)
        if declared is not None and all_have_one and _filled_sums(sums) != _filled_sums(declared):
            raise CellError(f"its events add up to {_shown(sums)}, but [row] has {_shown(declared)}")
        return declared

    def _take_totals(self, cells: Cells) -> bool:
        """Return whether a row is a line of totals, which is kept; any other row is added to the sums."""
        if self.totals is None:
            return False
        if self.totals.is_total(cells):
            self.totals.compare(self.line, cells)
            return True
        self.totals.add(cells)
        return False

    def problems_of_totals(self) -> list[ConvertedRow]:
        """Return a problem for each total of the file that the rows do not add up to."""
        found = self.totals.problems(self.line) if self.totals else ()
        return [ConvertedRow(one.line, bad=one.reason, is_row=False) for one in found]


def _sums_by(left_out: EventMap, cells: Cells) -> CurrencySums:
    """Return the amount of a part of a row that is left out, by its currency."""
    amount = left_out.amount(cells) if left_out.amount else money.ZERO
    return {left_out.data[CURRENCY](cells, amount).strip().upper(): amount}


def sums_of(made: Iterable[MappedEvent]) -> dict[str, Decimal]:
    """Return the sums of events by currency."""
    sums: dict[str, Decimal] = {}
    for data in (one.body["data"] for one in made):
        if "amount" in data:
            before = sums.get(data["currency"], money.ZERO)
            sums[data["currency"]] = money.add(before, Decimal(data["amount"]))
    return sums


def _filled_sums(sums: CurrencySums) -> dict[str, Decimal]:
    return {currency: amount for currency, amount in sums.items() if amount}


def _shown(sums: CurrencySums) -> str:
    return " and ".join(f"{money.plain(amount)} {currency}" for currency, amount in sums.items()) or "nothing"


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


def _body(cells: Cells, event_map: EventMap, numbers: NumberForm) -> dict[str, Any]:
    """Return one event of a row as a JSON object; raise `CellError` if a cell is unusable."""
    amount = event_map.amount(cells) if event_map.amount else money.ZERO
    body: dict[str, Any] = {"specversion": "1.0"}
    body |= {field: value(cells, amount) for field, value in event_map.envelope.items()}
    if body.get(RUNNING_TOTAL) != YES:
        body.pop(RUNNING_TOTAL, None)
    if event_map.time:
        body["time"] = event_map.time(cells, amount).isoformat().replace("+00:00", "Z")
    figures = {"amount": money.plain(amount)} if event_map.amount else {}
    data: dict[str, Any] = {**figures, **_filled(event_map.data, cells, amount)}
    body["data"] = data
    if currency := data.get("currency"):
        data["currency"] = currency.strip().upper()
        if figures and numbers.minor_units:
            data["amount"] = money.plain(in_minor_units(amount, data["currency"]))
        check_signs(cells, event_map.money, data["currency"], numbers)
    if extra := _filled(event_map.extra, cells, amount):
        data["extra"] = extra
    return body


def _row_parts(body: dict[str, Any]) -> list[str]:
    """Return what tells the row of an event from others: its order, time and amount; without an order, its data.

    None of an event without a time: equal rows of other files are other sales then.
    """
    data = body["data"]
    if "time" not in body:
        return []
    order = data.get("order_id")
    names = {"amount", "currency"} if order else data.keys() - _OF_PLACE
    return [body["type"], body["subject"], body["time"], order or "", *(data.get(name, "") for name in sorted(names))]


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
