"""Sales by place, the pure part: what a run has sealed to items, and items to what is shown at any level."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Any, Final

from quarterhour.locations.keys import location_of, sales_key
from quarterhour.model.fields import MAX_TEXT
from quarterhour.model.identifiers import SEPARATOR
from quarterhour.model.totals import Totals

MOST_LEVELS: Final = MAX_TEXT // 2
"""Of a location: each has a separator behind it, but the last."""


def sales(day: date, run: str, places: Mapping[tuple[str, str], Totals]) -> list[dict[str, Any]]:
    """Return the items of what a run, which is of one day, has sealed; the same run always gives the same items."""
    return [
        {**sales_key(day, location, currency, run), **totals.as_dict()}
        for (location, currency), totals in places.items()
    ]


def levels(place: str) -> int:
    """Return how many levels a path has; the empty one has none."""
    return place.count(SEPARATOR) + 1 if place else 0


def cut(location: str, level: int) -> str:
    """Return the place at a level that a location lies in; a location that is no deeper stands for itself."""
    return SEPARATOR.join(location.split(SEPARATOR)[:level])


@dataclass(frozen=True, slots=True)
class Sales:
    """What was sold at a place and below it, by currency; ``last`` is the sort key of the last item added up."""

    place: str
    totals: Mapping[str, Totals]
    last: str


def by_place(items: Iterable[Mapping[str, Any]], level: int) -> Iterator[Sales]:
    """Add up items, which come in the order of their keys, to the sales of each place at a level."""
    for place, some in groupby(items, key=lambda values: cut(location_of(values["sk"])[0], level)):
        sums: dict[str, Totals] = {}
        last = ""
        for values in some:
            last = values["sk"]
            _, currency = location_of(last)
            sums[currency] = sums.get(currency, Totals()) + Totals.of(values)
        yield Sales(place, dict(sorted(sums.items())), last)
