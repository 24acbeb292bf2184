"""What is wanted of the schedule: what a request may ask for, what it changes, and how late the reports are."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.errors import InvalidError
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.schedule.expression import parse
from quarterhour.schedule.keys import FIRST_CHANGE, LAST_CHANGE, change_key, version_of
from quarterhour.schedule.plan import DesiredSchedule, ScheduleRequest, change, delay
from quarterhour.schedule.store import ActualSchedule, change_request, update_request

NOW = datetime(2026, 10, 23, 8, 0, tzinfo=UTC)
DEPLOYED = "rate(1 hour)"
NIGHTLY = "cron(0 2 * * ? *)"
ANN = "arn:aws:iam::123456789012:user/ann"
AFTER_TWO = DesiredSchedule(2, NIGHTLY, paused=True, since=NOW - timedelta(days=1))


# ---------------------------------------------------------------- keys


@given(st.integers(1, 10**12 - 1), st.integers(1, 10**12 - 1))
def test_changes_are_found_by_their_number_and_stand_in_its_order(one: int, other: int) -> None:
    assert version_of(change_key(one)["sk"]) == one
    assert (change_key(one)["sk"] < change_key(other)["sk"]) == (one < other)
    assert FIRST_CHANGE < change_key(one)["sk"] < LAST_CHANGE


@pytest.mark.parametrize(
    "sk", ["", "wanted", "change#", "change#1", "change#00000000000x", "change#0000000000001", "change#-00000000001"]
)
def test_what_is_no_key_of_a_change_is_refused(sk: str) -> None:
    with pytest.raises(ValueError, match="no change of the schedule"):
        version_of(sk)


# ---------------------------------------------------------------- what a request may ask for


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ({"expression": NIGHTLY}, {"expression": NIGHTLY}),
        ({"expression": None}, {"expression": None}),
        ({"paused": True, "reason": "the bank is closed"}, {"paused": True}),
        ({"paused": False, "expression": "rate(15 minutes)"}, {"paused": False, "expression": "rate(15 minutes)"}),
    ],
)
def test_what_is_left_out_is_kept(body: dict[str, Any], asked: dict[str, Any]) -> None:
    assert ScheduleRequest.of(body) == ScheduleRequest(asked, body.get("reason"))


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({}, {"expression": "is missing, and so is paused"}),
        ({"reason": "none"}, {"expression": "is missing, and so is paused"}),
        ({"expression": ""}, {"expression": "is neither a rate nor a cron of six fields"}),
        ({"expression": "rate(5 minutes)"}, {"expression": "fires again after 5 minutes"}),
        ({"expression": "cron(0 8 1 * ? *)"}, {"expression": "leaves 31 days without a report"}),
        ({"expression": "cron(61 8 * * ? *)"}, {"expression": "has '61' as minutes"}),
        ({"expression": ["rate(1 hour)"]}, {"expression": "is a list of 1"}),
        ({"expression": {}}, {"expression": "is an object of 0"}),
        ({"paused": "true"}, {"paused": "is 'true'"}),
        ({"paused": None}, {"paused": "is missing"}),
        ({"paused": True, "reason": "a\nb"}, {"reason": "is 'a\\nb'"}),
        ({"paused": True, "reason": ""}, {"reason": "is ''"}),
        ({"paused": True, "rate": "rate(1 hour)"}, {"rate": "is not known"}),
        ({"paused": 1, "expression": "x", "y": 1}, {"y": "is not known", "expression": None, "paused": "is 1"}),
    ],
)
def test_what_cannot_be_asked_for_is_told_field_by_field(body: dict[str, Any], problems: dict[str, Any]) -> None:
    with pytest.raises(InvalidError) as refused:
        ScheduleRequest.of(body)
    told = {one.field: one.problem for one in refused.value.problems}
    assert told.keys() == problems.keys()
    assert {name: told[name] for name, problem in problems.items() if problem} == {
        name: problem for name, problem in problems.items() if problem
    }
    assert all(one.expected for one in refused.value.problems)


# ---------------------------------------------------------------- what it changes


def test_nothing_was_asked_for_at_first_and_the_deployed_expression_rules() -> None:
    setting = DesiredSchedule().setting(DEPLOYED)
    assert (setting.expression, setting.paused, setting.pinned) == (DEPLOYED, False, False)


def test_a_change_tells_who_when_from_what_to_what_and_why() -> None:
    planned = change(AFTER_TWO, ScheduleRequest({"expression": "rate(15 minutes)"}, "sale"), DEPLOYED, ANN, NOW)
    assert planned
    assert planned.desired == DesiredSchedule(3, "rate(15 minutes)", paused=True, since=NOW)
    assert planned.record == {
        "pk": "SCHEDULE",
        "sk": "change#000000000003",
        "at": "2026-10-23T08:00:00.000Z",
        "by": ANN,
        "from": {"expression": NIGHTLY, "paused": True, "pinned": True},
        "to": {"expression": "rate(15 minutes)", "paused": True, "pinned": True},
        "reason": "sale",
    }


def test_pausing_pins_no_expression() -> None:
    planned = change(DesiredSchedule(), ScheduleRequest({"paused": True}, None), DEPLOYED, ANN, NOW)
    assert planned
    assert planned.desired.setting("rate(2 hours)").as_dict() == {
        "expression": "rate(2 hours)",
        "paused": True,
        "pinned": False,
    }


def test_null_hands_the_expression_back_to_the_deployments() -> None:
    planned = change(AFTER_TWO, ScheduleRequest({"expression": None}, None), DEPLOYED, ANN, NOW)
    assert planned
    assert planned.record["to"] == {"expression": DEPLOYED, "paused": True, "pinned": False}


@pytest.mark.parametrize("asked", [{"expression": NIGHTLY}, {"paused": True}, {"expression": NIGHTLY, "paused": True}])
def test_asking_again_changes_nothing(asked: dict[str, Any]) -> None:
    assert change(AFTER_TWO, ScheduleRequest(asked, "again"), DEPLOYED, ANN, NOW) is None


@pytest.mark.parametrize(
    "desired", [AFTER_TWO, DesiredSchedule(1, None, paused=True, since=NOW), DesiredSchedule(7, NIGHTLY, since=NOW)]
)
def test_a_wish_is_read_as_it_was_written(desired: DesiredSchedule) -> None:
    assert (
        DesiredSchedule.of({name: value for name, value in desired.as_values().items() if value is not None}) == desired
    )


def test_a_change_is_kept_only_where_no_other_came_between() -> None:
    first = change(DesiredSchedule(), ScheduleRequest({"paused": True}, None), DEPLOYED, ANN, NOW)
    third = change(AFTER_TWO, ScheduleRequest({"paused": False}, None), DEPLOYED, ANN, NOW)
    assert first
    assert third
    desired, record = (one["Put"] for one in change_request("Entity", first)["TransactItems"])
    assert desired["ConditionExpression"] == "attribute_not_exists(pk)"
    assert (desired["Item"]["sk"], record["Item"]["sk"]) == ({"S": "wanted"}, {"S": "change#000000000001"})
    desired, _ = (one["Put"] for one in change_request("Entity", third)["TransactItems"])
    assert (desired["ConditionExpression"], desired["ExpressionAttributeValues"]) == (
        "version = :before",
        {":before": {"N": "2"}},
    )


# ---------------------------------------------------------------- what the scheduler is told

READ = {
    "Arn": "arn:aws:scheduler:eu-west-1:123456789012:schedule/default/quarterhour-dev-report",
    "CreationDate": NOW,
    "LastModificationDate": NOW,
    "ResponseMetadata": {"HTTPStatusCode": 200},
    "Name": "quarterhour-dev-report",
    "GroupName": "default",
    "Description": "Reports the quarter-hours that have closed.",
    "ScheduleExpression": DEPLOYED,
    "ScheduleExpressionTimezone": "UTC",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "State": "ENABLED",
    "ActionAfterCompletion": "NONE",
    "Target": {"Arn": "function", "RoleArn": "role", "RetryPolicy": {"MaximumRetryAttempts": 5}},
}


def test_an_update_sends_every_other_field_as_it_was_read() -> None:
    request = update_request(ActualSchedule(READ), AFTER_TWO.setting(DEPLOYED))
    told = {"Arn", "CreationDate", "LastModificationDate", "ResponseMetadata"}
    kept = {name: value for name, value in READ.items() if name not in told}
    assert request == {**kept, "ScheduleExpression": NIGHTLY, "State": "DISABLED"}


def test_a_schedule_that_does_what_is_wanted_is_left_alone() -> None:
    assert update_request(ActualSchedule(READ), DesiredSchedule().setting(DEPLOYED)) is None


@pytest.mark.parametrize(
    "other",
    [{"ScheduleExpression": NIGHTLY}, {"State": "DISABLED"}, {"ScheduleExpressionTimezone": "Europe/London"}],
)
def test_a_schedule_that_does_something_else_is_put_right(other: dict[str, Any]) -> None:
    request = update_request(ActualSchedule({**READ, **other}), DesiredSchedule().setting(DEPLOYED))
    assert request
    assert {name: READ[name] for name in request} == request


# ---------------------------------------------------------------- how late the reports are

SEALED = QuarterHour.parse("202610230645")
GRACE = timedelta(minutes=2)
DUE = datetime(2026, 10, 23, 7, 17, tzinfo=UTC)
"""When the quarter-hour after the sealed ones is closed: from then on it waits."""


def late(expression: str, now: datetime, desired: DesiredSchedule | None = None) -> tuple[float, float]:
    found = delay(SEALED, GRACE, parse(expression), desired or DesiredSchedule(), now)
    return found.seconds, found.rates


def test_nothing_is_late_before_the_first_event_or_while_nothing_has_closed() -> None:
    assert delay(None, GRACE, parse(DEPLOYED), DesiredSchedule(), NOW).rates == 0
    assert late(DEPLOYED, DUE - timedelta(seconds=1)) == (0, 0)
    assert late(DEPLOYED, DUE) == (0, 0)


@pytest.mark.parametrize(("minutes", "rates"), [(0, 0), (30, 0.5), (60, 1), (120, 2), (150, 2.5)])
def test_a_rate_is_late_by_the_periods_that_the_oldest_closed_quarter_hour_has_waited(
    minutes: int, rates: float
) -> None:
    assert late(DEPLOYED, DUE + timedelta(minutes=minutes)) == (60 * minutes, rates)


def test_a_cron_is_late_by_the_firings_that_have_gone_by() -> None:
    weekdays = "cron(0 8 ? * MON-FRI *)"
    friday = DUE.replace(hour=8, minute=0)
    told = [late(weekdays, friday + timedelta(days=days, minutes=-1))[1] for days in range(6)]
    assert told == [0, 1, 1, 1, 2, 3], "no weekend is a delay"


def test_a_schedule_that_was_just_made_faster_is_not_late_yet() -> None:
    now = DUE + timedelta(hours=8)
    changed = DesiredSchedule(1, "rate(15 minutes)", since=now - timedelta(minutes=15))
    assert late("rate(15 minutes)", now, changed) == (8 * 3600, 1)
    assert late("rate(15 minutes)", now, replace(changed, since=DUE - timedelta(days=1))) == (8 * 3600, 32)


def test_a_pause_stops_no_clock() -> None:
    paused = DesiredSchedule(1, None, paused=True, since=DUE)
    assert late(DEPLOYED, DUE + timedelta(hours=3), paused) == (3 * 3600, 3)
