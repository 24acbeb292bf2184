"""Parsers for instants and days in requests, and the years that Quarterhour supports."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, TypeVar

from quarterhour.model.clock import parse_iso
from quarterhour.model.periods import Period

Dated = TypeVar("Dated", bound=date)

YEARS: Final = (1970, 9998)
"""The first and the last supported year: of four digits, so that keys sort as text, with one year to spare."""
ALWAYS: Final = datetime(YEARS[0], 1, 1, tzinfo=UTC), datetime(YEARS[1] + 1, 1, 1, tzinfo=UTC)
"""The span of all supported instants: the default of a request without ``from`` and ``to``."""
DAY: Final = f"a date such as 2026-10-23, of the years {YEARS[0]} to {YEARS[1]}"

MONTH: Final = f"a month such as 2026-10, of the years {YEARS[0]} to {YEARS[1]}"

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_RFC_3339: Final = re.compile(
    r"(?P<minute>[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ](?P<hour>[0-9]{2}):[0-9]{2}:)(?P<second>[0-9]{2})"
    r"(?:(?P<fraction>\.[0-9]{1,6})[0-9]*)?(?P<offset>[Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])",
    re.ASCII,
)
_LEAP: Final = "60"
_ENDS_OF_HALVES: Final = {(6, 30), (12, 31)}
_LAST_MINUTE: Final = (23, 59)


class NoInstantError(ValueError):
    """A text has the form of an RFC 3339 instant, but names none; the message says why."""


def parse_rfc_3339(text: str) -> datetime:
    """Parse an RFC 3339 instant of any year into UTC; what is finer than a microsecond is cut.

    A leap second is the second before it: it belongs to the day that it ends. Raises ``NoInstantError`` for an instant
    that does not exist, and ``ValueError`` for any other text.
    """
    match = _RFC_3339.fullmatch(text)
    if not match:
        raise ValueError(text)
    minute, hour, second, fraction, offset = match.group("minute", "hour", "second", "fraction", "offset")
    if hour == "24":
        raise NoInstantError("has the hour 24: the end of a day is 00:00:00 of the next one")
    is_leap = second == _LEAP
    try:
        at = parse_iso(f"{minute}{'59' if is_leap else second}{fraction or ''}{offset}".upper())
    except ValueError as error:
        raise NoInstantError("names no day and time of the years 1 to 9999") from error
    if is_leap and ((at.hour, at.minute) != _LAST_MINUTE or (at.month, at.day) not in _ENDS_OF_HALVES):
        raise NoInstantError("has the second 60, which only ends 30 June and 31 December, at 23:59:60 UTC")
    return at


def day(text: str) -> date:
    """Parse a date of the supported years; raise ``ValueError`` for any other text."""
    if not _DAY.fullmatch(text):
        raise ValueError(text)
    return _supported(date.fromisoformat(text))


def month(text: str) -> Period:
    """Parse a month of the supported years; raise ``ValueError`` for any other text."""
    return Period.of(day(f"{text}-01"))


def midnight(text: str) -> datetime:
    """Parse a date of the supported years into its midnight UTC; raise ``ValueError`` for any other text."""
    return datetime.combine(day(text), time(), tzinfo=UTC)


def instant(text: str) -> datetime:
    """Parse an RFC 3339 instant of the supported years into UTC; raise ``ValueError`` for any other text."""
    return _supported(parse_rfc_3339(text))


def moment(text: str) -> datetime:
    """Parse an instant, or a date into its midnight UTC; raise ``ValueError`` for any other text."""
    return midnight(text) if _DAY.fullmatch(text) else instant(text)


def rounded_up(at: datetime, unit: timedelta) -> datetime:
    """Return the first multiple of the unit at or after the instant; ``unit`` must divide a day."""
    start = at.replace(hour=0, minute=0, second=0, microsecond=0)
    return start - (start - at) // unit * unit


def _supported(at: Dated) -> Dated:
    if not YEARS[0] <= at.year <= YEARS[1]:
        raise ValueError(f"{at} is out of range")
    return at
