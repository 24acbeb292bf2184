"""What the functions measure and log of their work: the alarms and dashboards rest on these names and values."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO
from logging import StreamHandler
from typing import Any

import pytest

from quarterhour.aws.telemetry import logger
from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.emulator.stack import open_stack
from tests.support.events import refund, sale
from tests.support.requests import post
from tests.support.system import START, World
from tests.support.tables import change_counter

PK = "ACCOUNT#42#GBP"


@pytest.fixture
def logs() -> StringIO:
    return StringIO()


@pytest.fixture
def world(logs: StringIO) -> Iterator[World]:
    handler = logger.registered_handler
    assert isinstance(handler, StreamHandler)
    before = handler.setStream(logs)
    clock = ManualClock(START)
    try:
        with using(clock), open_stack("embedded", virtual=True, logs=logs) as stack:
            yield World(stack, clock)
    finally:
        handler.setStream(before)


def written(logs: StringIO) -> list[dict[str, Any]]:
    """Return the lines written since the last look."""
    lines = [json.loads(line) for line in logs.getvalue().splitlines()]
    logs.seek(0)
    logs.truncate()
    return lines


def measured(logs: StringIO) -> dict[str, float]:
    """Return what the last invocation measured, by metric."""
    *_, last = (line for line in written(logs) if "_aws" in line)
    (directive,) = last["_aws"]["CloudWatchMetrics"]
    return {metric["Name"]: sum(last[metric["Name"]]) for metric in directive["Metrics"]}


def said(lines: list[dict[str, Any]], message: str) -> dict[str, Any]:
    """Return the one log line with a message."""
    (line,) = (line for line in lines if line.get("message") == message)
    return line


def test_each_verdict_of_a_request_is_measured(world: World, logs: StringIO) -> None:
    post(world, [sale("a", "1"), sale("b", "2")])
    written(logs)
    post(world, [sale("a", "1"), sale("b", "3"), sale("c", "4"), sale("d", "five"), sale("e", "6"), sale("e", "6")])
    lines = written(logs)
    (line,) = (line for line in lines if "_aws" in line)
    assert [metric["Name"] for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]] == ["EventsRecorded"]
    assert line["EventsRecorded"] == [2]
    assert said(lines, "not all recorded")["verdicts"] == {"duplicate": 2, "conflict": 1, "rejected": 1}


def test_a_report_logs_what_it_sealed_and_measures_nothing_that_is_zero(world: World, logs: StringIO) -> None:
    post(world, [sale("a", "1"), sale("b", "2"), refund("c", "-1", of="a")])
    world.pass_time(minutes=33)
    written(logs)
    result = world.report()
    lines = written(logs)
    assert (result["sealed_quarter_hours"], result["lines"]) == (2, 3)
    assert not any("_aws" in line for line in lines)
    assert result.items() <= said(lines, "reported").items()


def test_a_report_measures_counters_that_differ_from_the_ledger(world: World, logs: StringIO) -> None:
    post(world, [sale("a", "1"), sale("b", "2")])
    world.drain()
    change_counter(world, "QUARTER#202610230130", events={"N": "7"})
    world.clock.advance_to(START.replace(hour=3))
    world.report()
    assert measured(logs)["CounterDrift"] == 1


def test_a_reseal_is_logged(world: World, logs: StringIO) -> None:
    post(world, sale("a", "1"))
    world.pass_time(minutes=18)
    (run,) = world.report()["runs"]
    written(logs)
    resealed = world.stack.invoke("report", {"reseal": run})
    assert resealed.items() <= said(written(logs), "resealed").items()


def test_a_paused_tick_is_logged_and_measures_nothing(world: World, logs: StringIO) -> None:
    body = json.dumps({"paused": True}).encode()
    request = Request("PUT", "/schedule", headers=(("content-type", "application/json"),), body=body)
    assert world.stack.request(request).status == 200
    written(logs)
    assert world.stack.invoke("report", {"source": "aws.scheduler", "id": "tick"}) == {"paused": True}
    lines = written(logs)
    assert said(lines, "paused")["correlation_id"] == "tick"
    assert not any("_aws" in line for line in lines)


def test_the_operator_logs_what_was_repaired_and_what_was_unparked(world: World, logs: StringIO) -> None:
    post(world, [sale("a", "1"), sale("b", "2")])
    world.pass_time(days=2)
    world.report()
    change_counter(world, "DAY#2026-10-23", events={"N": "7"})
    written(logs)
    assert world.stack.invoke("repair", {"action": "rebuild"})["repaired"] == 1
    assert said(written(logs), "rebuilt")["repaired"] == 1
    unparked = world.stack.invoke("repair", {"action": "unpark"})
    assert set(unparked) == {"snapshots", "counters"}
    assert said(written(logs), "unparked")["functions"] == unparked


def test_the_watch_logs_what_it_found(world: World, logs: StringIO) -> None:
    world.sell("1.00")
    world.clock.advance_to(datetime(2026, 11, 4, 0, 20, tzinfo=UTC))
    world.report()
    found = world.stack.invoke("watch", {})
    assert found["statements_due"] == "2026-10"
    line = said(written(logs), "watched")
    assert json.loads(json.dumps(found)).items() <= line.items()
