"""Schedule expressions of EventBridge Scheduler, in UTC: their validation and their firings.

An expression is ``rate(30 minutes)`` or ``cron(minutes hours day-of-month month day-of-week year)``. ``L``, ``W`` and
``#`` are not supported: they select single days of a month, but reports must run at least every nine days.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise, takewhile
from typing import Final, Protocol

SHORTEST: Final = timedelta(minutes=15)
"""The minimum time between two firings: the length of a quarter-hour."""
LONGEST: Final = timedelta(days=9)
"""The maximum time between two firings: reports are compared with counters, which are kept for at least 14 days."""
EXPECTED: Final = "a schedule such as rate(15 minutes), rate(1 hour), rate(9 days) or cron(0 8 ? * MON-FRI *)"

_LONGEST_TEXT: Final = 256
"""The maximum number of characters of EventBridge Scheduler."""
_RATE: Final = re.compile(r"rate\(([1-9][0-9]{0,4}) (minute|hour|day)(s?)\)")
_CRON: Final = re.compile(r"cron\(([^ ()]+(?: [^ ()]+){5})\)")
_UNITS: Final = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_ANY: Final = "?"
_ALL: Final = "*"
# Four years hold every sequence of days of months and of weeks that matters for the gaps between firings.
_CALENDAR: Final = [date(2024, 1, 1) + number * _DAY for number in range(4 * 366)]


class ExpressionError(ValueError):
    """An expression is invalid: ``problem`` says why, ``expected`` what is valid."""

    def __init__(self, problem: str, expected: str) -> None:
        super().__init__(f"the schedule {problem}: expected {expected}")
        self.problem = problem
        self.expected = expected


class Expression(Protocol):
    """A parsed expression, which determines when a schedule fires."""

    def after(self, instant: datetime, since: datetime = _EPOCH) -> datetime:
        """Return the first firing after the instant; a rate counts from ``since``, when the schedule was changed."""

    def firings(self, start: datetime, end: datetime) -> float:
        """Return the number of firings after ``start`` and up to ``end``; for a rate, the number of periods."""


@dataclass(frozen=True, slots=True)
class FixedRate:
    """Fires once per period, counted from the last change of the schedule."""

    period: timedelta

    def after(self, instant: datetime, since: datetime = _EPOCH) -> datetime:
        """Return the first firing after the instant."""
        return instant + self.period - (instant - since) % self.period

    def firings(self, start: datetime, end: datetime) -> float:
        """Return the number of periods between the instants, with a fraction."""
        return max(0.0, (end - start) / self.period)


@dataclass(frozen=True, slots=True)
class Cron:
    """Fires at times of the day (since midnight, ascending), on days of the month and of the week (1 is Sunday)."""

    times: tuple[timedelta, ...]
    month_days: frozenset[int]
    week_days: frozenset[int]

    def after(self, instant: datetime, since: datetime = _EPOCH) -> datetime:  # noqa: ARG002 - only a rate needs it
        """Return the first firing after the instant."""
        midnight = datetime.combine(instant.astimezone(UTC), time(), UTC)
        later = bisect_right(self.times, instant - midnight)
        if later < len(self.times) and self.fires_on(midnight.date()):
            return midnight + self.times[later]
        midnight += _DAY
        while not self.fires_on(midnight.date()):
            midnight += _DAY
        return midnight + self.times[0]

    def firings(self, start: datetime, end: datetime) -> float:
        """Return the number of firings after ``start`` and up to ``end``."""
        return float(sum(1 for _ in takewhile(lambda firing: firing <= end, upcoming(self, start))))

    def fires_on(self, day: date) -> bool:
        """Return whether the schedule fires on a day."""
        return day.day in self.month_days and day.isoweekday() % 7 + 1 in self.week_days

    def gaps(self) -> Iterator[timedelta]:
        """Yield every possible time between two consecutive firings."""
        yield from (later - earlier for earlier, later in pairwise(self.times))
        overnight = self.times[0] - self.times[-1]
        days = filter(self.fires_on, _CALENDAR)
        yield from (later - earlier + overnight for earlier, later in pairwise(days))


def upcoming(expression: Expression, instant: datetime, since: datetime = _EPOCH) -> Iterator[datetime]:
    """Yield the firings after the instant, without end."""
    while True:
        instant = expression.after(instant, since)
        yield instant


def parse(text: str) -> Expression:
    """Parse an expression; raise ``ExpressionError`` if it is invalid, or fires too often or too seldom."""
    if len(text) > _LONGEST_TEXT:
        raise ExpressionError(f"has {len(text)} characters", f"at most {_LONGEST_TEXT}")
    if match := _RATE.fullmatch(text):
        number, unit, plural = match.groups()
        if (number == "1") == bool(plural):
            raise ExpressionError(f"says {number} {unit}{plural}", "1 hour, but 2 hours")
        rate = FixedRate(int(number) * _UNITS[unit])
        _bound(rate.period, rate.period)
        return rate
    if match := _CRON.fullmatch(text):
        cron = _cron(*match[1].split(" "))
        gaps = list(cron.gaps())
        _bound(min(gaps), max(gaps))
        return cron
    raise ExpressionError("is neither a rate nor a cron of six fields", EXPECTED)


def checked(text: str) -> str:
    """Return an expression unchanged; raise ``ExpressionError`` if ``parse`` does."""
    parse(text)
    return text


def _bound(shortest: timedelta, longest: timedelta) -> None:
    if shortest < SHORTEST:
        raise ExpressionError(f"fires again after {_span(shortest)}", f"at least {_span(SHORTEST)} between two firings")
    if longest > LONGEST:
        raise ExpressionError(f"leaves {_span(longest)} without a report", f"at most {_span(LONGEST)} between two")


def _span(span: timedelta) -> str:
    """Format a duration: ``15 minutes``, ``9 days``, ``9 days and 30 minutes``."""
    days, rest = divmod(span, _DAY)
    parts = ((days, "day"), (rest // timedelta(minutes=1), "minute"))
    return " and ".join(f"{number} {unit}{'' if number == 1 else 's'}" for number, unit in parts if number)


# ---------------------------------------------------------------- the fields of cron


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a cron expression: its bounds, the names of its values, and whether it allows steps (``/``)."""

    name: str
    low: int
    high: int
    expected: str
    names: tuple[str, ...] = ()
    steps: bool = True

    def values(self, text: str) -> frozenset[int]:
        """Parse a field into the set of its values."""
        return frozenset(value for part in text.split(",") for value in self._part(part))

    def _part(self, part: str) -> range:
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        low = self.low if span == _ALL else self._value(first, part)
        high = self._value(last, part) if dash else self.high if slash or span == _ALL else low
        every = int(step) if re.fullmatch("[0-9]{1,2}", step) else 0
        if low > high or (slash and not (self.steps and 1 <= every <= self.high)):
            raise self.problem(part)
        return range(low, high + 1, every or 1)

    def _value(self, text: str, part: str) -> int:
        if text in self.names:
            return self.low + self.names.index(text)
        if re.fullmatch("[0-9]{1,4}", text) and self.low <= int(text) <= self.high:
            return int(text)
        raise self.problem(part)

    def problem(self, part: str) -> ExpressionError:
        """Return the error for an invalid part of the field."""
        return ExpressionError(f"has {part!a} as {self.name}", self.expected)


_WEEK: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_YEAR: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_MINUTES: Final = _Field("minutes", 0, 59, "0 to 59, as in 0 or 0,30 or 5/20")
_HOURS: Final = _Field("hours", 0, 23, "0 to 23, as in 8 or 6-18 or 0/4 or *")
_MONTH_DAYS: Final = _Field("day-of-month", 1, 31, "1 to 31, as in 1,8,15,22,29 or */2 or *, or ? (but no L or W)")
_MONTHS: Final = _Field("month", 1, 12, "*, as reports run in every month", _YEAR)
_WEEK_DAYS: Final = _Field(
    "day-of-week", 1, 7, "1 to 7 or SUN to SAT, as in MON-FRI or TUE,SAT or *, or ? (but no L or #)", _WEEK, steps=False
)
_YEARS: Final = _Field("year", 1970, 2199, "*, as reports run in every year")


def _cron(*texts: str) -> Cron:
    minutes, hours, month_day, month, week_day, year = texts
    if (month_day == _ANY) == (week_day == _ANY):
        raise ExpressionError(
            f"has {month_day!a} as day-of-month and {week_day!a} as day-of-week", "? as one of them, not both"
        )
    for field, text in ((_MONTHS, month), (_YEARS, year)):
        if len(field.values(text)) <= field.high - field.low:
            raise field.problem(text)
    times = sorted(
        timedelta(hours=hour, minutes=minute) for hour in _HOURS.values(hours) for minute in _MINUTES.values(minutes)
    )
    return Cron(
        tuple(times),
        _MONTH_DAYS.values(_ALL if month_day == _ANY else month_day),
        _WEEK_DAYS.values(_ALL if week_day == _ANY else week_day),
    )
