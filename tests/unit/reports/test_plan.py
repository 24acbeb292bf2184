"""Plans of runs, and proofs of quarter-hours against the counters."""

from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.items import from_item, to_item
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import LENGTH, QuarterHour, span
from quarterhour.model.schema import UnknownSchemaError
from quarterhour.model.totals import Totals
from quarterhour.reports.keys import Part, last_closed, run_bounds
from quarterhour.reports.plan import (
    STREAM_RETENTION,
    Checkpoint,
    PartTotals,
    Plan,
    Proof,
    ReportSettings,
    RunTotals,
    SealedFile,
    empty_through,
    next_plan,
    parts_of,
    proof,
    run_values,
    shards_of,
    with_proofs,
)
from tests.support.builders import QUARTER_HOUR, accounts, amounts, instants, quarter_hours, utc
from tests.support.cases import cases

GRACE = timedelta(seconds=120)
MICROSECOND = timedelta(microseconds=1)
VERIFIED, PENDING, DRIFT = Proof
months = st.sampled_from([Period(2026, 9), Period(2026, 10)])


def plan_after(sealed_through: QuarterHour, now: datetime, shards: int = 4, grace: timedelta = GRACE) -> Plan | None:
    """Plan a run of quarter-hours that are all marked; return ``None`` if none is final."""
    recorded = list(islice(span(sealed_through.next, last_closed(now, grace)), 96))
    at = Checkpoint(sealed_through, ("run-0", "hash-0"), None)
    return next_plan(at, recorded, now, ReportSettings(grace, "1.0"), shards) if recorded else None


# ---------------------------------------------------------------- the plan of a run


@given(
    sealed_through=quarter_hours, later=st.timedeltas(timedelta(days=-1), timedelta(days=4)), grace=st.integers(0, 3600)
)
def test_a_plan_begins_at_the_checkpoint_and_covers_only_closed_quarter_hours_of_one_day(
    sealed_through: QuarterHour, later: timedelta, grace: int
) -> None:
    now = sealed_through.end + later
    plan = plan_after(sealed_through, now, grace=timedelta(seconds=grace))
    closed_at = sealed_through.next.end + timedelta(seconds=grace)
    if plan is None:
        assert now < closed_at
    else:
        assert now >= closed_at
        assert plan.first == sealed_through.next
        assert plan.quarter_hours == list(span(plan.first, plan.last))
        assert len({quarter_hour.start.date() for quarter_hour in plan.quarter_hours}) == 1
        assert all(quarter_hour.end + timedelta(seconds=grace) <= now for quarter_hour in plan.quarter_hours)


@given(sealed_through=quarter_hours, later=st.timedeltas(timedelta(0), timedelta(days=10)))
def test_successive_plans_cover_all_closed_quarter_hours_without_gap_or_overlap(
    sealed_through: QuarterHour, later: timedelta
) -> None:
    now = sealed_through.end + later
    covered: list[QuarterHour] = []
    at = sealed_through
    while plan := plan_after(at, now):
        covered += plan.quarter_hours
        at = plan.last
    assert covered == list(span(sealed_through.next, at))
    assert at.next.end + GRACE > now


@pytest.mark.parametrize(
    ("now", "run"),
    [
        (utc("01:47") - MICROSECOND, None),
        (utc("01:47"), "2026-10-23T0130-0145"),
        (utc("02:02") - MICROSECOND, "2026-10-23T0130-0145"),
        (utc("02:02"), "2026-10-23T0130-0200"),
        (utc("23:59"), "2026-10-23T0130-2345"),
        (utc("00:02") + timedelta(days=1), "2026-10-23T0130-2400"),
        (utc("12:00") + timedelta(days=3), "2026-10-23T0130-2400"),
    ],
)
def test_a_run_is_named_by_what_it_covers_up_to_the_end_of_its_day(now: datetime, run: str | None) -> None:
    plan = plan_after(QUARTER_HOUR.previous, now)
    assert (plan.run if plan else None) == run


def test_a_plan_holds_its_time_its_code_version_and_the_previous_run() -> None:
    plan = plan_after(QUARTER_HOUR.previous, utc("01:47"))
    assert plan is not None
    assert (plan.planned_at, plan.code_version, plan.previous) == (
        "2026-10-23T01:47:00.000Z",
        "1.0",
        ("run-0", "hash-0"),
    )


def test_a_plan_reads_all_shards_that_were_ever_used() -> None:
    plan = plan_after(QUARTER_HOUR.previous, utc("01:47"))
    assert plan is not None
    assert [str(one) for one in plan.partitions(Part(QUARTER_HOUR))] == [f"202610230130#0{shard}" for shard in range(4)]


@pytest.mark.parametrize(("shards", "parts"), [(1, 1), (8, 1), (9, 2), (16, 2), (17, 3), (64, 8)])
def test_a_plan_has_a_part_for_every_8_shards(shards: int, parts: int) -> None:
    plan = plan_after(QUARTER_HOUR.previous, utc("01:47"), shards)
    assert plan is not None
    assert (plan.parts, len(plan.all_parts)) == (parts, parts)
    assert [part.number for part in plan.all_parts] == ([None] if parts == 1 else list(range(parts)))


@given(st.integers(1, 64), st.integers(1, 64))
def test_each_shard_is_in_one_part_and_the_parts_are_alike(shards: int, parts: int) -> None:
    sizes = [shards_of(part, parts, shards) for part in parts_of(QUARTER_HOUR, parts)]
    assert [shard for one in sizes for shard in one] == list(range(shards))
    assert max(map(len, sizes)) - min(map(len, sizes)) <= 1


@cases(
    ("marked", "run"),
    [
        (["0130", "0145", "0200", "0215", "0230"], "2026-10-23T0130-0230"),
        (["0145", "0300", "0615", "0630", "0700"], "2026-10-23T0130-0645"),
        (["0145", "0300", "0615", "0630"], "2026-10-23T0130-1145"),
        (["0545"], "2026-10-23T0130-1145"),
    ],
)
def test_a_run_in_parts_covers_four_marked_quarter_hours_at_most(marked: list[str], run: str) -> None:
    recorded = [QuarterHour.parse(f"20261023{one}") for one in marked]
    at = Checkpoint(QUARTER_HOUR.previous, ("", ""), None)
    plan = next_plan(at, recorded, utc("12:00"), ReportSettings(GRACE, "1.0"), 9)
    assert (plan.run, list(plan.recorded)) == (run, recorded[:4])
    assert plan.all_parts == [Part(one, number) for one in recorded[:4] for number in (0, 1)]


@given(sealed_through=quarter_hours, marks=st.sets(st.integers(1, 400)), later=st.integers(1, 400))
def test_runs_and_what_is_passed_over_cover_all_time_once_and_each_marked_quarter_hour_is_in_a_run(
    sealed_through: QuarterHour, marks: set[int], later: int
) -> None:
    def nth(number: int) -> QuarterHour:
        return QuarterHour(sealed_through.start + number * LENGTH)

    now, last, at = nth(later).end + GRACE, nth(later), sealed_through
    marked = [nth(number) for number in sorted(marks) if number <= later]
    previous, in_runs, covered = ("", ""), list[QuarterHour](), 0
    while at < last:
        recorded = [one for one in marked if at < one][:96]
        empty = empty_through(last, recorded)
        if at < empty:
            assert not [one for one in marked if at < one <= empty]
            covered, at = covered + (empty.start - at.start) // LENGTH, empty
            continue
        plan = next_plan(Checkpoint(at, previous, None), recorded, now, ReportSettings(GRACE, "1.0"), 1)
        if previous[0]:
            assert (plan.empty_since or plan.first.start) == run_bounds(previous[0])[1]
        assert plan.empty_since is None or plan.empty_since < plan.first.start
        in_runs += plan.recorded
        previous = plan.run, "hash"
        covered, at = covered + len(plan.quarter_hours), plan.last
    assert (in_runs, covered, at) == (marked, later, last)


@given(
    first=quarter_hours,
    more=st.integers(0, 20),
    shards=st.integers(1, 64),
    parts=st.integers(1, 8),
)
def test_a_plan_is_parsed_from_its_control_item_as_it_was_stored(
    first: QuarterHour, more: int, shards: int, parts: int
) -> None:
    last = QuarterHour(first.start + more * timedelta(minutes=15))
    plan = Plan(
        first, last, "2026-10-23T01:47:00.000Z", "1.0", shards, ("", ""), tuple(span(first, last))[::2], parts=parts
    )
    assert Plan.of(from_item(to_item({"plan": plan.as_dict()}))["plan"]) == plan


@pytest.mark.parametrize("schema", [0, 2, None])
def test_a_stored_plan_of_another_schema_is_refused(schema: int | None) -> None:
    plan = plan_after(QUARTER_HOUR.previous, utc("01:47"))
    assert plan is not None
    assert plan.as_dict()["schema"] == 1
    with pytest.raises(UnknownSchemaError):
        Plan.of({**plan.as_dict(), "schema": schema})


# ---------------------------------------------------------------- what the counters say

KEY = Account("42", "GBP"), Partition(QUARTER_HOUR, 0)
OTHER = Account("7", "GBP"), Partition(QUARTER_HOUR, 0)


def totals(*sold: str) -> Totals:
    return Totals.of({"events": len(sold), "gross": sum(map(int, sold)), "refunds": "0", "commission": "0"})


IN_TIME = QUARTER_HOUR.end + STREAM_RETENTION - MICROSECOND
TOO_LATE = QUARTER_HOUR.end + STREAM_RETENTION


@cases(
    ("ledger", "counters", "now", "expected"),
    [
        ({KEY: totals("5")}, {KEY: totals("5")}, IN_TIME, VERIFIED),
        ({KEY: totals("5")}, {KEY: totals("5")}, TOO_LATE, VERIFIED),
        ({}, {}, TOO_LATE, VERIFIED),
        ({KEY: totals("5"), OTHER: totals("1")}, {KEY: totals("5"), OTHER: totals("1")}, TOO_LATE, VERIFIED),
        # The stream lags: fewer events are counted than the ledger holds.
        ({KEY: totals("5")}, {}, IN_TIME, PENDING),
        ({KEY: totals("5", "6")}, {KEY: totals("5")}, IN_TIME, PENDING),
        ({KEY: totals("5"), OTHER: totals("1")}, {KEY: totals("5")}, IN_TIME, PENDING),
        # It cannot catch up any more.
        ({KEY: totals("5", "6")}, {KEY: totals("5")}, TOO_LATE, DRIFT),
        ({KEY: totals("5")}, {}, TOO_LATE, DRIFT),
        # No lag explains these.
        ({KEY: totals("5")}, {KEY: totals("6")}, IN_TIME, DRIFT),
        ({KEY: totals("5")}, {KEY: totals("5", "6")}, IN_TIME, DRIFT),
        ({KEY: totals("5"), OTHER: totals("1")}, {KEY: totals("6")}, IN_TIME, DRIFT),
    ],
)
def test_a_proof_is_verified_pending_or_drift(
    ledger: dict[object, Totals], counters: dict[object, Totals], now: datetime, expected: Proof
) -> None:
    assert proof(QUARTER_HOUR, ledger, counters, now) is expected


def test_figures_with_another_scale_are_equal() -> None:
    stored = Totals.of({"events": 1, "gross": "5.00", "refunds": "0.0", "commission": "0.000"})
    assert proof(QUARTER_HOUR, {KEY: totals("5")}, {KEY: stored}, IN_TIME) is VERIFIED


@given(st.lists(st.dictionaries(st.tuples(accounts, months), amounts(10), max_size=4), max_size=4))
def test_a_runs_totals_are_those_of_its_quarter_hours_in_order(
    counted: list[dict[tuple[Account, Period], Decimal]],
) -> None:
    tallies = [{key: Totals().plus(amount, amount) for key, amount in one.items()} for one in counted]
    run = RunTotals.of([QUARTER_HOUR, QUARTER_HOUR.next])
    for number, tally in enumerate(tallies):
        run.add([QUARTER_HOUR, QUARTER_HOUR.next][number % 2], PartTotals(tally))
    by_row, by_account, by_quarter_hour = run.by_row(), run.by_account(), list(run.by_quarter_hour())
    assert list(by_row) == sorted({key for tally in tallies for key in tally})
    for row, total in by_row.items():
        assert total == sum((tally[row] for tally in tallies if row in tally), Totals())
    assert list(by_account) == sorted({account for account, _ in by_row})
    for account, total in by_account.items():
        assert total == sum((one for (of, _), one in by_row.items() if of == account), Totals())
        assert total == sum((one for (of, _), one in by_quarter_hour if of == account), Totals())


# ---------------------------------------------------------------- a run's control item

PLAN = Plan(
    QUARTER_HOUR, QUARTER_HOUR.next, "2026-10-23T02:05:00.000Z", "1.0", 1, ("", ""), (QUARTER_HOUR, QUARTER_HOUR.next)
)
RUN = run_values(PLAN, [SealedFile(3, "abc", 99), SealedFile(0)], "hash-1", 2)


def test_a_runs_control_item_holds_its_sealed_files() -> None:
    assert (RUN["pk"], RUN["sk"]) == ("RUN", "2026-10-23T0130-0200")
    assert (RUN["quarter_hours"], RUN["lines"], RUN["manifest_sha256"]) == (2, 3, "hash-1")
    assert RUN["default_rate_events"] == 2
    assert RUN["sealed"] == {"202610230130": [3, "abc", 99]}


@pytest.mark.parametrize(
    ("expected", "counters"),
    [
        ({}, "verified"),
        ({QUARTER_HOUR: VERIFIED}, "verified"),
        ({QUARTER_HOUR: PENDING, QUARTER_HOUR.next: VERIFIED}, "pending"),
        ({QUARTER_HOUR: PENDING, QUARTER_HOUR.next: DRIFT}, "drift"),
        ({QUARTER_HOUR: DRIFT, QUARTER_HOUR.next: VERIFIED}, "drift"),
    ],
)
def test_a_run_has_the_worst_proof_of_its_quarter_hours(expected: dict[QuarterHour, Proof], counters: str) -> None:
    assert with_proofs(RUN, expected)["counters"] == counters


def test_a_run_is_in_the_index_while_a_proof_is_pending() -> None:
    first = with_proofs(RUN, {QUARTER_HOUR: PENDING, QUARTER_HOUR.next: DRIFT})
    assert (first["gsi1pk"], first["gsi1sk"]) == ("RUN#pending", RUN["sk"])
    then = with_proofs(first, {QUARTER_HOUR: VERIFIED})
    assert not {"gsi1pk", "gsi1sk"} & then.keys()
    assert then["proofs"] == {"202610230130": "verified", "202610230145": "drift"}
    assert then["counters"] == "drift"


@given(instants)
def test_nothing_is_planned_before_the_first_quarter_hour_is_closed(now: datetime) -> None:
    assert plan_after(QuarterHour.at(now).previous, now) is None
