"""The maps that come with the tools, over made-up files with the published columns."""

import io
import tomllib
from typing import Any

import pytest

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.events import converted
from quarterhour.file_formats.csv.lines import numbered
from quarterhour.file_formats.csv.map import load_map, shipped_maps
from quarterhour.file_formats.csv.summary import ConvertedRow
from quarterhour.file_formats.csv.table import read_table
from quarterhour_tools.csv.maps import read_map
from tests.support.repository import ROOT

EXPORTS = ROOT / "tests" / "support" / "exports"

Found = list[tuple[str, str, str, str, str, str]]
EXPECTED: dict[str, Found] = {
    "stripe": [
        ("txn_1", "7", "2026-10-01T08:15:00Z", "sale.recorded", "120.00", "EUR"),
        ("txn_2", "7", "2026-10-02T09:00:00Z", "sale.recorded", "15.00", "USD"),
        ("txn_3", "7", "2026-10-05T10:30:00Z", "sale.refunded", "-20.00", "EUR"),
        ("txn_4", "7", "2026-10-06T10:30:00Z", "sale.refunded", "-100.00", "EUR"),
        ("txn_5", "7", "2026-10-09T10:30:00Z", "adjustment.recorded", "100.00", "EUR"),
    ],
    "adyen": [
        ("PSP1:MOD1:Settled", "HarbourEU", "2026-10-01T09:26:49Z", "sale.recorded", "50.00", "GBP"),
        ("PSP2:MOD2:Refunded", "HarbourEU", "2026-11-01T10:26:49Z", "sale.refunded", "-12.50", "GBP"),
        ("PSP3:MOD3:Chargeback", "HarbourEU", "2026-10-02T20:37:26Z", "sale.refunded", "-349.99", "EUR"),
        ("PSP3:MOD4:ChargebackReversed", "HarbourEU", "2026-10-09T20:37:26Z", "adjustment.recorded", "349.99", "EUR"),
        ("PSP3:MOD5:SecondChargeback", "HarbourEU", "2026-10-20T20:37:26Z", "sale.refunded", "-349.99", "EUR"),
        ("PSP4:MOD6:Refunded", "HarbourEU", "2026-10-12T07:00:00Z", "sale.refunded", "-8.00", "GBP"),
        ("PSP4:MOD7:RefundedReversed", "HarbourEU", "2026-10-15T07:00:00Z", "adjustment.recorded", "8.00", "GBP"),
        ("PSP5:MOD8:Settled", "HarbourEU", "2026-10-16T06:30:00Z", "sale.recorded", "1200", "USD"),
    ],
    "amazon": [
        ("900:206-1:77:S1:-:Order:ItemPrice:-:1", "7", "2026-10-02T14:23:00Z", "sale.recorded", "30.00", "GBP"),
        ("900:206-1:77:S1:-:Order:Promotion:P1:1", "7", "2026-10-02T14:23:00Z", "sale.refunded", "-3.00", "GBP"),
        ("900:206-2:79:S2:-:Order:ItemPrice:-:1", "7", "2026-10-02T14:23:00Z", "sale.recorded", "1012.00", "GBP"),
        ("900:206-2:79:S2:-:Order:ItemPrice:-:2", "7", "2026-10-02T14:23:00Z", "sale.recorded", "1012.00", "GBP"),
        ("900:206-0:78:-:A1:Refund:ItemPrice:-:1", "7", "2026-10-03T14:23:00Z", "sale.refunded", "-9.40", "GBP"),
        ("900:206-0:78:-:A1:Refund:Promotion:P1:1", "7", "2026-10-03T14:23:00Z", "adjustment.recorded", "1.00", "GBP"),
        (
            "900:206-3:80:-:A2:Chargeback Refund:ItemPrice:-:1",
            "7",
            "2026-10-04T14:23:00Z",
            "sale.refunded",
            "-25.00",
            "GBP",
        ),
        (
            "900:206-4:81:-:A3:A-to-z Guarantee Refund:ItemPrice:-:1",
            "7",
            "2026-10-05T14:23:00Z",
            "sale.refunded",
            "-14.00",
            "GBP",
        ),
        (
            "900:206-4:81:-:A4:A-to-z Guarantee Refund:ItemPrice:-:1",
            "7",
            "2026-10-09T14:23:00Z",
            "adjustment.recorded",
            "14.00",
            "GBP",
        ),
    ],
    "shopify": [
        (
            "1001:charge:2026-10-03 10:15:00 -0400:56.29:7001:1",
            "7",
            "2026-10-03T14:15:00Z",
            "sale.recorded",
            "56.29",
            "USD",
        ),
        (
            "1002:charge:2026-10-04 10:15:00 -0400:1234.50:7002:1",
            "7",
            "2026-10-04T14:15:00Z",
            "sale.recorded",
            "1234.50",
            "USD",
        ),
        (
            "1001:refund:2026-10-05 09:00:00 -0400:-6.29:7001:1",
            "7",
            "2026-10-05T13:00:00Z",
            "sale.refunded",
            "-6.29",
            "USD",
        ),
    ],
}
EXPECTED["amazon_comma"] = EXPECTED["amazon"]


def export(name: str) -> str:
    [path] = EXPORTS.glob(f"{name}.*")
    return path.read_text("utf-8")


def rows_of(name: str, text: str) -> list[ConvertedRow]:
    mapping = load_map(read_map(name))
    table = read_table(numbered(io.StringIO(text, newline="")), mapping.file, mapping.used_by)
    return list(converted(table, mapping, dict.fromkeys(mapping.settings, "7")))


def shown(body: dict[str, Any]) -> tuple[str, str, str, str, str, str]:
    data = body["data"]
    return body["id"], body["subject"], body["time"], body["type"], data["amount"], data["currency"]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_shipped_map_reads_the_published_layout(name: str) -> None:
    found = rows_of(name, export(name))
    assert [shown(event.body) for one in found for event in one.events] == EXPECTED[name]
    assert [one.bad for one in found if one.bad] == []


@pytest.mark.parametrize("name", shipped_maps())
def test_the_page_lists_each_shipped_map_and_each_rule_by_which_it_leaves_rows_out(name: str) -> None:
    page = (ROOT / "docs" / "csv.md").read_text("utf-8")
    section = page.partition("## Maps that come with the tools")[2].partition("\n## ")[0]
    [row] = [line for line in section.splitlines() if line.startswith("| ") and f"`{name}`" in line.split("|")[1]]
    csv_map = load_map(read_map(name))
    rules = [*(one.rule for one in csv_map.exclusions), *(one.rule for one in csv_map.events)]
    missing = [rule for rule in rules if rule not in row]
    assert missing == []


def test_the_total_of_a_settlement_is_checked() -> None:
    [bad] = [one for one in rows_of("amazon", export("amazon").replace("1982.21", "1982.22")) if one.bad]
    assert (bad.line, bad.bad) == (2, "total.sums.total-amount: is 1982.22, but the rows add up to 1982.21")


def test_a_zone_that_the_map_does_not_know_is_a_bad_row() -> None:
    [bad] = [one for one in rows_of("adyen", export("adyen").replace("CET", "XYZ")) if one.bad]
    assert bad.bad == "time.zone: TimeZone is 'XYZ', which is not listed in lookups.offset"


def test_a_settlement_with_a_decimal_point_or_a_decimal_comma_is_read_by_one_map() -> None:
    assert tomllib.loads(read_map("amazon_comma")) == {"like": "amazon", "numbers": {"decimal": ","}}
    found = rows_of("amazon", export("amazon_comma"))
    assert [shown(event.body) for one in found for event in one.events] == EXPECTED["amazon"]
    assert len([one for one in rows_of("amazon_comma", export("amazon")) if one.bad]) == 39  # each row, and the total


def test_a_map_that_is_no_file_names_those_that_come_with_the_tools() -> None:
    with pytest.raises(MapError, match=r"adyen, .*amazon, .*shopify, .*stripe"):
        read_map("strype")
