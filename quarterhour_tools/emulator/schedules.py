"""The schedules of a stack: the engine stores them, so the functions can change them, and the emulator fires them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from quarterhour.reports.schedule.expression import Expression, ExpressionError, FixedRate, parse
from quarterhour_tools.errors import ToolError

_EVERY_MINUTE: Final = "rate(1 minute)"
"""The shortest rate of AWS. Reports may not have it, but a function's own timer may."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule's current state: its function, its expression, whether it is enabled, and when it was last changed."""

    function: str
    expression: Expression
    enabled: bool
    since: datetime

    def fires_within(self, start: datetime, end: datetime) -> bool:
        """Tell whether the schedule fires after the start and up to the end."""
        return self.enabled and self.expression.after(start, self.since) <= end


def create_request(name: str, expression: str, function: str, role: str) -> dict[str, Any]:
    """Build the CreateSchedule for a function; ``function`` and ``role`` are ARNs.

    Raises ``ToolError`` for a bad expression, because the engine accepts any.
    """
    parsed(expression)
    return {
        "Name": name,
        "ScheduleExpression": expression,
        "ScheduleExpressionTimezone": "UTC",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "State": "ENABLED",
        "Target": {"Arn": function, "RoleArn": role},
    }


def actual_schedule(function: str, answer: Mapping[str, Any]) -> Schedule:
    """Return the schedule in the engine's response to GetSchedule."""
    expression = parsed(answer["ScheduleExpression"])
    return Schedule(function, expression, answer["State"] == "ENABLED", answer["LastModificationDate"])


def parsed(text: str) -> Expression:
    """Parse an expression; raise ``ToolError`` for one that Quarterhour does not accept."""
    if text == _EVERY_MINUTE:
        return FixedRate(timedelta(minutes=1))
    try:
        return parse(text)
    except ExpressionError as error:
        raise ToolError(f"the schedule {text!r} {error.problem}: write {error.expected}") from error
