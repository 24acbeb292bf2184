"""The statement as a page: what its readers see, and nothing that the document lacks."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from quarterhour.statements.figures import Kind
from quarterhour.statements.page import statement_page
from tests.support.html import Page
from tests.support.statement_documents import NOBODY, statement, tax_row

ATTACK = "<img src=x onerror=alert(1)>"


def shown(**changed: Any) -> Page:
    return Page(statement_page(statement(**changed)))


def leaves(value: Any) -> Iterator[Any]:
    """Yield every text and number in a document."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)
    else:
        yield value


def test_amounts_are_shown_as_they_are_written() -> None:
    rows = shown().rows
    for row in (
        ["Opening balance", "120.00"],
        ["+ Commission, rounded once, half to even", "220.02"],
        ["+ Tax (VAT 20 %)", "44.00"],
        ["Payable for this period", "264.02"],
        ["− Payments", "100.00"],  # noqa: RUF001 - a minus
        ["Closing balance", "284.02"],
        ["Sales", "9", "2345.675", "234.5675"],
        ["Net", "", "2200.175", "220.0175"],
        ["Closing balance", "100.00", "284.02"],
        ["2026-11-14", "5", "1545.675", "154.5675"],
        ["Other days", "2", "-45.50", "-5.80"],
    ):
        assert row in rows


def test_every_figure_is_one_of_the_document() -> None:
    known = {str(value) for value in leaves(statement())}
    read = shown()
    figures = {cell for row in read.rows[1:] for cell in row[1:] if cell.replace(".", "").lstrip("-").isdigit()}
    assert figures
    assert figures <= known


def test_names_of_any_script_are_shown_in_their_own_direction() -> None:
    read = shown()
    for name in ("Café Marché Ltd", "株式会社 東京書店", "العربية للمبتدئين"):
        assert name in read.text
    assert len(read.named("bdi")) > 10


def test_the_title_names_the_statement_so_that_a_saved_file_has_its_name() -> None:
    assert shown().text.startswith("Statement · S-000017 · November 2026 · Café Marché Ltd")


@pytest.mark.parametrize("script", ["<script>alert(1)</script>", ATTACK, '"><b onclick="x">', "</style><p>", "&amp;"])
def test_texts_of_others_are_never_markup(script: str) -> None:
    plain = statement()

    def planted(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: planted(one) for name, one in value.items()}
        if isinstance(value, list):
            return [planted(one) for one in value]
        return f"{value}{script}" if value in names else value

    names = {*leaves([plain["owner"], plain["customer"], plain["orders"]])} | {plain["agency"], plain["number"]}
    names = {name for name in names if (isinstance(name, str) and not name[0].isdigit()) or name == "42"}
    names -= {*Kind} | {row["net"] for row in plain["orders"]} | {row["commission"] for row in plain["orders"]}
    page, attacked = Page(statement_page(plain)), Page(statement_page(planted(plain)))
    assert [tag for tag, _ in attacked.tags] == [tag for tag, _ in page.tags]
    assert script in attacked.text


def test_nothing_is_loaded() -> None:
    read = shown()
    assert {tag for tag, _ in read.tags} & {"script", "iframe", "object", "a", "form", "base"} == set()
    sources = [attributes[name] for _, attributes in read.tags for name in ("src", "href") if name in attributes]
    assert sources
    assert all(str(source).startswith("data:") for source in sources)


def test_the_same_document_gives_the_same_bytes() -> None:
    again = json.loads(json.dumps(statement(), sort_keys=True))
    assert statement_page(again) == statement_page(statement())


@pytest.mark.parametrize(
    ("closing", "side"),
    [("1.00", "owed by the agency"), ("-1.00", "in favour of the agency"), ("0.00", "nothing is owed")],
)
def test_the_closing_balance_says_who_owes(closing: str, side: str) -> None:
    assert f"Closing balance {side} GBP {closing}" in shown(closing=closing).text


def test_a_credit_note_has_its_own_name() -> None:
    read = shown(document="credit_note", number="C-000001")
    assert read.text.startswith("Credit note · C-000001 ·")


def test_a_statement_that_is_not_issued_says_why() -> None:
    missing = tax_row("220.02", "0.00", "2026-11-02", "2026-11-30", scheme=None, percent="0", note="No tax profile.")
    why = "the agency has no tax profile on 2026-11-02"
    read = shown(issued=False, not_issued=why, taxes=[missing])
    assert f"Not issued: {why}" in read.text
    assert ["+ Tax (No tax profile.)", "44.00"] in read.rows
    assert "Not issued" not in shown().text


NOTE = "Reverse charge: the recipient of the service accounts for the VAT."


def test_each_tax_has_its_tax_points_base_and_legal_note() -> None:
    spans = [{"from": "2026-11-02", "to": "2026-11-13"}, {"from": "2026-11-30", "to": "2026-11-30"}]
    reverse = tax_row("120.02", "0.00", "", "", scheme="reverse_charge", percent="0", note=NOTE, tax_points=spans)
    read = shown(taxes=[tax_row("100.00", "20.00", "2026-11-14", "2026-11-29"), reverse], tax="20.00")
    for row in (
        ["+ Commission, rounded half to even, once for each tax", "220.02"],
        ["+ Tax", "20.00"],
        ["VAT 20 %", "2026-11-14 to 2026-11-29", "100.00", "20.00"],
        [NOTE, "2026-11-02 to 2026-11-13, 2026-11-30", "120.02", "0.00"],
        ["All", "", "220.02", "20.00"],
    ):
        assert row in read.rows


def test_corrections_of_earlier_months_are_marked_with_the_month_of_the_sale() -> None:
    assert ["2026-10", "1", "-45.50", "-4.55"] in shown().rows
    assert "Of these, of sales of earlier months" not in shown(earlier_months=[]).text


def test_parties_that_are_unknown_are_left_out() -> None:
    read = shown(owner={**dict.fromkeys(statement()["owner"])}, customer=NOBODY)
    assert "Not registered at the end of the period" in read.text
    assert "Agency 42" in read.text
    assert "None" not in read.text
    assert "Or write to" not in read.text
    assert not read.named("img")


def test_a_missing_exchange_rate_is_named_beside_what_is_converted() -> None:
    base = {"currency": "EUR", "net": "8.93", "commission": "0.89", "payments": "0.00", "missing": ["202611010130"]}
    read = shown(base=base)
    assert ["Net", "8.93"] in read.rows
    gap = "No exchange rate at the end of 1 quarter-hours: 202611010130."
    assert f"{gap} The table leaves out what they hold." in read.text
    assert "In EUR" not in shown(base=None).text


def test_the_period_is_shown_as_local_dates_and_its_exact_bounds_at_the_end() -> None:
    text = shown().text
    first, _, files = text.partition("SHA-256")
    assert "Period 1–30 November 2026" in first  # noqa: RUF001 - a dash
    for title in ("Cut-off", "Recorded until"):
        assert (title in first, title in files) == (False, True)
    assert "1–28 February 2027" in shown(period="2027-02").text  # noqa: RUF001 - a dash


def test_the_first_statement_has_nothing_to_be_compared_with() -> None:
    assert "The account has no statement of the previous period." in shown(previous=None).text


def test_lines_of_prior_periods_are_a_table_of_their_own_only_if_there_are_any() -> None:
    assert "from prior periods" in shown().text
    none = {kind: {"lines": 0, "amount": "0", "commission": "0"} for kind in statement()["prior_period"]}
    assert "from prior periods" not in shown(prior_period=none, prior_period_lines=0).text


def test_lines_that_are_in_the_file_alone_are_counted() -> None:
    assert "12 of 14 lines" in shown().text
    assert "Lines of further terms: 7." in shown(lines_of_further_terms=7).text


def test_the_origin_of_each_commission_is_in_words() -> None:
    terms = [
        {"terms": origin, "commission_rate": "0.1", "lines": 1, "net": "1", "commission": "0.1"}
        for origin in ("card 3", "card 2 rate-card:group/eu", "default", "event", "")
    ]
    names = [row[0] for row in shown(terms=terms).rows if row[1:] == ["0.1", "1", "1", "0.1"]]
    assert names == [
        "rate-card:42, version 3",
        "rate-card:group/eu, version 2",
        "the default commission rate",
        "the rate or commission that the event names",
        "unknown",
    ]


def test_readers_are_shown_how_to_dispute_with_a_path_that_fits_the_agency() -> None:
    text = shown(agency="50% off / outlet").text
    assert "POST /statements/50%25%20off%20%2F%20outlet/GBP/2026-11/disputes" in text
    assert "write to billing@cafe-marche.example" in text


def test_the_chart_has_every_day_of_the_period() -> None:
    (chart,) = shown().named("svg")
    assert chart["viewbox"] == "0 0 3000 1000"
    assert len(shown().named("rect")) == 3


def test_a_statement_without_lines_has_its_balance() -> None:
    none = {kind: {"lines": 0, "amount": "0", "commission": "0"} for kind in statement()["by_kind"]}
    read = shown(days=[], terms=[], orders=[], by_kind=none, prior_period=none, lines=0, lines_in_orders=0)
    assert ["Closing balance", "284.02"] in read.rows
    assert not read.named("svg")
