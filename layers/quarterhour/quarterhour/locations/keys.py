"""The places' keys in the Entity table, built and parsed here alone.

A location is a path from the country down, ``GB#London``. Its sales of a day stand under the day, in the order of the
paths, so that what lies below any place is one range. No part of a path is empty: two separators end it.
"""

from datetime import date
from typing import Final

from quarterhour.aws.entity import Key, Range
from quarterhour.model import fields
from quarterhour.model.identifiers import SEPARATOR

_PLACES: Final = "PLACE#"
_END: Final = SEPARATOR * 2
_BEHIND: Final = chr(ord(SEPARATOR) + 1)
_FIRST: Final = " "
_LAST: Final = "\U0010ffff"
"""What sorts before, and behind, every location."""


def read_place(text: str) -> str:
    """Read a place; raise ``ValueError`` where none can be called so."""
    place = fields.place(text)
    if place is None:
        raise ValueError(text)
    return place


def sales_key(day: date, location: str, currency: str, run: str) -> Key:
    """Return the key of what was sold at a location, in one currency, in the part of a day that a run covers.

    ``PLACE#2026-10-23``, ``GB#London##GBP#2026-10-23T0130-0230``.
    """
    return {"pk": f"{_PLACES}{day.isoformat()}", "sk": f"{location}{_END}{currency}{SEPARATOR}{run}"}


def location_of(sk: str) -> tuple[str, str]:
    """Read location and currency from a sort key."""
    location, _, rest = sk.partition(_END)
    return location, rest.partition(SEPARATOR)[0]


def below(day: date, place: str) -> Range:
    """Return the sales of a day at a place and below it; everywhere, where it is empty."""
    low, high = (f"{place}{SEPARATOR}", f"{place}{_BEHIND}") if place else (_FIRST, _LAST)
    return Range(f"{_PLACES}{day.isoformat()}", low, high)
