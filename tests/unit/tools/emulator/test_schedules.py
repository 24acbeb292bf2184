"""The schedules of a stack: their actual state in the engine, and their firings."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from quarterhour.reports.schedule.expression import parse
from quarterhour_tools.emulator.schedules import Schedule, actual_schedule, create_request
from quarterhour_tools.errors import ToolError


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 10, 23, hour, minute, tzinfo=UTC)


HOURLY = Schedule("report", parse("rate(1 hour)"), enabled=True, since=at(0, 40))


def test_a_schedule_is_due_once_per_firing() -> None:
    minutes = [at(1) + timedelta(minutes=number) for number in range(120)]
    due = [later for earlier, later in pairwise(minutes) if HOURLY.fires_within(earlier, later)]
    assert due == [at(1, 40), at(2, 40)]
    assert HOURLY.fires_within(at(1), at(5)), "also where many have come meanwhile"


def test_a_paused_schedule_is_never_due() -> None:
    paused = Schedule("report", HOURLY.expression, enabled=False, since=HOURLY.since)
    assert not paused.fires_within(at(1), at(5))


def test_a_schedule_is_read_from_the_engine() -> None:
    answer = {"ScheduleExpression": "rate(1 hour)", "State": "ENABLED", "LastModificationDate": at(0, 40)}
    assert actual_schedule("report", answer) == HOURLY
    assert not actual_schedule("report", {**answer, "State": "DISABLED"}).enabled


@pytest.mark.parametrize("expression", ["", "rate(1 hours)", "cron(0/5 * * * ? *)", "rate(10 days)"])
def test_an_invalid_expression_is_refused_with_the_valid_forms(expression: str) -> None:
    with pytest.raises(ToolError, match=r"write .+"):
        create_request("name", expression, "function", "role")
