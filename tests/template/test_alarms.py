"""Alarms and the dashboard: each looks at something that there is, goes off when it must, and sleeps when it may."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pytest
from moto import mock_aws

from benchmarks.cost import own_metrics
from quarterhour.aws.telemetry import Metric as Own
from quarterhour.maintenance.routes import queue_urls
from quarterhour.model.clock import ManualClock, using
from quarterhour.reports.schedule.plan import LATE_FIRINGS
from quarterhour_tools.emulator.direct import embedded
from quarterhour_tools.emulator.template import Template
from tests.support.cases import cases
from tests.support.repository import ROOT
from tests.template.calls import World, started
from tests.template.cloudwatch import (
    AWS_METRICS,
    MINUTE,
    RESOURCES,
    Alarm,
    Metric,
    Series,
    alarms,
    dashboard,
    emitted,
    plotted,
)
from tests.template.day import live_through
from tests.template.stack import FILE, OF_OPTIONS, OPTIONS, Stack, arn_of, attribute, parsed

ALARMS = sorted(name for name, one in parsed()["Resources"].items() if one["Type"] == "AWS::CloudWatch::Alarm")
DAY = 24 * 60 * MINUTE
SPAN = 5 * MINUTE
OPERATIONS, RUNBOOKS = ((ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("operations", "runbooks"))
REPORTED_WITHIN = 2 * MINUTE
"""From a run's end until CloudWatch knows of it."""
METRICS_OF_AN_ALARM = 10
"""The most that CloudWatch computes with in one."""
METRICS_OF_A_FREE_DASHBOARD = 50


@pytest.fixture(scope="module")
def known(stack: Stack, template: Template) -> dict[str, Alarm]:
    return alarms(stack, template)


@pytest.fixture(scope="module")
def written(template: Template, stack: Stack) -> Iterator[set[Metric]]:
    """The metrics that the functions write in a day in which each meets everything."""
    clock = ManualClock(datetime(2026, 10, 23, 1, 40, tzinfo=UTC))
    with mock_aws(), embedded(), using(clock), pytest.MonkeyPatch.context() as patch:
        world = World(clock)
        world.build(template, stack, patch)
        live_through(world)
        yield {metric for name in world.functions for metric in emitted(world.written(name))}


# ---------------------------------------------------------------- what they look at


def problem(metric: Metric, stack: Stack, written: set[Metric]) -> str | None:
    """Return why there is no such metric; ``None`` where there is."""
    if metric.namespace not in AWS_METRICS:
        return None if metric in written else f"no function writes {metric}"
    names, dimensions = AWS_METRICS[metric.namespace]
    if metric.name not in names or metric.names not in dimensions:
        return f"AWS has no {metric}"
    values = dict(metric.dimensions)
    for name, kind in RESOURCES.items():
        if name in values and values[name].partition(".")[0] not in stack.of(kind):
            return f"{values[name]} is no {kind}"
    if metric.name == "IteratorAge":
        mapped = [one["FunctionName"]["Ref"] for one in stack.of("AWS::Lambda::EventSourceMapping").values()]
        return None if values["FunctionName"].removesuffix(".Ref") in mapped else f"{metric} reads no stream"
    return None if values.get("Stage", "$default") == "$default" else f"there is no stage for {metric}"


def test_no_route_has_metrics_of_its_own_which_cost(stack: Stack) -> None:
    for stage in stack.of("AWS::ApiGatewayV2::Stage").values():
        settings = [stage["DefaultRouteSettings"], *stage.get("RouteSettings", {}).values()]
        assert not any(one["DetailedMetricsEnabled"] for one in settings)


@pytest.mark.parametrize("name", ALARMS)
class TestEachAlarm:
    @pytest.mark.slow
    def test_looks_at_metrics_that_are_emitted(
        self, known: dict[str, Alarm], stack: Stack, written: set[Metric], name: str
    ) -> None:
        assert [found for one in known[name].metrics if (found := problem(one, stack, written))] == []
        assert len(known[name].metrics) <= METRICS_OF_AN_ALARM

    def test_tells_the_topic_when_it_goes_off_and_when_it_is_over(self, stack: Stack, name: str) -> None:
        actions = {"Fn::If": ["AlarmsAreSent", [{"Ref": "AlarmTopicArn"}], []]}
        properties = stack.of("AWS::CloudWatch::Alarm")[name]
        assert (properties["AlarmActions"], properties["OKActions"]) == (actions, actions)

    def test_sleeps_on_a_normal_day(self, known: dict[str, Alarm], name: str) -> None:
        assert not known[name].goes_off(normal(known), DAY)

    def test_goes_off_on_a_breach(self, known: dict[str, Alarm], name: str) -> None:
        for metric in known[name].metrics:
            assert known[name].goes_off({**normal(known), metric: BREACHES[metric.name]}, DAY), metric

    def test_has_its_runbook(self, known: dict[str, Alarm], name: str) -> None:
        (section,) = re.findall(rf"^### {known[name].name}$(.*?)(?=^##)", RUNBOOKS, re.DOTALL | re.MULTILINE)
        for part in ("**Means**", "**Look**", "**Do**"):
            assert part in section


def test_there_is_a_runbook_of_no_other_alarm(known: dict[str, Alarm]) -> None:
    chapter = RUNBOOKS.partition("## Alarms")[2].partition("\n## ")[0]
    documented = re.findall(r"^### ([a-z0-9-]+)$", chapter, re.MULTILINE)
    assert sorted(documented) == sorted(one.name for one in known.values())


# ---------------------------------------------------------------- when they go off


def every(seconds: int, value: float) -> list[tuple[float, float]]:
    """Return a value at intervals through the day."""
    return [(second, value) for second in range(0, DAY, seconds)]


def normal(known: dict[str, Alarm]) -> Series:
    """Return a day as it should be: requests and batches every minute, a report every hour, the watch four times."""
    usual: dict[str, list[tuple[float, float]]] = {
        "Errors": every(MINUTE, 0),
        "Throttles": every(MINUTE, 0),
        "5xx": every(MINUTE, 0),
        "IteratorAge": every(MINUTE, 4_000),
        "ApproximateNumberOfMessagesVisible": every(SPAN, 0),
        "ApproximateAgeOfOldestMessage": every(MINUTE, 320),
        "ExecutionsFailed": every(60 * MINUTE, 0),
        Own.EVENTS_UNAVAILABLE: every(MINUTE, 0),
        Own.COUNTER_DRIFT: every(60 * MINUTE, 0),
        Own.INBOX_FILES_FAILED: every(60 * MINUTE, 0),
        Own.DELIVERIES_PARKED: every(60 * MINUTE, 0),
        Own.ARCHIVE_DELAY_DAYS: every(60 * MINUTE, 4),
        Own.SUBSCRIPTIONS_DISABLED: every(MINUTE, 0),
        Own.HELD_OVERDUE: every(SPAN, 0),
        # A run that takes an hour.
        Own.STATEMENTS_DUE: [(second, float(600 <= second // MINUTE < 660)) for second, _ in every(15 * MINUTE, 0)],
        # Just before a report, the checkpoint is a rate and the grace old.
        Own.REPORT_DELAY: [
            (second + late, delay)
            for second in range(0, DAY, 60 * MINUTE)
            for late, delay in ((7, 1.05), (15 * MINUTE + 40, 0.3), (30 * MINUTE, 0.55), (45 * MINUTE, 0.8))
        ],
    }
    return {metric: usual[metric.name] for alarm in known.values() for metric in alarm.metrics}


def once(at: int, value: float) -> list[tuple[float, float]]:
    """Return a value at one minute."""
    return [(at * MINUTE, value)]


def from_(at: int, minutes: int, value: float) -> list[tuple[float, float]]:
    """Return a value in each minute of a span."""
    return [((at + minute) * MINUTE, value) for minute in range(minutes)]


BREACHES: dict[str, list[tuple[float, float]]] = {
    "Errors": from_(600, 10, 1),
    "Throttles": from_(600, 10, 3),
    "5xx": from_(600, 10, 1),
    "IteratorAge": from_(600, 15, 900_000),
    "ApproximateNumberOfMessagesVisible": once(600, 1),
    "ApproximateAgeOfOldestMessage": from_(600, 15, 900),
    "ExecutionsFailed": once(600, 1),
    Own.EVENTS_UNAVAILABLE: from_(600, 15, 1),
    Own.COUNTER_DRIFT: once(600, 1),
    Own.INBOX_FILES_FAILED: once(600, 1),
    Own.DELIVERIES_PARKED: once(600, 1),
    Own.ARCHIVE_DELAY_DAYS: once(600, 32),
    Own.SUBSCRIPTIONS_DISABLED: once(600, 1),
    Own.REPORT_DELAY: [(600 * MINUTE, 2.0), (615 * MINUTE, 2.25)],
    Own.HELD_OVERDUE: once(600, 1),
    Own.STATEMENTS_DUE: [((600 + 15 * tick) * MINUTE, 1) for tick in range(8)],
}

FAR_APART = [*once(300, 7), *once(600, 7)]
"""Two hiccups that have nothing to do with each other."""

HICCUPS: dict[str, list[tuple[float, float]]] = {
    "RequestErrorsAlarm": FAR_APART,
    "StreamErrorsAlarm": once(600, 7),
    "ThrottlesAlarm": once(600, 7),
    "Api5xxAlarm": FAR_APART,
    "People5xxAlarm": FAR_APART,
    "EventsUnavailableAlarm": [*from_(300, 10, 1), *from_(600, 10, 1)],
    "StreamsBehindAlarm": from_(600, 10, 2_000_000),
    "IntakeErrorsAlarm": once(600, 7),
    "ConnectionsErrorsAlarm": once(600, 7),
    "IntakeBehindAlarm": from_(600, 10, 2_000),
}


@cases("name", HICCUPS)
def test_what_passes_by_itself_wakes_nobody(known: dict[str, Alarm], name: str) -> None:
    day = normal(known)
    for metric in known[name].metrics:
        merged = sorted([*day[metric], *HICCUPS[name]])
        assert not known[name].goes_off({**day, metric: merged}, DAY)


OF_REQUESTS = ("RequestErrorsAlarm", "Api5xxAlarm", "People5xxAlarm", "EventsUnavailableAlarm")
"""What only requests set off: where these are rare, so are the spans in which anything can fail."""


@cases("amid", ["requests", "silence"])
@cases("minutes", [30, 60])
@cases("name", OF_REQUESTS)
def test_who_seldom_asks_and_fails_each_time_is_heard(
    known: dict[str, Alarm], name: str, minutes: int, amid: str
) -> None:
    usual = normal(known) if amid == "requests" else {}
    for metric in known[name].metrics:
        failing = sorted([*usual.get(metric, ()), *((second + 7, 1) for second, _ in every(minutes * MINUTE, 1))])
        assert known[name].goes_off({**usual, metric: failing}, 4 * 60 * MINUTE), metric


def test_one_failed_run_alarms_at_once(known: dict[str, Alarm]) -> None:
    for metric in known["RunErrorsAlarm"].metrics:
        assert known["RunErrorsAlarm"].goes_off({metric: once(600, 1)}, DAY)


def test_what_a_run_tells_at_its_end_is_still_looked_at(known: dict[str, Alarm], stack: Stack) -> None:
    """Lambda dates errors by the run's beginning, and FILL has put a zero into what came since."""
    for alarm in known.values():
        dated = [one for one in alarm.metrics if one.name == "Errors"]
        for function in (dict(one.dimensions)["FunctionName"] for one in dated):
            longest = stack.of("AWS::Lambda::Function")[function.removesuffix(".Ref")]["Timeout"]
            late = longest + REPORTED_WITHIN + alarm.period  # it may have begun as its span ended
            assert (alarm.periods - alarm.to_alarm + 1) * alarm.period >= late, (alarm.name, function)


def test_silence_is_no_news_but_of_the_reports(known: dict[str, Alarm]) -> None:
    assert [name for name, alarm in known.items() if alarm.goes_off({}, DAY)] == ["ReportLateAlarm"]


def test_a_watch_that_stops_is_missed_within_the_hour(known: dict[str, Alarm]) -> None:
    alarm = known["ReportLateAlarm"]
    stopped = {metric: [one for one in series if one[0] < 120 * MINUTE] for metric, series in normal(known).items()}
    assert not alarm.goes_off(stopped, 135 * MINUTE)
    assert alarm.goes_off(stopped, 180 * MINUTE)


# ---------------------------------------------------------------- that none is forgotten


BEHIND_APIS_ALONE: Final = {"ConsoleFunction"}
"""Functions that cost nothing at rest: their failures are responses of an API, and its alarm sees those."""


def test_every_function_is_watched_for_errors_and_the_account_for_throttles(
    known: dict[str, Alarm], stack: Stack
) -> None:
    watched = Counter(
        dict(one.dimensions)["FunctionName"].removesuffix(".Ref")
        for alarm in known.values()
        for one in alarm.metrics
        if one.name == "Errors"
    )
    assert [one.names for alarm in known.values() for one in alarm.metrics if one.name == "Throttles"] == [frozenset()]
    assert watched == Counter(stack.of("AWS::Lambda::Function").keys() - BEHIND_APIS_ALONE)


@pytest.mark.parametrize("function", sorted(BEHIND_APIS_ALONE))
def test_a_function_without_an_alarm_is_invoked_by_apis_alone_and_each_has_one(
    known: dict[str, Alarm], stack: Stack, function: str
) -> None:
    fives = [one for alarm in known.values() for one in alarm.metrics if one.name == "5xx"]
    watched = {dict(one.dimensions)["ApiId"] for one in fives if "ApiId" in dict(one.dimensions)}
    invokers = [one for one in stack.of("AWS::Lambda::Permission").values() if function in str(one["FunctionName"])]
    assert {one["Principal"] for one in invokers} == {"apigateway.amazonaws.com"}
    apis = {api for api in stack.of("AWS::ApiGatewayV2::Api") for one in invokers if api in str(one["SourceArn"])}
    assert apis
    assert {f"{api}.Ref" for api in apis} <= watched
    assert function not in str(stack.of("AWS::Lambda::EventSourceMapping"))


def test_every_stream_function_is_watched_for_its_lag(known: dict[str, Alarm], stack: Stack) -> None:
    watched = {
        dict(one.dimensions)["FunctionName"].removesuffix(".Ref")
        for alarm in known.values()
        for one in alarm.metrics
        if one.name == "IteratorAge"
    }
    mappings = stack.of("AWS::Lambda::EventSourceMapping").values()
    assert watched == {one["FunctionName"]["Ref"] for one in mappings if "StartingPosition" in one}


def test_every_queue_that_a_function_reads_is_watched_for_its_age(known: dict[str, Alarm], stack: Stack) -> None:
    watched = {
        dict(one.dimensions)["QueueName"].partition(".")[0]
        for alarm in known.values()
        for one in alarm.metrics
        if one.name == "ApproximateAgeOfOldestMessage"
    }
    mappings = stack.of("AWS::Lambda::EventSourceMapping").values()
    assert watched == {arn_of(one["EventSourceArn"]) for one in mappings if "StartingPosition" not in one}


def test_every_queue_is_watched(known: dict[str, Alarm], stack: Stack) -> None:
    watched = {
        value.partition(".")[0] for alarm in known.values() for one in alarm.metrics for _, value in one.dimensions
    }
    assert stack.of("AWS::SQS::Queue").keys() <= watched


def test_the_state_of_the_operation_has_the_names_and_the_threshold_of_the_alarms(
    known: dict[str, Alarm], stack: Stack, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _ = started(template.functions(attribute)["read"], monkeypatch)
    looked_at = {
        alarm.name: value.partition(".")[0]
        for alarm in known.values()
        for metric in alarm.metrics
        for name, value in metric.dimensions
        if name == "QueueName" and metric.name == "ApproximateNumberOfMessagesVisible"
    }
    assert {name: url.partition(".")[0] for name, url in queue_urls(module.resources.env).items()} == looked_at
    assert stack.of("AWS::CloudWatch::Alarm")["ReportLateAlarm"]["Threshold"] == LATE_FIRINGS


@pytest.mark.slow
def test_every_metric_of_ours_is_written(written: set[Metric]) -> None:
    assert {one.name for one in written} == {str(one) for one in Own}


# ---------------------------------------------------------------- what watching costs


@pytest.mark.slow
def test_the_functions_write_the_metrics_that_the_estimate_of_costs_counts_and_no_others(written: set[Metric]) -> None:
    every = Template.load(FILE, OPTIONS)
    assert {f"{one.name} of {dict(one.dimensions)['service']}" for one in written} == own_metrics(every)


# ---------------------------------------------------------------- the dashboard


def test_the_dashboard_shows_every_alarm_that_always_stands_and_those_of_options_that_are_on(
    known: dict[str, Alarm], stack: Stack, template: Template
) -> None:
    (widget,) = (one for one in dashboard(stack, template) if one["type"] == "alarm")
    assert sorted(widget["properties"]["alarms"]) == [
        f"{name}.Arn"
        for name, alarm in sorted(known.items())
        if not alarm.conditional or stack.resources[name]["Condition"] in OF_OPTIONS
    ]


@pytest.mark.slow
def test_the_dashboard_plots_metrics_that_are_emitted(stack: Stack, template: Template, written: set[Metric]) -> None:
    widgets = [one for one in dashboard(stack, template) if one["type"] == "metric"]
    assert len(widgets) > 1
    for widget in widgets:
        named = list(plotted(widget))
        assert named
        assert [found for one in named if (found := problem(one, stack, written))] == []


def test_the_dashboard_plots_the_errors_of_every_function_and_is_small_enough_to_be_free(
    stack: Stack, template: Template
) -> None:
    plots = [one for widget in dashboard(stack, template) if widget["type"] == "metric" for one in plotted(widget)]
    assert Counter(
        dict(one.dimensions)["FunctionName"].removesuffix(".Ref") for one in plots if one.name == "Errors"
    ) == Counter(stack.of("AWS::Lambda::Function").keys())
    assert len(plots) <= METRICS_OF_A_FREE_DASHBOARD


def test_the_widgets_of_the_dashboard_lie_beside_each_other(stack: Stack, template: Template) -> None:
    taken: Counter[tuple[int, int]] = Counter()
    for one in dashboard(stack, template):
        assert one["x"] + one["width"] <= 24
        columns, rows = range(one["x"], one["x"] + one["width"]), range(one["y"], one["y"] + one["height"])
        taken.update((column, row) for column in columns for row in rows)
    assert max(taken.values()) == 1
