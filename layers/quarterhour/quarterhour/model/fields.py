"""Parsers for the fields of a JSON object in a request. All problems of the object are reported together."""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, TypeVar

from quarterhour.model import money, texts
from quarterhour.model.errors import FieldProblem, InvalidError, in_words
from quarterhour.model.identifiers import SEPARATOR
from quarterhour.model.instants import NoInstantError, parse_rfc_3339

Member = TypeVar("Member", bound=StrEnum)
MAX_TEXT: Final = 200
MAX_PROBLEMS: Final = 10
MAX_SHOWN: Final = 500
"""The longest message that is shown, in characters."""
_SHOWN: Final = 60
NAME: Final = f"1 to {MAX_TEXT} printable characters without {SEPARATOR!r}, and no blank at either end"
TEXT: Final = f"1 to {MAX_TEXT} printable characters"
AMOUNT: Final = f"a decimal of at most {money.MAX_DIGITS} digits, as a string or a number"
SHARE: Final = "a decimal from 0 to 1"
_MOST_PERCENT: Final = 100
_PERCENT_PLACES: Final = 10
PERCENT: Final = f"a decimal from 0 to {_MOST_PERCENT} with at most {_PERCENT_PLACES} places"
CURRENCY: Final = "an ISO 4217 code such as EUR"
LOCATION: Final = f"a path such as GB{SEPARATOR}London without an empty part"
KIND: Final = "1 to 50 lowercase letters, digits and underscores, a letter first"
OPENING: Final = "opening"
"""The kind of an adjustment that brings a balance forward."""
KIND_PATTERN: Final = re.compile(r"[a-z][a-z0-9_]{0,49}", re.ASCII)
SLUG: Final = "1 to 50 lower-case letters, digits and hyphens, none of which is first or last"
_SLUG: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,48}[a-z0-9])?", re.ASCII)
INSTANT: Final = "an RFC 3339 instant such as 2026-10-23T01:30:00Z"


class Fields:
    """The fields of one object, and their problems so far.

    ``prefix`` precedes each field's name in a problem. Several objects can share one list of ``problems``.
    """

    def __init__(self, values: Mapping[str, Any], prefix: str = "", problems: list[FieldProblem] | None = None) -> None:
        self._values = values
        self._prefix = prefix
        self.problems: list[FieldProblem] = [] if problems is None else problems

    def within(self, field: str, values: Mapping[str, Any]) -> "Fields":
        """Return the fields of an object in a field; both share one list of problems."""
        return Fields(values, f"{self._prefix}{field}.", self.problems)

    def problem(self, field: str, problem: str, expected: str) -> None:
        """Add a problem of a field."""
        self.problems.append(FieldProblem(self._prefix + field, problem, expected))

    def report_unknown(self, known: frozenset[str], hint: str = "", *, refused: frozenset[str] = frozenset()) -> None:
        """Add a problem for each field that is not ``known``; ``hint`` says where unknown data belongs.

        ``refused``: fields that have another problem if they are given.
        """
        for name in sorted(self._values.keys() - known - refused):
            self.problem(named(name), "is not known", f"one of {', '.join(sorted(known))}{hint}")

    def given(self, names: Collection[str]) -> list[str]:
        """Return those of these fields that have a value."""
        return sorted(name for name in names if self._values.get(name) is not None)

    def value(self, name: str, expected: str, read: Callable[[Any], Any], *, optional: bool = False) -> Any:  # noqa: ANN401
        """Return the parsed field; ``None``, with a problem added, if it is missing or invalid.

        ``read`` returns ``None`` for an invalid value, or raises ``ValueError`` with the problem. An ``optional`` field
        may be missing.
        """
        sent = self._values.get(name)
        if sent is None:
            if not optional:
                self.problem(name, "is missing", expected)
            return None
        try:
            value = read(sent)
        except ValueError as error:
            self.problem(name, str(error), expected)
            return None
        if value is None:
            self.problem(name, f"is {shown(sent)}", expected)
        return value


def bounded(problems: list[FieldProblem], expected: str) -> tuple[FieldProblem, ...]:
    """Return the first problems and the number of the others, so that one item cannot make a response too large."""
    more = len(problems) - MAX_PROBLEMS
    if more <= 0:
        return tuple(problems)
    return (*problems[:MAX_PROBLEMS], FieldProblem("", f"has {more} more problems", expected))


def refuse(problems: list[FieldProblem], expected: str) -> None:
    """Raise ``InvalidError`` if there are problems."""
    if problems:
        shortened = bounded(problems, expected)
        raise InvalidError(in_words(shortened), *shortened)


def shown(value: object) -> str:
    """Return a value as a message shows it: short and printable."""
    match value:
        case dict():
            return f"an object of {len(value)}"
        case list():
            return f"a list of {len(value)}"
        case bool():
            return "true" if value else "false"
        case Decimal() if not value.is_finite():
            return "not a finite number"
        case str():
            return _short(ascii(value), len(value))
        case _:
            return _short(number := str(value), len(number))


def named(name: str) -> str:
    """Return a field's name as a message shows it: short and printable."""
    return _short(ascii(name)[1:-1], len(name))


def printable(value: object, most: int = MAX_SHOWN) -> str:
    """Return a value as one line of at most ``most`` characters, with each unprintable character escaped."""
    text = str(value)
    cut = text if len(text) <= most else text[:most] + "..."
    if cut.isprintable():
        return cut
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in cut)


def _short(text: str, length: int) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({length} characters)"


def name_form(value: str, most: int = MAX_TEXT) -> str | None:
    """Return the form in which a name is stored and compared; ``None`` if it cannot be a part of a key."""
    form = texts.of_name(value)
    fits = 1 <= len(form) <= most and SEPARATOR not in form and form == form.strip(" ") and texts.is_visible(form)
    return form if fits else None


def is_name(value: str, most: int = MAX_TEXT) -> bool:
    """Return whether a part of a key, such as an agency, can have this name, in this form."""
    return name_form(value, most) == value


def name(value: object) -> str | None:
    """Parse a name, which can be a part of a key, into its one form."""
    return name_form(value) if isinstance(value, str) else None


def is_slug(text: str) -> bool:
    """Return whether a text is a name such as ``shop-2``, which subscriptions and connections have."""
    return _SLUG.fullmatch(text) is not None


def label(value: object) -> str | None:
    """Parse a line of text that identifies or groups, such as a category, into its one form."""
    if not isinstance(value, str):
        return None
    line = texts.with_single_blanks(value)
    return line if 1 <= len(line) <= MAX_TEXT and texts.is_visible(line) else None


def text(value: object) -> str | None:
    """Parse a line of text that describes something: visible, with single blanks, cut at ``MAX_TEXT`` characters.

    Returns ``None`` if nothing is left to see.
    """
    return (texts.described(value, MAX_TEXT) or None) if isinstance(value, str) else None


def kind(value: object) -> str | None:
    """Parse the name of a kind, such as ``chargeback_fee``."""
    return value if isinstance(value, str) and KIND_PATTERN.fullmatch(value) else None


def member(of: type[Member]) -> Callable[[object], Member | None]:
    """Return what parses a member of an enumeration of texts."""
    return lambda value: of(value) if isinstance(value, str) and value in set(of) else None


def location(value: object) -> str | None:
    """Parse a location, such as ``GB#London``: its parts from the largest to the smallest.

    It is a part of keys, so it refuses line breaks and other controls, as names do.
    """
    if not isinstance(value, str) or not texts.is_visible(texts.of_name(value)):
        return None
    parts = list(map(label, value.split(SEPARATOR)))
    path = SEPARATOR.join(filter(None, parts))
    return path if all(parts) and len(path) <= MAX_TEXT else None


def decimal_text(value: object) -> str | None:
    """Parse a decimal into the text that is stored: without exponent, with the scale that was sent."""
    decimal = money.parse_decimal(value)
    return None if decimal is None else money.plain(decimal)


def whole(value: object) -> int | None:
    """Parse a whole number of 0 or more."""
    number = money.parse_decimal(value) if isinstance(value, Decimal) else None
    return int(number) if number is not None and number >= 0 and number == int(number) else None


def share(value: object) -> Decimal | None:
    """Parse a decimal from 0 to 1."""
    decimal = money.parse_decimal(value)
    return decimal if decimal is not None and 0 <= decimal <= 1 else None


def percent(value: object) -> Decimal | None:
    """Parse a percentage with a limited number of places."""
    decimal = money.parse_decimal(value)
    fits = decimal is not None and 0 <= decimal <= _MOST_PERCENT and money.places(decimal) <= _PERCENT_PLACES
    return decimal if fits else None


def currency(value: object) -> str | None:
    """Parse the code of a currency."""
    return str(value) if money.is_currency(value) else None


def currency_of_account(text: str) -> str:
    """Return the currency of an account, XXX for views; raise ``ValueError`` if there is no such currency."""
    if text != money.NO_CURRENCY and currency(text) is None:
        raise ValueError(text)
    return text


def instant(value: object) -> datetime | None:
    """Parse an RFC 3339 instant into UTC; raise ``NoInstantError`` for one that does not exist."""
    if not isinstance(value, str):
        return None
    try:
        return parse_rfc_3339(value)
    except NoInstantError as error:
        raise NoInstantError(f"is {shown(value)}, which {error}") from error
    except ValueError:
        return None
