"""What a month costs: the pages show what the estimate gives, and its parts grow with what causes them."""

from dataclasses import replace
from decimal import Decimal

import pytest

from benchmarks.cost import (
    SECONDS_A_MONTH,
    Shape,
    counted,
    key_requests,
    month,
    pages,
    shards,
    simulated,
    snap_start,
    snapshots,
    strangers,
)
from benchmarks.prices import MILLION, SNAPSHOT_GB_SECOND, WRITE
from benchmarks.traffic import HOURS_A_MONTH, Traffic
from benchmarks.units import Pace, stored_units
from quarterhour_tools.emulator.stack import TEMPLATE
from quarterhour_tools.emulator.template import Template
from tests.support.repository import ROOT

UNITS = stored_units()
PLAIN = Template.load(TEMPLATE)


def dollars(shape: Shape) -> dict[str, Decimal]:
    return {line.what: line.dollars for line in month(shape, UNITS, PLAIN)}


def of(**traffic: float) -> dict[str, Decimal]:
    return dollars(Shape(replace(Traffic(), **traffic)))  # type: ignore[arg-type]  # numbers of the field's kind


@pytest.mark.slow
def test_the_pages_show_the_estimate() -> None:
    for page, _, text in pages(UNITS, PLAIN):
        assert text in page.read_text("utf-8"), f"python -m benchmarks.cost --write writes {page}"


def test_the_deployment_page_shows_what_the_template_costs() -> None:
    page = " ".join((ROOT / "docs" / "deployment.md").read_text("utf-8").split())
    assert " ".join(snapshots(PLAIN).split()) in page, "python -m benchmarks.cost --template prints it"
    assert f"cost at most ${strangers(PLAIN):,.0f} a month" in page, "python -m benchmarks.cost --template prints it"


def test_units_are_paid_by_the_million() -> None:
    parts = dollars(Shape(new_customers=Decimal(1)))
    assert parts["recording"] == Decimal(UNITS.recorded[1].writes) * Traffic().events * WRITE
    assert parts["new customers"] == Decimal(UNITS.customer * Traffic().events) * WRITE


def test_groups_and_windows_make_the_units_of_counters_and_snapshots() -> None:
    load = simulated(Traffic())
    metered = replace(
        UNITS,
        counters=replace(UNITS.counters, writes=1),
        snapshots=replace(UNITS.snapshots, writes=2),
        paces=(Pace(0.001, 3, 4, 0, 0),),
    )
    state = counted(load, metered)
    groups, windows = load.a_month(sum(load.groups)), Traffic().accounts * HOURS_A_MONTH
    assert [state.counters, state.snapshots] == pytest.approx([groups + 3 * windows, 2 * groups + 4 * windows])


def test_more_accounts_cost_counters_snapshots_and_what_reads_them() -> None:
    few, many = of(accounts=10), of(accounts=1_000)
    assert {what for what in few if many[what] > few[what]} >= {
        *("counters", "snapshots", "reads of counters and reports", "DynamoDB storage and recovery"),
        "Lambda, compute",
    }
    assert few["recording"] == many["recording"]


def test_a_longer_window_saves_writes_invocations_and_their_logs() -> None:
    short, long = of(window=5), of(window=300)
    assert {what for what in short if long[what] < short[what]} >= {
        *("counters", "snapshots", "Lambda, requests", "Lambda, compute", "logs", "logs kept")
    }
    assert short["recording"] == long["recording"]


def test_only_what_depends_on_requests_grows_with_them() -> None:
    batched, alone = of(batch=500), of(batch=1)
    assert alone["HTTP API"] == 500 * batched["HTTP API"]
    assert alone["data out"] > batched["data out"]
    assert {"recording", "S3"} <= {what for what in batched if alone[what] >= batched[what]}


def test_more_reports_cost_puts_invocations_and_reads_alone() -> None:
    hourly, quarterly = dollars(Shape()), dollars(Shape(reports=2880))
    assert {what for what in hourly if quarterly[what] != hourly[what]} == {
        *("S3", "Lambda, requests", "Lambda, compute", "logs", "logs kept", "KMS"),
        "reads of counters and reports",
    }


def test_logs_are_paid_for_as_long_as_they_are_kept() -> None:
    longer = Template.load(TEMPLATE, {"LogRetentionDays": 180})
    kept = {line.what: line.dollars for line in month(Shape(), UNITS, longer)}["logs kept"]
    assert kept == 2 * dollars(Shape())["logs kept"]


def test_a_key_is_requested_again_after_five_minutes_however_many_invocations_there_are() -> None:
    functions = PLAIN.functions(lambda resource, _: resource)
    some, many = (key_requests({"counters": Decimal(number)}, functions) for number in (100, MILLION))
    assert [int(some), int(many)] == [8 * 100, 8 * 30 * 24 * 12]
    assert key_requests({"ingest": Decimal(MILLION)}, functions) == 3 * many, "it uses three tables"


@pytest.mark.slow
def test_only_a_ledger_of_more_than_eight_shards_is_sealed_in_parts() -> None:
    months = (5_000 * MILLION, 10_000 * MILLION)
    assert [shards(events) for events in months] == [8, 16]
    assert [bool(of(events=events)["Step Functions"]) for events in months] == [False, True]


def test_snapshots_are_paid_for_each_function_behind_an_alias_by_its_memory() -> None:
    functions, gigabytes, dollars = snap_start(PLAIN)
    assert [functions, int(gigabytes)] == [3, 3]
    assert dollars == 3 * SNAPSHOT_GB_SECOND * SECONDS_A_MONTH
