"""The keys of sales in the Entity table, built and parsed only here: by location, and by product.

A location is a path from the country down, ``GB#London``. The sales of a day are in one partition, ordered by path, so
the sales below any location are one range. No part of a path is empty: two separators end it. They also end an agency,
whose sales of a day by product are one range. An empty name is the whole marketplace.
"""

from datetime import date
from typing import Final

from quarterhour.aws.entity import Key, Range
from quarterhour.model import fields
from quarterhour.model.identifiers import SEPARATOR

_LOCATIONS: Final = "PLACE#"
_PRODUCTS: Final = "PRODUCTS#"
_END: Final = SEPARATOR * 2
_AFTER_SEPARATOR: Final = chr(ord(SEPARATOR) + 1)
_FIRST: Final = " "
_LAST: Final = "\U0010ffff"
"""Sort before and after every location."""


def read_location(text: str) -> str:
    """Parse a location; raise ``ValueError`` for a malformed path."""
    location = fields.location(text)
    if location is None:
        raise ValueError(text)
    return location


def sales_key(day: date, location: str, currency: str, run: str) -> Key:
    """Return the key of the sales of a location in one currency and one run.

    ``PLACE#2026-10-23``, ``GB#London##GBP#2026-10-23T0130-0230``.
    """
    return {"pk": f"{_LOCATIONS}{day.isoformat()}", "sk": f"{location}{_END}{currency}{SEPARATOR}{run}"}


def location_of(sk: str) -> tuple[str, str]:
    """Parse location and currency from a sort key."""
    location, _, rest = sk.partition(_END)
    return location, rest.partition(SEPARATOR)[0]


def below(day: date, location: str) -> Range:
    """Return the range of the sales of a day at a location and below it; an empty location is everywhere."""
    low, high = (f"{location}{SEPARATOR}", f"{location}{_AFTER_SEPARATOR}") if location else (_FIRST, _LAST)
    return Range(f"{_LOCATIONS}{day.isoformat()}", low, high)


def products_key(day: date, agency: str, currency: str, run: str, chunk: int) -> Key:
    """Return the key of a chunk of the sales by product of an agency in one currency and one run.

    ``PRODUCTS#2026-10-23``, ``42##GBP#2026-10-23T0130-0230#000``.
    """
    place = f"{agency}{_END}{currency}{SEPARATOR}{run}{SEPARATOR}{chunk:03d}"
    return {"pk": f"{_PRODUCTS}{day.isoformat()}", "sk": place}


def currency_of(sk: str) -> str:
    """Parse the currency from the sort key of a chunk."""
    return sk.partition(_END)[2].partition(SEPARATOR)[0]


def products_of(day: date, agency: str) -> Range:
    """Return the range of the sales of a day by product, of an agency."""
    return Range(f"{_PRODUCTS}{day.isoformat()}", f"{agency}{_END}", f"{agency}{SEPARATOR}{_AFTER_SEPARATOR}")
