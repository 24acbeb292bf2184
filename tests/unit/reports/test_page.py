"""A run's report as a page: what was sealed, in the figures of its manifest."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals
from quarterhour.reports.manifest import run_files
from quarterhour.reports.page import MAX_ROWS, report_page
from quarterhour.reports.plan import PartTotals, Plan, RunTotals, SealedFile, SummaryTotals
from tests.support.builders import QUARTER_HOUR
from tests.support.html import Page

PLAN = Plan(
    QUARTER_HOUR,
    QUARTER_HOUR.next,
    "2026-10-23T02:05:00.000Z",
    "1.0",
    2,
    ("2026-10-23T0115-0130", "hash-0"),
    (QUARTER_HOUR, QUARTER_HOUR.next),
)
SALES = {
    (Account("<b>42", "GBP"), Period(2026, 9)): Totals(1, Decimal("0.005"), Decimal(0), Decimal("0.0005")),
    (Account("<b>42", "GBP"), Period(2026, 10)): Totals(
        2, Decimal("10.00"), Decimal("-2.50"), Decimal("0.7500"), Decimal("5.00")
    ),
    (Account("東京", "JPY"), Period(2026, 10)): Totals(4, Decimal(400), Decimal(0), Decimal(40)),
}


def content(sales: SummaryTotals, *sealed: SealedFile) -> bytes:
    """Return the page of a run of two quarter-hours, with sales in the first."""
    totals = RunTotals.of(PLAN.quarter_hours)
    totals.add(QUARTER_HOUR, PartTotals(sales))
    *_, page = run_files(PLAN, sealed, totals, None).named
    return page.content


def shown(sales: SummaryTotals, *sealed: SealedFile) -> Page:
    return Page(content(sales, *sealed))


def test_a_run_is_shown_with_its_sums_and_its_files() -> None:
    read = shown(SALES, SealedFile(7, "abc", 99), SealedFile(0))
    assert ["<b>42", "GBP", "2026-09", "1", "0.005", "0", "0.0005", "0"] in read.rows
    assert ["<b>42", "GBP", "2026-10", "2", "10.00", "-2.50", "0.7500", "5.00"] in read.rows
    assert ["東京", "JPY", "2026-10", "4", "400", "0", "40", "0"] in read.rows
    assert ["01:30", "ledger/dt=2026-10-23/quarter=0130/lines.csv.gz", "abc", "99"] in read.rows
    assert read.named("b") == []
    for fact in ("Lines 7", "Quarter-hours 2", "Without lines 1", "Previous run 2026-10-23T0115-0130"):
        assert fact in read.text


def test_a_run_has_a_sealing_report() -> None:
    assert shown(SALES, SealedFile(7, "abc", 99), SealedFile(0)).text.startswith("Sealing report 2026-10-23T0130-0200")


def test_the_empty_time_before_a_run_is_shown() -> None:
    late = replace(PLAN, previous=("2026-09-30T2345-2400", "hash-0"))
    *_, page = run_files(late, [SealedFile(0)] * 2, RunTotals.of(late.quarter_hours), None).named
    assert "Nothing was recorded before it, since 2026-10-01" in Page(page.content).text
    assert "Nothing was recorded before" not in shown(SALES, SealedFile(7, "abc", 99), SealedFile(0)).text


def test_the_chart_has_every_quarter_hour() -> None:
    (chart,) = shown(SALES, SealedFile(7, "abc", 99), SealedFile(0)).named("svg")
    assert chart["aria-label"] == "Lines by quarter-hour, UTC. Highest: 7 (01:30)"
    assert chart["viewbox"] == "0 0 200 1000"


def test_a_run_without_lines_says_so() -> None:
    read = shown({}, SealedFile(0), SealedFile(0))
    assert "Nothing was recorded." in read.text
    assert not read.named("svg")


def test_more_sums_than_a_page_holds_are_counted() -> None:
    many: SummaryTotals = {(Account(f"{n:04}", "GBP"), Period(2026, 10)): Totals(1) for n in range(MAX_ROWS + 7)}
    read = shown(many, SealedFile(MAX_ROWS + 7, "abc", 99), SealedFile(0))
    assert len([row for row in read.rows if row[1:3] == ["GBP", "2026-10"]]) == MAX_ROWS
    assert "7 more are in summary.csv." in read.text


def test_the_page_follows_from_the_manifest_alone() -> None:
    totals = RunTotals.of(PLAN.quarter_hours)
    totals.add(QUARTER_HOUR, PartTotals(SALES))
    files = run_files(PLAN, [SealedFile(7, "abc", 99), SealedFile(0)], totals, None)
    manifest: dict[str, Any] = json.loads(files.manifest.content)
    assert report_page({**manifest, "files": manifest["files"][:-1]}) == files.named[-1].content
