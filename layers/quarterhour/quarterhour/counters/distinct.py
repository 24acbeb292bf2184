"""Distinct customers, the pure part: which markers a group asks for, and the transactions that set the missing ones.

A marker and the count move together in one transaction, so whatever comes again finds its marker and counts nothing.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from quarterhour.aws.entity import Key
from quarterhour.aws.items import chunks
from quarterhour.counters.keys import customers_key, seen_key
from quarterhour.counters.plan import Retention, epoch
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour

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


def sightings(account: Account, day: date, customers: Collection[str], retention: Retention) -> list[Sighting]:
    """Return the counts that customers seen on a day may change: of the lifetime and of the day."""
    if not customers:
        return []
    end = QuarterHour.last_of(day).end
    expiries = {None: (None, None), day: (epoch(end + retention.day), epoch(end + MARKERS_KEPT))}
    return [_sighting(customers_key(account, scope), customers, *expires) for scope, expires in expiries.items()]


def _sighting(counter: Key, customers: Collection[str], *expires: int | None) -> Sighting:
    return Sighting(counter, tuple(seen_key(counter, customer) for customer in sorted(customers)), *expires)


def missing(sighting: Sighting, seen: Collection[str]) -> Iterator[Sighting]:
    """Yield what a count lacks, cut to the size of a transaction; ``seen`` are the markers' ``pk`` that stand."""
    new = [marker for marker in sighting.markers if marker["pk"] not in seen]
    for some in chunks(new, MARKERS):
        yield Sighting(sighting.counter, tuple(some), sighting.counter_expires, sighting.markers_expire)
