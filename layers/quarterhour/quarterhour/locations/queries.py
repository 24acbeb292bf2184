"""Reading the sales by place: any place, at any level below it, day by day."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.locations.keys import below
from quarterhour.locations.plan import Sales, by_place
from quarterhour.model.totals import figures
from quarterhour.web.paging import MAX_BYTES, Page, Paging, size_of, within

DAYS_A_PAGE: Final = 31
"""How many days a page looks into at the most."""
ITEMS_A_PAGE: Final = 10_000
"""How many items a page adds up, about; what one place has sold on one day is added up whole."""

_DAY: Final = timedelta(days=1)
_READ: Final = 1000


@dataclass(frozen=True, slots=True)
class LocationQueries:
    """What readers ask of the sales by place."""

    entities: EntityReader

    def sales(self, place: str, level: int, span: tuple[date, date], paging: Paging) -> Page:
        """Return what was sold at a place on each day from the first to before the end, by the places at a level.

        The work of a page is bounded, so it may be short, or empty, though others follow.
        """
        first, end = span

        def begin(day: str, after: str) -> tuple[date, str]:
            wanted = below(within(first, date.fromisoformat(day), end - _DAY), place)
            return date.fromisoformat(day), within(wanted.low, after, wanted.high) if after else ""

        day, after = paging.start(begin, (first, ""))
        until = min(end, day + DAYS_A_PAGE * _DAY)
        items: list[dict[str, Any]] = []
        size = 0
        added = _Counted()
        while day < until:
            wanted = replace(below(day, place), after=after or None)
            for sales in by_place(added.each(self.entities.read(wanted, _READ)), level):
                items.append(_shown(day, sales))
                size += size_of(items[-1])
                if len(items) == paging.limit or size >= MAX_BYTES or added.count >= ITEMS_A_PAGE:
                    return Page(items, (day.isoformat(), sales.last))
            day, after = day + _DAY, ""
        return Page(items, (until.isoformat(), "") if until < end else None)


@dataclass(slots=True)
class _Counted:
    """How many items have been read."""

    count: int = 0

    def each(self, items: Iterable[Values]) -> Iterator[Values]:
        """Yield the items, counting them."""
        for values in items:
            self.count += 1
            yield values


def _shown(day: date, sales: Sales) -> dict[str, Any]:
    return {
        "day": day.isoformat(),
        "place": sales.place,
        "sales": [{"currency": currency, **figures(totals)} for currency, totals in sales.totals.items()],
    }
