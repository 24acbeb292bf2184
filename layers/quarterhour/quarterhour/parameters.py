"""What a reading request asks for: its path and its query parameters, checked one by one.

Every read names the parameter, what stood there and what would be right, in an ``InvalidError``.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

from quarterhour.clock import parse_iso
from quarterhour.errors import FieldProblem, InvalidError
from quarterhour.paging import DEFAULT_LIMIT, MAX_LIMIT, Ordered, Paging, request_name

T = TypeVar("T")
O = TypeVar("O", bound=Ordered)
D = TypeVar("D", bound=date)

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)
_WHOLE: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_VARIABLE: Final = re.compile(r"\{(\w+)\+?\}")
_YEARS: Final = (1970, 9998)
"""The years that bounds may lie in: a little inside of what dates can hold, so that one can always step on."""
_SHOWN: Final = 60

DAY: Final = f"a date such as 2026-10-23, of the years {_YEARS[0]} to {_YEARS[1]}"
INSTANT: Final = (
    f"an RFC 3339 instant such as 2026-10-23T01:30:00Z, of the years {_YEARS[0]} to {_YEARS[1]} (write + as %2B)"
)
MOMENT: Final = f"{INSTANT}, or a date, which is its midnight UTC"


@dataclass(frozen=True, slots=True)
class Parameters:
    """The query parameters of a request to a path."""

    path: str
    values: Mapping[str, str]

    def allow(self, names: Collection[str]) -> None:
        """Refuse every parameter but these."""
        for name in sorted(self.values.keys() - set(names)):
            expected = f"one of {', '.join(names)}" if names else "no parameters"
            raise invalid(shown(name), "is not known here", expected)

    def read(self, name: str, expected: str, parse: Callable[[str], T]) -> T:
        """Return a parameter as ``parse`` reads it; ``parse`` raises ``ValueError`` for what does not fit."""
        value = self.values.get(name)
        if value is None:
            raise invalid(name, "is missing", expected)
        return parsed(name, value, expected, parse)

    def span(self, expected: str, parse: Callable[[str], O]) -> tuple[O, O]:
        """Return ``from`` and ``to``; the second is exclusive."""
        start, end = (self.read(name, expected, parse) for name in ("from", "to"))
        if not start <= end:
            raise invalid("from", "lies behind `to`", "an earlier one, or the same")
        return start, end

    def paging(self) -> Paging:
        """Return the page that is asked for by ``limit`` and ``next``."""
        limit = self.count("limit") if "limit" in self.values else DEFAULT_LIMIT
        return Paging.of(request_name(self.path, self.values), limit, self.values.get("next"))

    def count(self, name: str) -> int:
        """Return a number of items."""
        return self.read(name, f"a whole number from 1 to {MAX_LIMIT}", _count)


def invalid(field: str, problem: str, expected: str) -> InvalidError:
    """Return the error that tells what is wrong with a parameter."""
    return InvalidError(f"{field}: {problem}", FieldProblem(field, problem, expected))


def parsed(name: str, value: str, expected: str, parse: Callable[[str], T]) -> T:
    """Return a value as ``parse`` reads it, or say what stood there."""
    try:
        return parse(value)
    except ValueError as error:
        raise invalid(name, f"is {shown(value)}", expected) from error


def shown(value: str) -> str:
    """Show what was sent in a message: short, and printable."""
    text = ascii(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(value)} characters)"


def day(text: str) -> date:
    """Read a date; raise ``ValueError`` where it is none."""
    if not _DAY.fullmatch(text):
        raise ValueError(text)
    return _usual(date.fromisoformat(text))


def instant(text: str) -> datetime:
    """Read an RFC 3339 instant; raise ``ValueError`` where it is none."""
    if not _INSTANT.fullmatch(text):
        raise ValueError(text)
    return _usual(parse_iso(text.upper()))


def moment(text: str) -> datetime:
    """Read an instant, or a date, which is its midnight UTC; raise ``ValueError`` where it is neither."""
    return datetime.combine(day(text), time(), tzinfo=UTC) if _DAY.fullmatch(text) else instant(text)


def rounded_up(at: datetime, unit: timedelta) -> datetime:
    """Return the first multiple of the unit at or after the instant; a day is a multiple of the unit."""
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - (midnight - at) // unit * unit


def routed(event: dict[str, Any]) -> dict[str, Any]:
    """Return an HTTP API event with the path of its route, in which the variables are percent-encoded.

    ``rawPath`` as it comes is of no use: API Gateway decodes it, so that a slash in a variable looks like one between
    two, and cuts it at a question mark. An event without a route (of a server that has none) is left as it is.
    """
    _, _, template = event.get("routeKey", "").partition(" ")
    if not template:
        return event
    variables = event.get("pathParameters") or {}
    path = _VARIABLE.sub(lambda match: quote(variables.get(match[1], ""), safe="", errors="replace"), template)
    return {**event, "rawPath": path, "requestContext": {**event["requestContext"], "stage": "$default"}}


def spellings(segment: str) -> tuple[str, ...]:
    """Return what a name in the path can mean, the likeliest first.

    API Gateway decodes names once. A slash, which it takes for one between two names, only comes through encoded
    twice, and servers in front of it may not decode at all: then the name is still encoded.
    """
    name = unquote(segment)
    return tuple(dict.fromkeys((name, unquote(name))))


def plain_name(segment: str) -> str:
    """Return a name of the path that can hold no percent sign, decoded however often it was encoded."""
    return spellings(segment)[-1]


def _usual(at: D) -> D:
    """Keep to the years in which keys sort as text, and from which one can step on."""
    if not _YEARS[0] <= at.year <= _YEARS[1]:
        raise ValueError(f"{at} is out of range")
    return at


def _count(text: str) -> int:
    if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= MAX_LIMIT:
        raise ValueError(text)
    return int(text)
