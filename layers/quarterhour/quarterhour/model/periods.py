"""Periods: calendar months in the marketplace's time zone, and the period in which an event counts."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final, Self

ZONE: Final = "a time zone of the tz database such as Europe/London, or UTC"
PERIOD: Final = "a month such as 2026-11"
_PERIOD: Final = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])", re.ASCII)
_OF_A_MACHINE: Final = re.compile(r"(?:localtime|posixrules|Factory)\Z|posix/|right/")
"""Names beside the zones, which some machines have."""
_DECEMBER: Final = 12


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A calendar month: ``2026-11``. Periods compare by time, and so do their texts."""

    year: int
    month: int

    @classmethod
    def of(cls, day: date) -> Self:
        """Return the month of a day; of an instant, the month in the instant's own time zone."""
        return cls(day.year, day.month)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``YYYY-MM``; raise ``ValueError`` for any other text."""
        if not _PERIOD.fullmatch(text):
            raise ValueError(f"{text!r} is not a month: write YYYY-MM")
        return cls(int(text[:4]), int(text[5:]))

    def __str__(self) -> str:
        """Return the text, ``YYYY-MM``."""
        return _text(self.year, self.month)

    @property
    def first_day(self) -> date:
        """The first day of the month."""
        return date(self.year, self.month, 1)

    @property
    def last_day(self) -> date:
        """The last day of the month."""
        return self.next.first_day - timedelta(days=1)

    @property
    def next(self) -> "Period":
        """The month after this one."""
        return Period(self.year + 1, 1) if self.month == _DECEMBER else Period(self.year, self.month + 1)

    @property
    def previous(self) -> "Period":
        """The month before this one."""
        return Period(self.year - 1, _DECEMBER) if self.month == 1 else Period(self.year, self.month - 1)


def time_zone(name: str) -> tzinfo:
    """Return the time zone of a name in the tz database; raise ``ValueError`` if there is none."""
    if name == "UTC":
        return UTC
    # Imported for zones alone, so that a function in UTC starts without it.
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    if not _OF_A_MACHINE.match(name):
        with suppress(KeyError, ValueError, OSError):
            return ZoneInfo(name)
    raise ValueError(f"{name!r} is no time zone")


def day_in(zone: tzinfo, instant: datetime) -> date:
    """Return the day of an instant in a time zone."""
    try:
        return instant.astimezone(zone).date()
    except OverflowError:  # before the year 1 or after 9999 in that zone
        return instant.date()


def start_of(day: date, zone: tzinfo) -> datetime:
    """Return the instant, in UTC, at which a day begins in a time zone.

    Where clocks skip midnight, it is the day's first instant; where they show it twice, the first of the two.
    """
    midnight = datetime.combine(day, time(), zone)
    try:
        return midnight.astimezone(UTC)
    except OverflowError:  # before the year 1 or after 9999 in UTC
        return midnight.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Calendar:
    """The deployment's settings for periods.

    ``zone``: the marketplace's time zone. ``grace_days``: local days from the end of a period to its cut-off.
    ``first_period``: the first period with statements; ``None`` if every period may have them. ``others``: the
    calendars of other times.
    """

    zone: tzinfo = UTC
    grace_days: int = 3
    first_period: Period | None = None
    others: tuple["Calendar", ...] = field(default=(), compare=False, repr=False)

    def period_of(self, at: datetime | None, recorded_at: datetime) -> tuple[Period, bool]:
        """Return the period of an event, and whether the event belongs to an earlier one that is cut off.

        ``at`` is the event's own time, ``None`` if it has none. The same event recorded at the same instant always has
        the same period.
        """
        current = self.month_of(recorded_at)
        month = current if at is None else self.month_of(at)
        if self.first_period and month < self.first_period:
            return min(month, current), False
        if month >= current:
            return current, False
        earliest = self._earliest_open(current, recorded_at)
        return (earliest, True) if month < earliest else (month, False)

    def cut_off(self, period: Period) -> datetime:
        """Return the instant, in UTC, from which events of a period count in a later one."""
        return _cut_off(self.zone, self.grace_days, period)

    def starts(self, period: Period) -> datetime:
        """Return the instant, in UTC, at which a period begins in the marketplace's time zone."""
        return _cut_off(self.zone, 0, period.previous)

    def earliest_open(self, instant: datetime) -> Period:
        """Return the earliest month of events recorded from an instant on, by whichever calendar."""
        return min(one._earliest_open(one.month_of(instant), instant) for one in (self, *self.others))  # noqa: SLF001 - of its own class

    def month_of(self, instant: datetime) -> Period:
        """Return the month of an instant in the marketplace's time zone."""
        return Period.of(self.day_of(instant))

    def day_of(self, instant: datetime) -> date:
        """Return the day of an instant in the marketplace's time zone."""
        return day_in(self.zone, instant)

    def _earliest_open(self, current: Period, recorded_at: datetime) -> Period:
        """Return the earliest month whose cut-off is after an instant; ``current`` is the month of the instant."""
        while self.cut_off(current.previous) > recorded_at:
            current = current.previous
        return current


@dataclass(frozen=True, slots=True)
class Calendars:
    """The settings for periods in the order of time, each from an instant on; the defaults before the first."""

    starts: tuple[tuple[datetime, Calendar], ...] = ()

    @classmethod
    def always(cls, calendar: Calendar) -> Self:
        """Return calendars of which one always applies."""
        return cls(((datetime.min.replace(tzinfo=UTC), calendar),))

    def at(self, instant: datetime) -> Calendar:
        """Return the calendar of what is recorded, planned or requested at an instant."""
        return next((calendar for since, calendar in reversed(self.starts) if since <= instant), _DEFAULT)


_DEFAULT: Final = Calendar()


@lru_cache(maxsize=64)
def _cut_off(zone: tzinfo, grace_days: int, period: Period) -> datetime:
    return start_of(period.next.first_day + timedelta(days=grace_days), zone)


@lru_cache(maxsize=256)
def _text(year: int, month: int) -> str:
    return f"{year:04d}-{month:02d}"
