"""The map of a row to a line of a bank: the `[line]` of a map."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from quarterhour.file_formats.bank.table import OPTIONAL
from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import CURRENCY, Compiler, Value
from quarterhour.file_formats.csv.sections import Section


@dataclass(frozen=True, slots=True)
class LineMap:
    """Converts a row into a line of a bank, if `when` is true. `texts` are the columns beside date and amount."""

    when: Callable[[Cells], bool]
    booked_on: Callable[[Cells], date]
    amount: Callable[[Cells], Decimal]
    texts: dict[str, Value]


def line_map(line: Section, compiler: Compiler) -> LineMap:
    """Return the map of a `[line]`; raise `MapError` if it is invalid."""
    with line:
        return LineMap(
            when=compiler.tests(line, "when"),
            booked_on=compiler.day(line, "date"),
            amount=compiler.money_amount(line.text("amount"), line.path("amount")),
            texts={
                name: compiler.value(line, name, compiler.text)
                for name in (CURRENCY, *OPTIONAL)
                if name in line or name == CURRENCY
            },
        )
