"""Schedule expressions as EventBridge Scheduler takes them, in UTC: checked, and when they fire.

``rate(30 minutes)``, or ``cron(minutes hours day-of-month month day-of-week year)`` without what names single days of
a month (``L``, ``W``, ``#``): reports run at least every nine days, so no expression that is taken could use it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise, takewhile
from typing import Final, Protocol

SHORTEST: Final = timedelta(minutes=15)
"""The least between two firings: a quarter-hour's length."""
LONGEST: Final = timedelta(days=9)
"""The most between two firings: quarter-hour counters, which each report is held against, are kept 14 days at least."""
EXPECTED: Final = "a schedule such as rate(15 minutes), rate(1 hour), rate(9 days) or cron(0 8 ? * MON-FRI *)"

_LONGEST_TEXT: Final = 256
"""Characters that the service takes."""
_RATE: Final = re.compile(r"rate\(([1-9][0-9]{0,4}) (minute|hour|day)(s?)\)")
_CRON: Final = re.compile(r"cron\(([^ ()]+(?: [^ ()]+){5})\)")
_UNITS: Final = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_ANY: Final = "?"
_ALL: Final = "*"
# Long enough for every way in which the days of months and of weeks can follow each other.
_CALENDAR: Final = [date(2024, 1, 1) + number * _DAY for number in range(4 * 366)]


class ExpressionError(ValueError):
    """What stands in an expression cannot be: ``problem`` says what, ``expected`` what would be right."""

    def __init__(self, problem: str, expected: str) -> None:
        super().__init__(f"the schedule {problem}: expected {expected}")
        self.problem = problem
        self.expected = expected


class Expression(Protocol):
    """When a schedule fires."""

    def after(self, instant: datetime, since: datetime = _EPOCH) -> datetime:
        """Return the first firing later than the instant; a rate counts from when it was set, ``since``."""

    def firings(self, start: datetime, end: datetime) -> float:
        """Return how many firings lie after ``start`` and up to ``end``; of a rate, how many it has time for."""


@dataclass(frozen=True, slots=True)
class FixedRate:
    """Fires once in each period, counted from when it was set."""

    period: timedelta

    def after(self, instant: datetime, since: datetime = _EPOCH) -> datetime:
        """Return the first firing later than the instant."""
        return instant + self.period - (instant - since) % self.period

    def firings(self, start: datetime, end: datetime) -> float:
        """Return how many periods lie between the instants."""
        return max(0.0, (end - start) / self.period)


@dataclass(frozen=True, slots=True)
class Cron:
    """Fires at times of the day (since midnight, rising), on days of the month or of the week (1 is Sunday)."""

    times: tuple[timedelta, ...]
    month_days: frozenset[int]
    week_days: frozenset[int]

    def after(self, instant: datetime, since: datetime = _EPOCH) -> datetime:  # noqa: ARG002 - a rate needs it
        """Return the first firing later than the instant."""
        midnight = datetime.combine(instant.astimezone(UTC), time(), UTC)
        later = bisect_right(self.times, instant - midnight)
        if later < len(self.times) and self.falls_on(midnight.date()):
            return midnight + self.times[later]
        midnight += _DAY
        while not self.falls_on(midnight.date()):
            midnight += _DAY
        return midnight + self.times[0]

    def firings(self, start: datetime, end: datetime) -> float:
        """Return how many firings lie after the start and up to the end."""
        return float(sum(1 for _ in takewhile(lambda firing: firing <= end, upcoming(self, start))))

    def falls_on(self, day: date) -> bool:
        """Tell whether it fires on a day."""
        return day.day in self.month_days and day.isoweekday() % 7 + 1 in self.week_days

    def gaps(self) -> Iterator[timedelta]:
        """Yield every span of time that can lie between two firings."""
        yield from (later - earlier for earlier, later in pairwise(self.times))
        overnight = self.times[0] - self.times[-1]
        days = filter(self.falls_on, _CALENDAR)
        yield from (later - earlier + overnight for earlier, later in pairwise(days))


def upcoming(expression: Expression, instant: datetime, since: datetime = _EPOCH) -> Iterator[datetime]:
    """Yield the firings later than the instant, without end."""
    while True:
        instant = expression.after(instant, since)
        yield instant


def parse(text: str) -> Expression:
    """Read an expression; raise ``ExpressionError`` where it is none, or fires too often or too seldom."""
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
    """Return an expression as it is written; raise ``ExpressionError`` where ``parse`` does."""
    parse(text)
    return text


def _bound(shortest: timedelta, longest: timedelta) -> None:
    if shortest < SHORTEST:
        raise ExpressionError(f"fires again after {_span(shortest)}", f"at least {_span(SHORTEST)} between two firings")
    if longest > LONGEST:
        raise ExpressionError(f"leaves {_span(longest)} without a report", f"at most {_span(LONGEST)} between two")


def _span(span: timedelta) -> str:
    """Say a span of time: ``15 minutes``, ``9 days``, ``9 days and 30 minutes``."""
    days, rest = divmod(span, _DAY)
    parts = ((days, "day"), (rest // timedelta(minutes=1), "minute"))
    return " and ".join(f"{number} {unit}{'' if number == 1 else 's'}" for number, unit in parts if number)


# ---------------------------------------------------------------- the fields of cron


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a cron expression: its bounds, the names that its values have, what it may hold."""

    name: str
    low: int
    high: int
    expected: str
    names: tuple[str, ...] = ()
    steps: bool = True

    def values(self, text: str) -> frozenset[int]:
        """Read a field's values."""
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
        """Return the error that tells what cannot stand in the field."""
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
