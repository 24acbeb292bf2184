"""Compiles the texts and conditions of a map into functions of a row."""

from collections.abc import Callable
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
    template,
)
from quarterhour.file_formats.csv.errors import CellError, EmptyCellError, MapError
from quarterhour.file_formats.csv.numbers import NumberForm
from quarterhour.file_formats.csv.sections import Section
from quarterhour.model import money

NUMBERS: Final = frozenset({"quantity", "unit_price", "commission_rate", "commission"})
MONEY: Final = ("amount", "unit_price", "commission")
"""The numbers whose currency must be that of the event, if a sign names one."""
CURRENCY: Final = "currency"
ROW: Final = "row"
"""A column that every file has: the row's ordinal."""

Value = Callable[[Cells, Decimal], str]
"""A text of a row that may depend on the sign of its amount."""

T = TypeVar("T")
P = ParamSpec("P")


def _always(_: object) -> bool:
    return True


class Compiler:
    """Compiles the texts of events. Records the entry of the map that uses each column, and the columns of money."""

    def __init__(self, numbers: NumberForm, times: TimeForm) -> None:
        self._numbers = numbers
        self._times = times
        self.used_by: dict[str, str] = {}
        self.money: set[str] = set()

    def text(self, text: str, field: str) -> Callable[[Cells], str]:
        """Compile a text of columns."""
        return self._compiled(field, template, text)

    def number(self, text: str, field: str) -> Callable[[Cells], Decimal]:
        """Compile a formula."""
        return self._compiled(field, formula, text, self._numbers)

    def money_amount(self, text: str, field: str) -> Callable[[Cells], Decimal]:
        """Compile the formula of an amount of money."""
        number = self.number(text, field)
        self.money |= formula(text, self._numbers).columns
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
            try:
                return self._times.utc(local, days)
            except CellError as error:
                raise CellError(f"{field}: {error}") from None

        return value

    def day(self, section: Section, key: str) -> Callable[[Cells], date]:
        """Compile the day of a line."""
        field = section.path(key)
        text = self.text(section.text(key), field)

        def value(cells: Cells) -> date:
            try:
                return self._times.utc(text(cells)).astimezone(self._times.zone).date()
            except CellError as error:
                raise CellError(f"{field}: {error}") from None

        return value

    def value(self, section: Section, key: str, make: Callable[[str, str], Callable[[Cells], str]]) -> Value:
        """Compile a field: one text for all rows, or a list of cases of which the first match applies."""
        given, field = section.take(key), section.path(key)
        if isinstance(given, str):
            text = make(section.decided(key, given), field)
            return lambda cells, _: text(cells)
        if not isinstance(given, list):
            raise MapError(field, "must be text in quotes, or a list of cases")
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
            row_matches = self.test(case)
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
        """Compile `column` with one of `equals`, `prefix`, `matches`; without a column every row passes."""
        if "column" not in section:
            return _always
        column = section.text("column")
        operations = [key for key in ("equals", "prefix", "matches") if key in section]
        if len(operations) != 1:
            raise MapError(section.name, "a column needs one of equals, prefix, matches")
        return self._compiled(section.name, cell_test, column, operations[0], section.text(operations[0]))

    def _compiled(
        self, field: str, make: Callable[P, CellExpression[T]], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[Cells], T]:
        try:
            expression = make(*args, **kwargs)
        except ValueError as error:
            raise MapError(field, str(error)) from None
        for column in sorted(expression.columns - {ROW}):
            self.used_by.setdefault(column, field)

        def value(cells: Cells) -> T:
            try:
                return expression.value(cells)
            except CellError as error:
                raise type(error)(f"{field}: {error}") from None

        return value
