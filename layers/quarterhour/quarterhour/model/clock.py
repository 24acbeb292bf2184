"""The one clock: every instant in Quarterhour comes from here, in UTC, and can be replaced."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

MILLISECOND: Final = timedelta(milliseconds=1)
"""The finest step of the instants in keys."""


class Clock(Protocol):
    """What tells the time and waits."""

    def now(self) -> datetime:
        """Return the current instant, timezone-aware, UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait so many seconds of this clock."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return the current instant in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait so many real seconds."""
        time.sleep(seconds)


class ManualClock:
    """A clock that stands still until it is moved, and never goes backwards."""

    def __init__(self, start: datetime) -> None:
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        """Return the instant it was last moved to."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Return at once: waiting must not move an instant that somebody else decides."""

    def advance_to(self, instant: datetime) -> None:
        """Move to the instant; an earlier one is ignored."""
        self._now = max(self._now, instant.astimezone(UTC))

    def advance(self, by: timedelta) -> None:
        """Move forward by a span of time."""
        self.advance_to(self._now + by)


_current: Clock = SystemClock()


def now() -> datetime:
    """Return the current instant, timezone-aware, UTC."""
    return _current.now()


def sleep(seconds: float) -> None:
    """Wait so many seconds of the current clock."""
    _current.sleep(seconds)


@contextmanager
def using(clock: Clock) -> Iterator[None]:
    """Replace the process's clock for the length of the block."""
    global _current  # noqa: PLW0603 - the one injectable clock is this module's whole purpose
    before, _current = _current, clock
    try:
        yield
    finally:
        _current = before


def iso_millis(instant: datetime) -> str:
    """Write an instant as ``2026-10-23T01:30:00.000Z``: sorts as text in the order of time."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{instant.microsecond // 1000:03d}Z"


def iso_seconds(instant: datetime) -> str:
    """Write an instant as ``2026-10-23T01:30:00Z``."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_exact(instant: datetime) -> str:
    """Write an instant in full: ``2026-10-23T01:30:00Z``, with a fraction only where it has one."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_iso(text: str) -> datetime:
    """Read an instant with an offset or ``Z``; raise ``ValueError`` where it has none or is no instant."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no offset: write 2026-10-23T01:30:00Z")
    try:
        return instant.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(str(error)) from error
