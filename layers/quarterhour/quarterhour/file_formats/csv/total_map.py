"""The map of a row of totals: the `[total]` of a map."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import Compiler
from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.sections import Section


@dataclass(frozen=True, slots=True)
class TotalMap:
    """Tells the lines of totals. `sums` has, for each of their columns, its number and what it adds up of each row."""

    when: Callable[[Cells], bool]
    sums: dict[str, tuple[Callable[[Cells], Decimal], Callable[[Cells], Decimal]]]


def total_map(total: Section, compiler: Compiler) -> TotalMap:
    """Return the map of a `[total]`; raise `MapError` if it is invalid."""
    with total, total.section("sums") as sums:
        if not sums.names():
            raise MapError(sums.name, "must name a column of the totals and the formula that it sums up")
        return TotalMap(
            when=compiler.tests(total, "when"),
            sums={
                column: (
                    compiler.number(f"{{{column}}}", sums.path(column)),
                    compiler.number(sums.text(column), sums.path(column)),
                )
                for column in sums.names()
            },
        )
