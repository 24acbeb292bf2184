"""Distinct customers, the pure part: which markers a group asks for, and the transactions that set the missing ones.

A marker and the count move together in one transaction, so whatever comes again finds its marker and counts nothing.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from quarterhour.aws import chunks
from quarterhour.counters.keys import customers_key, seen_key
from quarterhour.counters.plan import Group, Retention, epoch
from quarterhour.entity import Key

MARKERS: Final = 99
"""So many markers and their count make a transaction of 100 items, the most there may be."""
MARKERS_KEPT: Final = timedelta(days=3)
"""After a day's end; the stream delivers nothing older than 24 hours."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """The customers of a group in one count: the count's key, their markers, when each expires (epoch seconds)."""

    counter: Key
    markers: tuple[Key, ...]
    counter_expires: int | None
    markers_expire: int | None


def sightings(group: Group, retention: Retention) -> list[Sighting]:
    """Return the counts that a group's customers may change: of the lifetime and of the day; each customer once."""
    customers = sorted({step.posting.customer for step in group.steps if step.posting.customer})
    if not customers:
        return []
    lifetime = customers_key(group.account, None)
    day = customers_key(group.account, group.day)
    end = group.partition.quarter.end
    return [
        Sighting(lifetime, tuple(seen_key(lifetime, one) for one in customers), None, None),
        Sighting(
            day, tuple(seen_key(day, one) for one in customers), epoch(end + retention.day), epoch(end + MARKERS_KEPT)
        ),
    ]


def missing(sighting: Sighting, seen: Collection[str]) -> Iterator[Sighting]:
    """Yield what a count lacks, cut to the size of a transaction; ``seen`` are the markers' ``pk`` that stand."""
    new = [marker for marker in sighting.markers if marker["pk"] not in seen]
    for some in chunks(new, MARKERS):
        yield Sighting(sighting.counter, tuple(some), sighting.counter_expires, sighting.markers_expire)
