"""What a reading request asks for: the names in its path and its query parameters, checked one by one.

Every refusal names the parameter, what stood there and what would be right, in an ``InvalidError``.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

from quarterhour.model.errors import FieldProblem, InvalidError
from quarterhour.model.fields import NAME, REPLACEMENT, is_name, named, shown
from quarterhour.model.instants import YEARS
from quarterhour.web.paging import DEFAULT_LIMIT, MAX_LIMIT, Ordered, Paging, request_name

T = TypeVar("T")
Rising = TypeVar("Rising", bound=Ordered)

_WHOLE: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_VARIABLE: Final = re.compile(r"\{(?P<name>\w+)(?P<greedy>\+?)\}")
PAGE: Final = ("limit", "next")
"""The names of the parameters that choose a page."""

INSTANT: Final = (
    f"an RFC 3339 instant such as 2026-10-23T01:30:00Z, of the years {YEARS[0]} to {YEARS[1]} (write + as %2B)"
)
MOMENT: Final = f"{INSTANT}, or a date, which is its midnight UTC"


@dataclass(frozen=True, slots=True)
class Parameters:
    """The query parameters of a request to a path."""

    path: str
    values: Mapping[str, str]

    def allow(self, *names: str) -> None:
        """Refuse every parameter but these."""
        for other in sorted(self.values.keys() - set(names)):
            raise invalid(named(other), "is not known here", f"one of {', '.join(names)}" if names else "no parameters")

    def choose(self, choices: Mapping[str, tuple[str, ...]], *others: str) -> str:
        """Return the one parameter that stands here of these; refuse all that its choice, and others, do not name."""
        chosen = [name for name in choices if name in self.values]
        if not chosen:
            raise invalid(next(iter(choices)), "is missing", f"one of {', '.join(choices)}")
        for name in chosen[1:]:
            raise invalid(name, f"cannot stand beside {chosen[0]}", f"one of {', '.join(choices)}")
        self.allow(*others, *choices[chosen[0]])
        return chosen[0]

    def required(self, field: str, expected: str, parse: Callable[[str], T]) -> T:
        """Return a parameter as ``parse`` reads it, which raises ``ValueError`` for what does not fit."""
        if field not in self.values:
            raise invalid(field, "is missing", expected)
        return parsed(field, self.values[field], expected, parse)

    def optional(self, field: str, expected: str, parse: Callable[[str], T], otherwise: T) -> T:
        """Return a parameter as ``parse`` reads it, or what stands for one that is missing."""
        return self.required(field, expected, parse) if field in self.values else otherwise

    def whole(self, field: str, least: int, most: int, otherwise: int) -> int:
        """Return a whole number within bounds, or what stands for one that is missing."""
        expected = f"a whole number from {least} to {most}"
        return self.optional(field, expected, lambda text: _whole(text, least, most), otherwise)

    def span(
        self, expected: str, parse: Callable[[str], Rising], otherwise: tuple[Rising, Rising] | None = None
    ) -> tuple[Rising, Rising]:
        """Return ``from`` and ``to``, or what stands for the one that is missing; the second is exclusive."""
        if otherwise is None:
            start, end = (self.required(field, expected, parse) for field in ("from", "to"))
        else:
            first, last = otherwise
            start, end = self.optional("from", expected, parse, first), self.optional("to", expected, parse, last)
        if not start <= end:
            raise invalid("from", "lies behind to", "an earlier one, or the same")
        return start, end

    def paging(self, field: str = "limit") -> Paging:
        """Return the page that is asked for, by ``next`` and the parameter that tells how many items."""
        limit = self.whole(field, 1, MAX_LIMIT, DEFAULT_LIMIT)
        return Paging.of(request_name(self.path, self.values), limit, self.values.get("next"))


def invalid(field: str, problem: str, expected: str) -> InvalidError:
    """Return the error that tells what is wrong with a parameter."""
    return InvalidError(f"{field} {problem}: expected {expected}", FieldProblem(field, problem, expected))


def parsed(field: str, value: str, expected: str, parse: Callable[[str], T]) -> T:
    """Return a value as ``parse`` reads it, or refuse what stood there."""
    try:
        return parse(value)
    except ValueError as error:
        raise invalid(field, f"is {shown(value)}", expected) from error


def one_of(choices: Iterable[str]) -> str:
    """Say what would be right where one of several is."""
    return f"one of {', '.join(choices)}"


def among(choices: Mapping[str, T], name_: str) -> T:
    """Return what is chosen by its name; raise ``ValueError`` where nothing is called so."""
    if name_ not in choices:
        raise ValueError(name_)
    return choices[name_]


def name(text: str) -> str:
    """Read a name; raise ``ValueError`` where none can be so."""
    if not is_name(text):
        raise ValueError(text)
    return text


def routed(event: dict[str, Any]) -> dict[str, Any]:
    """Return an HTTP API event with the path of its route, in which the variables are percent-encoded.

    ``rawPath`` as it comes is of no use: API Gateway decodes it, so that a slash in a variable looks like one between
    two, and cuts it at a question mark. An event without a route (of a server that has none) is left as it is.
    """
    _, _, template = event.get("routeKey", "").partition(" ")
    if not template:
        return event
    variables = event.get("pathParameters") or {}

    def encoded(variable: re.Match[str]) -> str:
        safe = "/" if variable["greedy"] else ""
        return quote(variables.get(variable["name"], ""), safe=safe, errors="surrogatepass")

    path = _VARIABLE.sub(encoded, template)
    return {**event, "rawPath": path, "requestContext": {**event["requestContext"], "stage": "$default"}}


def spellings(segment: str) -> tuple[str, ...]:
    """Return the names that a variable of the path can mean: decoded twice, which is the rule, then decoded once.

    Names in paths are encoded twice, as API Gateway decodes variables once and takes a slash in one for a separator.
    Without a slash and a percent sign, one encoding gives the same. Raises ``InvalidError`` for bytes that are no
    UTF-8: decoded loosely, different names would become one.
    """
    once = _decoded(segment)
    return tuple(dict.fromkeys((_decoded(once), once)))


def _decoded(text: str) -> str:
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError:
        decoded = REPLACEMENT
    if REPLACEMENT in decoded:
        raise invalid("path", f"holds {shown(text)}, which is no UTF-8", "names in UTF-8, encoded twice")
    return decoded


def names(field: str, segment: str) -> tuple[str, ...]:
    """Return the names that a variable of the path can mean, that by the rule first; refuse what can mean none.

    For reading alone: what is written goes to the one name that the rule gives.
    """
    possible = tuple(filter(is_name, spellings(segment)))
    if not possible:
        raise invalid(field, f"is {shown(plain(segment))}", NAME)
    return possible


def plain(segment: str) -> str:
    """Return a variable of the path by the rule: as it was before it was encoded twice."""
    return spellings(segment)[0]


def _whole(text: str, least: int, most: int) -> int:
    if not _WHOLE.fullmatch(text) or not least <= int(text) <= most:
        raise ValueError(text)
    return int(text)
