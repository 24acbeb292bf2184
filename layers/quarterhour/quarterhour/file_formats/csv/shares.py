"""The parts of an order's amount that fall on its rows: the `[shares]` of a map, and the rows of one order together."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import CURRENCY, Compiler, Value
from quarterhour.file_formats.csv.errors import CellError
from quarterhour.file_formats.csv.sections import Section
from quarterhour.file_formats.csv.table import BadRow, CsvRecord, PartEndError
from quarterhour.model import money

MOST_ROWS: Final = 1000
"""The most rows of one order."""
WITHIN: Final = "within"


@dataclass(frozen=True, slots=True)
class ShareMap:
    """A column that is the row's share of an order's amount: `of` it, `by` the row's weight.

    The weights of all rows add up to `total`, or to what they are. No unit of the currency is divided, and the
    shares of all rows add up to the amount, if their weights do.
    """

    of: Callable[[Cells], Decimal]
    by: Callable[[Cells], Decimal]
    total: Callable[[Cells], Decimal] | None
    currency: Value


@dataclass(frozen=True, slots=True)
class SharesMap:
    """The shares by their columns. Rows one after another that are equal in the column `within` are one order."""

    within: str
    shares: Mapping[str, ShareMap]


def shares_map(section: Section, compiler: Compiler) -> SharesMap | None:
    """Return the shares of a map; `None` if there are none."""
    with section:
        if WITHIN not in section:
            return None
        within = section.text(WITHIN)
        compiler.cell(within, section.path(WITHIN))
        return SharesMap(within, {name: _share(section.section(name), compiler) for name in section.names()})


def _share(section: Section, compiler: Compiler) -> ShareMap:
    with section:
        return ShareMap(
            of=compiler.number(section.text("of"), section.path("of")),
            by=compiler.number(section.text("by"), section.path("by")),
            total=compiler.number(section.text("total"), section.path("total")) if "total" in section else None,
            currency=compiler.value(section, CURRENCY, compiler.text),
        )


class Orders:
    """Gives rows their shares. `in_order` says whether the last row goes on with the order of the row before it.

    `light` returns the cells of a row as they are by themselves.
    """

    def __init__(self, shares: SharesMap, light: Callable[[CsvRecord], Cells | None]) -> None:
        self._map = shares
        self._light = light
        self._sums: dict[str, Decimal | None] = {}
        self._before: dict[str, Decimal] = {}
        self.in_order = False

    def rows(self, rows: Iterator[CsvRecord | BadRow]) -> Iterator[CsvRecord | BadRow]:
        """Yield rows, those of one order after all of them were read; an order that a part cuts is left to the next."""
        order: list[CsvRecord | BadRow] = []
        name: str | None = None
        try:
            for row in rows:
                cells = self._light(row) if isinstance(row, CsvRecord) else None
                found = cells[self._map.within] if cells else None
                if order and (found is None or found != name or len(order) >= MOST_ROWS):
                    yield from self._flushed(order)
                    order = []
                name = found
                order.append(row)
        except PartEndError as end:
            raise PartEndError(order[0].line if order else end.line) from None
        yield from self._flushed(order)

    def _flushed(self, order: list[CsvRecord | BadRow]) -> Iterator[CsvRecord | BadRow]:
        cells = [self._light(row) for row in order if isinstance(row, CsvRecord)]
        self._before = dict.fromkeys(self._map.shares, money.ZERO)
        self._sums = {
            name: None if share.total or len(order) >= MOST_ROWS else _sum(share, cells)
            for name, share in self._map.shares.items()
        }
        for number, row in enumerate(order):
            self.in_order = number > 0
            yield row

    def shares(self, cells: Cells) -> dict[str, str]:
        """Return the shares of the next row by their columns; the empty text for one that cannot be computed."""
        found = dict(cells)
        for name, share in self._map.shares.items():
            try:
                found[name] = money.plain(self._share(name, share, found))
            except CellError:
                found[name] = ""
        return {name: found[name] for name in self._map.shares}

    def _share(self, name: str, share: ShareMap, cells: Cells) -> Decimal:
        total = share.total(cells) if share.total else self._sums.get(name)
        before = self._before.get(name, money.ZERO)
        behind = money.add(before, share.by(cells))
        if not total or not 0 <= behind <= total:
            raise CellError("the weights do not add up")
        amount, currency = share.of(cells), share.currency(cells, money.ZERO).strip().upper()
        if not money.is_currency(currency):
            raise CellError("has no currency")
        self._before[name] = behind
        parts = [
            money.rounded(Fraction(amount) * Fraction(one) / Fraction(total), currency) for one in (before, behind)
        ]
        return money.add(parts[1], money.negated(parts[0]))


def _sum(share: ShareMap, rows: list[Cells | None]) -> Decimal | None:
    """Return what the weights of rows add up to; `None` if one has none."""
    try:
        return money.total(share.by(cells) for cells in rows if cells is not None)
    except CellError:
        return None
