"""Reads sales by location: of any location, at any level below it, day by day."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.locations.keys import below
from quarterhour.locations.plan import Sales, by_level
from quarterhour.model.totals import sales_figures
from quarterhour.web.paging import MAX_BYTES, Page, Paging, size_of, within

DAYS_A_PAGE: Final = 31
"""The most days that a page reads."""
ITEMS_A_PAGE: Final = 10_000
"""About how many items a page adds up; the sales of one location and one day are never split."""

_DAY: Final = timedelta(days=1)
_READ: Final = 1000


@dataclass(frozen=True, slots=True)
class LocationQueries:
    """Queries of the sales by location."""

    entities: EntityReader

    def sales(self, location: str, level: int, span: tuple[date, date], paging: Paging) -> Page:
        """Return a page of the sales of each day and each location at a level, at ``location`` and below it.

        ``span`` is the first day and the day after the last. A page does bounded work, so it may be short, or empty,
        though others follow.
        """
        first, end = span

        def begin(day: str, after: str) -> tuple[date, str]:
            bounds = below(within(first, date.fromisoformat(day), end - _DAY), location)
            return date.fromisoformat(day), within(bounds.low, after, bounds.high) if after else ""

        day, after = paging.start(begin, (first, ""))
        until = min(end, day + DAYS_A_PAGE * _DAY)
        items: list[dict[str, Any]] = []
        size = 0
        counted = _Counted()
        while day < until:
            unread = replace(below(day, location), after=after or None)
            for sales in by_level(counted.each(self.entities.read(unread, _READ)), level):
                items.append(_shown(day, sales))
                size += size_of(items[-1])
                if len(items) == paging.limit or size >= MAX_BYTES or counted.count >= ITEMS_A_PAGE:
                    return Page(items, (day.isoformat(), sales.last))
            day, after = day + _DAY, ""
        return Page(items, (until.isoformat(), "") if until < end else None)


@dataclass(slots=True)
class _Counted:
    """Counts items as they are read."""

    count: int = 0

    def each(self, items: Iterable[Values]) -> Iterator[Values]:
        """Yield the items and count them."""
        for values in items:
            self.count += 1
            yield values


def _shown(day: date, sales: Sales) -> dict[str, Any]:
    return {
        "day": day.isoformat(),
        "location": sales.location,
        "sales": [{"currency": currency, **sales_figures(totals)} for currency, totals in sales.totals.items()],
    }
