"""What a searched text can mean: statement numbers, and identities of events."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

from quarterhour.model.fields import is_stored_name
from quarterhour.model.identifiers import SEPARATOR, Identity
from quarterhour.statements.plan import AT_ONCE

MAX_IDENTITIES: Final = 100
"""The most events that are looked up: one BatchGetItem."""
_BETWEEN: Final = (SEPARATOR, " ", "/")
"""What can separate a source from an id."""
_SPLITS: Final = 3
_DIGITS: Final = re.compile(r"\d{1,12}", re.ASCII)


def numbers_in(text: str) -> list[str]:
    """Return the statement numbers that a text can mean: as it is written, and in capital letters."""
    return list(dict.fromkeys([text, text.upper()]))


def identities_in(text: str, sources: Iterable[str]) -> list[Identity]:
    """Return the events that a text can mean: a source and an id, or the id of an event of one of some sources."""
    found = chain(_split(text), ((source, text) for source in sources))
    named = (Identity(*pair) for pair in found if all(map(is_stored_name, pair)))
    return list(islice(dict.fromkeys(named), MAX_IDENTITIES))


def _split(text: str) -> Iterator[tuple[str, str]]:
    for between in _BETWEEN:
        pieces = text.split(between)
        for place in range(1, min(len(pieces), _SPLITS + 1)):
            yield between.join(pieces[:place]), between.join(pieces[place:])


def is_numbered_by(period: Mapping[str, Any], number: str) -> bool:
    """Return whether a number is one of a sealed period's. Only 0.2.0 numbered by period."""
    if int(period["schema"]) != AT_ONCE:
        return False
    counts = zip(period["prefixes"], period["numbers"], ("statements", "credit_notes"), strict=True)
    for prefix, first, many in counts:
        digits = number.removeprefix(prefix)
        if number.startswith(prefix) and _DIGITS.fullmatch(digits):
            return bool(int(first) <= int(digits) < int(first) + int(period[many]))
    return False
