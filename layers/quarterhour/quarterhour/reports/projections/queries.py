"""Reads sales day by day: of any location at any level below it, and by product or category."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.model import money
from quarterhour.model.totals import sales_figures
from quarterhour.reports.product_figures import OTHERS, ProductFigures
from quarterhour.reports.projections.keys import below, currency_of, products_of
from quarterhour.reports.projections.plan import Sales, by_level
from quarterhour.reports.projections.products import By, name_of, rows_of
from quarterhour.web.paging import MAX_BYTES, ItemT, Page, Paging, size_of, within

if TYPE_CHECKING:
    from quarterhour.reports.projections import api

DAYS_A_PAGE: Final = 31
"""The most days that a page reads."""
ITEMS_A_PAGE: Final = 10_000
"""About how many items a page adds up; the sales of one location and one day are never split."""

_DAY: Final = timedelta(days=1)
_READ: Final = 1000
_MOST_NAMES: Final = 5_000
"""About how many products of a day are added up at a time: more than a page can have."""
_BEFORE_NAME: Final = "="
"""Stands before a name in a place, because the name of events without a product is empty."""

_Days = tuple[date, date]
"""The first day, and the day after the last."""


@dataclass(frozen=True, slots=True)
class LocationQueries:
    """Queries of the sales by location."""

    entities: EntityReader

    def sales(self, location: str, level: int, span: _Days, paging: Paging) -> "Page[api.LocationSales]":
        """Return a page of the sales of each day and each location at a level, at ``location`` and below it.

        ``span`` is the first day and the day after the last. A page does bounded work, so it may be short, or empty,
        though others follow.
        """

        def read(day: date, after: str, counted: "_Counted") -> "Iterator[tuple[str, api.LocationSales]]":
            unread = replace(below(day, location), after=after or None)
            for sales in by_level(counted.each(self.entities.read(unread, _READ)), level):
                yield sales.last, _shown(day, sales)

        def place(day: date, after: str) -> str:
            bounds = below(day, location)
            return within(bounds.low, after, bounds.high)

        return _page(span, paging, place, read)


@dataclass(frozen=True, slots=True)
class ProductQueries:
    """Queries of the sales by product."""

    entities: EntityReader

    def sales(self, agency: str, by: By, span: _Days, paging: Paging) -> "Page[api.Sold]":
        """Return a page of the sales of each day, split as ``by`` says, of an agency or the ``MARKETPLACE``.

        ``span`` and the page are as those of locations.
        """

        def read(day: date, after: str, counted: "_Counted") -> "Iterator[tuple[str, api.Sold]]":
            sold: dict[str, _ByCurrency] = {}
            of_day = _Counted()
            for values in of_day.each(self.entities.read(products_of(day, agency), _READ)):
                currency = currency_of(values["sk"])
                for category, product, one in rows_of(values):
                    name = _BEFORE_NAME + name_of(by, category, product)
                    if name > after:
                        sold.setdefault(name, _ByCurrency()).add(currency, one)
                if len(sold) > _MOST_NAMES:  # those that come first are on this page; others are read again
                    sold = {name: sold[name] for name in sorted(sold)[: paging.limit]}
            for name in sorted(sold):
                yield name, _named(day, by, name.removeprefix(_BEFORE_NAME), sold[name].shown())
            counted.count += of_day.count  # now: a day is read as a whole, and its items are not split

        return _page(span, paging, lambda _, after: within(_BEFORE_NAME, after, _BEFORE_NAME + OTHERS), read)


def _page(
    span: _Days,
    paging: Paging,
    place: Callable[[date, str], str],
    read: Callable[[date, str, "_Counted"], Iterator[tuple[str, ItemT]]],
) -> Page[ItemT]:
    """Return a page of a span: what ``read`` yields of each day after a place in it, each with its place in the day.

    ``place`` checks a place in a day; it raises ``ValueError`` for one that no page of the request has.
    """
    first, end = span

    def begin(day: str, after: str) -> tuple[date, str]:
        begun = within(first, date.fromisoformat(day), end - _DAY)
        return begun, place(begun, after) if after else ""

    day, after = paging.start(begin, (first, ""))
    until = min(end, day + DAYS_A_PAGE * _DAY)
    items: list[ItemT] = []
    size = 0
    counted = _Counted()
    while day < until:
        for last, item in read(day, after, counted):
            items.append(item)
            size += size_of(item)
            if len(items) == paging.limit or size >= MAX_BYTES or counted.count >= ITEMS_A_PAGE:
                return Page(items, (day.isoformat(), last))
        day, after = day + _DAY, ""
        if counted.count >= ITEMS_A_PAGE:
            break
    return Page(items, (day.isoformat(), "") if day < end else None)


@dataclass(slots=True)
class _Counted:
    """Counts items as they are read."""

    count: int = 0

    def each(self, items: Iterable[Values]) -> Iterator[Values]:
        """Yield the items and count them."""
        for values in items:
            self.count += 1
            yield values


def _shown(day: date, sales: Sales) -> "api.LocationSales":
    return {
        "day": day.isoformat(),
        "location": sales.location,
        "sales": [{"currency": currency, **sales_figures(totals)} for currency, totals in sales.totals.items()],
    }


@dataclass(slots=True)
class _ByCurrency:
    """What was sold of a name, by currency."""

    sold: dict[str, ProductFigures] = field(default_factory=dict)

    def add(self, currency: str, one: ProductFigures) -> None:
        """Add what was sold in a currency."""
        self.sold[currency] = self.sold.get(currency, ProductFigures()) + one

    def shown(self) -> "list[api.SoldTotals]":
        """Return the figures as the API shows them."""
        return [_figures(currency, one) for currency, one in sorted(self.sold.items())]


def _figures(currency: str, sold: ProductFigures) -> "api.SoldTotals":
    amounts = sold.amounts
    return {
        "currency": currency,
        **sales_figures(sold.totals),
        "lowest": money.plain(amounts.lowest) if amounts else None,
        "highest": money.plain(amounts.highest) if amounts else None,
        "latest": money.plain(amounts.latest) if amounts else None,
        "latest_at": amounts.latest_at if amounts else None,
    }


def _named(day: date, by: By, name: str, sales: "list[api.SoldTotals]") -> "api.Sold":
    """Return a day's sales, and what they are split by: ``None`` without a name, ``others`` beyond the bound."""
    sold: api.Sold = {"day": day.isoformat(), "sales": sales}
    named = None if name == OTHERS else name or None
    if by is By.PRODUCT:
        sold["product"] = named
    elif by is By.CATEGORY:
        sold["category"] = named
    if by is not By.DAY and name == OTHERS:
        sold["others"] = True
    return sold
