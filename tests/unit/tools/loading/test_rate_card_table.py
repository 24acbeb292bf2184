"""A table of rates: a line for each charge, those of the same conditions are a rule, and each problem has its line."""

from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.rate_card_table import BadRateLine, RateCardTable, read

SINCE = "2026-10-01T00:00:00Z"
HEADER = (
    "agency,group,category,location,product,currency,charge,percent,fixed,fixed_per,minimum,maximum,of,decimals,refund,"
    "tiers,tiers_per,amount,per,part_months"
)


def line(**cells: str) -> str:
    """Return a line with cells by column."""
    return ",".join(cells.get(name, "") for name in HEADER.split(","))


def table(folder: Path, *lines: str, header: str = HEADER, start: str | None = SINCE) -> RateCardTable:
    """Return what is read of a file."""
    file = folder / "rates.csv"
    file.write_text("\n".join([header, *lines, ""]), "utf-8")
    return read(str(file), start)


def contents(read_: RateCardTable) -> dict[str, Any]:
    assert read_.bad == []
    return {one.document: one.content for one in read_.rate_cards}


def test_lines_of_the_same_conditions_are_the_charges_of_one_rule(tmp_path: Path) -> None:
    books = {"agency": "42", "category": "books|maps", "location": "GB", "currency": "GBP"}
    found = contents(
        table(
            tmp_path,
            line(**books, percent="8", of="net", minimum="0.50", maximum="40", decimals="2"),
            line(agency="42", percent="12.5"),
            line(**books, charge="payment fee", percent="1.4", fixed="0.25", fixed_per="order", refund="keep"),
        )
    )
    charges = [
        {"name": "commission", "percent": "8", "minimum": "0.50", "maximum": "40", "of": "net", "decimals": 2},
        {"name": "payment fee", "percent": "1.4", "fixed": "0.25", "fixed_per": "order", "refund": "keep"},
    ]
    conditions = {"category": ["books", "maps"], "location": "GB", "currency": "GBP"}
    assert found == {
        "rate-card:42": {"valid_from": SINCE, "rules": [{**conditions, "charges": charges}, {"percent": "12.5"}]}
    }


def test_tiers_and_fees_of_the_month_have_columns_of_their_own(tmp_path: Path) -> None:
    found = contents(
        table(
            tmp_path,
            line(group="eu", tiers="0=12 10000=10  50000=8", tiers_per="quarter"),
            line(group="eu", currency="EUR", charge="listing", amount="39.00", per="month", part_months="by_days"),
        )
    )
    steps = [{"from": "0", "percent": "12"}, {"from": "10000", "percent": "10"}, {"from": "50000", "percent": "8"}]
    tiers = {"per": "quarter", "of": "account", "mode": "graduated", "steps": steps}
    fee = {"name": "listing", "amount": "39.00", "per": "month", "part_months": "by_days"}
    assert found["rate-card:group/eu"]["rules"] == [
        {"charges": [{"name": "commission", "tiers": tiers}]},
        {"currency": "EUR", "charges": [fee]},
    ]


def test_a_table_holds_the_rate_cards_of_agencies_groups_and_all(tmp_path: Path) -> None:
    found = contents(table(tmp_path, line(agency="42", percent="1"), line(group="eu", percent="2"), line(percent="3")))
    assert list(found) == ["rate-card:42", "rate-card:group/eu", "rate-card:default"]


def test_names_are_read_in_one_form_and_semicolons_may_separate_the_cells(tmp_path: Path) -> None:
    found = contents(table(tmp_path, "Cafe\u0301;7.5;2026-10-01", header="Agency; Percent;valid_from", start=None))
    assert found == {"rate-card:Caf\u00e9": {"valid_from": SINCE, "rules": [{"percent": "7.5"}]}}


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ({"percent": "101"}, "percent is '101': expected a decimal from 0 to 100"),
        ({"percent": "12,5".replace(",", ".5.")}, "percent is"),
        ({"fixed": "0.30"}, "fixed is given without a currency"),
        ({"percent": "5", "minimum": "3", "maximum": "2", "currency": "EUR"}, "minimum is 3: expected the maximum, 2"),
        ({"percent": "5", "decimals": "x"}, "decimals is 'x'"),
        ({"tiers": "10000=10"}, "the first of them from 0"),
        ({"tiers": "0=12 5=11 5=10"}, "each step begins above the one before"),
        ({"tiers": "0=12 10"}, "tiers is 0=12 10: expected each tier's start and percentage"),
        ({"percent": "5", "tiers_per": "month"}, "tiers_per is given without tiers"),
        ({"agency": "default", "percent": "5"}, "agency is default"),
        ({"agency": "42", "group": "eu", "percent": "5"}, "has an agency and a group"),
        ({"charge": "a:b", "percent": "5"}, "name is 'a:b'"),
        ({"percent": "5", "location": "GB##London"}, "location is"),
    ],
)
def test_a_problem_names_its_line_and_what_is_expected(tmp_path: Path, cells: dict[str, str], problem: str) -> None:
    bad = table(tmp_path, line(agency="7", percent="5"), line(category="c", **cells)).bad
    assert [one.number for one in bad] == [3]
    assert problem in bad[0].problem


def test_a_line_that_repeats_a_charge_or_overlaps_a_rule_is_named(tmp_path: Path) -> None:
    lines = [line(category="a", percent="5"), line(category="a", percent="6"), line(category="a|b", percent="7")]
    repeated = table(tmp_path, *lines[:2]).bad
    assert [one.number for one in repeated] == [3]
    overlapping = table(tmp_path, lines[0], lines[2]).bad
    assert [(one.number, "is for the same as rules[0]" in one.problem) for one in overlapping] == [(3, True)]


def test_a_rate_card_begins_once_and_says_when(tmp_path: Path) -> None:
    assert "valid_from is missing" in table(tmp_path, line(percent="5"), start=None).bad[0].problem
    header = "percent,category,valid_from"
    two = table(tmp_path, "5,a,2026-10-01", "6,b,2026-11-01", header=header).bad
    assert two == [BadRateLine(3, "valid_from and valid_to are others than in line 2, of the same rate card")]
    assert "valid_from is soon" in table(tmp_path, "5,a,soon", header=header).bad[0].problem


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("agency,rate", "the columns are agency, rate: expected percent, tiers or amount"),
        ("percent,percent", "the columns are"),
        ("agency", "the columns are"),
    ],
)
def test_other_columns_are_refused(tmp_path: Path, header: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        table(tmp_path, header=header)


def test_a_line_with_other_cells_is_named_and_a_missing_file_is_said(tmp_path: Path) -> None:
    assert table(tmp_path, "1,2,3", header="agency,percent").bad == [BadRateLine(2, "has 3 cells: expected 2")]
    with pytest.raises(ToolError, match="No such file"):
        read(str(tmp_path / "none.csv"))
