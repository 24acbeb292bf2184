"""What a month costs: the pages show what the estimate gives, and its parts grow with what causes them."""

from dataclasses import replace
from decimal import Decimal

import pytest

from benchmarks.cost import (
    SECONDS_A_MONTH,
    Month,
    access_bytes,
    estimate,
    idle,
    own_metrics,
    pages,
    request_bytes,
    shards,
    snap_start,
    snap_start_table,
    stream_units,
    unauthenticated_cost,
    watching,
)
from benchmarks.prices import DASHBOARD_MONTH, MILLION, SNAPSHOT_GB_SECOND, WRITE
from benchmarks.traffic import HOURS_A_MONTH, Traffic, simulate
from benchmarks.units import WindowUnits, load_units
from quarterhour_tools.emulator.template import TEMPLATE, Template
from tests.support.repository import ROOT

UNITS = load_units()
PLAIN = Template.load(TEMPLATE)
DASHBOARD = {"Dashboard": "on"}


def dollars(month: Month) -> dict[str, Decimal]:
    return {line.service: line.dollars for line in estimate(month, UNITS, PLAIN)}


def of(**traffic: float) -> dict[str, Decimal]:
    return dollars(Month(replace(Traffic(), **traffic)))  # type: ignore[arg-type]  # numbers of the field's kind


@pytest.mark.slow
def test_the_pages_show_the_estimate() -> None:
    for page, _, text in pages(UNITS, PLAIN):
        assert text in page.read_text("utf-8"), f"python -m benchmarks.cost --write writes {page}"


def test_the_deployment_page_shows_what_the_template_costs() -> None:
    page = " ".join((ROOT / "docs" / "deployment.md").read_text("utf-8").split())
    assert " ".join(snap_start_table(PLAIN).split()) in page, "python -m benchmarks.cost --template prints it"
    assert f"cost at most ${unauthenticated_cost(PLAIN):,.0f} a month" in page, (
        "python -m benchmarks.cost --template prints it"
    )


def test_units_are_paid_by_the_million() -> None:
    parts = dollars(Month(new_customers=Decimal(1)))
    assert parts["recording"] == Decimal(UNITS.recording[1].writes) * Traffic().events * WRITE
    assert parts["new customers"] == Decimal(UNITS.customer * Traffic().events) * WRITE


def test_account_batches_and_windows_make_the_units_of_counters_and_snapshots() -> None:
    load = simulate(Traffic())
    metered = replace(
        UNITS,
        counters=replace(UNITS.counters, writes=1),
        snapshots=replace(UNITS.snapshots, writes=2),
        windows=(WindowUnits(0.001, 3, 4, 0, 0),),
    )
    used = stream_units(load, metered)
    batches, windows = load.scaled_to_month(sum(load.account_batches)), Traffic().accounts * HOURS_A_MONTH
    assert [used.counters, used.snapshots] == pytest.approx([batches + 3 * windows, 2 * batches + 4 * windows])


def test_more_accounts_cost_counters_snapshots_and_what_reads_them() -> None:
    few, many = of(accounts=10), of(accounts=1_000)
    assert {service for service in few if many[service] > few[service]} >= {
        *("counters", "snapshots", "reads of counters and reports", "DynamoDB storage and recovery"),
        "Lambda, compute",
    }
    assert few["recording"] == many["recording"]


def test_a_longer_batching_window_saves_writes_and_invocations() -> None:
    short, long = of(batching_window=5), of(batching_window=300)
    assert {service for service in short if long[service] < short[service]} >= {
        *("counters", "snapshots", "Lambda, requests", "Lambda, compute")
    }
    assert short["recording"] == long["recording"]


def test_only_what_depends_on_requests_grows_with_them() -> None:
    batched, alone = of(events_a_request=500), of(events_a_request=1)
    assert alone["HTTP API"] == 500 * batched["HTTP API"]
    assert alone["data out"] > batched["data out"]
    assert {"recording", "S3"} <= {service for service in batched if alone[service] >= batched[service]}


def test_more_reports_cost_puts_invocations_and_reads_alone() -> None:
    hourly, quarterly = dollars(Month()), dollars(Month(reports=2880))
    assert {service for service in hourly if quarterly[service] != hourly[service]} == {
        *("S3", "Lambda, requests", "Lambda, compute", "logs", "logs kept"),
        "reads of counters and reports",
    }


def test_logs_are_paid_for_as_long_as_they_are_kept() -> None:
    longer = Template.load(TEMPLATE, {"LogRetentionDays": 180})
    kept = {line.service: line.dollars for line in estimate(Month(), UNITS, longer)}["logs kept"]
    assert kept == 2 * dollars(Month())["logs kept"]


def test_an_idle_stack_and_its_watching_cost_no_more_than_the_budget() -> None:
    assert sum(line.dollars for line in idle(UNITS, PLAIN)) <= Decimal("3.50")
    assert sum(line.dollars for line in watching(PLAIN, own_metrics(PLAIN))) <= 6


def test_a_request_of_one_event_logs_no_more_than_the_budget() -> None:
    assert access_bytes(PLAIN) < request_bytes(UNITS, PLAIN) <= 900


def test_a_month_of_five_million_single_events_costs_no_more_than_the_budget() -> None:
    assert sum(dollars(Month()).values()) <= 36


def test_a_dashboard_is_paid_where_it_is_on() -> None:
    off, on = (sum(line.dollars for line in idle(UNITS, one)) for one in (PLAIN, Template.load(TEMPLATE, DASHBOARD)))
    assert on - off == DASHBOARD_MONTH


@pytest.mark.slow
def test_only_a_ledger_of_more_than_eight_shards_is_sealed_in_parts() -> None:
    months = (5_000 * MILLION, 10_000 * MILLION)
    assert [shards(events) for events in months] == [8, 16]
    assert [bool(of(events=events)["Step Functions"]) for events in months] == [False, True]


def test_snapshots_are_paid_for_each_function_behind_an_alias_by_its_memory() -> None:
    functions, gigabytes, dollars = snap_start(PLAIN)
    assert [functions, int(gigabytes)] == [3, 3]
    assert dollars == 3 * SNAPSHOT_GB_SECOND * SECONDS_A_MONTH
    functions, gigabytes, _ = snap_start(Template.load(TEMPLATE, {"Intake": "queue"}))
    assert [functions, int(gigabytes)] == [4, 4]
