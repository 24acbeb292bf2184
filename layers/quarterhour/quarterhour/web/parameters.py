"""Parsers for the variables of a path and for query parameters.

Each raises ``InvalidError``, which names the parameter, its value and what is expected.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

from quarterhour.model import fields, texts
from quarterhour.model.errors import FieldProblem, InvalidError, in_words
from quarterhour.model.fields import NAME, is_name, named, shown
from quarterhour.model.instants import YEARS, NoInstantError
from quarterhour.web.paging import DEFAULT_LIMIT, MAX_LIMIT, Ordered, Paging, request_name

T = TypeVar("T")
OrderedT = TypeVar("OrderedT", bound=Ordered)

_REPLACEMENT: Final = "\ufffd"
"""The character that decoders put in place of bytes that are not UTF-8: two names with it may have been different."""
_WHOLE: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_VARIABLE: Final = re.compile(r"\{(?P<name>\w+)(?P<greedy>\+?)\}")
PAGE: Final = ("limit", "next")
"""The names of the parameters of paging."""

INSTANT: Final = (
    f"an RFC 3339 instant such as 2026-10-23T01:30:00Z, of the years {YEARS[0]} to {YEARS[1]} (write + as %2B)"
)
MOMENT: Final = f"{INSTANT}, or a date, which is its midnight UTC"


@dataclass(frozen=True, slots=True)
class Parameters:
    """The query parameters of a request, and its path."""

    path: str
    values: Mapping[str, str]

    def allow(self, *names: str) -> None:
        """Refuse any other parameter."""
        for other in sorted(self.values.keys() - set(names)):
            raise invalid(named(other), "is not known here", f"one of {', '.join(names)}" if names else "no parameters")

    def choose(self, choices: Mapping[str, tuple[str, ...]], *others: str) -> str:
        """Return which one of several alternative parameters was sent; refuse a combination of them.

        ``choices`` maps each alternative to the parameters that it allows. ``others`` are always allowed.
        """
        chosen = [name for name in choices if name in self.values]
        if not chosen:
            raise invalid(next(iter(choices)), "is missing", f"one of {', '.join(choices)}")
        for name in chosen[1:]:
            raise invalid(name, f"cannot be combined with {chosen[0]}", f"one of {', '.join(choices)}")
        self.allow(*others, *choices[chosen[0]])
        return chosen[0]

    def required(self, field: str, expected: str, parse: Callable[[str], T]) -> T:
        """Return a parameter as ``parse`` converts it; ``parse`` raises ``ValueError`` for an invalid text."""
        if field not in self.values:
            raise invalid(field, "is missing", expected)
        return parsed(field, self.values[field], expected, parse)

    def optional(self, field: str, expected: str, parse: Callable[[str], T], default: T) -> T:
        """Return a parameter as ``parse`` converts it, or the default if it is missing."""
        return self.required(field, expected, parse) if field in self.values else default

    def whole(self, field: str, minimum: int, maximum: int, default: int) -> int:
        """Return a whole number within bounds, or the default if it is missing."""
        expected = f"a whole number from {minimum} to {maximum}"
        return self.optional(field, expected, lambda text: _whole(text, minimum, maximum), default)

    def span(
        self, expected: str, parse: Callable[[str], OrderedT], default: tuple[OrderedT, OrderedT] | None = None
    ) -> tuple[OrderedT, OrderedT]:
        """Return ``from`` (inclusive) and ``to`` (exclusive), each of which has a default or must be sent."""
        if default is None:
            start, end = (self.required(field, expected, parse) for field in ("from", "to"))
        else:
            first, last = default
            start, end = self.optional("from", expected, parse, first), self.optional("to", expected, parse, last)
        if not start <= end:
            raise invalid("from", "is after to", "an earlier one, or the same")
        return start, end

    def paging(self, field: str = "limit") -> Paging:
        """Return the requested page, from ``next`` and the parameter ``field`` with the number of items."""
        limit = self.whole(field, 1, MAX_LIMIT, DEFAULT_LIMIT)
        return Paging.of(request_name(self.path, self.values), limit, self.values.get("next"))


def invalid(field: str, problem: str, expected: str) -> InvalidError:
    """Return the error for an invalid parameter."""
    invalid_field = FieldProblem(field, problem, expected)
    return InvalidError(in_words([invalid_field]), invalid_field)


def parsed(field: str, value: str, expected: str, parse: Callable[[str], T]) -> T:
    """Return a value as ``parse`` converts it; raise ``InvalidError`` if that raises ``ValueError``."""
    try:
        return parse(value)
    except NoInstantError as error:
        raise invalid(field, f"is {shown(value)}, which {error}", expected) from error
    except ValueError as error:
        raise invalid(field, f"is {shown(value)}", expected) from error


def one_of(choices: Iterable[str]) -> str:
    """Return the expectation of one of several values, for a message."""
    return f"one of {', '.join(choices)}"


def among(choices: Mapping[str, T], name_: str) -> T:
    """Return the choice of that name; raise ``ValueError`` if there is none."""
    if name_ not in choices:
        raise ValueError(name_)
    return choices[name_]


def name(text: str) -> str:
    """Return a name; raise ``ValueError`` if it cannot be a part of a key, or was decoded with a loss."""
    found = fields.name(text)
    if found is None or _REPLACEMENT in found:
        raise ValueError(text)
    return found


def text(value: str) -> str:
    """Return a line of text; raise ``ValueError`` if it is none, or was decoded with a loss."""
    found = fields.label(value)
    if found is None or _REPLACEMENT in found:
        raise ValueError(value)
    return found


def path_of(event: dict[str, Any]) -> str:
    """Return the path of an HTTP API event: its route's, with the variables percent-encoded.

    ``rawPath`` itself is ambiguous: API Gateway decodes it, so a slash inside a variable looks like a separator, and
    cuts it at a question mark. It is the path of an event without a route, of a server that has none.
    """
    _, _, template = event.get("routeKey", "").partition(" ")
    if not template:
        return str(event["rawPath"])
    variables = event.get("pathParameters") or {}

    def encoded(variable: re.Match[str]) -> str:
        safe = "/" if variable["greedy"] else ""
        return quote(variables.get(variable["name"], ""), safe=safe, errors="surrogatepass")

    return _VARIABLE.sub(encoded, template)


def spellings(segment: str) -> tuple[str, ...]:
    """Return the names that a variable of the path can mean: decoded twice, which is the rule, and decoded once.

    Clients encode names in paths twice, because API Gateway decodes variables once and takes a slash for a separator.
    For a name without a slash or a percent sign, one encoding is enough. Raises ``InvalidError`` if the bytes are not
    UTF-8: a lenient decoder would make one name of different ones.
    """
    once = _unquoted(segment)
    try:
        return tuple(dict.fromkeys((_unquoted(once), once)))
    except InvalidError:
        return (once,)  # such as 30%faster, encoded once


def _unquoted(text: str) -> str:
    try:
        unquoted = unquote(text, errors="strict")
    except UnicodeDecodeError:
        unquoted = _REPLACEMENT
    if _REPLACEMENT in unquoted:
        raise invalid("path", f"holds {shown(text)}, which is not UTF-8", "names in UTF-8, encoded twice")
    return texts.of_name(unquoted)


def names(field: str, segment: str) -> tuple[str, ...]:
    """Return the valid names that a variable of the path can mean (see ``spellings``), by precedence.

    Raises ``InvalidError`` if there is none. Only reads try several names; a write always uses ``decoded``.
    """
    possible = tuple(filter(is_name, spellings(segment)))
    if not possible:
        raise invalid(field, f"is {shown(spellings(segment)[0])}", NAME)
    return possible


def decoded(segment: str) -> str:
    """Return a variable of the path, decoded twice; raise ``InvalidError`` if its bytes are not UTF-8."""
    return _unquoted(_unquoted(segment))


def _whole(text: str, minimum: int, maximum: int) -> int:
    if not _WHOLE.fullmatch(text) or not minimum <= int(text) <= maximum:
        raise ValueError(text)
    return int(text)
