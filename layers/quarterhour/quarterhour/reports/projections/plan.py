"""Sales by location, pure: sealed totals to items, and items to sales at any level of the path."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any, Final

from quarterhour.model.fields import MAX_TEXT
from quarterhour.model.identifiers import SEPARATOR
from quarterhour.model.totals import Totals
from quarterhour.reports.projections.keys import location_of, sales_key

MAX_LEVELS: Final = MAX_TEXT // 2
"""The most levels of a location: one character and one separator each."""


def sales(day: date, run: str, locations: Mapping[tuple[str, str], Totals]) -> list[dict[str, Any]]:
    """Return the items of a run's sales; a run is of one day, and always gives the same items."""
    return [
        {**sales_key(day, location, currency, run), **totals.without_payments()}
        for (location, currency), totals in locations.items()
    ]


def levels(location: str) -> int:
    """Return the number of levels of a path; the empty path has none."""
    return location.count(SEPARATOR) + 1 if location else 0


def cut_at(location: str, level: int) -> str:
    """Return the location at a level that holds a location: itself if it has fewer levels."""
    return SEPARATOR.join(location.split(SEPARATOR)[:level])


@dataclass(frozen=True, slots=True)
class Sales:
    """The sales at a location and below it by currency; ``last`` is the sort key of the last item added up."""

    location: str
    totals: Mapping[str, Totals]
    last: str


def by_level(items: Iterable[Mapping[str, Any]], level: int) -> Iterator[Sales]:
    """Yield the sales of each location at a level; the items must be ordered by key."""
    for location, some in groupby(items, key=lambda values: cut_at(location_of(values["sk"])[0], level)):
        sums: dict[str, Totals] = {}
        last = ""
        for values in some:
            last = values["sk"]
            _, currency = location_of(last)
            sums[currency] = sums.get(currency, Totals()) + Totals.of(values)
        yield Sales(location, dict(sorted(sums.items())), last)
