"""The keys of notifications, subscriptions and deliveries in the Entity table, built and parsed only here."""

import re
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from quarterhour.aws.entity import Key, Range
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.identifiers import SEPARATOR, base58_prefix

KEPT: Final = timedelta(days=31)
"""How long a notification and its deliveries are kept."""
LAST_KEY: Final[Key] = {"pk": "CONTROL", "sk": "notifications"}
"""The key of the control item with the place of the last notification."""
SUBSCRIPTIONS: Final = "SUBSCRIPTIONS"
"""The partition of the subscriptions, by name."""
_LOG: Final = f"NOTIFICATIONS{SEPARATOR}"
_MARKERS: Final = f"NOTIFIED{SEPARATOR}"
_DELIVERIES: Final = f"DELIVERIES{SEPARATOR}"
_DIGITS: Final = 12
_FIRST: Final = " "
_LAST: Final = "~"
_MONTH: Final = len("2026-11")
_ID_LENGTH: Final = 22
_PLACE: Final = re.compile(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z{SEPARATOR}\d{{{_DIGITS}}}", re.ASCII)


def place_of(at: datetime, number: int) -> str:
    """Return the place of a notification in the log: ``2026-11-05T09:00:00.123Z#000000000042``."""
    return f"{iso_millis(at)}{SEPARATOR}{number:0{_DIGITS}d}"


def before(at: datetime) -> str:
    """Return the place that precedes those of all notifications from an instant on."""
    return iso_millis(at)


def instant_of(place: str) -> datetime:
    """Return the instant in a place."""
    return parse_iso(place.partition(SEPARATOR)[0])


def is_place(text: str) -> bool:
    """Return whether a text is the place of a notification."""
    return _PLACE.fullmatch(text) is not None


def log_key(place: str) -> Key:
    """Return the key of a notification in the log, which has a partition for each month."""
    return {"pk": f"{_LOG}{place[:_MONTH]}", "sk": place}


def marker_key(id_: str) -> Key:
    """Return the key of the marker that a notification is in the log."""
    return {"pk": f"{_MARKERS}{id_}", "sk": "marker"}


def log_after(place: str, last: str) -> list[Range]:
    """Return the notifications after a place up to the last one, read with strong consistency, month by month."""
    months = []
    month = place[:_MONTH]
    while month <= last[:_MONTH]:
        months.append(month)
        year, number = int(month[:4]), int(month[5:])
        month = f"{year + number // 12:04d}-{number % 12 + 1:02d}"
    # No place of a notification is a plain instant, so `low` is behind the place itself.
    return [Range(f"{_LOG}{one}", max(one, f"{place} "), last, consistent=True) for one in months]


def subscription_key(name: str) -> Key:
    """Return the key of a subscription."""
    return {"pk": SUBSCRIPTIONS, "sk": name}


def subscriptions(after: str | None = None) -> Range:
    """Return all subscriptions behind a name, by name, read with strong consistency."""
    return Range(SUBSCRIPTIONS, _FIRST, _LAST, after=after, consistent=True)


def delivery_key(subscription: str, place: str) -> Key:
    """Return the key of a delivery; ``subscription``: its id, which no later subscription of the same name has."""
    return {"pk": f"{_DELIVERIES}{subscription}", "sk": place}


def deliveries(subscription: str, after: str | None = None) -> Range:
    """Return the deliveries of a subscription by its id, the newest first, from a place on."""
    return Range(f"{_DELIVERIES}{subscription}", _FIRST, _LAST, descending=True, after=after)


def notification_id(*parts: str) -> str:
    """Return the id of a notification, which follows from what it is about: so a repeated one has the same id."""
    return f"msg_{base58_prefix(sha256(SEPARATOR.join(parts).encode()).digest(), _ID_LENGTH)}"
