"""Schedule expressions, and when they fire."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from local.errors import LocalError

_RATE: Final = re.compile(r"rate\(([1-9][0-9]*) (minute|hour|day)(s?)\)")
_UNITS: Final = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Rate:
    """A schedule that fires at each multiple of its period, counted from midnight of 1970-01-01 UTC.

    In AWS the first firing depends on when the schedule was made; aligned, a replay gives the same runs every time.
    """

    period: timedelta

    @classmethod
    def parse(cls, expression: str) -> "Rate":
        """Read ``rate(1 hour)``, ``rate(15 minutes)``, ``rate(2 days)``; raise ``LocalError`` where it is none."""
        match = _RATE.fullmatch(expression)
        if match is None or (match[1] == "1") == bool(match[3]):
            raise LocalError(f"{expression!r} is no rate: write rate(1 hour), rate(15 minutes), rate(2 days)")
        return cls(int(match[1]) * _UNITS[match[2]])

    def after(self, instant: datetime) -> datetime:
        """Return the first firing later than the instant."""
        return instant + self.period - (instant - _EPOCH) % self.period
