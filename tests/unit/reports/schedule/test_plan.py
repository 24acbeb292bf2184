"""The desired schedule: requests, changes, updates of the actual schedule, and the delay of the reports."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.errors import ConflictError, InvalidError
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.schedule.expression import parse
from quarterhour.reports.schedule.keys import FIRST_CHANGE, LAST_CHANGE, change_key, version_of
from quarterhour.reports.schedule.plan import DesiredSchedule, ScheduleRequest, change, delay
from quarterhour.reports.schedule.store import ActualSchedule, change_request, update_request
from tests.support.cases import cases

NOW = datetime(2026, 10, 23, 8, 0, tzinfo=UTC)
DEPLOYED = "rate(1 hour)"
NIGHTLY = "cron(0 2 * * ? *)"
ANN = "arn:aws:iam::123456789012:user/ann"
AFTER_TWO = DesiredSchedule(2, NIGHTLY, paused=True, since=NOW - timedelta(days=1))


# ---------------------------------------------------------------- keys


@given(st.integers(1, 10**12 - 1), st.integers(1, 10**12 - 1))
def test_keys_of_changes_hold_their_version_and_sort_by_it(one: int, other: int) -> None:
    assert version_of(change_key(one)["sk"]) == one
    assert (change_key(one)["sk"] < change_key(other)["sk"]) == (one < other)
    assert FIRST_CHANGE < change_key(one)["sk"] < LAST_CHANGE


@pytest.mark.parametrize(
    "sk", ["", "desired", "change#", "change#1", "change#00000000000x", "change#0000000000001", "change#-00000000001"]
)
def test_a_key_that_is_not_of_a_change_is_refused(sk: str) -> None:
    with pytest.raises(ValueError, match="not a change of the schedule"):
        version_of(sk)


# ---------------------------------------------------------------- requests


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"expression": NIGHTLY}, {"expression": NIGHTLY}),
        ({"expression": None}, {"expression": None}),
        ({"paused": True, "reason": "the bank is closed"}, {"paused": True}),
        ({"paused": False, "expression": "rate(15 minutes)"}, {"paused": False, "expression": "rate(15 minutes)"}),
    ],
)
def test_a_request_sets_only_the_fields_that_it_holds(body: dict[str, Any], fields: dict[str, Any]) -> None:
    assert ScheduleRequest.of(body) == ScheduleRequest(fields, body.get("reason"))


@cases(
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
        ({"paused": True, "reason": "\n\u200b"}, {"reason": "is '\\n\\u200b'"}),
        ({"paused": True, "reason": ""}, {"reason": "is ''"}),
        ({"paused": True, "rate": "rate(1 hour)"}, {"rate": "is not known"}),
        ({"paused": True, "seen": -1}, {"seen": "is -1"}),
        ({"paused": True, "seen": "1"}, {"seen": "is '1'"}),
        ({"expression": "at(2026-10-23T01:30:00)"}, {"expression": None}),
        ({"paused": 1, "expression": "x", "y": 1}, {"y": "is not known", "expression": None, "paused": "is 1"}),
    ],
)
def test_an_invalid_request_is_refused_field_by_field(body: dict[str, Any], problems: dict[str, Any]) -> None:
    with pytest.raises(InvalidError) as refused:
        ScheduleRequest.of(body)
    found = {one.field: one.problem for one in refused.value.problems}
    assert found.keys() == problems.keys()
    assert {name: found[name] for name, problem in problems.items() if problem} == {
        name: problem for name, problem in problems.items() if problem
    }
    assert all(one.expected for one in refused.value.problems)


# ---------------------------------------------------------------- changes


def test_before_the_first_change_the_deployed_expression_applies() -> None:
    setting = DesiredSchedule().setting(DEPLOYED)
    assert (setting.expression, setting.paused, setting.overridden) == (DEPLOYED, False, False)


def test_a_reason_of_several_lines_becomes_one_line() -> None:
    assert ScheduleRequest.of({"paused": True, "reason": "a\nb"}).reason == "a b"


def test_a_change_records_sender_instant_both_settings_and_reason() -> None:
    planned = change(AFTER_TWO, ScheduleRequest({"expression": "rate(15 minutes)"}, "sale"), DEPLOYED, ANN, NOW)
    assert planned
    assert planned.desired == DesiredSchedule(3, "rate(15 minutes)", paused=True, since=NOW)
    assert planned.record == {
        "pk": "SCHEDULE",
        "sk": "change#000000000003",
        "at": "2026-10-23T08:00:00.000Z",
        "by": ANN,
        "from": {"expression": NIGHTLY, "paused": True, "overridden": True},
        "to": {"expression": "rate(15 minutes)", "paused": True, "overridden": True},
        "reason": "sale",
    }


def test_pausing_overrides_no_expression() -> None:
    planned = change(DesiredSchedule(), ScheduleRequest({"paused": True}, None), DEPLOYED, ANN, NOW)
    assert planned
    assert planned.desired.setting("rate(2 hours)").as_dict() == {
        "expression": "rate(2 hours)",
        "paused": True,
        "overridden": False,
    }


def test_null_makes_the_deployed_expression_apply_again() -> None:
    planned = change(AFTER_TWO, ScheduleRequest({"expression": None}, None), DEPLOYED, ANN, NOW)
    assert planned
    assert planned.record["to"] == {"expression": DEPLOYED, "paused": True, "overridden": False}


@pytest.mark.parametrize("fields", [{"expression": NIGHTLY}, {"paused": True}, {"expression": NIGHTLY, "paused": True}])
def test_a_repeated_request_changes_nothing(fields: dict[str, Any]) -> None:
    assert change(AFTER_TWO, ScheduleRequest(fields, "again"), DEPLOYED, ANN, NOW) is None


def test_a_change_of_an_earlier_version_is_a_conflict_unless_it_is_made_already() -> None:
    assert change(AFTER_TWO, ScheduleRequest({"paused": True}, None, 1), DEPLOYED, ANN, NOW) is None
    assert change(AFTER_TWO, ScheduleRequest({"paused": False}, None, 2), DEPLOYED, ANN, NOW)
    with pytest.raises(ConflictError, match="its version is 2, not 1"):
        change(AFTER_TWO, ScheduleRequest({"paused": False}, None, 1), DEPLOYED, ANN, NOW)


@pytest.mark.parametrize(
    "desired", [AFTER_TWO, DesiredSchedule(1, None, paused=True, since=NOW), DesiredSchedule(7, NIGHTLY, since=NOW)]
)
def test_a_desired_schedule_is_parsed_back_from_its_item(desired: DesiredSchedule) -> None:
    assert (
        DesiredSchedule.of({name: value for name, value in desired.as_values().items() if value is not None}) == desired
    )


def test_a_change_is_written_only_if_no_other_came_first() -> None:
    first = change(DesiredSchedule(), ScheduleRequest({"paused": True}, None), DEPLOYED, ANN, NOW)
    third = change(AFTER_TWO, ScheduleRequest({"paused": False}, None), DEPLOYED, ANN, NOW)
    assert first
    assert third
    desired, record = (one["Put"] for one in change_request("Entity", first)["TransactItems"])
    assert desired["ConditionExpression"] == "attribute_not_exists(pk)"
    assert (desired["Item"]["sk"], record["Item"]["sk"]) == ({"S": "desired"}, {"S": "change#000000000001"})
    desired, _ = (one["Put"] for one in change_request("Entity", third)["TransactItems"])
    assert (desired["ConditionExpression"], desired["ExpressionAttributeValues"]) == (
        "version = :before",
        {":before": {"N": "2"}},
    )


# ---------------------------------------------------------------- updates of the actual schedule

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


def test_an_update_repeats_every_other_field() -> None:
    request = update_request(ActualSchedule(READ), AFTER_TWO.setting(DEPLOYED))
    read_only = {"Arn", "CreationDate", "LastModificationDate", "ResponseMetadata"}
    repeated = {name: value for name, value in READ.items() if name not in read_only}
    assert request == {**repeated, "ScheduleExpression": NIGHTLY, "State": "DISABLED"}


def test_a_schedule_that_is_as_desired_is_not_updated() -> None:
    assert update_request(ActualSchedule(READ), DesiredSchedule().setting(DEPLOYED)) is None


@pytest.mark.parametrize(
    "other",
    [{"ScheduleExpression": NIGHTLY}, {"State": "DISABLED"}, {"ScheduleExpressionTimezone": "Europe/London"}],
)
def test_a_schedule_that_differs_from_the_desired_one_is_corrected(other: dict[str, Any]) -> None:
    request = update_request(ActualSchedule({**READ, **other}), DesiredSchedule().setting(DEPLOYED))
    assert request
    assert {name: READ[name] for name in request} == request


# ---------------------------------------------------------------- the delay of the reports

SEALED = QuarterHour.parse("202610230645")
GRACE = timedelta(minutes=2)
DUE = datetime(2026, 10, 23, 7, 17, tzinfo=UTC)
"""The instant at which the quarter-hour after the sealed ones is closed and due."""


def late(expression: str, now: datetime, desired: DesiredSchedule | None = None) -> tuple[float, float]:
    found = delay(SEALED, GRACE, parse(expression), desired or DesiredSchedule(), now)
    return found.seconds, found.firings


def test_nothing_is_late_before_the_first_event_or_while_nothing_has_closed() -> None:
    assert delay(None, GRACE, parse(DEPLOYED), DesiredSchedule(), NOW).firings == 0
    assert late(DEPLOYED, DUE - timedelta(seconds=1)) == (0, 0)
    assert late(DEPLOYED, DUE) == (0, 0)


@pytest.mark.parametrize(("minutes", "firings"), [(0, 0), (30, 0.5), (60, 1), (120, 2), (150, 2.5)])
def test_a_rate_is_late_by_the_periods_that_the_oldest_closed_quarter_hour_has_waited(
    minutes: int, firings: float
) -> None:
    assert late(DEPLOYED, DUE + timedelta(minutes=minutes)) == (60 * minutes, firings)


def test_a_cron_is_late_by_the_number_of_missed_firings() -> None:
    weekdays = "cron(0 8 ? * MON-FRI *)"
    friday = DUE.replace(hour=8, minute=0)
    firings = [late(weekdays, friday + timedelta(days=days, minutes=-1))[1] for days in range(6)]
    assert firings == [0, 1, 1, 1, 2, 3], "a weekend is not a delay"


def test_a_schedule_that_was_just_made_faster_is_not_late_yet() -> None:
    now = DUE + timedelta(hours=8)
    changed = DesiredSchedule(1, "rate(15 minutes)", since=now - timedelta(minutes=15))
    assert late("rate(15 minutes)", now, changed) == (8 * 3600, 1)
    assert late("rate(15 minutes)", now, replace(changed, since=DUE - timedelta(days=1))) == (8 * 3600, 32)


def test_firings_count_as_missed_during_a_pause() -> None:
    paused = DesiredSchedule(1, None, paused=True, since=DUE)
    assert late(DEPLOYED, DUE + timedelta(hours=3), paused) == (3 * 3600, 3)
