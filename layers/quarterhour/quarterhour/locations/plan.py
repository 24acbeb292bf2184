"""Sales by place, pure: sealed totals to items, and items to sales at any level of the path."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any, Final

from quarterhour.locations.keys import location_of, sales_key
from quarterhour.model.fields import MAX_TEXT
from quarterhour.model.identifiers import SEPARATOR
from quarterhour.model.totals import Totals

MAX_LEVELS: Final = MAX_TEXT // 2
"""The most levels of a location: one character and one separator each."""


def sales(day: date, run: str, locations: Mapping[tuple[str, str], Totals]) -> list[dict[str, Any]]:
    """Return the items of a run's sales; a run is of one day, and always gives the same items."""
    return [
        {**sales_key(day, location, currency, run), **totals.without_payments()}
        for (location, currency), totals in locations.items()
    ]


def levels(place: str) -> int:
    """Return the number of levels of a path; the empty path has none."""
    return place.count(SEPARATOR) + 1 if place else 0


def place_at(location: str, level: int) -> str:
    """Return the place at a level that holds a location; a location with fewer levels is its own place."""
    return SEPARATOR.join(location.split(SEPARATOR)[:level])


@dataclass(frozen=True, slots=True)
class Sales:
    """The sales at a place and below it by currency; ``last`` is the sort key of the last item added up."""

    place: str
    totals: Mapping[str, Totals]
    last: str


def by_place(items: Iterable[Mapping[str, Any]], level: int) -> Iterator[Sales]:
    """Yield the sales of each place at a level; the items must be ordered by key."""
    for place, some in groupby(items, key=lambda values: place_at(location_of(values["sk"])[0], level)):
        sums: dict[str, Totals] = {}
        last = ""
        for values in some:
            last = values["sk"]
            _, currency = location_of(last)
            sums[currency] = sums.get(currency, Totals()) + Totals.of(values)
        yield Sales(place, dict(sorted(sums.items())), last)
