"""The pages of agencies, exchange rates and locations in Chromium against `quarterhour up`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour.model.clock import ManualClock
from quarterhour.registry.rate_cards import arithmetic
from quarterhour.registry.rate_cards.charge import Pricing, Sold
from quarterhour.registry.rate_cards.rate_card import RateCard, read_rate_card
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.target.remote import segment
from tests.support.agencies import OWNER
from tests.support.browser import HOSTILE, IN_A_BROWSER, PHONE, RIGHT_TO_LEFT, ZONE, Tab, called, shown
from tests.support.events import ABSENT, view
from tests.support.requests import put
from tests.support.served import call, served
from tests.support.system import World

pytestmark = IN_A_BROWSER

AGENCY = "50% off / outlet"
PARAMETERS = {**ZONE, "base_currency": "EUR"}
SINCE = "2020-01-01T00:00:00Z"
TAX = {"scheme": "standard", "percent": "20"}
REGISTERED = {"legal_name": HOSTILE, "address": "1 Quay", "country": "GB", "group": "a/b", "tax": TAX}
DEFAULT = [{"percent": "15"}]
OWN = [{"category": "books", "percent": "8"}, {"category": HOSTILE, "percent": "5"}]
GROUP = [
    {"percent": "12.5"},
    {
        "location": "GB#London",
        "currency": "GBP",
        "charges": [{"name": "commission", "percent": "10", "fixed": "0.30", "minimum": "0.50", "maximum": "20.00"}],
    },
]


def agency_page(agency: str, query: str = "") -> str:
    """Return the path of the page of an agency."""
    return f"/console/agencies/{quote(agency, safe='')}{query}"


PAGES = {
    "/console/agencies": "Registered agencies",
    agency_page(AGENCY): "Balance in GBP",
    agency_page(AGENCY, "?tab=statements"): "S-00000",
    agency_page(AGENCY, "?tab=rates"): "Calculator",
    agency_page(AGENCY, "?currency=GBP&month=2026-10"): "by UTC day",
    agency_page(RIGHT_TO_LEFT, "?currency=GBP&day=2026-10-30"): "by quarter-hour",
    "/console/exchange-rates": "ECB",
    "/console/exchange-rates/GBP": "0.8705",
    "/console/locations?location=GB%23London": "Soho",
}


@pytest.fixture(scope="module")
def market() -> Iterator[tuple[Server, World]]:
    """The server of a stack in November whose October is sealed: agencies with rate cards, places, exchange rates."""
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), PARAMETERS) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            for agency in (AGENCY, RIGHT_TO_LEFT):
                put(world, f"/agencies/{segment(agency)}", {"seen": 0, "content": REGISTERED})
                world.sell("100.00", agency, location="GB#London#Soho")
                world.sell("10.00", agency, location="GB#London", product="=cmd|' /C calc'!A0")
                world.sell("5.00", agency, location="FR#Paris")
            for name, rules in ((AGENCY, OWN), (RIGHT_TO_LEFT, OWN), ("group/a/b", GROUP), ("default", DEFAULT)):
                content = {"valid_from": SINCE, "rules": rules}
                put(world, f"/documents/{segment(f'rate-card:{name}')}", {"seen": 0, "content": content})
            for day, units in (("2026-10-22", "0.8705"), ("2026-10-23", "0.8712")):
                rate = {"units_per_base": units, "source": "ECB", "as_of": f"{day}T14:15:00Z"}
                put(world, "/exchange-rates/GBP", rate)
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            world.sell("20.00", AGENCY)
            world.drain()
        yield server, world


@pytest.fixture(scope="module")
def address(market: tuple[Server, World]) -> str:
    return market[0].url


def test_questions_are_answered_with_the_figures_of_the_lines(browser: Tab, address: str) -> None:
    """It is the first of the module, as others record more sales."""
    browser.open(f"{address}/console/questions?from=2026-10-20&to=2026-11-10&ask=commission-by-product")
    shown(browser, "quarterhour sql --query commission-by-product FOLDER")
    assert answer(browser) == [
        ["No product", "GBP", "4", "210.00", "26.25", "5.00", "100.00", "100.00"],
        ["=cmd|' /C calc'!A0", "GBP", "2", "20.00", "2.50", "10.00", "10.00", "10.00"],
    ]
    assert browser.violations() == []
    browser.follow("link", "Totals by agency")
    shown(browser, "quarterhour sql --query totals FOLDER")
    browser.until("document.querySelectorAll('tbody tr').length === 2")
    assert {tuple(row[1:]) for row in answer(browser)} == {
        ("GBP", "4", "135.00", "16.88"),
        ("GBP", "3", "115.00", "14.38"),
    }
    for name, text in (
        ("Totals by period", "October 2026"),
        ("Top agencies", "Place"),
        ("Commission by category", "No category"),
        ("Agencies that sell less", "Nothing in these days"),
    ):
        browser.follow("link", name)
        shown(browser, text)
    assert browser.errors == []


@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_and_the_page_fits_a_phone(browser: Tab, address: str, page: str) -> None:
    browser.open(f"{address}{page}")
    shown(browser, PAGES[page])
    assert browser.violations() == []
    assert browser.errors == []
    assert [one for one in browser.requested if not one.startswith((address, "data:"))] == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_an_agency_is_found_and_its_figures_lead_down_to_quarter_hours(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/agencies")
    browser.page.get_by_role("link", name=AGENCY).click()
    shown(browser, "Balance in GBP")
    assert HOSTILE in browser.evaluate("document.querySelector('h1').innerText")
    assert browser.evaluate("document.images.length") == 0
    browser.click("October 2026")
    browser.click("Oct 30, 2026")
    browser.until("document.querySelector('.chart canvas') && document.querySelector('th time')")
    assert browser.evaluate("document.querySelector('th time').innerText") == "Oct 30, 2026, 9:00 PM"
    row = browser.evaluate("document.querySelector('th time').closest('tr').innerText").split()
    assert row[-7:] == ["3", "115.00", "0.00", "115.00", "14.38", "0.00", "Events"]
    browser.open(browser.evaluate("window.location.href"))
    browser.until("document.querySelector('th time')")
    browser.evaluate("document.querySelector('th time').closest('tr').querySelector('a').click()")
    browser.until("document.querySelectorAll('tbody tr').length === 3 && document.querySelector('input[name=order]')")
    browser.evaluate("window.history.back()")
    browser.click("All periods")
    shown(browser, "Details")
    browser.click("Statement")
    shown(browser, "A preview as of")


def test_a_change_appears_while_the_page_is_open(browser: Tab, market: tuple[Server, World]) -> None:
    server, world = market
    browser.open(f"{server.url}{agency_page(RIGHT_TO_LEFT)}")
    shown(browser, "Live changes")
    browser.evaluate("document.querySelector('summary').click()")
    shown(browser, "There is no recent change")
    with server.turns.taken():
        world.sell("3.00", RIGHT_TO_LEFT)
        world.drain()
        world.sell("0.21", RIGHT_TO_LEFT)
        world.drain()
    shown(browser, "118.21")
    assert browser.violations() == []
    assert browser.errors == []


def test_an_account_of_page_views_is_shown_as_a_page_and_not_as_an_agency(
    browser: Tab, market: tuple[Server, World]
) -> None:
    server, world = market
    assert call(f"{server.url}/events", view("v1", "/index", "ann"))[0] == 202
    with server.turns.taken():
        world.drain()
    browser.open(f"{server.url}/console/accounts")
    row = browser.page.locator("tbody tr", has_text="page views")
    assert row.inner_text().split("\t")[:3] == ["/index", "page views", "1"]
    assert row.locator("a").count() == 0
    assert browser.page.locator("tbody a").count() == 2


def calculated(browser: Tab, **sale: str) -> str:
    """Return what the calculator shows for a sale."""
    for name, value in sale.items():
        browser.evaluate(f"document.querySelector('input[name={name}]').value = {value!r}")
    browser.click("Calculate")
    browser.until("document.querySelector('form.bar + [role=status], form.bar + .scroll')")
    text: str = browser.evaluate("document.querySelector('form.bar').nextElementSibling.innerText")
    return text


def test_the_calculator_takes_the_first_rate_card_with_a_rule(browser: Tab, address: str) -> None:
    browser.open(f"{address}{agency_page(AGENCY, '?tab=rates')}")
    shown(browser, "Calculator")
    own = calculated(browser, amount="200.00", currency="GBP", category="books")
    assert "Rate card of the agency" in own
    assert "16.00" in own
    group = calculated(browser, category="toys", location="GB#London#Soho", quantity="2")
    assert "Rate card of the group \u2068a/b\u2069" in group
    assert group.split()[-1] == "20.00", "it keeps what was typed, and charges the maximum"
    browser.evaluate("[...document.querySelectorAll('summary')].at(-1).click()")
    shown(browser, "its versions, the newest first")
    assert browser.errors == []


CHARGES: list[dict[str, Any]] = [
    {"percent": "10", "fixed": "0.30", "minimum": "0.50", "maximum": "20.00"},
    {"percent": "10", "fixed": "0.30", "minimum": "0.50", "maximum": "20.00", "refund": "keep_fixed"},
    {"percent": "7.5", "of": "net", "fixed": "0.25", "decimals": 2, "refund": "keep_fixed"},
    {"percent": "7.5", "of": "goods", "decimals": 2, "refund": "keep"},
]


@pytest.mark.parametrize("amount", ["200.00", "1.00", "-1.00", "-33.333", "0", "0.01"])
@pytest.mark.parametrize(("category", "location"), [("", ""), ("books", "GB"), ("toys", "GB#London#Soho")])
@pytest.mark.parametrize("charge", CHARGES, ids=str)
def test_the_calculator_charges_what_the_ledger_charges(  # noqa: PLR0913, PLR0917 - parameters
    browser: Tab, address: str, amount: str, category: str, location: str, charge: dict[str, Any]
) -> None:
    browser.open(address)
    charges = [{"name": "commission", **charge}, {"name": "payment fee", "percent": "1.4"}]
    places = {"location": ["GB#London", "FR"], "currency": "GBP", "charges": charges}
    rate_card = read_rate_card({"valid_from": SINCE, "rules": [*OWN, GROUP[0], places]})
    assert isinstance(rate_card, RateCard)
    rules = [one.as_dict() for one in rate_card.rules]
    items = Decimal("2.5") if Decimal(amount) else None
    parts = {name: amount and str(Decimal(amount) / 10) for name in ("tax", "shipping")}
    sold = Sold(
        Decimal(amount),
        "GBP",
        items,
        category,
        location,
        tax=Decimal(parts["tax"]),
        shipping=Decimal(parts["shipping"]),
    )
    rule = rate_card.rule_for(sold)
    assert rule is not None
    sale = {"amount": amount, "currency": "GBP", "quantity": "2.5", "category": category, "location": location, **parts}
    assert called(browser, "agencies/charge.js", "ruleFor", rules, sale) == rule.as_dict()
    steps = called(browser, "agencies/charge.js", "charge", rule.as_dict(), sale)
    *_, (_, last) = arithmetic.steps(rule.entries(sold, Pricing()))
    assert Decimal(steps[-1][1]) == last.gives


def test_a_period_is_shown_by_charge_with_the_tier_reached(browser: Tab, market: tuple[Server, World]) -> None:
    server, world = market
    steps = [{"from": "0", "percent": "12"}, {"from": "1000", "percent": "10"}, {"from": "5000", "percent": "8"}]
    tiers = {"per": "month", "of": "account", "mode": "graduated", "steps": steps}
    charges = [{"name": "commission", "tiers": tiers}, {"name": "payment fee", "percent": "1"}]
    with server.turns.taken():
        put(
            world,
            "/documents/rate-card%253Atiered",
            {"seen": 0, "content": {"valid_from": SINCE, "rules": [{"charges": charges}]}},
        )
        world.sell("1200.00", "tiered", commission_rate=ABSENT)
        world.drain()
    browser.open(f"{server.url}{agency_page('tiered')}")
    shown(browser, "by tiers, so far")
    tables = browser.page.locator("table").all_inner_texts()
    assert any("payment fee" in text and "12.00" in text for text in tables)
    reached = next(text for text in tables if "Tier reached" in text)
    for figure in ("1,200.00", "10 % from 1,000", "3,800.00", "140.00"):
        assert figure in reached
    assert any("152.00" in text for text in tables), "the period's commission holds what tiers charge"
    browser.open(f"{server.url}/?agency=tiered")
    shown(browser, "Commission in GBP by charge")
    shown(browser, "By tiers in")
    by_name, by_tiers = (
        next(text for text in browser.page.locator("table").all_inner_texts() if head in text)
        for head in ("payment fee", "Tier reached")
    )
    assert "12.00" in by_name
    for figure in ("tiered", "1,200.00", "10 % from 1,000", "3,800.00", "140.00"):
        assert figure in by_tiers
    assert browser.violations() == []
    assert browser.errors == []


def test_an_agency_without_events_says_what_to_do(browser: Tab, address: str) -> None:
    browser.open(f"{address}{agency_page('nobody')}")
    shown(browser, "No event of this agency is recorded yet")
    shown(browser, "This agency is not registered")


def test_an_exchange_rate_shows_its_history(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/exchange-rates")
    browser.click("GBP")
    shown(browser, "0.8712")
    browser.until("document.querySelector('.chart canvas')")
    rows = browser.evaluate("[...document.querySelectorAll('tbody tr')].map((one) => one.innerText)")
    assert [row.split("\t")[1] for row in rows] == ["0.8712", "0.8705"]


def test_locations_lead_from_a_country_to_a_city(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/locations")
    shown(browser, "France")
    browser.click("United Kingdom")
    browser.click("London")
    shown(browser, "London itself")
    cells = browser.evaluate("[...document.querySelectorAll('tbody tr')].map((one) => one.innerText.split('\\t'))")
    assert [(one[0], one[2], one[3]) for one in cells] == [("Soho", "2", "200.00"), ("London itself", "2", "20.00")]
    browser.click("All countries")
    shown(browser, "France")
    browser.open(f"{address}/console/locations?from=2026-09-01&to=2026-09-02")
    shown(browser, "No sale of these days")
    browser.open(f"{address}/console/locations?from=2026-09-02&to=2026-09-01")
    shown(browser, "Choose a first and a last day")


def answer(browser: Tab) -> list[list[str]]:
    """Return the rows of the answer that is shown."""
    rows = (
        "[...document.querySelectorAll('tbody tr')].map((one) => [...one.cells].map((cell) => cell.innerText.trim()))"
    )
    return list(browser.evaluate(rows))
