"""The schedules of a stack: they stand in the engine, where its functions may change them, and fire when they say."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from quarterhour.schedule.expression import Expression, ExpressionError, parse
from quarterhour_tools.errors import ToolError


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it stands: the function that it starts, when it fires, whether it does, and when it was set."""

    function: str
    expression: Expression
    enabled: bool
    since: datetime

    def fires_within(self, start: datetime, end: datetime) -> bool:
        """Tell whether a firing lies after the start and up to the end."""
        return self.enabled and self.expression.after(start, self.since) <= end


def create_request(name: str, expression: str, function: str, role: str) -> dict[str, Any]:
    """Build the CreateSchedule that starts a function, both by their ARNs; raise ``LocalError`` for a bad expression.

    The engine would take any.
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


def standing(function: str, answer: Mapping[str, Any]) -> Schedule:
    """Read a schedule from the engine's GetSchedule."""
    expression = parsed(answer["ScheduleExpression"])
    return Schedule(function, expression, answer["State"] == "ENABLED", answer["LastModificationDate"])


def parsed(text: str) -> Expression:
    """Read an expression; raise ``LocalError`` where it is none that Quarterhour takes."""
    try:
        return parse(text)
    except ExpressionError as error:
        raise ToolError(f"the schedule {text!r} {error.problem}: write {error.expected}") from error
