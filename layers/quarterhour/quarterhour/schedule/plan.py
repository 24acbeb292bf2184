"""The schedule, the pure part: the desired schedule, how a request changes it, how late the reports are."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self

from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.errors import InvalidError
from quarterhour.model.fields import TEXT, Fields, bounded, shown, text
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.schedule.expression import EXPECTED, Expression, ExpressionError, parse
from quarterhour.schedule.keys import DESIRED_KEY, change_key

_FIELDS: Final = frozenset({"expression", "paused", "reason"})


@dataclass(frozen=True, slots=True)
class Setting:
    """When the schedule fires, and whether it is paused.

    ``pinned``: the expression was set at run time, so no deployment changes it.
    """

    expression: str
    paused: bool
    pinned: bool

    def as_dict(self) -> dict[str, Any]:
        """Return it as it is stored, and shown by the API."""
        return {"expression": self.expression, "paused": self.paused, "pinned": self.pinned}


@dataclass(frozen=True, slots=True)
class DesiredSchedule:
    """The schedule that was set at run time: an expression (``None``: the deployed one), a pause, and since when.

    ``version`` counts the changes; it is 0 before the first.
    """

    version: int = 0
    expression: str | None = None
    paused: bool = False
    since: datetime | None = None

    def setting(self, deployed: str) -> Setting:
        """Return the setting that follows from it and from the deployed expression."""
        return Setting(self.expression or deployed, self.paused, self.expression is not None)

    def as_values(self) -> dict[str, Any]:
        """Return it as an item's values."""
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
        """Read what ``as_values`` wrote."""
        since = parse_iso(values["since"])
        return cls(int(values["version"]), values.get("expression"), values["paused"], since)


@dataclass(frozen=True, slots=True)
class ScheduleRequest:
    """A request to change the schedule: the fields of the desired schedule that it sets, and the reason."""

    fields: Mapping[str, Any]
    reason: str | None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Read a request's body; raise ``InvalidError`` that names every bad field."""
        fields = Fields(body)
        fields.no_others(_FIELDS)
        changed: dict[str, Any] = {}
        if "expression" in body:
            changed["expression"] = _expression(body["expression"], fields)
        if "paused" in body:
            changed["paused"] = fields.value("paused", "true or false", _flag)
        if not changed:
            fields.problem("expression", "is missing, and so is paused", "at least one of them")
        reason = fields.value("reason", TEXT, text, optional=True)
        if fields.problems:
            raise InvalidError(
                "the schedule cannot be changed like this", *bounded(fields.problems, "expression, paused, reason")
            )
        return cls(changed, reason)


def _expression(value: object, fields: Fields) -> str | None:
    """Return an expression that was sent, or ``None`` for the deployed one; note what is wrong with it."""
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
class Change:
    """A change: the desired schedule that it makes, and its record, which is kept for ever."""

    desired: DesiredSchedule
    record: dict[str, Any]


def change(current: DesiredSchedule, request: ScheduleRequest, deployed: str, by: str, now: datetime) -> Change | None:
    """Plan the change that a request makes; ``None`` where the desired schedule already is as requested."""
    same = replace(current, **request.fields)
    if same == current:
        return None
    desired = replace(same, version=current.version + 1, since=now)
    record = {
        **change_key(desired.version),
        "at": iso_millis(now),
        "by": by,
        "from": current.setting(deployed).as_dict(),
        "to": desired.setting(deployed).as_dict(),
        "reason": request.reason,
    }
    return Change(desired, record)


@dataclass(frozen=True, slots=True)
class Delay:
    """How long the oldest closed quarter-hour has waited for its report: in seconds, and in firings gone by."""

    seconds: float
    rates: float


ON_TIME: Final = Delay(0, 0)


def delay(
    sealed_through: QuarterHour | None,
    grace: timedelta,
    expression: Expression,
    desired: DesiredSchedule,
    now: datetime,
) -> Delay:
    """Return how late the reports are; up to one firing is no delay, and before the first event nothing is due.

    Firings count from the last change: a schedule that was just made faster is not late yet. A pause does not stop
    the count, so that a forgotten pause is noticed.
    """
    if sealed_through is None:
        return ON_TIME
    due = sealed_through.next.end + grace
    if now < due:
        return ON_TIME
    return Delay((now - due).total_seconds(), expression.firings(max(due, desired.since or due), now))
