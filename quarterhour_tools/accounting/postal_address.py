"""Postal addresses in parts, pure: banks take a town, a post code and a country, and an address is lines of text."""

import re
from types import MappingProxyType
from typing import Final, NamedTuple

_LONGEST_LINE: Final = 70
_LONGEST_TOWN: Final = 35
_LINES: Final = re.compile(r"\s*[\n,;]\s*")
_COUNTRY_BEFORE: Final = r"(?:[A-Z]{1,3}[- ])?"
_FORMS: Final = MappingProxyType(
    {
        r"\d{3}": "IS",
        r"\d{4}": "AL AT AU BE BG CH CY DK HU LI LU MK NO NZ SI ZA",
        r"\d{5}": "BA DE EE ES FI FR HR IT LT MC ME RS SM TR UA US VA XK",
        r"\d{6}": "CN IN RO SG",
        r"\d{3} ?\d{2}": "CZ GR SE SK",
        r"\d{2}-\d{3}": "PL",
        r"\d{4}-\d{3}": "PT",
        r"\d{3}-\d{4}": "JP",
        r"\d{4} ?[A-Z]{2}": "NL",
        r"(?:LV-)?\d{4}": "LV",
        r"(?:MD-)?\d{4}": "MD",
        r"AD\d{3}": "AD",
        r"GX11 ?1AA": "GI",
        r"[A-Z]{3} ?\d{4}": "MT",
        r"[A-Z]\d[\dW] ?[A-Z\d]{4}": "IE",
        r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}": "GB GG IM JE",
        r"[A-Z]\d[A-Z] ?\d[A-Z]\d": "CA",
    }
)
_POST_CODES: Final = MappingProxyType({one: form for form, countries in _FORMS.items() for one in countries.split()})
"""The form of the post codes of a country."""
_AFTER: Final = frozenset(["AU", "CA", "CN", "GB", "GG", "GI", "IE", "IM", "IN", "JE", "LV", "MT", "NZ", "SG", "US"])
"""The countries in which a post code can follow the town, or stand below it."""


class PostalAddress(NamedTuple):
    """An address in parts. ``street``: all that precedes the town."""

    street: str
    post_code: str
    town: str
    country: str


def postal_address(address: str | None, country: str | None) -> PostalAddress | None:
    """Return an address in parts; ``None`` if no line of it has a post code of the country beside a town."""
    form = _POST_CODES.get(country or "")
    if not address or not country or form is None:
        return None
    lines = [one for one in _LINES.split(address.strip()) if one]
    before = re.compile(rf"{_COUNTRY_BEFORE}({form})\s+(\D+)", re.IGNORECASE)
    after = re.compile(rf"(\D*[^\W\d_]\D*?)\s+({form})", re.IGNORECASE)
    alone = re.compile(rf"{_COUNTRY_BEFORE}({form})", re.IGNORECASE)
    # The post code is near the end: a number of a house comes before it.
    for at in range(len(lines) - 1, -1, -1):
        if found := before.fullmatch(lines[at]):
            code, town, first = found[1], found[2], at
        elif country in _AFTER and (found := after.fullmatch(lines[at])):
            code, town, first = found[2], found[1], at
        elif country in _AFTER and at and (found := alone.fullmatch(lines[at])):
            code, town, first = found[1], lines[at - 1], at - 1
        else:
            continue
        if len(town) <= _LONGEST_TOWN and not any(map(str.isdigit, town)):
            street = ", ".join(lines[:first])[:_LONGEST_LINE]
            return PostalAddress(street, " ".join(code.upper().split()), town, country)
    return None
