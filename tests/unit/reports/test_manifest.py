"""A run's manifest and summary."""

import csv
import io
import json
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals
from quarterhour.reports.manifest import manifest, periods_of, summary
from quarterhour.reports.plan import SCHEMA, AccountPeriods, PartTotals, Plan, RunTotals, SealedFile
from tests.support.builders import QUARTER_HOUR, accounts, amounts

PLAN = Plan(QUARTER_HOUR, QUARTER_HOUR.next, "2026-10-23T02:05:00.000Z", "1.0", 2, ("2026-10-23T0115-0130", "hash-0"))
SEALED = [SealedFile(3, "abc", 99), SealedFile(0)]
OCTOBER = Period(2026, 10)


def run_of(periods: AccountPeriods, schema: int = SCHEMA) -> RunTotals:
    totals = RunTotals.of(PLAN.quarter_hours, schema)
    totals.add(QUARTER_HOUR, PartTotals(periods))
    return totals


PERIODS = {
    (Account("42", "GBP"), OCTOBER): Totals(2, Decimal("10.00"), Decimal("-2.50"), Decimal("0.7500")),
    (Account("42", "GBP"), Period(2026, 9)): Totals(1, Decimal("0.005"), Decimal(0), Decimal("0.0005")),
}
TOTALS = run_of(PERIODS)
SUMS = {Account("42", "GBP"): Totals(3, Decimal("10.005"), Decimal("-2.50"), Decimal("0.7505"))}


def test_the_summary_is_exact_by_period_and_says_which_figure_is_rounded_and_how() -> None:
    assert summary(TOTALS).decode().splitlines() == [
        "agency,currency,period,events,gross,refunds,net,commission,commission_rounded_half_even",
        "42,GBP,2026-09,1,0.005,0,0.005,0.0005,0.00",
        "42,GBP,2026-10,2,10.00,-2.50,7.50,0.7500,0.75",
    ]


def test_the_summary_of_an_older_schema_has_one_line_an_account() -> None:
    assert summary(run_of(PERIODS, schema=2)).decode().splitlines() == [
        "agency,currency,events,gross,refunds,net,commission,commission_rounded_half_even",
        "42,GBP,3,10.005,-2.50,7.505,0.7505,0.75",
    ]


def test_the_summary_rounds_to_each_currencys_own_minor_unit() -> None:
    sums = Totals(1, Decimal(1), Decimal(0), Decimal("1.23455"))
    written = summary(run_of({(Account(code, code), OCTOBER): sums for code in ("JPY", "EUR", "KWD")}))
    rounded = {
        row["currency"]: row["commission_rounded_half_even"] for row in csv.DictReader(io.StringIO(written.decode()))
    }
    assert rounded == {"JPY": "1", "EUR": "1.23", "KWD": "1.235"}


def test_an_agency_that_begins_a_formula_is_escaped() -> None:
    written = summary(run_of({(Account("=1+1", "GBP"), OCTOBER): Totals(1)}))
    assert written.decode().splitlines()[1].startswith("'=1+1,GBP,")


@given(st.dictionaries(accounts, st.tuples(amounts(), amounts(), amounts()), max_size=4))
def test_the_summary_adds_up_to_the_last_decimal(figures: dict[Account, tuple[Decimal, Decimal, Decimal]]) -> None:
    totals = run_of({(account, OCTOBER): Totals(1, *three) for account, three in figures.items()})
    rows = list(csv.DictReader(io.StringIO(summary(totals).decode(), newline="")))
    assert len(rows) == len(figures)
    for row, sums in zip(rows, totals.by_row().values(), strict=True):
        assert Totals.of(row) == sums
        assert Decimal(row["net"]) == money.add(Decimal(row["gross"]), Decimal(row["refunds"]))


def test_the_manifest_holds_bounds_files_and_totals() -> None:
    summary_ = summary(TOTALS)
    assert json.loads(manifest(PLAN, SEALED, TOTALS, summary_)) == {
        "schema": 3,
        "run": "2026-10-23T0130-0200",
        "from": "2026-10-23T01:30:00Z",
        "to": "2026-10-23T02:00:00Z",
        "planned_at": "2026-10-23T02:05:00.000Z",
        "code_version": "1.0",
        "shards": 2,
        "previous": {"run": "2026-10-23T0115-0130", "sha256": "hash-0"},
        "buckets": [
            {
                "bucket": "202610230130",
                "shards": 2,
                "lines": 3,
                "file": {"key": "ledger/dt=2026-10-23/quarter=0130/lines.csv.gz", "sha256": "abc", "size": 99},
            },
            {"bucket": "202610230145", "shards": 2, "lines": 0, "file": None},
        ],
        "lines": 3,
        "accounts": [
            {
                "agency": "42",
                "currency": "GBP",
                "events": 3,
                "gross": "10.005",
                "refunds": "-2.50",
                "commission": "0.7505",
                "periods": {
                    "2026-09": {"events": 1, "gross": "0.005", "refunds": "0", "commission": "0.0005"},
                    "2026-10": {"events": 2, "gross": "10.00", "refunds": "-2.50", "commission": "0.7500"},
                },
            }
        ],
        "files": [
            {
                "key": "reports/2026/10/23/0130-0200/summary.csv",
                "sha256": sha256(summary_).hexdigest(),
                "size": len(summary_),
            }
        ],
    }


def test_a_manifest_of_an_older_schema_has_no_periods_and_counts_in_the_month_of_its_run() -> None:
    older = json.loads(manifest(replace(PLAN, schema=2), SEALED, run_of(PERIODS, schema=2), b""))
    assert "periods" not in older["accounts"][0]
    assert periods_of(older) == {account: {Period(2026, 10): totals} for account, totals in SUMS.items()}
    newer = json.loads(manifest(PLAN, SEALED, TOTALS, b""))
    assert periods_of(newer) == {Account("42", "GBP"): {period: totals for (_, period), totals in PERIODS.items()}}


def test_the_first_run_has_no_previous_run() -> None:
    first = Plan(QUARTER_HOUR, QUARTER_HOUR, "2026-10-23T02:05:00.000Z", "1.0", 1, ("", ""))
    assert json.loads(manifest(first, [SealedFile(0)], run_of({}), b""))["previous"] is None


@given(st.dictionaries(accounts, st.tuples(amounts(), amounts(), amounts()), max_size=4))
def test_a_plan_and_its_totals_always_give_the_same_bytes(
    figures: dict[Account, tuple[Decimal, Decimal, Decimal]],
) -> None:
    sums = {(account, OCTOBER): Totals(1, *three) for account, three in figures.items()}
    again = {
        (Account(*str(account).split("#")), OCTOBER): Totals.of(totals.as_dict())
        for (account, _), totals in reversed(sums.items())
    }
    written, rewritten = (manifest(PLAN, SEALED, some, summary(some)) for some in map(run_of, (sums, again)))
    assert written == rewritten
    assert written.endswith(b"\n")


def test_an_agencys_name_can_be_read_in_the_manifest() -> None:
    totals = run_of({(Account("Österreich", "EUR"), OCTOBER): Totals()})
    assert "Österreich" in manifest(PLAN, SEALED, totals, b"").decode()
