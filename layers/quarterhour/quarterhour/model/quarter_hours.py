"""Quarter-hours, in UTC: the unit of the ledger that is sealed as a whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, Self

LENGTH = timedelta(minutes=15)
GRACE: Final = timedelta(seconds=120)
"""The time from the end of a quarter-hour until it is final.

It is more than the longest timeout of a function that appends (billing, 50 s) plus 5 s for clocks that differ: appends
to a quarter-hour stop that long before it is sealed.
"""
_FORMAT = "%Y%m%d%H%M"


@dataclass(frozen=True, slots=True, order=True)
class QuarterHour:
    """One quarter-hour, named by its start: ``202610230130``. Quarter-hours compare by time."""

    start: datetime

    @classmethod
    def at(cls, instant: datetime) -> Self:
        """Return the quarter-hour that contains the instant."""
        return cls(_start(instant))

    @classmethod
    def parse(cls, name: str) -> Self:
        """Parse ``YYYYMMDDHHMM``; raise ``ValueError`` if it does not name a quarter-hour."""
        quarter_hour = cls(datetime.strptime(name, _FORMAT).replace(tzinfo=UTC))
        if str(quarter_hour) != name or quarter_hour.start.minute % 15:
            raise ValueError(f"{name!r} is not a quarter-hour: write YYYYMMDDHHMM with MM in 00, 15, 30, 45")
        return quarter_hour

    @classmethod
    def first_of(cls, day: date) -> Self:
        """Return the first quarter-hour of a day, UTC."""
        return cls(datetime.combine(day, time(), UTC))

    @classmethod
    def last_of(cls, day: date) -> Self:
        """Return the last quarter-hour of a day, UTC."""
        return cls(datetime.combine(day, time(23, 45), UTC))

    def __str__(self) -> str:
        """Return the name, ``YYYYMMDDHHMM``."""
        return _name(self.start)

    @property
    def end(self) -> datetime:
        """The end, exclusive: the start of the next quarter-hour."""
        return self.start + LENGTH

    @property
    def day(self) -> date:
        """The day of the quarter-hour, UTC."""
        return self.start.date()

    @property
    def next(self) -> "QuarterHour":
        """The next quarter-hour."""
        return QuarterHour(self.start + LENGTH)

    @property
    def previous(self) -> "QuarterHour":
        """The previous quarter-hour."""
        return QuarterHour(self.start - LENGTH)


# The events of a request are recorded at one instant, and each names its quarter-hour.
@lru_cache(maxsize=64)
def _start(instant: datetime) -> datetime:
    utc = instant.astimezone(UTC)
    return utc.replace(minute=utc.minute - utc.minute % 15, second=0, microsecond=0)


@lru_cache(maxsize=64)
def _name(start: datetime) -> str:
    return f"{start.year:04d}{start.month:02d}{start.day:02d}{start.hour:02d}{start.minute:02d}"


def span(first: QuarterHour, last: QuarterHour) -> Iterator[QuarterHour]:
    """Yield the quarter-hours from ``first`` to ``last``, both inclusive."""
    while first <= last:
        yield first
        first = first.next
