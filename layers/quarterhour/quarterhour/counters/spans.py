"""The spans that the overview compares, pure: one that lasts until now, and one before it up to the same point."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from quarterhour.counters.plan import Retention
from quarterhour.model.clock import iso_seconds
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import LENGTH, QuarterHour

if TYPE_CHECKING:
    from quarterhour.counters import api

MAX_DAYS: Final = 366
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ComparedSpan:
    """A span of time. It begins at midnight UTC, and ends before ``end``, at a quarter-hour's end."""

    start: datetime
    end: datetime

    def holds(self, day: date) -> bool:
        """Return whether a day, or a part of it, is in the span."""
        return self.start <= _midnight(day) < self.end

    @property
    def last_day(self) -> date:
        """The day that holds the last instant; of an empty span, the day before."""
        return (self.end - LENGTH).date()

    @property
    def part_day(self) -> date | None:
        """The last day, if the span ends within it."""
        return None if self.end == _midnight(self.end.date()) else self.end.date()


@dataclass(frozen=True, slots=True)
class Spans:
    """Two spans to compare. ``complete``: whether the counters of all days of the earlier one are kept."""

    now: ComparedSpan
    before: ComparedSpan
    complete: bool = True

    def body(self) -> "api.ComparedSpans":
        """Return the spans as the API shows them."""
        return {
            "from": iso_seconds(self.now.start),
            "to": iso_seconds(self.now.end),
            "before_from": iso_seconds(self.before.start),
            "before_to": iso_seconds(self.before.end),
            "before_complete": self.complete,
        }

    def kept(self, retention: Retention, now: datetime) -> "Spans":
        """Return the spans as far as there are counters of them.

        If the quarter-hours of the earlier span's last day have expired, both spans end at the midnight before.
        """
        complete = self.before.start + _DAY > now - retention.day
        part = self.before.part_day
        if part is None or QuarterHour.first_of(part).end > now - retention.quarter_hour:
            return replace(self, complete=complete)
        return Spans(_whole_days(self.now), _whole_days(self.before), complete)


def calendar_spans(name: str, now: datetime) -> Spans:
    """Return the span of a range up to the present quarter-hour's end, and the span before to the same point.

    If the range before is shorter, as February is, its span ends with it. Raises ``ValueError`` for another name.
    """
    if name not in RANGES:
        raise ValueError(name)
    start, before = _BEGINNINGS[name](now.date())
    return _compared(start, before, QuarterHour.at(now).end)


def day_spans(first: date, end: date, now: datetime) -> Spans:
    """Return the span from a day to before another, and the same number of days before it to the same point."""
    present = QuarterHour.at(now).end
    return _compared(first, first - (end - first), min(_midnight(end), max(_midnight(first), present)))


def _compared(start: date, before: date, end: datetime) -> Spans:
    now = ComparedSpan(_midnight(start), end)
    earlier = _midnight(before)
    return Spans(now, ComparedSpan(earlier, min(now.start, earlier + (end - now.start))))


def _whole_days(span: ComparedSpan) -> ComparedSpan:
    return replace(span, end=_midnight(span.end.date()))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def _week(day: date) -> tuple[date, date]:
    monday = day - day.weekday() * _DAY
    return monday, monday - 7 * _DAY


def _month(day: date) -> tuple[date, date]:
    month = Period.of(day)
    return month.first_day, month.previous.first_day


def _calendar_quarter(day: date) -> tuple[date, date]:
    first = Period.of(day.replace(day=1, month=1 + (day.month - 1) // 3 * 3))
    return first.first_day, first.previous.previous.previous.first_day


def _year(day: date) -> tuple[date, date]:
    first = day.replace(day=1, month=1)
    return first, first.replace(year=first.year - 1)


_BEGINNINGS: Final = {"week": _week, "month": _month, "quarter": _calendar_quarter, "year": _year}
RANGES: Final = tuple(_BEGINNINGS)
"""The names of the spans of the calendar, in UTC. A week begins on Monday."""
