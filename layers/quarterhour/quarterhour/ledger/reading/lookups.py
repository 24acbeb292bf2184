"""The lookups, by order and by customer: in which sealed quarter-hours a value has events.

An item of the Entity table has four characters for each value of a quarter-hour that falls into one of 64 buckets. The
buckets of a month are partitions, so a value is looked for in one range a month. Two values can have the same bucket
and characters: a reader looks at the events of each quarter-hour that it finds.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final
from zlib import crc32

from quarterhour.aws.entity import Range
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import SEPARATOR, Position
from quarterhour.model.quarter_hours import QuarterHour

LOOKED_UP: Final[Mapping[str, str]] = {"order_id": "BY-ORDER#", "customer": "BY-CUSTOMER#"}
"""The attributes of an event by which quarter-hours are found, each with the prefix of its partition keys."""
MAX_VALUES: Final = 3_000
"""The most values of an item."""

_MARK: Final = 4
"""The characters of a value."""


def marks(attribute: str, values: Iterable[str], quarter_hour: QuarterHour, first: str) -> Iterator[dict[str, Any]]:
    """Yield the items of values of a quarter-hour, as attributes of the Entity table.

    ``first``: a position that no other items of this quarter-hour begin with.
    """
    buckets: dict[str, list[str]] = {}
    for value in values:
        bucket, mark = _place_of(value)
        buckets.setdefault(bucket, []).append(mark)
    for bucket, found in buckets.items():
        each = sorted(set(found))
        for at in range(0, len(each), MAX_VALUES):
            packed = "".join(each[at : at + MAX_VALUES])
            sk = f"{first}{SEPARATOR}{at // MAX_VALUES:03d}"
            yield {"pk": _partition(attribute, quarter_hour.day, bucket), "sk": sk, "packed": packed}


def ranges(attribute: str, value: str, first: QuarterHour, last: QuarterHour) -> list[Range]:
    """Return the ranges of the items that can hold a value, one for each month from one quarter-hour to another."""
    bucket, _ = _place_of(value)
    low, high = iso_millis(first.start), iso_millis(last.end)
    days, day = [], first.day.replace(day=1)
    while day <= last.day:
        days.append(day)
        day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return [Range(_partition(attribute, one, bucket), low, high, consistent=True) for one in days]


def quarter_hours_of(value: str, items: Iterable[Mapping[str, Any]]) -> list[QuarterHour]:
    """Return the quarter-hours that can hold events with a value, in order, each once; those of some items."""
    _, mark = _place_of(value)
    found = {
        QuarterHour.at(Position.parse(one["sk"].partition(SEPARATOR)[0]).recorded_at)
        for one in items
        if mark in one["packed"] and mark in _marks_in(one["packed"])
    }
    return sorted(found)


def _marks_in(packed: str) -> Iterator[str]:
    return (packed[at : at + _MARK] for at in range(0, len(packed), _MARK))


def _partition(attribute: str, day: date, bucket: str) -> str:
    return f"{LOOKED_UP[attribute]}{day:%Y-%m}{SEPARATOR}{bucket}"


def _place_of(value: str) -> tuple[str, str]:
    """Return the bucket of a value, and its characters there."""
    digits = urlsafe_b64encode(crc32(value.encode()).to_bytes(4)).decode()
    return digits[0], digits[1 : 1 + _MARK]
