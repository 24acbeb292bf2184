"""The overview's figures in Chromium: to the same point, one currency at a time, and what needs attention first."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from quarterhour.model.clock import ManualClock
from tests.support.browser import IN_A_BROWSER, SCREEN, Tab, shown, texts
from tests.support.requests import put
from tests.support.served import served
from tests.support.system import World

pytestmark = IN_A_BROWSER

NAMES = {"42": "Harbour Books Ltd", "43": "Kestrel Travel plc", "44": "Sakura KK"}
STARTS = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)
SALES = (
    # Amounts, half of which are commission: before 25 October, 14:45 UTC.
    (timedelta(), "100.00", "42", "EUR"),
    (timedelta(), "60.00", "43", "EUR"),
    (timedelta(), "200000", "44", "JPY"),
    (timedelta(), "17.424", "42", "GBP"),
    # After it: none of these is compared with 25 November, 14:37.
    (timedelta(days=2, hours=13, minutes=15), "8000.00", "42", "EUR"),
    (timedelta(days=5), "9000.00", "43", "EUR"),
    # November.
    (timedelta(days=20), "20.00", "42", "EUR"),
    (timedelta(), "90.50", "43", "EUR"),
    (timedelta(), "150000", "44", "JPY"),
    (timedelta(days=5, hours=23, minutes=52), "1.01", "43", "EUR"),
)
SAME_POINT = "Nov 1 - 25, 2026, to 2:45 PM UTC, compared with Oct 1 - 25, 2026, to 2:45 PM UTC."


def recorded(world: World) -> None:
    """Register three agencies, enter a rate, and record their sales of October and November."""
    for agency, name in NAMES.items():
        put(world, f"/agencies/{agency}", {"seen": 0, "content": {"legal_name": name}})
    rate = {"units_per_base": "0.8712", "source": "ECB", "as_of": "2026-10-22T14:00:00Z"}
    put(world, "/exchange-rates/GBP", rate)
    for passed, amount, agency, currency in SALES:
        world.pass_time(seconds=passed.total_seconds())
        world.sell(amount, agency, currency, commission_rate="0.5")
    world.drain()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a stack on 25 November, 14:37 UTC, whose base currency is the euro."""
    with served(ManualClock(STARTS), {"base_currency": "EUR"}) as (server, world):
        with server.turns.taken():
            recorded(world)
        yield server.url


def lines(browser: Tab, selector: str) -> list[str]:
    """Return the texts of the elements that a selector finds, each in one line."""
    return [" ".join(one.split()) for one in texts(browser, selector)]


def test_this_month_is_compared_with_the_last_to_the_same_share_of_the_same_day(browser: Tab, address: str) -> None:
    browser.open(address)
    shown(browser, "All 4 accounts are added up.")
    shown(browser, "All in EUR")
    assert SAME_POINT in " ".join(browser.page.inner_text("main").replace("\u2013", "-").split())
    in_base, euro, pound, yen = lines(browser, ".card.total")
    # 55.755 and 80.00: half of 111.51 and of 160.00, not of the 17,160.00 of all October.
    assert euro == "Commission in EUR 55.76 -30% against 80.00 On net sales of 111.51"
    assert yen == "Commission in JPY 75,000 -25% against 100,000 On net sales of 150,000"
    assert pound == "Commission in GBP 0.00 -100% against 8.71 On net sales of 0.00"
    # 80 + 8.712 / 0.8712 = 90.
    assert in_base == "All in EUR 55.76 -38% against 90.00 Without JPY: there is no rate"
    (rates,) = lines(browser, ".rates")
    assert rates.startswith("All in EUR is added up at the rates in force now: 1 EUR = 0.8712 GBP (ECB, Oct 22, 2026")
    assert browser.evaluate("document.querySelector('.figure data[title]').title") == "55.755"
    assert browser.violations() == []
    assert browser.errors == []


def test_agencies_are_ranked_within_one_currency_by_their_legal_names(browser: Tab, address: str) -> None:
    browser.open(address)
    shown(browser, "Kestrel Travel plc 43")
    assert texts(browser, ".board.even h2") == ["Top agencies in EUR", "Falling agencies in EUR"]
    rows = lines(browser, ".board.even tbody tr")
    assert rows == [
        "Kestrel Travel plc 43 45.76 30.00 +15.76 +53%",
        "Harbour Books Ltd 42 10.00 50.00 -40.00 -80%",
        "Harbour Books Ltd 42 10.00 50.00 -40.00 -80%",
    ]
    browser.follow("link", "JPY")
    shown(browser, "Top agencies in JPY")
    assert browser.evaluate("window.location.search") == "?range=month&currency=JPY"
    rows = lines(browser, ".board.even tbody tr")
    assert rows == ["Sakura KK 44 75,000 100,000 -25,000 -25%"] * 2
    browser.page.reload()
    shown(browser, "Top agencies in JPY")


def test_a_span_is_chosen_by_its_address(browser: Tab, address: str) -> None:
    browser.open(address)
    shown(browser, "Top agencies in EUR")
    browser.follow("link", "Week")
    shown(browser, "Nov 23")
    assert browser.evaluate("window.location.search") == "?range=week"
    browser.open(f"{address}/?from=2026-10-23&to=2026-10-24")
    shown(browser, "Oct 23")
    browser.until("document.querySelector('.card.total')?.innerText.includes('90.00')")
    assert browser.page.get_by_label("Last day").input_value() == "2026-10-24"
    browser.page.get_by_label("Last day").fill("2026-10-25")
    browser.follow("button", "Show")
    browser.until("document.querySelector('.board.even')?.innerText.includes('4,050.00')")
    assert browser.evaluate("window.location.search") == "?from=2026-10-23&to=2026-10-25"


def test_the_chart_says_its_figures_to_the_keyboard_and_in_a_table(browser: Tab, address: str) -> None:
    browser.open(address)
    shown(browser, "This month: 55.76")
    chart = browser.page.get_by_role("slider")
    chart.focus()
    assert (chart.get_attribute("aria-valuetext") or "").endswith(". This month: 55.76. Last month: 80.00")
    browser.press("Home")
    shown(browser, "This month: 0.00")
    for _ in range(23):
        browser.press("ArrowRight")
    assert chart.get_attribute("aria-valuetext") == "To the end of Nov 23. This month: 55.25. Last month: 80.00"
    browser.page.get_by_text("The same as a table").click()
    shown(browser, "Nov 25, 2026\t0.50\t55.76\tOct 25, 2026\t80.00")


OVERDUE = {
    "period": "2026-08", "number": "S-000007", "document": "statement", "issued_on": "2026-09-04", "status": "overdue",
    "amount": "70.00", "cancelled": "0", "paid": "0", "credited": "0", "age": "days_31_60",
}  # fmt: skip
RECEIVABLES = {
    "on": "2026-11-25",
    "items": [
        {"agency": "42", "currency": "EUR", "statements": [{**OVERDUE, "open": "70.00", "due_on": "2026-10-05"}]},
        {
            "agency": "43", "currency": "EUR",
            "statements": [
                {**OVERDUE, "open": "30.50", "due_on": "2026-10-04"},
                {**OVERDUE, "open": "9.99", "due_on": "2026-12-04", "status": "partly_paid"},
            ],
        },
        {"agency": "44", "currency": "JPY", "statements": [{**OVERDUE, "open": "5000", "due_on": "2026-11-04"}]},
    ],
    "next": None, "totals": [],
}  # fmt: skip
HELD = {
    "items": [
        {"source": "shop", "id": "r1", "reason": "unknown_sale",
         "event": {"type": "sale.refunded", "agency": "42", "currency": "EUR", "amount": "-5.00"}},
    ],
    "next": None,
}  # fmt: skip


@pytest.mark.parametrize("size", [SCREEN, (375, 812)])
def test_what_needs_attention_is_ranked_money_first_with_sums_by_currency(
    browser: Tab, address: str, size: tuple[int, int]
) -> None:
    browser.resize(*size)
    browser.page.route("**/receivables?*", lambda route: route.fulfill(json=RECEIVABLES))
    browser.page.route("**/held?*", lambda route: route.fulfill(json=HELD))
    browser.open(address)
    shown(browser, "1 event is held")
    shown(browser, "Kestrel Travel plc 43")
    rows = lines(browser, ".attention li")
    browser.page.unroute_all()
    oldest = "Record the payment, or remind them. The oldest: Kestrel Travel plc 43 · EUR, due on Oct 4, 2026"
    assert rows == [
        f"3 statements are overdue 100.50 EUR, 5,000 JPY {oldest}",
        "4 drafts have failed checks 8,580.00 EUR, 8.71 GBP, 100,000 JPY Mend what the checks name",
        "1 event is held -5.00 EUR Show why",
    ]
    assert browser.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert browser.violations() == []
    assert "#" not in browser.page.inner_text("body")
