"""Distinct customers, pure: the markers of a group of postings, and the transactions that set the missing ones.

One transaction sets markers and adds their number to the count. A repeated delivery finds its markers and counts
nothing.
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

MARKERS_PER_TRANSACTION: Final = 99
"""With the count itself these are 100 items, the most that a transaction can hold."""
MARKER_RETENTION: Final = timedelta(days=3)
"""How long a day's markers are kept after its end. The stream delivers nothing older than 24 hours."""


@dataclass(frozen=True, slots=True)
class MarkerSet:
    """The markers of customers for one count: the count's key, the markers' keys, their expiries (epoch seconds)."""

    counter: Key
    markers: tuple[Key, ...]
    counter_expires: int | None
    markers_expire: int | None


def marker_sets(account: Account, day: date, customers: Collection[str], retention: Retention) -> list[MarkerSet]:
    """Return the marker sets of customers seen on a day: for the lifetime's count and for the day's."""
    if not customers:
        return []
    end = QuarterHour.last_of(day).end
    expiries = {None: (None, None), day: (epoch(end + retention.day), epoch(end + MARKER_RETENTION))}
    return [_marker_set(customers_key(account, scope), customers, *expires) for scope, expires in expiries.items()]


def _marker_set(counter: Key, customers: Collection[str], *expires: int | None) -> MarkerSet:
    return MarkerSet(counter, tuple(seen_key(counter, customer) for customer in sorted(customers)), *expires)


def missing(marker_set: MarkerSet, existing: Collection[str]) -> Iterator[MarkerSet]:
    """Yield the markers that do not exist, cut to transactions; ``existing`` holds the ``pk`` of those that do."""
    new = [marker for marker in marker_set.markers if marker["pk"] not in existing]
    for some in chunks(new, MARKERS_PER_TRANSACTION):
        yield MarkerSet(marker_set.counter, tuple(some), marker_set.counter_expires, marker_set.markers_expire)
