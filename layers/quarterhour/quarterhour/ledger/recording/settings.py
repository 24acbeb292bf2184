"""The settings for recording events, and the phases of a quarter-hour that follow from them.

A quarter-hour accepts appends while it is open, none while it is closing, and never again once it is final.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final, Self

from quarterhour.model.errors import SettingsError
from quarterhour.model.money import Rounding
from quarterhour.model.periods import Calendars
from quarterhour.model.quarter_hours import GRACE, QuarterHour
from quarterhour.model.settings import Environment
from quarterhour.registry.settings.settings import REGISTERED, Settings

SAFETY: Final = timedelta(seconds=5)
"""A margin for clocks that differ between machines, and for a request in flight when its function ends."""


class Phase(Enum):
    """The phase of a quarter-hour: whether it accepts appends."""

    OPEN = "open"
    CLOSING = "closing"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class RecordingSettings:
    """The settings for recording events: those of the deployment, and what finance decides.

    ``grace``: the time from the end of a quarter-hour until it is final. ``longest_run``: the timeout of the function
    that records. ``retention``: how long an identity is kept, ``None`` for ever. ``calendars``: the periods of events.
    ``registered_only``: whether events of agencies that are not registered are held. ``rounding``: how charges with
    ``decimals`` are rounded.
    """

    shards: int
    commission_rate: Decimal
    grace: timedelta
    longest_run: timedelta
    retention: timedelta | None
    calendars: Calendars = field(default_factory=Calendars)
    registered_only: bool = False
    rounding: Rounding = Rounding.HALF_EVEN

    def __post_init__(self) -> None:
        """Refuse a grace so short that a function could still append to a final quarter-hour."""
        if self.grace < self.longest_run + SAFETY:
            least = (self.longest_run + SAFETY).total_seconds()
            raise SettingsError(f"a grace of {self.grace.total_seconds():.0f} s is too short: {least:.0f} s at least")

    @classmethod
    def of(cls, env: Environment, timeout: str) -> Self:
        """Return the settings in a function's environment, with the defaults of what finance decides.

        ``timeout`` names the variable with its timeout in seconds.

        Raises ``SettingsError`` for a variable that is missing or invalid.
        """
        return cls(
            shards=env.integer("LEDGER_SHARDS", minimum=1),
            commission_rate=Settings().commission_rate,
            grace=GRACE,
            longest_run=env.seconds(timeout),
            retention=env.days("DEDUP_RETENTION_DAYS") or None,
        )

    def following(self, settings: Settings) -> Self:
        """Return the settings with what finance decides."""
        return replace(
            self,
            commission_rate=settings.commission_rate,
            calendars=settings.calendars,
            registered_only=settings.agency_policy == REGISTERED,
            rounding=settings.rounding,
        )

    def phase(self, quarter_hour: QuarterHour, now: datetime) -> Phase:
        """Return the phase of a quarter-hour now.

        An append that is sent while it is open takes effect before it is final, or never: the function that sent it
        has ended by then.
        """
        final_at = quarter_hour.end + self.grace
        if now >= final_at:
            return Phase.FINAL
        return Phase.OPEN if now < final_at - self.longest_run - SAFETY else Phase.CLOSING
