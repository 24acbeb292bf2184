"""The requests and responses about the schedule of the reports, as types."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Count, Instant, Text
from quarterhour.web.api import Page


class ScheduleSetting(TypedDict):
    """A state of the schedule."""

    expression: str
    paused: bool
    overridden: bool
    """True if a request has set the expression: no deployment changes it then."""


class Schedule(TypedDict):
    """The schedule of the reports."""

    expression: str
    """The actual expression in the scheduler."""
    state: Literal["enabled", "paused"]
    firings: list[Instant]
    """The next firings."""
    desired: ScheduleSetting
    version: Count
    """The number of changes: send it as `seen` with the next one."""
    deployed: str


_FromSetting = TypedDict("_FromSetting", {"from": ScheduleSetting})


class ScheduleChange(_FromSetting):
    """A change of the schedule."""

    version: Count
    at: Instant
    by: str
    to: ScheduleSetting
    reason: Text | None


class ScheduleWithChanges(Schedule, Page[ScheduleChange]):
    """The schedule, and a page of its changes, newest first."""


class ScheduleUpdate(TypedDict):
    """A change of the desired schedule: `expression`, `paused` or both."""

    expression: NotRequired[str | None]
    """A `rate` or a `cron`, which overrides that of all deployments (`overridden`); `null` returns to theirs."""
    paused: NotRequired[bool]
    """`true` pauses, `false` resumes."""
    reason: NotRequired[Text | None]
    """Why; stored with the change."""
    seen: NotRequired[Count | None]
    """The `version` of the schedule that you have read; without it, the current one."""


class ReportDelay(TypedDict):
    """How long the oldest final quarter-hour has waited to be reported."""

    sealed_until: Instant | None
    """The end of the last sealed quarter-hour; null before the first event."""
    delay_seconds: float
    delay_firings: float
    """The delay in firings of the schedule."""
    late: bool
    """Whether that is two firings or more."""
