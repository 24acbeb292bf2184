"""The statement as a page: what its readers see first, its figures, and nothing that the document lacks."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from quarterhour.registry.agencies.agency import LANGUAGES
from quarterhour.statements.document.language import language_of
from quarterhour.statements.document.page import statement_page
from quarterhour.statements.document.page_style import page_style
from quarterhour.statements.drafts.figures import Kind
from tests.support.html import Page
from tests.support.statement_documents import NOBODY, order_row, statement, sums, tax_row
from tests.support.statement_examples import EXAMPLES, balanced, kinds

ATTACK = "<img src=x onerror=alert(1)>"


def read(document: dict[str, Any]) -> Page:
    """Return a page as it is read, with plain blanks."""
    return Page(statement_page(document).replace("\u00a0".encode(), b" "))


def shown(**changed: Any) -> Page:
    return read(statement(**changed))


def leaves(value: Any) -> Iterator[Any]:
    """Yield every text and number in a document."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)
    else:
        yield value


def first_page(page: Page) -> str:
    """Return what is shown before the summary."""
    return page.text.partition(" Summary ")[0]


# ---------------------------------------------------------------- what is owed


def test_the_first_page_says_what_is_owed_to_whom_and_until_when() -> None:
    text = first_page(shown())
    assert "Amount due GBP 284.02 Due date 3 January 2027 Payable to Café Marché Ltd" in text
    assert "IBAN GB33 BUKB 2020 1555 5555 55 Payment reference S-000017" in text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("only a payment", "Credit balance, nothing to pay GBP 35.98 The credit is carried forward"),
        ("the marketplace pays", "Payout to you GBP 1,976.20 Café Marché Ltd owes you this amount."),
        ("zero", "Nothing to pay GBP 0.00"),
    ],
)
def test_a_closing_balance_that_is_no_debt_says_so(name: str, expected: str) -> None:
    text = first_page(read(EXAMPLES[name]))
    assert expected in text
    assert "IBAN" not in text
    assert "Due date" not in text


def test_an_agency_whose_customers_pay_the_marketplace_gets_a_settlement_statement() -> None:
    page = read(EXAMPLES["the marketplace pays"])
    assert page.text.startswith("Settlement statement · S-000017")
    assert ["Net sales received for you", "−2,245.68"] in page.rows  # noqa: RUF001 - a minus
    assert ["Payout to you", "−1,976.20"] in page.rows  # noqa: RUF001 - a minus
    assert "A negative balance is in your favour." in page.text


def test_a_payout_names_the_account_that_it_goes_to() -> None:
    document = EXAMPLES["the marketplace pays"]
    page = read({**document, "customer": {**document["customer"], "iban": "DE89370400440532013000"}})
    assert "Café Marché Ltd owes you this amount. IBAN DE89 3704 0044 0532 0130 00" in first_page(page)


def test_both_parties_have_their_vat_numbers_and_the_names_of_their_countries() -> None:
    text = first_page(shown())
    assert "Issued by Café Marché Ltd 1 Quay Street Bristol BS1 4DJ United Kingdom VAT number GB123456789" in text
    assert "Issued to 株式会社 東京書店 千代田区丸の内 1-1 東京 100-0005 Japan VAT number JP1234567890123" in text


def test_the_first_page_has_local_dates_and_neither_the_cut_off_nor_the_time_of_recording() -> None:
    text = shown().text
    first, _, appendix = text.partition("Verification appendix")
    assert "Number S-000017 Date of issue 4 December 2026 Period 1–30 November 2026 Agency 42" in first  # noqa: RUF001
    for words in ("Cut-off", "Recorded until", "UTC", "SHA-256", "quarterhour verify"):
        assert (words in first, words in appendix) == (False, True)


# ---------------------------------------------------------------- credit notes


def test_a_credit_note_says_what_it_credits_what_is_still_owed_and_what_it_corrects() -> None:
    """November has a sale of 300 and a refund of 1,000 of October, and 121.00 are still owed from then."""
    page = read(EXAMPLES["credit note, still owed"])
    assert page.text.startswith("Credit note · C-000003 ·")
    text = first_page(page)
    assert "Amount due GBP 36.30" in text
    assert "This document credits GBP 84.70 for the period." in text
    assert "After this credit, GBP 36.30 of your account balance is still to be paid." in text
    assert "corrections of sales of earlier months: October 2026 (statement S-000009 of 4 November 2026)." in text
    for row in (
        ["Total for this period", "−84.70"],  # noqa: RUF001 - a minus
        ["Opening balance (from S-000009)", "121.00"],
        ["Amount due", "36.30"],
    ):
        assert row in page.rows


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "You may dispute this document until 18 December 2026. After that day, it counts as accepted."),
        ("de", "Einwendungen sind bis zum 18. "),
        ("fr", "au 18 décembre 2026 inclus. Passé cette date, il est réputé accepté."),
        ("es", "Puede impugnar este documento hasta el 18 de diciembre de 2026 inclusive. Pasada esa fecha, se"),
        ("nl", "U kunt dit document tot en met 18 december 2026 betwisten."),
    ],
)
def test_the_page_says_until_when_the_agency_may_dispute(language: str, expected: str) -> None:
    assert expected in read(statement(language=language, dispute_until="2026-12-18")).text
    assert expected[-20:] not in read(statement(language=language)).text


def test_a_credit_note_without_a_debt_leaves_a_credit() -> None:
    text = first_page(read(EXAMPLES["credit note, credit"]))
    assert "Credit balance, nothing to pay GBP 84.70" in text
    assert "After this credit, your account has a credit balance of GBP 84.70" in text
    assert "earlier months: October 2026." in text


def test_a_cancellation_names_the_document_that_it_cancels() -> None:
    page = read(EXAMPLES["cancellation"])
    assert page.text.startswith("Cancellation · C-000003")
    said = "This document cancels statement S-000012 of 4 November 2026, for 1–30 November 2026, in full."  # noqa: RUF001
    assert said in first_page(page)
    assert "After this credit, nothing is owed." in first_page(page)


@pytest.mark.parametrize(
    ("title", "language", "shown_title"),
    [
        ("invoice", "en", "Invoice"),
        ("tax_invoice", "en", "Tax invoice"),
        ("invoice", "de", "Rechnung"),
        ("invoice", "fr", "Facture"),
        ("tax_invoice", "es", "Factura"),
        ("invoice", "nl", "Factuur"),
        ("statement", "de", "Abrechnung"),
    ],
)
def test_a_statement_has_the_title_of_its_country_in_the_language_of_the_agency(
    title: str, language: str, shown_title: str
) -> None:
    page = statement_page({**EXAMPLES["statement"], "title": title, "language": language}).decode()
    assert f"<h1>{shown_title}</h1>" in page
    paid_out = statement_page({**EXAMPLES["the marketplace pays"], "title": "invoice"}).decode()
    assert "<h1>Invoice</h1>" in paid_out
    credit = statement_page({**EXAMPLES["credit note, credit"], "title": "invoice"}).decode()
    assert "<h1>Credit note</h1>" in credit


def test_a_statement_names_the_one_that_it_replaces() -> None:
    assert "This document replaces S-000012, which was cancelled." in first_page(read(EXAMPLES["replacement"]))
    assert "replaces" not in shown().text


# ---------------------------------------------------------------- figures


def test_the_summary_comes_to_the_closing_balance() -> None:
    rows = shown().rows
    at = rows.index(["Item", "Amount (GBP)"])
    assert rows[at + 1 : at + 8] == [
        ["Commission (taxable amount) ¹", "220.02"],
        ["VAT 20 %", "44.00"],
        ["Total for this period", "264.02"],
        ["Opening balance (from S-000009)", "120.00"],
        ["of which brought forward", "20.00"],
        ["Payments", "−100.00"],  # noqa: RUF001 - a minus
        ["Amount due", "284.02"],
    ]


def test_figures_have_thousands_true_minus_signs_and_the_decimals_of_the_currency() -> None:
    rows = shown().rows
    for row in (
        ["Sales", "9", "2,345.68", "234.57"],
        ["Cancelled sales", "1", "−100.00", "−10.00"],  # noqa: RUF001 - a minus
        ["Net sales", "12", "2,200.18", "220.02"],
        ["14 Nov", "5", "1,545.68", "154.57"],
        ["Other days", "2", "−45.50", "−5.80"],  # noqa: RUF001 - a minus
        ["Net sales", "1,800.00", "2,200.18"],
    ):
        assert row in rows
    assert "220.0175" not in shown().text


@pytest.mark.parametrize(
    ("name", "row"),
    [("in yen", ["Total for this period", "134,703"]), ("in Kuwaiti dinars", ["Amount due", "237.296"])],
)
def test_figures_have_the_decimals_of_other_currencies(name: str, row: list[str]) -> None:
    assert row in read(EXAMPLES[name]).rows


def test_what_is_zero_has_no_row() -> None:
    rows = [row[0] for row in read(EXAMPLES["zero"]).rows]
    assert {"Opening balance", "of which brought forward", "Refunds", "Adjustments", "Other charges"} & {*rows} == set()
    rows = [row[0] for row in read(EXAMPLES["only a payment"]).rows]
    assert {"Commission (taxable amount) ¹", "VAT 20 %", "Total for this period", "Sales"} & {*rows} == set()
    assert "rounded once for each tax rate" not in read(EXAMPLES["only a payment"]).text


def test_every_figure_is_one_of_the_document() -> None:
    """It is shown with other decimals, and what reduces the balance with the other sign."""
    english = language_of("en")
    texts = [str(one) for one in leaves(statement()) if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", str(one))]
    known = set(texts)
    for text in texts:
        for signed in (text, text[1:] if text.startswith("-") else f"-{text}"):
            known |= {english.exact(signed, "GBP"), english.rounded(signed, "GBP", "half-even")}
    figures = {cell for row in shown().rows[1:] for cell in row[1:] if re.fullmatch(r"−?[0-9,]+(\.[0-9]+)?", cell)}  # noqa: RUF001
    assert len(figures) > 30
    assert figures <= known


def test_the_page_shows_what_rounding_left_before_and_what_it_leaves() -> None:
    rows = shown().rows
    assert ["Figure", "From the last document (GBP)", "To the next document (GBP)"] in rows
    assert ["VAT 20 %: Taxable amount", "0.00", "−0.0025"] in rows  # noqa: RUF001 - a minus
    assert ["VAT 20 %: VAT amount", "0.00", "0.004"] in rows
    before = {"taxes": [{"scheme": "reverse_charge", "percent": "0", "base": "0.003", "tax": "0"}], "proceeds": "0.001"}
    nothing = {"taxes": [], "proceeds": "0"}
    page = shown(previous={**statement()["previous"], "remainders": before}, remainders=nothing)
    assert ["VAT 0 %, reverse charge: Taxable amount", "0.003", "0.00"] in page.rows
    assert ["Net sales received for you", "0.001", "0.00"] in page.rows
    assert "Rounding differences" not in shown(remainders=nothing).text


@pytest.mark.parametrize(("rounding", "commission"), [("half-even", "1.02"), ("half-up", "1.03")])
def test_every_table_rounds_as_the_document_does(rounding: str, commission: str) -> None:
    """One sale of 10.25 with a commission of 1.025: by kind, day, terms and order, and in total."""
    some = sums(1, "10.25", "1.025", "net")
    page = shown(
        rounding=rounding,
        by_kind=kinds(sales=sums(1, "10.25", "1.025")),
        net="10.25",
        commission=commission,
        days=[{"day": "2026-11-05", **some}],
        terms=[{"terms": "event", "commission_rate": "0.1", **some}],
        orders=[order_row("o-1", "Lamp", some)],
        earlier_months=[{"month": "2026-10", **some}],
    )
    found = [row[-1] for row in page.rows if row[-2:-1] == ["10.25"]]
    assert found == [commission] * len(found)
    assert len(found) == 6


# ---------------------------------------------------------------- tax


def test_each_tax_has_its_dates_and_base_and_its_legal_note_is_below_the_total() -> None:
    page = read(EXAMPLES["several taxes"])
    for row in (
        ["VAT 21 % on 124.57", "26.16"],
        ["VAT 0 % on 50.00, reverse charge", "0.00"],
        ["VAT 21 %", "1–14 November 2026", "124.57", "26.16"],  # noqa: RUF001 - a dash
        ["VAT 0 %, exempt", "26 November 202630 November 2026", "50.00", "0.00"],
        ["Total", "", "324.57", "35.16"],
    ):
        assert row in page.rows
    assert (
        "Amount due 479.73 Reverse charge: the recipient of the service accounts for the VAT. Exempt from" in page.text
    )


def test_tax_points_name_the_kind_or_the_category_that_decides_their_tax() -> None:
    span = {"from": "2026-11-01", "to": "2026-11-14"}
    tax_points = [span, {**span, "category": "Groups"}, {**span, "kind": "fee"}, {**span, "category": ATTACK}]
    page = shown(taxes=[{**tax_row("220.02", "44.00", "", ""), "tax_points": tax_points}])
    days = "1–14 November 2026"  # noqa: RUF001 - a dash
    names = f"{days}{days}, Groups{days}, fee{days}, {ATTACK}"
    assert ["VAT 20 %", names, "220.02", "44.00"] in page.rows


def test_one_tax_is_named_without_its_base() -> None:
    page = read(EXAMPLES["reverse charge"])
    assert ["VAT 0 %, reverse charge", "0.00"] in page.rows
    assert "Outside the scope of VAT." in read(EXAMPLES["outside the scope"]).text
    assert "Outside the scope" not in page.text


def test_the_tax_is_shown_in_the_issuers_currency_too() -> None:
    expected = ["In EUR (1 EUR = 170.23 JPY; ecb, 30 November 2026)", "", "EUR 719.36", "EUR 71.94"]
    assert expected in read(EXAMPLES["in yen"]).rows
    assert "1 EUR" not in shown().text


def test_a_tax_point_without_a_profile_is_named() -> None:
    missing = tax_row("220.02", "0.00", "2026-11-02", "2026-11-30", scheme=None, percent="0", note="No tax profile.")
    assert ["No tax profile", "44.00"] not in shown(taxes=[missing]).rows
    assert ["No tax profile", "0.00"] in shown(taxes=[missing]).rows


# ---------------------------------------------------------------- details


def test_rates_are_percentages_and_origins_are_in_words() -> None:
    terms = [
        {"terms": origin, "commission_rate": "0.125", "lines": 1, "net": "1", "commission": "0.125"}
        for origin in ("card 3", "card 2 rate-card:group/eu", "card 1 rate-card:default", "default", "event", "")
    ]
    rows = [row for row in shown(terms=terms).rows if "12.5 %" in row]
    assert [row[0] for row in rows] == [
        "Rate card of the agency, version 3",
        "Rate card of the group eu, version 2",
        "General rate card, version 1",
        "Default rate",
        "Agreed rate",
        "Unknown",
    ]
    assert rows[0] == ["Rate card of the agency, version 3", "12.5 %", "1", "1.00", "0.12"]
    assert ["Agreed rate", "–", "1", "0.00", "−1.25"] in shown().rows  # noqa: RUF001 - a dash and a minus


def test_corrections_are_below_their_order_and_bear_its_number() -> None:
    page = shown()
    at = page.rows.index(["Order", "Type", "Product", "Transactions", "Net sales", "Commission"])
    assert [row[:2] for row in page.rows[at + 1 :]] == [
        ["o-1001", "Sale"],
        ["o-1002", "Sale"],
        ["o-1002", "Cancelled sale"],
        ["Sale sale-77", "Refund"],
    ]
    assert sum(one.get("class") == "below" for one in page.named("tr")) == 2, "with the balance brought forward"


def test_a_row_is_below_a_sale_of_the_same_order_only() -> None:
    rows = [order_row(order, "Lamp", sums(1, "-1", "-0.1", "net"), kind="refunds") for order in ("o-1", "o-2")]
    assert [one for one in shown(orders=rows, brought_forward="0").named("tr") if one.get("class") == "below"] == []


def test_orders_that_are_in_the_file_alone_are_counted() -> None:
    note = "This table has the first 342 of 5,012 lines of the statement."
    assert note in read(EXAMPLES["300 orders"]).text
    assert "first" not in shown().text, "12 lines of orders, a payment and a balance brought forward"
    assert "Further terms: 7 transactions." in shown(lines_of_further_terms=7).text


def test_lines_of_earlier_periods_and_months_are_tables_of_their_own_only_if_there_are_any() -> None:
    page = shown()
    assert ["Refunds", "1", "−45.50", "−4.55"] in page.rows  # noqa: RUF001 - a minus
    assert ["October 2026", "1", "−45.50", "−4.55"] in page.rows  # noqa: RUF001 - a minus
    assert "Of these" not in shown(prior_period=kinds(), earlier_months=[]).text


def test_a_missing_exchange_rate_is_counted_beside_what_is_converted() -> None:
    base = {"currency": "EUR", "net": "8.93", "commission": "0.89", "payments": "0.00", "missing": ["202611010130"]}
    page = shown(base=base)
    assert ["Net sales", "8.93"] in page.rows
    assert "Quarter-hours without an exchange rate, whose transactions are left out: 1." in page.text
    assert "In EUR" not in shown(base=None).text
    assert "In GBP" not in shown(base={**base, "currency": "GBP"}).text


def test_the_chart_has_every_day_of_the_period_from_five_days_on() -> None:
    days = [{"day": f"2026-11-{day:02d}", **sums(1, "10", "1", "net")} for day in range(1, 6)]
    other = {"day": None, **sums(1, "10", "1", "net")}
    assert shown(days=[*days[:4], other]).named("svg") == []
    (chart,) = shown(days=days).named("svg")
    assert chart["viewbox"] == "0 0 3000 1000"
    assert chart["aria-label"] == "Net sales by day (GBP). Highest: 10.00 (1 Nov)."


def test_the_style_has_only_weights_that_printers_of_pdf_know() -> None:
    assert set(re.findall(r"font-weight:(\w+)", page_style("S-1", "42"))) <= {"400", "600"}


def test_the_first_statement_is_compared_with_nothing() -> None:
    assert "Compared with the previous statement" in shown().text
    page = shown(previous=None)
    assert "Compared" not in page.text
    assert ["Opening balance", "120.00"] in page.rows


def test_a_document_is_not_compared_with_one_of_its_own_period() -> None:
    previous = {**statement()["previous"], "period": "2026-11"}
    assert "Compared" not in shown(previous=previous).text
    cancelled = {"number": "S-000008", "issued_on": "2026-11-04", "document": "statement"}
    assert "Compared" not in shown(cancels=cancelled).text


def test_parties_that_are_unknown_are_left_out() -> None:
    page = read(EXAMPLES["nobody"])
    assert "Issued to 42 Not registered at the end of the period" in page.text
    for words in ("None", "Issued by", "Write to", "Payable to"):
        assert words not in page.text
    assert not page.named("img")
    assert "Not registered" in shown(customer=NOBODY).text


def test_readers_see_whom_to_write_to_and_programs_how_to_dispute() -> None:
    text = shown(agency="50% off / outlet").text
    assert "Write to billing@cafe-marche.example." in text
    assert "POST /statements/50%25%20off%20%2F%20outlet/GBP/2026-11/disputes" in text
    assert "PUT /statements/50%25%20off%20%2F%20outlet/GBP/2026-11/status" in text


# ---------------------------------------------------------------- the page


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_example_is_written_in_every_language_with_the_same_rows(language: str) -> None:
    for name, document in EXAMPLES.items():
        page, english = read({**document, "language": language}), read({**document, "language": "en"})
        assert [tag for tag, _ in page.tags] == [tag for tag, _ in english.tags], name
        assert page.named("html") == [{"lang": language}]
        assert "{" not in page.text


def test_a_german_statement_is_german_throughout() -> None:
    text = read(EXAMPLES["German"]).text
    for words in (
        "Zu zahlen 14.843,84 EUR Fällig am 3. Januar 2027",
        "Vereinigtes Königreich USt-IdNr. GB123456789",
        "Leistungszeitraum 1.–30. November 2026",  # noqa: RUF001 - a dash
        "USt 19 %",
        "Höchster Wert: 8.641,92 (7. Nov.).",
    ):
        assert words in text


def test_names_of_any_script_are_shown_in_their_own_direction() -> None:
    page = shown()
    for name in ("Café Marché Ltd", "株式会社 東京書店", "العربية للمبتدئين"):
        assert name in page.text
    assert len(page.named("bdi")) > 10


def test_the_title_names_the_statement_so_that_a_saved_file_has_its_name() -> None:
    assert shown().text.startswith("Statement · S-000017 · November 2026 · Café Marché Ltd")


@pytest.mark.parametrize(
    "script", ["<script>alert(1)</script>", ATTACK, '"><b onclick="x">', "</style><p>", "&amp;", "{0}"]
)
def test_texts_of_others_are_never_markup(script: str) -> None:
    plain = balanced(replaces="S-000012", cancels={"number": "S-9", "issued_on": "2026-11-04", "document": "statement"})

    def planted(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: planted(one) for name, one in value.items()}
        if isinstance(value, list):
            return [planted(one) for one in value]
        return f"{value}{script}" if value in names else value

    texts = {order[name] for order in plain["orders"] for name in ("order", "sale", "product")}
    names = {*leaves([plain["owner"], plain["customer"]]), *texts, plain["number"], "42", "S-9", "S-000012", "S-000009"}
    names = {name for name in names if isinstance(name, str)} - {"GB", "JP", *Kind}
    page, attacked = Page(statement_page(plain)), Page(statement_page(planted(plain)))
    assert [tag for tag, _ in attacked.tags] == [tag for tag, _ in page.tags]
    assert attacked.text.count(script) > 20
    assert statement_page(planted(plain)).count(b"</style>") == 1


def test_nothing_is_loaded() -> None:
    page = shown()
    assert {tag for tag, _ in page.tags} & {"script", "iframe", "object", "a", "form", "base"} == set()
    sources = [attributes[name] for _, attributes in page.tags for name in ("src", "href") if name in attributes]
    assert sources
    assert all(str(source).startswith("data:") for source in sources)
    assert "url(" not in page_style("S-1", "url(x)")


def test_each_sheet_has_the_number_and_the_agency_at_its_foot() -> None:
    style = page_style("S-1", "Bücher")
    assert r'@bottom-left{content:"S\2d 1\20 \b7 \20 \2068 B\fc cher\2069 "' in style
    assert 'counter(page) " / " counter(pages)' in style
    assert "\\2026 " in page_style("S-1", "x" * 61)
    assert "x" * 61 not in page_style("S-1", "x" * 61)


def test_the_same_document_gives_the_same_bytes() -> None:
    again = json.loads(json.dumps(statement(), sort_keys=True))
    assert statement_page(again) == statement_page(statement())
