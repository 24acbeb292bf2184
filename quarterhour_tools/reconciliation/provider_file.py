"""Converts the rows of a provider's file into lines, by a map. It does no I/O."""

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import CURRENCY, Value
from quarterhour.file_formats.csv.errors import CellError, EmptyCellError
from quarterhour.file_formats.csv.events import TOTALS, Converter, check_signs
from quarterhour.file_formats.csv.map import CsvMap
from quarterhour.file_formats.csv.provider_map import ProviderLineMap, ProviderMap
from quarterhour.file_formats.csv.seen import SeenRows
from quarterhour.file_formats.csv.summary import ConvertedRow, CurrencySums, FileSummary
from quarterhour.file_formats.csv.table import BadRow, Table
from quarterhour.model import fields, money, texts
from quarterhour.model.periods import Period, day_in
from quarterhour_tools.errors import ToolError
from quarterhour_tools.reconciliation.lines import ProviderLine, group_of

AgencyOf = Callable[[str | None], str | None]
"""Returns the agency of what the file names; raises ``CellError`` if it is unknown."""


class MapInUse(NamedTuple):
    """A map, its lines of a provider, and the values that it asks for."""

    csv_map: CsvMap
    provider: ProviderMap
    settings: dict[str, str]


class Place(NamedTuple):
    """The period that is compared, and the marketplace's time zone, in which it is a month."""

    period: Period
    zone: tzinfo


class ProviderFile:
    """The rows of a provider's file as lines. ``summary`` says what became of the rows."""

    def __init__(self, table: Table, given: MapInUse, place: Place, agency_of: AgencyOf, seen: SeenRows) -> None:
        self._table = table
        self._map = given.csv_map.of_language(table.language)
        self._provider = self._map.provider or given.provider
        self._converter = Converter(table.header, self._map, given.settings, seen)
        self._zone = place.zone
        self._period = str(place.period)
        self._agency_of = agency_of
        self.summary = FileSummary()

    def lines(self) -> Iterator[ProviderLine | BadRow]:
        """Yield the lines of each row, or one bad row; then a bad row for each total that is wrong."""
        for found in self._converter.rows_of(self._table.rows):
            made = list[ProviderLine]()
            cells = self._converter.clean(found)
            if isinstance(cells, BadRow):
                row = ConvertedRow(cells.line, bad=cells.reason)
            else:
                row = self._row(found.line, cells, made)
            self.summary.add(row)
            yield from made
            if row.bad:
                yield BadRow(row.line, row.bad)
        for problem in self._converter.problems_of_totals():
            self.summary.add(problem)
            yield BadRow(problem.line, problem.bad)

    def _row(self, number: int, cells: Cells, made: list[ProviderLine]) -> ConvertedRow:
        """Return what becomes of a row, whose lines are added to ``made``."""
        try:
            if rule := self._converter.rule_of(cells):
                return ConvertedRow(number, rule=rule, amounts={} if rule == TOTALS else self._converter.amounts(cells))
            lines = [self._line(number, cells, one) for one in self._provider.lines if one.when(cells)]
            self._converter.take(cells, [f"{one.kind} {one.name}" for one in lines])
        except CellError as error:
            return ConvertedRow(number, bad=str(error), amounts=self._converter.amounts_of_bad(cells))
        made += lines
        return ConvertedRow(number, amounts=self._amounts_of(lines, cells))

    def _amounts_of(self, lines: list[ProviderLine], cells: Cells) -> CurrencySums | None:
        if self._map.row:
            return self._converter.amounts(cells)
        sums: dict[str, Decimal] = {}
        for one in lines:
            if one.amount is not None:
                sums[one.currency] = money.add(sums.get(one.currency, money.ZERO), one.amount)
        return sums

    def _line(self, row: int, cells: Cells, line: ProviderLineMap) -> ProviderLine:
        amount = line.amount(cells) if line.amount else None
        sign = amount if amount is not None else money.ZERO
        found = {name: _optional(value, cells, sign) for name, value in line.texts.items()}
        currency = _currency(line.texts[CURRENCY](cells, sign))
        check_signs(cells, line.money, currency, self._map.numbers)
        at = line.time(cells, sign) if line.time else None
        name = texts.visible(line.name(cells, sign))
        missing = ""
        values: list[str] = []
        for field, value in line.match.items():
            text = _optional(value, cells, sign)
            missing = missing or ("" if text else field)
            values.append(text or "")
        sale = [_optional(value, cells, sign) for value in line.sale.values()]
        fee_currency = found.get("fee_currency")
        return ProviderLine(
            row=row,
            name=name,
            kind=line.kind,
            group=group_of(line.kind, ["", name]) if missing else group_of(line.kind, values),
            amount=amount,
            currency=currency,
            fee=self._fee(line, cells),
            fee_currency=_currency(fee_currency) if fee_currency else currency,
            agency=self._agency_of(found.get("agency")),
            time=None if at is None else _iso(at),
            period=self._period if at is None else str(Period.of(day_in(self._zone, at))),
            sale=group_of("sale", [text for text in sale if text]) if sale and all(sale) else None,
            missing=missing,
        )

    @staticmethod
    def _fee(line: ProviderLineMap, cells: Cells) -> Decimal | None:
        if line.fee is None:
            return None
        try:
            return line.fee(cells)
        except EmptyCellError:
            if line.amount is None:
                raise
            return None


def _optional(value: Value, cells: Cells, amount: Decimal) -> str | None:
    with suppress(EmptyCellError):
        return value(cells, amount)
    return None


def _currency(text: str) -> str:
    currency = fields.currency(text.strip().upper())
    if currency is None:
        raise CellError(f"the currency is {text!r}, not {fields.CURRENCY}")
    return currency


def _iso(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def read_agencies(file: Path) -> dict[str, str]:
    """Return the agencies in a CSV file with the columns ``name`` and ``agency``, by the name that a provider uses.

    Raises ``ToolError`` with the line of the first problem.
    """
    found: dict[str, str] = {}
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(text, strict=True)
            header = [cell.strip() for cell in next(rows, [])]
            if sorted(header) != ["agency", "name"]:
                raise ToolError(f"{file}: line 1: the columns must be name and agency")
            for row in filter(None, rows):
                where = f"{file}: line {rows.line_num}"
                if len(row) != len(header):
                    raise ToolError(f"{where}: has {len(row)} cells instead of {len(header)}")
                values = dict(zip(header, (cell.strip() for cell in row), strict=True))
                name, agency = texts.one_form(values["name"]), fields.name(values["agency"])
                if not (name and agency):
                    raise ToolError(f"{where}: needs a name, and an agency of {fields.NAME}")
                if found.setdefault(name, agency) != agency:
                    raise ToolError(f"{where}: {name!r} has another agency above")
    except (OSError, UnicodeError, csv.Error) as error:
        raise ToolError(f"{file} cannot be read: {error}") from error
    return found


def agency_by(only: str | None, known: Mapping[str, str] | None) -> AgencyOf:
    """Return how a line gets its agency: ``only`` is that of all lines, ``known`` has those by the file's names."""

    def agency_of(text: str | None) -> str | None:
        if only is not None:
            return only
        if known is not None:
            if text is None:
                raise CellError("names no agency to look up")
            if text not in known:
                raise CellError(f"names {text!r}, which the file of agencies does not have")
            return known[text]
        if text is None:
            return None
        agency = fields.name(text)
        if agency is None:
            raise CellError(f"the agency is {text!r}, not {fields.NAME}")
        return agency

    return agency_of
