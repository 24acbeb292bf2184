"""The report schedule over HTTP, and its reconciliation by the watch."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest

from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.emulator.template import TEMPLATE
from tests.support.system import START, World

DEPLOYED = "rate(1 hour)"
WEEKDAYS = "cron(0,30 6-20 ? * MON-FRI *)"
SAMPLES = TEMPLATE.parent / "events"
TICK = json.loads((SAMPLES / "report-schedule.json").read_text("utf-8"))


@pytest.fixture
def logs() -> StringIO:
    return StringIO()


@pytest.fixture
def world(logs: StringIO) -> Iterator[World]:
    clock = ManualClock(START)
    with using(clock), open_stack("embedded", virtual=True, logs=logs) as stack:
        yield World(stack, clock)


def put(world: World, **body: Any) -> Response:
    headers = (("content-type", "application/json"),)
    return world.stack.request(Request("PUT", "/schedule", headers=headers, body=json.dumps(body).encode()))


def changed(world: World, **body: Any) -> Any:
    """Change the schedule, and return the JSON of the response."""
    response = put(world, **body)
    assert response.status == 200, response.body
    return response.json()


def redeploy(world: World, **others: Any) -> None:
    """Reset the schedule as an update of the stack may do: every property as in the template."""
    scheduler = world.stack.engine.scheduler()
    name = world.stack.functions["watch"].environment["SCHEDULE_NAME"]
    read = scheduler.get_schedule(Name=name)
    request: Any = {
        "Name": name,
        "ScheduleExpression": world.stack.functions["watch"].environment["REPORT_RATE"],
        "ScheduleExpressionTimezone": "UTC",
        "State": "ENABLED",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": read["Target"],
    }
    scheduler.update_schedule(**{**request, **others})


def deploy_rate(world: World, rate: str) -> None:
    """Deploy with another value of the parameter ReportRate."""
    for name in ("read", "write", "watch"):
        environment: Any = world.stack.functions[name].environment
        environment["REPORT_RATE"] = rate
        world.stack.cold_start(name)
    redeploy(world)


def sample(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((SAMPLES / f"{name}.json").read_text("utf-8"))
    return event


# ---------------------------------------------------------------- reading it


def test_the_schedule_is_as_deployed_until_it_is_changed(world: World) -> None:
    shown = world.read("/schedule")
    firings = [datetime.fromisoformat(one) for one in shown.pop("firings")]
    assert shown == {
        "expression": DEPLOYED,
        "state": "enabled",
        "desired": {"expression": DEPLOYED, "paused": False, "overridden": False},
        "version": 0,
        "deployed": DEPLOYED,
        "items": [],
        "next": None,
    }
    assert START < firings[0] <= START + timedelta(hours=1)
    assert [later - firings[0] for later in firings] == [timedelta(hours=number) for number in range(3)]


def test_the_next_firings_of_a_cron_are_shown(world: World) -> None:
    world.clock.advance_to(datetime(2026, 10, 23, 20, 15, tzinfo=UTC))
    assert changed(world, expression=WEEKDAYS)["firings"] == [
        "2026-10-23T20:30:00Z",
        "2026-10-26T06:00:00Z",
        "2026-10-26T06:30:00Z",
    ]


def test_a_schedule_that_was_edited_in_aws_is_shown_as_it_is(world: World) -> None:
    redeploy(world, ScheduleExpression="rate(1 minute)")
    shown = world.read("/schedule")
    assert (shown["expression"], shown["firings"]) == ("rate(1 minute)", [])
    assert shown["desired"]["expression"] == DEPLOYED


# ---------------------------------------------------------------- changing it


def test_a_change_applies_at_once_and_is_recorded_for_ever(world: World) -> None:
    assert changed(world, expression=WEEKDAYS, reason="quiet nights")["expression"] == WEEKDAYS
    world.clock.advance(timedelta(hours=1))
    paused = changed(world, paused=True)
    assert (paused["expression"], paused["state"], paused["firings"]) == (WEEKDAYS, "paused", [])
    assert world.read("/schedule")["items"] == [
        {
            "version": 2,
            "at": "2026-10-23T02:30:00.000Z",
            "by": "arn:aws:iam::123456789012:user/local",
            "from": {"expression": WEEKDAYS, "paused": False, "overridden": True},
            "to": {"expression": WEEKDAYS, "paused": True, "overridden": True},
            "reason": None,
        },
        {
            "version": 1,
            "at": "2026-10-23T01:30:00.000Z",
            "by": "arn:aws:iam::123456789012:user/local",
            "from": {"expression": DEPLOYED, "paused": False, "overridden": False},
            "to": {"expression": WEEKDAYS, "paused": False, "overridden": True},
            "reason": "quiet nights",
        },
    ]


def test_a_resumed_schedule_fires_as_before(world: World) -> None:
    changed(world, expression=WEEKDAYS)
    changed(world, paused=True)
    resumed = changed(world, paused=False)
    assert (resumed["expression"], resumed["state"]) == (WEEKDAYS, "enabled")


def test_a_change_sends_the_scheduler_only_the_requested_fields(world: World) -> None:
    scheduler = world.stack.engine.scheduler()
    name = world.stack.functions["watch"].environment["SCHEDULE_NAME"]
    before = scheduler.get_schedule(Name=name)
    changed(world, expression=WEEKDAYS, paused=True)
    after = scheduler.get_schedule(Name=name)
    assert (after["ScheduleExpression"], after["State"]) == (WEEKDAYS, "DISABLED")
    for field in ("Target", "FlexibleTimeWindow", "ScheduleExpressionTimezone", "GroupName"):
        assert after[field] == before[field]


def test_the_same_request_again_is_not_a_change(world: World) -> None:
    for _ in range(3):
        changed(world, expression=WEEKDAYS, paused=True, reason="again")
    assert [one["version"] for one in world.read("/schedule")["items"]] == [1]


def test_a_change_of_another_version_than_the_one_seen_is_refused(world: World) -> None:
    seen = changed(world, expression=WEEKDAYS)["version"]
    changed(world, paused=True)
    response = put(world, expression="rate(2 hours)", seen=seen)
    assert (response.status, "its version is 2, not 1" in response.json()["detail"]) == (409, True)
    assert world.read("/schedule")["expression"] == WEEKDAYS
    assert changed(world, expression="rate(2 hours)", seen=2)["version"] == 3


def test_the_same_change_again_after_a_lost_response_is_no_conflict(world: World) -> None:
    assert [changed(world, paused=True, seen=0)["version"] for _ in range(2)] == [1, 1]


def test_changes_come_in_pages(world: World) -> None:
    for minutes in range(15, 20):
        changed(world, expression=f"rate({minutes} minutes)")
    pages = [[one["version"] for one in page["items"]] for page in world.pages("/schedule", limit=2)]
    assert pages == [[5, 4], [3, 2], [1]]
    assert world.refused("/schedule", next="AAAA")["field"] == "next"
    assert world.refused("/schedule", limit=0)["field"] == "limit"


def test_the_sample_events_get_a_response(world: World) -> None:
    responses = [world.stack.invoke(name, sample(f"{name}-schedule")) for name in ("write", "read")]
    assert [response["statusCode"] for response in responses] == [200, 200]
    (change,) = json.loads(responses[1]["body"])["items"]
    assert change["by"] == "arn:aws:sts::123456789012:assumed-role/operator/operator"


# ---------------------------------------------------------------- the watch


def watch(world: World) -> dict[str, Any]:
    tick: dict[str, Any] = world.stack.invoke("watch", sample("watch-tick"))
    return tick


def measured(logs: StringIO) -> dict[str, tuple[float, str]]:
    """Return the metrics of the last invocation, each with its unit."""
    line = [one for one in map(json.loads, logs.getvalue().splitlines()) if "_aws" in one][-1]
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    return {one["Name"]: (line[one["Name"]][0], one["Unit"]) for one in directive["Metrics"]}


def test_a_schedule_that_a_deployment_resets_is_reconciled_by_the_next_watch(world: World) -> None:
    changed(world, expression=WEEKDAYS, paused=True)
    redeploy(world)
    assert world.read("/schedule")["state"] == "enabled"
    assert [watch(world)["reconciled"] for _ in range(2)] == [True, False]
    shown = world.read("/schedule")
    assert (shown["expression"], shown["state"], len(shown["items"])) == (WEEKDAYS, "paused", 1)


def test_a_pause_survives_a_deployment_that_enables_the_schedule(world: World) -> None:
    changed(world, paused=True)
    redeploy(world)
    world.sell("1")
    world.clock.advance(timedelta(hours=1))
    assert world.stack.invoke("report", TICK) == {"paused": True}
    assert world.read("/reports")["items"] == []
    assert world.stack.invoke("report", {})["sealed_quarter_hours"] > 0, "an operator may report meanwhile"
    changed(world, paused=False)
    assert world.stack.invoke("report", TICK)["complete"]


def test_a_new_deployed_rate_applies_only_without_a_desired_expression(world: World) -> None:
    changed(world, paused=True)
    deploy_rate(world, "rate(2 hours)")
    assert watch(world)["reconciled"]
    assert world.read("/schedule")["desired"] == {"expression": "rate(2 hours)", "paused": True, "overridden": False}
    changed(world, expression=WEEKDAYS)
    deploy_rate(world, "rate(3 hours)")
    watch(world)
    assert world.read("/schedule")["expression"] == WEEKDAYS
    assert changed(world, expression=None)["expression"] == "rate(3 hours)", "handed back to the deployments"


def test_the_watch_measures_how_late_the_reports_are(world: World, logs: StringIO) -> None:
    watch(world)
    assert measured(logs) == {"ReportDelay": (0, "Count"), "StatementsDue": (0, "Count")}
    world.sell("1")  # at 01:30, so its quarter-hour is due from 01:47 on
    world.clock.advance_to(datetime(2026, 10, 23, 3, 17, tzinfo=UTC))
    watch(world)
    assert measured(logs)["ReportDelay"] == (1.5, "Count")
    world.report()
    watch(world)
    assert measured(logs)["ReportDelay"] == (0, "Count")


def test_a_forgotten_pause_is_noticed(world: World, logs: StringIO) -> None:
    world.sell("1")
    changed(world, paused=True)
    world.clock.advance(timedelta(hours=3))
    watch(world)
    assert measured(logs)["ReportDelay"][0] > 2
