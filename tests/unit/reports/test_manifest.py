"""A run's manifest and summary."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.reports.base_currency import Conversion
from quarterhour.reports.manifest import periods_of, rates_file, run_files, summary
from quarterhour.reports.plan import PartTotals, Plan, RunTotals, SealedFile, SummaryTotals
from tests.support.builders import AT, QUARTER_HOUR, accounts, amounts

PLAN = Plan(
    QUARTER_HOUR,
    QUARTER_HOUR.next,
    "2026-10-23T02:05:00.000Z",
    "1.0",
    2,
    ("2026-10-23T0115-0130", "hash-0"),
    (QUARTER_HOUR, QUARTER_HOUR.next),
)
SEALED = [SealedFile(3, "abc", 99), SealedFile(0)]
OCTOBER = Period(2026, 10)


def run_of(periods: SummaryTotals) -> RunTotals:
    totals = RunTotals.of(PLAN.quarter_hours)
    totals.add(QUARTER_HOUR, PartTotals(periods))
    return totals


PERIODS = {
    (Account("42", "GBP"), OCTOBER): Totals(3, Decimal("10.00"), Decimal("-2.50"), Decimal("0.7500"), Decimal("5.00")),
    (Account("42", "GBP"), Period(2026, 9)): Totals(1, Decimal("0.005"), Decimal(0), Decimal("0.0005")),
}
TOTALS = run_of(PERIODS)
SUMS = {Account("42", "GBP"): Totals(4, Decimal("10.005"), Decimal("-2.50"), Decimal("0.7505"), Decimal("5.00"))}


def manifest(plan: Plan = PLAN, totals: RunTotals = TOTALS, sealed: Sequence[SealedFile] = SEALED) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run_files(plan, sealed, totals, None).manifest.content)
    return document


def test_the_summary_is_exact_by_period_and_says_which_figure_is_rounded_and_how() -> None:
    assert summary(TOTALS).decode().splitlines() == [
        "agency,currency,period,events,gross,refunds,net,commission,commission_rounded_half_even,payments,charges",
        "42,GBP,2026-09,1,0.005,0,0.005,0.0005,0.00,0,",
        "42,GBP,2026-10,3,10.00,-2.50,7.50,0.7500,0.75,5.00,",
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


@given(st.dictionaries(accounts, st.tuples(amounts(), amounts(), amounts(), amounts()), max_size=4))
def test_the_summary_adds_up_to_the_last_decimal(figures: dict[Account, tuple[Decimal, ...]]) -> None:
    totals = run_of({(account, OCTOBER): Totals(1, *four) for account, four in figures.items()})
    rows = list(csv.DictReader(io.StringIO(summary(totals).decode(), newline="")))
    assert len(rows) == len(figures)
    for row, sums in zip(rows, totals.by_row().values(), strict=True):
        assert row.pop("charges") == ""
        assert Totals.of(row) == sums
        assert Decimal(row["net"]) == money.add(Decimal(row["gross"]), Decimal(row["refunds"]))


def test_the_manifest_holds_bounds_files_and_totals() -> None:
    named = [
        {"key": file.key, "sha256": sha256(file.content).hexdigest(), "size": len(file.content)}
        for file in run_files(PLAN, SEALED, TOTALS, None).named
    ]
    folder = "reports/2026/10/23/0130-0200/"
    assert [file["key"] for file in named] == [
        f"{folder}{name}" for name in ("summary.csv", "products.csv", "report.html")
    ]
    assert manifest() == {
        "schema": 1,
        "run": "2026-10-23T0130-0200",
        "from": "2026-10-23T01:30:00Z",
        "to": "2026-10-23T02:00:00Z",
        "planned_at": "2026-10-23T02:05:00.000Z",
        "code_version": "1.0",
        "shards": 2,
        "parts": 1,
        "previous": {"run": "2026-10-23T0115-0130", "sha256": "hash-0"},
        "empty": None,
        "quarter_hours": [
            {
                "quarter_hour": "202610230130",
                "shards": 2,
                "lines": 3,
                "files": [{"key": "ledger/dt=2026-10-23/quarter=0130/lines.csv.gz", "sha256": "abc", "size": 99}],
            },
            {"quarter_hour": "202610230145", "shards": 2, "lines": 0, "files": []},
        ],
        "lines": 3,
        "accounts": [
            {
                "agency": "42",
                "currency": "GBP",
                "events": 4,
                "gross": "10.005",
                "refunds": "-2.50",
                "commission": "0.7505",
                "payments": "5.00",
                "periods": {
                    "2026-09": {
                        "events": 1,
                        "gross": "0.005",
                        "refunds": "0",
                        "commission": "0.0005",
                        "payments": "0",
                    },
                    "2026-10": {
                        "events": 3,
                        "gross": "10.00",
                        "refunds": "-2.50",
                        "commission": "0.7500",
                        "payments": "5.00",
                    },
                },
            }
        ],
        "files": named,
    }


def test_the_totals_by_period_are_read_from_the_manifest_as_they_were_written() -> None:
    assert periods_of(manifest()) == {Account("42", "GBP"): {period: totals for (_, period), totals in PERIODS.items()}}


def test_the_first_run_has_no_previous_run() -> None:
    first = Plan(QUARTER_HOUR, QUARTER_HOUR, "2026-10-23T02:05:00.000Z", "1.0", 1, ("", ""), (QUARTER_HOUR,))
    assert manifest(first, run_of({}), [SealedFile(0)])["previous"] is None


@pytest.mark.parametrize(
    ("previous", "empty"),
    [
        ("2026-10-23T0100-0130", None),
        ("2026-10-23T0100-0115", {"from": "2026-10-23T01:15:00Z", "to": "2026-10-23T01:30:00Z"}),
        ("2025-09-30T2345-2400", {"from": "2025-10-01T00:00:00Z", "to": "2026-10-23T01:30:00Z"}),
    ],
)
def test_the_manifest_names_the_empty_time_since_the_previous_run(previous: str, empty: dict[str, str] | None) -> None:
    assert manifest(replace(PLAN, previous=(previous, "hash-0")))["empty"] == empty


def test_a_quarter_hour_without_a_mark_is_named_as_empty() -> None:
    marked = replace(PLAN, recorded=(QUARTER_HOUR.next,))
    named = manifest(marked, run_of({}), [SealedFile(3, "abc", 9)])["quarter_hours"]
    assert [(one["quarter_hour"], one["shards"], one["lines"], len(one["files"])) for one in named] == [
        ("202610230130", 2, 0, 0),
        ("202610230145", 2, 3, 1),
    ]


@given(st.dictionaries(accounts, st.tuples(amounts(), amounts(), amounts(), amounts()), max_size=4))
def test_a_plan_and_its_totals_always_give_the_same_bytes(
    figures: dict[Account, tuple[Decimal, ...]],
) -> None:
    sums = {(account, OCTOBER): Totals(1, *four) for account, four in figures.items()}
    again = {
        (Account(*str(account).split("#")), OCTOBER): Totals.of(totals.as_dict())
        for (account, _), totals in reversed(sums.items())
    }
    written, rewritten = (run_files(PLAN, SEALED, some, None) for some in map(run_of, (sums, again)))
    assert written == rewritten
    assert written.manifest.content.endswith(b"\n")


def test_an_agencys_name_can_be_read_in_the_manifest() -> None:
    totals = run_of({(Account("Österreich", "EUR"), OCTOBER): Totals()})
    assert "Österreich" in run_files(PLAN, SEALED, totals, None).manifest.content.decode()


class TestTheFileOfExchangeRates:
    def test_has_the_rates_of_the_manifest_a_line_each_and_none_where_there_was_none(self) -> None:
        ecb = ExchangeRate(Decimal("0.85"), "=ECB", "EUR", AT)
        conversion = Conversion("EUR", ({"GBP": ecb, "USD": None}, {}), {})
        file = rates_file(PLAN, conversion)
        assert file is not None
        assert file.key == "rates/dt=2026-10-23/0130-0200.csv"
        assert list(csv.DictReader(io.StringIO(file.content.decode()))) == [
            {
                "quarter_hour": "202610230130",
                "base_currency": "EUR",
                "currency": "GBP",
                "units_per_base": "0.85",
                "source": "'=ECB",
                "as_of": iso_millis(AT),
            },
            {
                "quarter_hour": "202610230130",
                "base_currency": "EUR",
                "currency": "USD",
                "units_per_base": "",
                "source": "",
                "as_of": "",
            },
        ]

    def test_does_not_exist_if_no_rate_was_needed(self) -> None:
        assert rates_file(PLAN, None) is None
        assert rates_file(PLAN, Conversion("EUR", ({}, {}), {})) is None
