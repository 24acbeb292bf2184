"""The schedules of a stack: as they stand in the engine, and when they are due."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from quarterhour.schedule.expression import parse
from quarterhour_tools.emulator.schedules import Schedule, create_request, standing
from quarterhour_tools.errors import ToolError


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 10, 23, hour, minute, tzinfo=UTC)


HOURLY = Schedule("report", parse("rate(1 hour)"), enabled=True, since=at(0, 40))


def test_it_is_due_once_when_its_firing_has_come() -> None:
    minutes = [at(1) + timedelta(minutes=number) for number in range(120)]
    due = [later for earlier, later in pairwise(minutes) if HOURLY.fires_within(earlier, later)]
    assert due == [at(1, 40), at(2, 40)]
    assert HOURLY.fires_within(at(1), at(5)), "also where many have come meanwhile"


def test_it_is_never_due_while_it_is_paused() -> None:
    paused = Schedule("report", HOURLY.expression, enabled=False, since=HOURLY.since)
    assert not paused.fires_within(at(1), at(5))


def test_it_is_read_as_the_engine_has_it() -> None:
    answer = {"ScheduleExpression": "rate(1 hour)", "State": "ENABLED", "LastModificationDate": at(0, 40)}
    assert standing("report", answer) == HOURLY
    assert not standing("report", {**answer, "State": "DISABLED"}).enabled


@pytest.mark.parametrize("expression", ["", "rate(1 hours)", "cron(0/5 * * * ? *)", "rate(10 days)"])
def test_one_that_cannot_be_is_refused_and_the_message_shows_what_can(expression: str) -> None:
    with pytest.raises(ToolError, match=r"write .+"):
        create_request("name", expression, "function", "role")
