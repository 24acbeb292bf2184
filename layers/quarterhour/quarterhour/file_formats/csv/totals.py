"""Checks the rows of a CSV file against the lines of totals in it, which are no events."""

from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import NamedTuple

from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.errors import EmptyCellError
from quarterhour.file_formats.csv.table import BadRow
from quarterhour.file_formats.csv.total_map import TotalMap
from quarterhour.model import money


class TotalLine(NamedTuple):
    """A line of totals: where it stands, and its numbers by column."""

    line: int
    numbers: dict[str, Decimal]


class FileTotals:
    """The `sums` of the rows of a file by column, and the totals that the file gives, wherever they stand."""

    def __init__(self, total: TotalMap) -> None:
        self._total = total
        self.sums = dict.fromkeys(total.sums, money.ZERO)
        self.given: list[TotalLine] = []

    def is_total(self, cells: Cells) -> bool:
        """Return whether a row is a line of totals."""
        return self._total.when(cells)

    def compare(self, line: int, cells: Cells) -> None:
        """Take the totals of a line; raise `CellError` if one is not a number."""
        self.given.append(TotalLine(line, {column: given(cells) for column, (given, _) in self._total.sums.items()}))

    def add(self, cells: Cells) -> None:
        """Add a row to the sums; an empty cell adds nothing. Raises `CellError` if a cell is not a number."""
        for column, (_, part) in self._total.sums.items():
            with suppress(EmptyCellError):
                self.sums[column] = money.add(self.sums[column], part(cells))

    def problems(self, last_line: int) -> Iterator[BadRow]:
        """Yield a bad row for each total that differs from the sum, or one if the file has no totals."""
        if not self.given:
            yield BadRow(last_line, "total: the file ends without its line of totals")
        for line, given in self.given:
            for column, number in given.items():
                if number != self.sums[column]:
                    added = money.plain(self.sums[column])
                    yield BadRow(line, f"total.sums.{column}: is {money.plain(number)}, but the rows add up to {added}")
