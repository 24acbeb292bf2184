"""The parts of an order's amount that fall on its rows: the `[shares]` of a map, and the rows of one order together."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
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
    shares of all rows add up to the amount, if their weights do. Of rows that are equal in the columns `together`, the
    first that weighs something has the weight of all. `exact` names a column: `yes` if the order's amount is what its
    rows weigh, or falls on one row alone, so that nothing is apportioned; else `no`.
    """

    of: Callable[[Cells], Decimal]
    by: Callable[[Cells], Decimal]
    total: Callable[[Cells], Decimal] | None
    currency: Value
    together: tuple[str, ...] = ()
    exact: str = ""


@dataclass(frozen=True, slots=True)
class SharesMap:
    """The shares by their columns. Rows one after another that are equal in the column `within` are one order."""

    within: str
    shares: Mapping[str, ShareMap]

    @property
    def columns(self) -> list[str]:
        """The columns that the map makes."""
        return [*self.shares, *(one.exact for one in self.shares.values() if one.exact)]


def shares_map(section: Section, compiler: Compiler) -> SharesMap | None:
    """Return the shares of a map; `None` if there are none."""
    with section:
        if WITHIN not in section:
            return None
        within = section.text(WITHIN)
        compiler.cell(within, section.path(WITHIN))
        return SharesMap(within, {name: _share(section.section(name), compiler) for name in section.names()})


def _share(section: Section, compiler: Compiler) -> ShareMap:
    together = section.texts("together")
    for column in together:
        compiler.cell(column, section.path("together"))
    with section:
        return ShareMap(
            of=compiler.number(section.text("of"), section.path("of")),
            by=compiler.number(section.text("by"), section.path("by")),
            total=compiler.number(section.text("total"), section.path("total")) if "total" in section else None,
            currency=compiler.value(section, CURRENCY, compiler.text),
            together=together,
            exact=section.text("exact", ""),
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
        self._together: dict[str, list[Decimal]] = {}
        self._number = 0
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
        cells = [self._light(row) if isinstance(row, CsvRecord) else None for row in order]
        self._before = dict.fromkeys(self._map.shares, money.ZERO)
        self._sums = {
            name: None if share.total or len(order) >= MOST_ROWS else _sum(share, cells)
            for name, share in self._map.shares.items()
        }
        self._together = {
            name: _weights(share, cells)
            for name, share in self._map.shares.items()
            if share.together and self._sums[name]
        }
        for number, row in enumerate(order):
            self.in_order, self._number = number > 0, number
            yield row

    def shares(self, cells: Cells) -> dict[str, str]:
        """Return the shares of the next row by their columns; the empty text for one that cannot be computed."""
        found = dict(cells)
        for name, share in self._map.shares.items():
            made = dict.fromkeys([name, share.exact], "")
            with suppress(CellError):
                amount, exact = self._share(name, share, found)
                made = {name: money.plain(amount), share.exact: "yes" if exact else "no"}
            found |= made
        return {name: found[name] for name in self._map.columns}

    def _share(self, name: str, share: ShareMap, cells: Cells) -> tuple[Decimal, bool]:
        """Return the share of the next row, and whether it is exact."""
        total = share.total(cells) if share.total else self._sums.get(name)
        before = self._before.get(name, money.ZERO)
        weight = self._together[name][self._number] if name in self._together else share.by(cells)
        behind = money.add(before, weight)
        if not total or not 0 <= behind <= total:
            raise CellError("the weights do not add up")
        amount, currency = share.of(cells), share.currency(cells, money.ZERO).strip().upper()
        if not money.is_currency(currency):
            raise CellError("has no currency")
        self._before[name] = behind
        parts = [
            money.rounded(Fraction(amount) * Fraction(one) / Fraction(total), currency) for one in (before, behind)
        ]
        return money.add(parts[1], money.negated(parts[0])), total in {amount, weight}


def _sum(share: ShareMap, rows: list[Cells | None]) -> Decimal | None:
    """Return what the weights of rows add up to; `None` if one has none."""
    try:
        return money.total(share.by(cells) for cells in rows if cells is not None)
    except CellError:
        return None


def _weights(share: ShareMap, rows: list[Cells | None]) -> list[Decimal]:
    """Return the weight of each row: the first of equal rows that weighs something has that of all, the others 0."""
    weights = [money.ZERO if cells is None else share.by(cells) for cells in rows]
    first: dict[tuple[str, ...], int] = {}
    for number, (cells, weight) in enumerate(zip(rows, weights, strict=True)):
        if cells is None or not weight:
            continue
        of = first.setdefault(tuple(cells[column] for column in share.together), number)
        if of != number:
            weights[of], weights[number] = money.add(weights[of], weight), money.ZERO
    return weights
