"""The schedule, the pure part: the desired schedule, its changes, and the delay of the reports."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.model.clock import iso_millis, iso_seconds, parse_iso
from quarterhour.model.errors import ConflictError, InvalidError
from quarterhour.model.fields import TEXT, Fields, bounded, shown, text, whole
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.schedule.expression import EXPECTED, Expression, ExpressionError, parse
from quarterhour.reports.schedule.keys import DESIRED_KEY, change_key

if TYPE_CHECKING:
    from quarterhour.reports.schedule import api

_FIELDS: Final = frozenset({"expression", "paused", "reason", "seen"})
_SEEN: Final = "the version of the schedule that was seen, a whole number, or 0 before the first change"


@dataclass(frozen=True, slots=True)
class Setting:
    """The effective setting of the schedule: its expression, and whether it is paused.

    ``overridden``: a request has set the expression, so a deployment does not change it.
    """

    expression: str
    paused: bool
    overridden: bool

    def as_dict(self) -> "api.ScheduleSetting":
        """Return the JSON object that the API shows."""
        return {"expression": self.expression, "paused": self.paused, "overridden": self.overridden}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse the values in the record of a change."""
        return cls(values["expression"], values["paused"], values["overridden"])


@dataclass(frozen=True, slots=True)
class DesiredSchedule:
    """The schedule that was set at run time.

    ``version`` counts the changes and is 0 before the first one. ``expression`` is ``None`` if the deployed expression
    applies. ``since`` is the instant of the last change.
    """

    version: int = 0
    expression: str | None = None
    paused: bool = False
    since: datetime | None = None

    def setting(self, deployed: str) -> Setting:
        """Return the effective setting, given the deployed expression."""
        return Setting(self.expression or deployed, self.paused, self.expression is not None)

    def as_values(self) -> dict[str, Any]:
        """Return the values of the item."""
        since = iso_millis(self.since) if self.since else None
        return {
            **DESIRED_KEY,
            "version": self.version,
            "expression": self.expression,
            "paused": self.paused,
            "since": since,
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse the values of the item."""
        since = parse_iso(values["since"])
        return cls(int(values["version"]), values.get("expression"), values["paused"], since)


@dataclass(frozen=True, slots=True)
class ScheduleRequest:
    """A request to change the schedule: the fields of the desired schedule to set, and the reason.

    ``seen`` is the version that its sender has seen; ``None`` is the current one.
    """

    fields: Mapping[str, Any]
    reason: str | None
    seen: int | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Parse the body of a request; raise ``InvalidError``, which names every invalid field."""
        fields = Fields(body)
        fields.report_unknown(_FIELDS)
        changed: dict[str, Any] = {}
        if "expression" in body:
            changed["expression"] = _expression(body["expression"], fields)
        if "paused" in body:
            changed["paused"] = fields.value("paused", "true or false", _flag)
        if not changed:
            fields.problem("expression", "is missing, and so is paused", "at least one of them")
        reason = fields.value("reason", TEXT, text, optional=True)
        seen = fields.value("seen", _SEEN, whole, optional=True)
        if fields.problems:
            raise InvalidError(
                "the change of the schedule is invalid", *bounded(fields.problems, "expression, paused, reason, seen")
            )
        return cls(changed, reason, seen)


def _expression(value: object, fields: Fields) -> str | None:
    """Parse the field ``expression``; ``None`` is the deployed one, or an invalid one whose problem was added."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            parse(value)
            return value
        fields.problem("expression", f"is {shown(value)}", EXPECTED)
    except ExpressionError as error:
        fields.problem("expression", error.problem, error.expected)
    return None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """A planned change: the new desired schedule, and the permanent record of the change."""

    desired: DesiredSchedule
    record: dict[str, Any]


def change(
    current: DesiredSchedule, request: ScheduleRequest, deployed: str, by: str, now: datetime
) -> ScheduleChange | None:
    """Plan the change of a request; return ``None`` if the desired schedule already is as requested.

    Raises ``ConflictError`` if the sender has seen another version.
    """
    requested = replace(current, **request.fields)
    if requested == current:
        return None
    if request.seen not in {None, current.version}:
        raise ConflictError(
            f"another request has changed the schedule: its version is {current.version}, not {request.seen}. "
            "Read it, and send the change again"
        )
    desired = replace(requested, version=current.version + 1, since=now)
    record = {
        **change_key(desired.version),
        "at": iso_millis(now),
        "by": by,
        "from": current.setting(deployed).as_dict(),
        "to": desired.setting(deployed).as_dict(),
        "reason": request.reason,
    }
    return ScheduleChange(desired, record)


@dataclass(frozen=True, slots=True)
class Delay:
    """How long the oldest unreported, final quarter-hour has waited: in seconds, and in firings of the schedule."""

    seconds: float
    firings: float


ON_TIME: Final = Delay(0, 0)


def delay(
    sealed_through: QuarterHour | None,
    grace: timedelta,
    expression: Expression,
    desired: DesiredSchedule,
    now: datetime,
) -> Delay:
    """Return the delay of the reports. Up to one firing is normal, and nothing is due before the first event.

    Firings count from the last change, so a schedule that was just made faster is not late yet. They count during a
    pause too, so that a forgotten pause raises the alarm.
    """
    if sealed_through is None:
        return ON_TIME
    due = sealed_through.next.end + grace
    if now < due:
        return ON_TIME
    return Delay((now - due).total_seconds(), expression.firings(max(due, desired.since or due), now))


LATE_FIRINGS: Final = 2
"""Reports are late from this delay on, in firings of the schedule. The alarm ``report-late`` has the same threshold."""


def shown_delay(sealed_through: QuarterHour | None, behind: Delay) -> "api.ReportDelay":
    """Return the delay of the reports as the API shows it. ``sealed_through`` is ``None`` before the first event."""
    return {
        "sealed_until": iso_seconds(sealed_through.end) if sealed_through else None,
        "delay_seconds": behind.seconds,
        "delay_firings": round(behind.firings, 3),
        "late": behind.firings >= LATE_FIRINGS,
    }
