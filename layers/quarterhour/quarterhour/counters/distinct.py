"""Distinct customers, pure: the markers of customers, and which of them a group of postings adds to the counts.

A marker keeps the place of the posting that set it: its partition, and its ``seq`` in the stream. It is inserted before
its group is counted, only if the customer has none. The write that moves the watermark past the place also adds the
marker to the count, which the account item holds until its day leaves. A watermark passes each place once, so each
marker is added once, whatever crashes or is delivered again.

Markers without a place are counted already: a rebuild sets and counts them in one transaction. It cannot set a place:
a sealed line does not hold the posting's ``seq`` in the stream, and of an old line no counter of a quarter-hour is kept
any more that would say whether a marker of it is counted.

A customer is marked by the token.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final

from quarterhour.aws.entity import Key
from quarterhour.aws.items import chunks
from quarterhour.counters.keys import customers_key, marker_key, place, place_quarter_hour
from quarterhour.counters.plan import Addition, Group, NewCustomers, Retention, epoch, expiry
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour

MARKERS_PER_TRANSACTION: Final = 99
"""With the count itself these are 100 items, the most that a transaction can hold."""
MARKER_RETENTION: Final = timedelta(days=3)
"""How long a day's markers are kept after its end. The stream delivers nothing older than 24 hours."""

Marker = dict[str, Any]
"""A marker in plain values."""


@dataclass(frozen=True, slots=True)
class MarkerSet:
    """The markers of customers for one count.

    ``counter``: the count's key. ``tally``: the attribute in which a quarter-hour's counter keeps how many customers it
    added to the count. ``markers``: the key of each customer's marker. Expiries are epoch seconds.
    """

    counter: Key
    tally: str
    markers: Mapping[str, Key]
    counter_expires: int | None
    markers_expire: int | None

    @property
    def keys(self) -> list[Key]:
        """The keys of the markers."""
        return list(self.markers.values())

    def lacking(self, existing: Mapping[str, Marker]) -> list[str]:
        """Return the customers that have no marker; ``existing``: the markers that exist, by ``pk``."""
        return [customer for customer, key in self.markers.items() if key["pk"] not in existing]

    def new(self, customers: int) -> NewCustomers:
        """Return a number of new customers of the count."""
        return NewCustomers(self.counter, self.tally, customers)

    def addition(self, customers: int) -> Addition:
        """Return the change that adds customers to the count's own item."""
        return Addition(self.counter, customers, self.counter_expires)


def marker_sets(account: Account, day: date, customers: Collection[str], retention: Retention) -> list[MarkerSet]:
    """Return the marker sets of customers seen on a day: for the lifetime's count and for the day's."""
    if not customers:
        return []
    end = QuarterHour.last_of(day).end
    lifetime, of_day = customers_key(account, None), customers_key(account, day)
    return [
        MarkerSet(lifetime, "new_customers", _markers(lifetime, customers), None, None),
        MarkerSet(
            of_day,
            "new_customers_of_day",
            _markers(of_day, customers),
            expiry(of_day["sk"], retention),
            epoch(end + MARKER_RETENTION),
        ),
    ]


def _markers(counter: Key, customers: Collection[str]) -> dict[str, Key]:
    return {customer: marker_key(counter, customer) for customer in sorted(customers)}


def first_places(group: Group) -> dict[str, str]:
    """Return the place of the first posting of each customer in a group."""
    places: dict[str, str] = {}
    for one in group.postings:
        if customer := one.posting.customer:
            places.setdefault(customer, place(one.posting.partition, one.seq))
    return places


def new_markers(marker_set: MarkerSet, places: Mapping[str, str], existing: Mapping[str, Marker]) -> list[Marker]:
    """Return the markers to insert, with the places that set them; ``existing``: those that exist, by ``pk``."""
    expires = {"expires_at": marker_set.markers_expire}
    return [
        {**marker_set.markers[customer], "place": places[customer], **expires}
        for customer in marker_set.lacking(existing)
    ]


def new_customers(group: Group, sets: Sequence[MarkerSet], markers: Mapping[str, Marker]) -> list[NewCustomers]:
    """Return what a group that is counted now adds to the counts; ``markers`` are those of its customers, by ``pk``."""
    applied = {place(one.posting.partition, one.seq) for one in group.postings}
    return [one.new(sum(markers[key["pk"]].get("place") in applied for key in one.keys)) for one in sets]


def markers_by_quarter_hour(markers: Iterable[Marker]) -> Counter[QuarterHour]:
    """Return the number of markers that were set in each quarter-hour; those without a place are left out."""
    return Counter(place_quarter_hour(marker["place"]) for marker in markers if "place" in marker)


def missing(marker_set: MarkerSet, existing: Mapping[str, Marker]) -> Iterator[MarkerSet]:
    """Yield the markers of customers that have none, cut to transactions; ``existing``: those that exist, by ``pk``."""
    for some in chunks(marker_set.lacking(existing), MARKERS_PER_TRANSACTION):
        yield replace(marker_set, markers={customer: marker_set.markers[customer] for customer in some})
