"""Postal addresses in parts, pure: banks take a town, a post code and a country, and an address is lines of text."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from quarterhour.registry.agencies.addresses import has_form, read_post_code, street_lines

_LONGEST_LINE: Final = 70
_LONGEST_TOWN: Final = 35
_LINES: Final = re.compile(r"\s*[\n,;]\s*")
_MOST_WORDS: Final = 3
"""The words of a post code with the letters of its country: D 20095, SE 111 22."""
_AFTER: Final = frozenset(["AU", "CA", "CN", "GB", "GG", "GI", "IE", "IM", "IN", "JE", "LV", "MT", "NZ", "SG", "US"])
"""The countries in which a post code can follow the town, or stand below it."""


class PostalAddress(NamedTuple):
    """An address in parts. ``street``: all that precedes the town."""

    street: str
    post_code: str
    town: str
    country: str


def postal_address(party: Mapping[str, Any]) -> PostalAddress | None:
    """Return a party's address in parts: by its registered town, or by the line with a post code beside a town.

    ``None`` if it has neither, or no country.
    """
    country = party.get("country")
    if not country:
        return None
    if town := party.get("town"):
        street = ", ".join(street_lines(party))[:_LONGEST_LINE]
        return PostalAddress(street, party.get("post_code") or "", town, country)
    lines = [one for one in _LINES.split((party.get("address") or "").strip()) if one]
    # The post code is near the end: a number of a house comes before it.
    for at in range(len(lines) - 1, -1, -1) if has_form(country) else ():
        found = _in_line(lines, at, country)
        if found and len(found[1]) <= _LONGEST_TOWN and not any(map(str.isdigit, found[1])):
            code, town, first = found
            return PostalAddress(", ".join(lines[:first])[:_LONGEST_LINE], code, town, country)
    return None


def _in_line(lines: list[str], at: int, country: str) -> tuple[str, str, int] | None:
    """Return the post code and the town of a line, and the number of the line where they begin."""
    words = lines[at].split()
    for count in range(min(_MOST_WORDS, len(words)), 0, -1):
        before, after = _code(words[:count], country), _code(words[-count:], country)
        if before and words[count:]:
            return before, " ".join(words[count:]), at
        if after and country in _AFTER and (town := " ".join(words[:-count]) or (lines[at - 1] if at else "")):
            return after, town, at if words[:-count] else at - 1
    return None


def _code(words: list[str], country: str) -> str | None:
    with suppress(ValueError):
        return read_post_code(" ".join(words), country)
    return None
