"""The overview of a marketplace with a thousand agencies, in Chromium: exact sums, few requests, nothing moves."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from benchmarks.marketplace import CURRENCIES, accounts, days_before, fill
from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import open_stack
from tests.support.browser import IN_A_BROWSER, PHONE, Tab, called, shown
from tests.support.served import call

pytestmark = IN_A_BROWSER

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
AGENCIES = 1000
PAGES = 10
FIRST_SHOWN = 50
DAYS = days_before(date(2026, 12, 1), 61)[::10]
ADDED_UP = "All 1,000 accounts are added up."
MOVED = """new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.moved = (window.moved ?? 0) + one.value;
}).observe({type: "layout-shift", buffered: true})"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a stack with a thousand agencies, each with sales on some days of two months."""
    server = Server(0)
    with using(ManualClock(NOW)), open_stack("moto", s3_url=server.url, virtual=True) as stack:
        fill(stack, accounts(AGENCIES), DAYS)
        with server.serving(stack):
            yield server.url


@pytest.fixture(scope="module")
def pages(address: str) -> list[Any]:
    """The pages of the overview as the API returns them."""
    found: list[Any] = []
    token = ""
    while token is not None:
        found.append(call(f"{address}/overview?period=2026-11&limit=100{token and f'&next={token}'}")[1])
        token = found[-1]["next"]
    return found


def queries(browser: Tab, path: str) -> list[str]:
    """Return the queries of the requests that the page made to a path."""
    return [split.query for one in browser.requested if (split := urlsplit(one)).path == path]


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_sums_of_a_thousand_accounts_are_those_of_the_api(
    browser: Tab, address: str, pages: list[Any], color_scheme: str
) -> None:
    browser.open(address, color_scheme)
    shown(browser, ADDED_UP)
    items = [one for page in pages for one in page["items"]]
    assert len(items) == AGENCIES
    figures = browser.evaluate("[...document.querySelectorAll('.card .figure')].map((one) => one.innerText)")
    for currency, figure in zip(CURRENCIES, figures, strict=True):
        ours = [one for one in items if one["currency"] == currency]
        now, before = (sum(Decimal(one[when]["commission"]) for one in ours) for when in ("now", "before"))
        assert figure == called(browser, "format.js", "money", str(now), currency)
        shown(browser, f"October 2026: {called(browser, 'format.js', 'money', str(before), currency)}")
    browser.evaluate("document.querySelector('summary').click()")
    for day in (DAYS[0].isoformat(), DAYS[-1].isoformat()):
        sums = [
            one["commission"] for page in pages for one in page["days"] if (one["currency"], one["day"]) == ("EUR", day)
        ]
        assert len(sums) == PAGES
        shown(browser, f"{day}\t{called(browser, 'format.js', 'money', str(sum(map(Decimal, sums))), 'EUR')}")
    assert browser.violations() == []
    assert browser.errors == []


def test_the_figures_take_one_request_for_a_hundred_accounts_and_one_for_the_period(browser: Tab, address: str) -> None:
    browser.open(address)
    shown(browser, ADDED_UP)
    periods = [parse_qs(query)["period"] for query in queries(browser, "/overview")]
    assert periods == [["2026-11"]] * PAGES
    assert len(queries(browser, "/periods")) == 1
    assert [one for one in browser.requested if urlsplit(one).path.startswith("/accounts")] == []


def test_figures_are_shown_with_the_first_page_and_nothing_moves_when_others_follow(browser: Tab, address: str) -> None:
    browser.open(address)
    browser.evaluate(MOVED)
    shown(browser, "The first 100 accounts are added up. More follow")
    at = "document.querySelector('.chart').getBoundingClientRect().top"
    before = browser.evaluate(at)
    shown(browser, ADDED_UP)
    assert browser.evaluate(at) == before
    assert browser.evaluate("window.moved ?? 0") < 0.05


def test_the_agencies_that_changed_most_in_a_currency_are_first_and_more_are_shown_on_demand(
    browser: Tab, address: str, pages: list[Any]
) -> None:
    browser.open(address)
    shown(browser, ADDED_UP)
    ordered = [in_order(pages, currency) for currency in CURRENCIES]
    assert listed(browser) == [names[:FIRST_SHOWN] for names in ordered]
    browser.click("Show more")
    browser.until(f"document.querySelector('table:has(th a) tbody').rows.length === {2 * FIRST_SHOWN}")
    assert listed(browser) == [ordered[0][: 2 * FIRST_SHOWN], ordered[1][:FIRST_SHOWN]]


def in_order(pages: list[Any], currency: str) -> list[str]:
    """Return the agencies with an account in a currency, those first whose commission changed most."""
    changes = {
        one["agency"]: abs(Decimal(one["now"]["commission"]) - Decimal(one["before"]["commission"]))
        for page in pages
        for one in page["items"]
        if one["currency"] == currency
    }
    return sorted(changes, key=lambda agency: changes[agency], reverse=True)


def listed(browser: Tab) -> list[list[str]]:
    """Return the agencies of each table of the page that lists agencies."""
    tables = "[...document.querySelectorAll('table:has(tbody th.long)')]"
    found: list[list[str]] = browser.evaluate(
        f"{tables}.map((table) => [...table.querySelectorAll('tbody th.long')].map((one) => one.innerText))"
    )
    return found


def test_the_overview_of_many_agencies_fits_a_phone(browser: Tab, address: str) -> None:
    browser.resize(*PHONE)
    browser.open(address)
    shown(browser, ADDED_UP)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
