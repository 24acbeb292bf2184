"""The overview of a marketplace with a thousand agencies, in Chromium: exact sums, few requests, nothing moves."""

from collections.abc import Callable, Iterator
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
FIRST_SHOWN = 5
LISTS = 2
DAYS = days_before(date(2026, 12, 1), 61)[::10]
ADDED_UP = "All 1,000 accounts are added up."
MOVED = """new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.moved = (window.moved ?? 0) + one.value;
}).observe({type: "layout-shift", buffered: true})"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a stack with a thousand agencies, each with sales on some days of two months."""
    server = Server(0)
    with using(ManualClock(NOW)), open_stack("embedded", s3_url=server.url, virtual=True) as stack:
        fill(stack, accounts(AGENCIES), DAYS)
        with server.serving(stack):
            yield server.url


@pytest.fixture(scope="module")
def pages(address: str) -> list[Any]:
    """The pages of the overview as the API returns them."""
    found: list[Any] = []
    token = ""
    while token is not None:
        found.append(call(f"{address}/overview?range=month&limit=100{token and f'&next={token}'}")[1])
        token = found[-1]["next"]
    return found


def queries(browser: Tab, path: str) -> list[str]:
    """Return the queries of the requests that the page made to a path."""
    return [split.query for one in browser.requested if (split := urlsplit(one)).path == path]


def test_the_sums_of_a_thousand_accounts_are_those_of_the_api(browser: Tab, address: str, pages: list[Any]) -> None:
    browser.open(address)
    shown(browser, ADDED_UP)
    items = [one for page in pages for one in page["items"]]
    assert len(items) == AGENCIES
    figures = browser.evaluate("[...document.querySelectorAll('.card .figure')].map((one) => one.innerText)")
    for currency, figure in zip(CURRENCIES, figures, strict=True):
        ours = [one for one in items if one["currency"] == currency]
        now, before = (sum(Decimal(one[when]["commission"]) for one in ours) for when in ("now", "before"))
        assert figure == called(browser, "lib/format.js", "amount", str(now), currency)
        shown(browser, f"against {called(browser, 'lib/format.js', 'amount', str(before), currency)}")
    browser.page.get_by_text("The same as a table").click()
    for day in ("2026-11-10", "2026-11-30"):
        sums = [
            one["commission"] for page in pages for one in page["days"] if (one["currency"], one["day"]) == ("EUR", day)
        ]
        assert len(sums) == PAGES
        summed = called(browser, "lib/format.js", "amount", str(sum(map(Decimal, sums))), "EUR")
        shown(browser, f"{called(browser, 'lib/format.js', 'day', day)}\t{summed}")
    assert browser.violations() == []
    assert browser.errors == []


def test_the_figures_take_one_request_for_a_hundred_accounts_and_one_for_each_line(browser: Tab, address: str) -> None:
    browser.open(address)
    shown(browser, ADDED_UP)
    ranges = [parse_qs(query)["range"] for query in queries(browser, "/overview")]
    assert ranges == [["month"]] * PAGES
    assert len(queries(browser, "/periods")) == len(queries(browser, "/agencies")) == 1
    shown(browser, "Top agencies in EUR")
    browser.page.wait_for_load_state("networkidle")
    days = [path for one in browser.requested if (path := urlsplit(one).path).startswith("/accounts")]
    assert len(days) == LISTS * FIRST_SHOWN, "the lines of those that are listed"


def test_figures_are_shown_with_the_first_page_and_nothing_moves_when_others_follow(browser: Tab, address: str) -> None:
    browser.open(address)
    browser.evaluate(MOVED)
    shown(browser, "The first 100 accounts are added up. More follow")
    at = "document.querySelector('.chart').getBoundingClientRect().top"
    before = browser.evaluate(at)
    shown(browser, ADDED_UP)
    assert browser.evaluate(at) == before
    assert browser.evaluate("window.moved ?? 0") < 0.05


@pytest.mark.parametrize("currency", CURRENCIES)
def test_the_agencies_of_one_currency_are_ranked_and_more_are_shown_on_demand(
    browser: Tab, address: str, pages: list[Any], currency: str
) -> None:
    browser.open(f"{address}/?currency={currency}")
    shown(browser, f"Top agencies in {currency}")
    top, falling = (in_order(pages, currency, figure) for figure in (earned, lost))
    assert listed(browser) == [top[:FIRST_SHOWN], falling[:FIRST_SHOWN]]
    browser.click("Show more")
    browser.until(f"document.querySelector('table:has(th a) tbody').rows.length === {2 * FIRST_SHOWN}")
    assert listed(browser) == [top[: 2 * FIRST_SHOWN], falling[:FIRST_SHOWN]]


def earned(one: Any) -> Decimal:
    """Return the commission of an account in the span."""
    return Decimal(one["now"]["commission"])


def lost(one: Any) -> Decimal:
    """Return how much less commission an account has than before."""
    return Decimal(one["before"]["commission"]) - Decimal(one["now"]["commission"])


def in_order(pages: list[Any], currency: str, figure: Callable[[Any], Decimal]) -> list[str]:
    """Return the agencies with an account in a currency, those first whose figure is largest."""
    found = [one for page in pages for one in page["items"] if one["currency"] == currency]
    return [one["agency"] for one in sorted(found, key=figure, reverse=True)]


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
