"""Compiles the texts and conditions of a map into functions of a row."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Final, ParamSpec, TypeVar

from quarterhour.file_formats.csv.cells import (
    CellExpression,
    Cells,
    TimeForm,
    amount_test,
    cell_test,
    formula,
    listed_test,
    sign_test,
    template,
    zone_named,
)
from quarterhour.file_formats.csv.errors import CellError, EmptyCellError, MapError
from quarterhour.file_formats.csv.lookups import Lookup
from quarterhour.file_formats.csv.numbers import NumberForm
from quarterhour.file_formats.csv.sections import Section
from quarterhour.model import money

NUMBERS: Final = frozenset({"quantity", "unit_price", "commission_rate", "commission"})
MONEY: Final = ("amount", "unit_price", "commission")
"""The numbers whose currency must be that of the event, if a sign names one."""
CURRENCY: Final = "currency"
_OPERATIONS: Final = ("equals", "one_of", "prefix", "matches", "sign")
ROW: Final = "row"
"""A column that every file has: the row's ordinal."""

Value = Callable[[Cells, Decimal], str]
"""A text of a row that may depend on the sign of its amount."""

T = TypeVar("T")
P = ParamSpec("P")


def _always(_: object) -> bool:
    return True


class Compiler:
    """Compiles the texts of events. Records the entry of the map that uses each column, and the columns of money.

    `tested` has the columns that conditions test, in their order.
    """

    def __init__(self, numbers: NumberForm, times: TimeForm, lookups: Mapping[str, Lookup] | None = None) -> None:
        self.numbers = numbers
        self.times = times
        self._lookups = lookups or {}
        self._zone: Value | None = None
        self.used_by: dict[str, str] = {}
        self.tested: dict[str, None] = {}
        self.money: set[str] = set()

    def zone_by_row(self, section: Section, key: str) -> None:
        """Compile the zone of the times, which each row names."""
        self._zone = self.value(section, key, self.text)

    def text(self, text: str, field: str) -> Callable[[Cells], str]:
        """Compile a text of columns."""
        return self._compiled(field, template, text)

    def cell(self, column: str, field: str) -> Callable[[Cells], str]:
        """Compile a column, which may be empty."""
        return self._compiled(field, lambda: CellExpression(frozenset({column}), lambda cells: cells[column]))

    def number(self, text: str, field: str) -> Callable[[Cells], Decimal]:
        """Compile a formula."""
        return self._compiled(field, formula, text, self.numbers)

    def money_amount(self, text: str, field: str) -> Callable[[Cells], Decimal]:
        """Compile the formula of an amount of money."""
        number = self.number(text, field)
        self.money |= formula(text, self.numbers).columns
        return number

    def maker(self, name: str) -> Callable[[str, str], Callable[[Cells], str]]:
        """Return the method that compiles a field of the data to text."""
        if name not in NUMBERS:
            return self.text
        number = self.money_amount if name in MONEY else self.number

        def make(text: str, field: str) -> Callable[[Cells], str]:
            value = number(text, field)
            return lambda cells: money.plain(value(cells))

        return make

    def time(self, event: Section) -> Callable[[Cells, Decimal], datetime]:
        """Compile the time of an event."""
        field = event.path("time")
        text = self.value(event, "time", self.text)
        days_before = self.number(event.text("days_before", "0"), event.path("days_before"))

        def value(cells: Cells, amount: Decimal) -> datetime:
            local, days = text(cells, amount), days_before(cells)
            zone = self._zone(cells, amount) if self._zone else None
            try:
                return self.times.utc(local, days, zone)
            except CellError as error:
                raise CellError(f"{field}: {error}") from None

        return value

    def day(self, section: Section, key: str) -> Callable[[Cells], date]:
        """Compile the day of a line."""
        field = section.path(key)
        text = self.text(section.text(key), field)

        def value(cells: Cells) -> date:
            try:
                zone = self._zone(cells, money.ZERO) if self._zone else None
                local = zone_named(zone) if zone else self.times.zone
                return self.times.utc(text(cells), zone=zone).astimezone(local).date()
            except CellError as error:
                raise CellError(f"{field}: {error}") from None

        return value

    def value(self, section: Section, key: str, make: Callable[[str, str], Callable[[Cells], str]]) -> Value:
        """Compile a field: one text for all rows, or a list of cases of which the first match applies."""
        given, field = section.take(key), section.path(key)
        if isinstance(given, str):
            text = make(section.decided(key, given), field)
            return lambda cells, _: text(cells)
        if isinstance(given, dict):
            with Section(given, field) as one:
                number = self.number(one.text("number"), one.path("number"))
            return lambda cells, _: money.plain(number(cells))
        if not isinstance(given, list):
            raise MapError(field, "must be text in quotes, a list of cases, or { number = a formula }")
        cases = [self._case(Section(case, f"{field}[{n}]"), make) for n, case in enumerate(given, 1)]

        def first(cells: Cells, amount: Decimal) -> str:
            for row_matches, amount_matches, text in cases:
                if row_matches(cells) and amount_matches(amount):
                    return text(cells)
            raise EmptyCellError(f"{field}: no case matches")

        return first

    def _case(
        self, case: Section, make: Callable[[str, str], Callable[[Cells], str]]
    ) -> tuple[Callable[[Cells], bool], Callable[[Decimal], bool], Callable[[Cells], str]]:
        with case:
            text = make(case.text("is"), case.path("is"))
            row_matches = self.tests(case, "when") if "when" in case else self.test(case)
            try:
                return row_matches, amount_test(case.text("amount")) if "amount" in case else _always, text
            except ValueError as error:
                raise MapError(case.path("amount"), str(error)) from None

    def tests(self, section: Section, key: str) -> Callable[[Cells], bool]:
        """Compile the condition of a row: one test of a column, or a list of tests that must all be true."""
        given, field = section.take(key, {}), section.path(key)
        if not isinstance(given, list):
            with Section(given, field) as one:
                return self.test(one)
        tests = []
        for n, each in enumerate(given, 1):
            with Section(each, f"{field}[{n}]") as one:
                tests.append(self.test(one))
        return lambda cells: all(test(cells) for test in tests)

    def test(self, section: Section) -> Callable[[Cells], bool]:
        """Compile `column` with one of the conditions on a cell; without a column every row passes."""
        if "column" not in section:
            return _always
        column = section.text("column")
        operations = [key for key in _OPERATIONS if key in section]
        if len(operations) != 1:
            raise MapError(section.name, f"a column needs one of {', '.join(_OPERATIONS)}")
        self.tested[self._source_of(column)] = None
        if operations == ["one_of"]:
            return self._compiled(section.name, listed_test, column, frozenset(section.texts("one_of")))
        operand = section.text(operations[0])
        if operations == ["sign"]:
            return self._compiled(section.path("sign"), sign_test, column, operand, self.numbers)
        return self._compiled(section.name, cell_test, column, operations[0], operand)

    def _source_of(self, column: str) -> str:
        """Return the column of the file that a column is, or is looked up from."""
        return self._lookups[column].column if column in self._lookups else column

    def _compiled(
        self, field: str, make: Callable[P, CellExpression[T]], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[Cells], T]:
        try:
            expression = make(*args, **kwargs)
        except ValueError as error:
            raise MapError(field, str(error)) from None
        for column in sorted(expression.columns - {ROW}):
            self.used_by.setdefault(self._source_of(column), field)

        def value(cells: Cells) -> T:
            try:
                return expression.value(cells)
            except CellError as error:
                raise type(error)(f"{field}: {unlisted(cells) or error}") from None

        def unlisted(cells: Cells) -> str:
            for name in sorted(expression.columns & self._lookups.keys()):
                lookup = self._lookups[name]
                if cells[lookup.column] and not cells[name]:
                    why = f"without {lookup.after!r} of" if lookup.after else "which is not listed in"
                    return f"{lookup.column} is {cells[lookup.column]!r}, {why} lookups.{name}"
            return ""

        return value
