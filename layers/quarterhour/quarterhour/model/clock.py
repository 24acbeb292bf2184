"""The clock: the only source of the current time, always in UTC, replaceable for tests and replays."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Protocol

MILLISECOND: Final = timedelta(milliseconds=1)
"""The resolution of the instants in keys."""
_UTC: Final = "+00:00"


class Clock(Protocol):
    """A source of the current time that can also wait."""

    def now(self) -> datetime:
        """Return the current instant, timezone-aware, UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait ``seconds`` of this clock's time."""


class SystemClock:
    """The clock of the operating system."""

    def now(self) -> datetime:
        """Return the current instant in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait ``seconds`` of real time."""
        time.sleep(seconds)


class ManualClock:
    """A clock that moves only when it is advanced, and never backwards."""

    def __init__(self, start: datetime) -> None:
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        """Return the instant that the clock was last advanced to."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Return at once: only the owner of the clock moves it."""

    def advance_to(self, instant: datetime) -> None:
        """Advance to the instant; an instant in the past is ignored."""
        self._now = max(self._now, instant.astimezone(UTC))

    def advance(self, by: timedelta) -> None:
        """Advance by a duration."""
        self.advance_to(self._now + by)


_current: Clock = SystemClock()


def now() -> datetime:
    """Return the current instant, timezone-aware, UTC."""
    return _current.now()


def sleep(seconds: float) -> None:
    """Wait ``seconds`` of the current clock's time."""
    _current.sleep(seconds)


@contextmanager
def using(clock: Clock) -> Iterator[None]:
    """Use another clock in the whole process for the length of the block."""
    global _current  # noqa: PLW0603 - this module exists to hold the one replaceable clock
    before, _current = _current, clock
    try:
        yield
    finally:
        _current = before


# The events of a request are recorded at one instant, whose text is in keys, receipts and claims of each.
@lru_cache(maxsize=64)
def truncated(instant: datetime) -> datetime:
    """Return an instant without what is finer than a millisecond."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


@lru_cache(maxsize=64)
def iso_millis(instant: datetime) -> str:
    """Format an instant as ``2026-10-23T01:30:00.000Z``; the texts sort in the order of time."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix(_UTC) + "Z"


def iso_seconds(instant: datetime) -> str:
    """Format an instant as ``2026-10-23T01:30:00Z``."""
    return instant.astimezone(UTC).isoformat(timespec="seconds").removesuffix(_UTC) + "Z"


def iso_exact(instant: datetime) -> str:
    """Format an instant in full: ``2026-10-23T01:30:00Z``, with a fraction of a second only if it has one."""
    return instant.astimezone(UTC).isoformat().removesuffix(_UTC) + "Z"


def parse_iso(text: str) -> datetime:
    """Parse an ISO 8601 instant with an offset or ``Z`` into UTC; raise ``ValueError`` for any other text."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no offset: write 2026-10-23T01:30:00Z")
    try:
        return instant.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(str(error)) from error
