"""The console in Chromium with an API that fails and addresses by hand: it says what is wrong, and goes on."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Route

from quarterhour.model.clock import ManualClock
from tests.handlers.desk import send
from tests.support.agencies import OWNER
from tests.support.browser import IN_A_BROWSER, ZONE, Tab, called, shown
from tests.support.served import call, served

pytestmark = IN_A_BROWSER

PAGES = {
    "/": "Top agencies in GBP",
    "/console/accounts": "Lifetime totals",
    "/console/agencies": "Registered agencies",
    "/console/agencies/42": "Balance in GBP",
    "/console/events?from=2026-10-30&to=2026-10-31": "Events, the newest first",
    "/console/events/shop/e0": "Commission so far",
    "/console/statements": "Statements, the newest period first",
    "/console/statements/2026-10/42/GBP": "Closing balance",
    "/console/reports": "verified",
    "/console/reports/2026-10-30T1200-2400": "Exact sums by account",
    "/console/locations": "Sales by location",
    "/console/exchange-rates": "Exchange rates in force",
    "/console/exchange-rates/GBP": "the newest first",
    "/console/operations": "Records set aside",
}
"""Pages, each with what it shows once the API responds."""
FAILURES: dict[str, dict[str, Any]] = {
    "an error": {"status": 500, "body": '{"message": "Internal Server Error"}'},
    "half a response": {"status": 200, "body": '{"items": ['},
}
REQUEST = "request-7"
AGAIN = "[...document.querySelectorAll('main button')].filter((one) => one.innerText === 'Try again')"
NO_PAGE = "There is no page at this address"
BY_HAND = {
    "/console/agencies/%": NO_PAGE,
    "/console/agencies/%FF": NO_PAGE,
    "/console/no/such/page": NO_PAGE,
    "/console/agencies/": "Registered agencies",
    "/console/statements/2026-13/42/EUR": "Request",
    "/console/statements/2026-10/42/eur": "Request",
    "/console/events?from=garbage": "From: Write a day such as 2026-11-05",
    "/console/events/shop/none": "Request",
    "/console/reports?date=garbage": "Request",
    "/console/exchange-rates/%3Cb%3E": "Request",
    "/console/locations?from=garbage&to=2026-10-31": "These days cannot be shown",
    "/console/agencies/42?month=2026-99&currency=XXX&day=garbage": "Balance in GBP",
    "/?agency=nobody&unknown=1": "No sale is recorded yet",
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a stack in November whose October is sealed, with one agency that is registered."""
    parameters = {**ZONE, "base_currency": "EUR"}
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), parameters) as (server, world):
        with server.turns.taken():
            tax = {"scheme": "standard", "percent": "20"}
            facts = {"legal_name": "Nord", "address": "1 Quay", "country": "GB", "tax": tax}
            assert send(world, "PUT", "/documents/owner", {"seen": 0, "content": OWNER}).status == 201
            assert send(world, "PUT", "/agencies/42", {"seen": 0, "content": facts}).status == 201
            rate = {"units_per_base": "0.87", "source": "bank", "as_of": "2026-10-23T14:15:00Z"}
            assert send(world, "PUT", "/exchange-rates/GBP", rate).status == 201
            world.sell("10.00", location="GB#London")
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            world.sell("20.00")
            world.drain()
        yield server.url


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_failed_and_is_complete_after_another_try(
    browser: Tab, address: str, page: str, failure: str
) -> None:
    def fail(route: Route) -> None:
        if route.request.resource_type != "fetch" or urlsplit(route.request.url).path == "/me":
            return route.continue_()
        return route.fulfill(**FAILURES[failure], headers={"apigw-requestid": REQUEST})

    browser.page.route("**/*", fail)
    browser.open(f"{address}{page}")
    shown(browser, f"Request {REQUEST}")
    browser.until("!document.querySelector('main').innerText.includes('Loading…')")
    browser.page.unroute("**/*")
    browser.until(f"({AGAIN}.forEach((one) => one.click()), !{AGAIN}.length)")
    shown(browser, PAGES[page])


@pytest.mark.parametrize("page", BY_HAND)
def test_an_address_by_hand_shows_a_page_or_why_there_is_none(browser: Tab, address: str, page: str) -> None:
    browser.open(f"{address}{page}")
    shown(browser, BY_HAND[page])
    browser.click("Accounts")
    shown(browser, "Lifetime totals")
    browser.page.go_back()
    shown(browser, BY_HAND[page])


def test_a_script_that_does_not_arrive_leaves_what_to_do(browser: Tab, address: str) -> None:
    browser.page.route("**/session.js", lambda route: route.abort())
    browser.open(f"{address}/console/accounts")
    shown(browser, "If it does not appear, load the page again.")
    browser.page.unroute("**/session.js")
    browser.page.reload()
    shown(browser, "Lifetime totals")


def test_a_read_without_a_response_is_repeated_once(browser: Tab, address: str) -> None:
    lost: list[str] = []

    def lose_once(route: Route) -> None:
        if route.request.url in lost:
            return route.continue_()
        lost.append(route.request.url)
        return route.abort("failed")

    browser.open(f"{address}/console/accounts")
    shown(browser, "Lifetime totals")
    browser.page.route("**/statements?*", lose_once)
    browser.click("Statements")
    shown(browser, PAGES["/console/statements"])
    browser.page.unroute("**/statements?*")
    assert lost


def test_a_request_without_a_response_is_given_up(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/accounts")
    shown(browser, "Lifetime totals")
    browser.evaluate("AbortSignal.timeout = ((after) => () => after.call(AbortSignal, 50))(AbortSignal.timeout); 0")
    browser.page.route("**/statements?*", lambda _: None)
    browser.click("Statements")
    shown(browser, "No response")
    browser.page.unroute("**/statements?*")


@pytest.mark.parametrize(
    ("now", "before", "words"),
    [
        ("5", "10.00", "-50%"),
        ("12", "10.00", "+20%"),
        ("10", "10.00", "0%"),
        ("0", "10.00", "-100%"),
        ("-1", "10", ""),
        ("5", "-10", ""),
        ("5", "0", ""),
    ],
)
def test_a_sum_is_compared_with_the_one_before_only_if_it_can_be(
    browser: Tab, address: str, now: str, before: str, words: str
) -> None:
    browser.open(f"{address}/console/accounts")
    assert called(browser, "start/overview.js", "trend", now, before) == words


def records(browser: Tab) -> None:
    """Review the form of the dialog, confirm what is unusual, and record it."""
    browser.click("Review")
    browser.until("document.querySelector('dialog section')")
    unusual = browser.page.get_by_label("I have checked this")
    if unusual.count():
        unusual.check()
    browser.click("Record")


@pytest.mark.parametrize("again", ["in another dialog", "after a reload"])
def test_a_payment_that_was_recorded_without_a_response_is_recorded_once(
    browser: Tab, address: str, again: str
) -> None:
    lose = "**/events"
    browser.page.route(lose, lambda route: (route.fetch(), route.abort()))
    browser.open(f"{address}/console/agencies/42")
    for _ in range(2):
        browser.click("Record a payment")
        browser.fill("Amount", "10.00")
        browser.fill("Reason", again)
        records(browser)
        browser.until("document.querySelector('dialog [role=alert], main > .mark[role=status]')")
        if browser.evaluate("Boolean(document.querySelector('dialog [role=alert]'))"):
            browser.click("Cancel")
            if again == "after a reload":
                browser.page.reload()
        browser.page.unroute(lose)
    shown(browser, "Nothing was recorded again.")
    path = "/events?from=2026-11-01&to=2026-12-01&type=payment.recorded"
    assert [one["reason"] for one in call(address + path)[1]["items"]].count(again) == 1


def test_after_a_lost_payment_an_adjustment_is_another_event_and_so_is_a_payment_an_hour_later(
    browser: Tab, address: str
) -> None:
    def record(button: str, amount: str, label: str) -> None:
        browser.click(button)
        browser.fill(label, amount)
        browser.fill("Reason", "transfer 10")
        records(browser)

    lose = "**/events"
    browser.page.route(lose, lambda route: (route.fetch(), route.abort()))
    browser.open(f"{address}/console/agencies/42")
    record("Record a payment", "12.00", "Amount")
    browser.until("document.querySelector('dialog [role=alert]')")
    browser.page.unroute(lose)
    browser.page.reload()
    record("Record an adjustment", "1", "Commission; below 0, the agency owes less")
    shown(browser, "It is recorded")
    browser.evaluate("Date.now = ((now) => () => now.call(Date) + 3_600_000)(Date.now); 0")
    record("Record a payment", "12.00", "Amount")
    shown(browser, "It is recorded")
    path = "/events?from=2026-11-01&to=2026-12-01&source=finance"
    kinds = [one["type"] for one in call(address + path)[1]["items"] if one["reason"] == "transfer 10"]
    assert sorted(kinds) == ["adjustment.recorded", "payment.recorded", "payment.recorded"]


def test_a_changed_form_says_that_what_was_sent_before_is_held(browser: Tab, address: str) -> None:
    lose = "**/events"
    browser.page.route(lose, lambda route: (route.fetch(), route.abort()))
    browser.open(f"{address}/console/agencies/42")
    browser.click("Record an adjustment")
    browser.fill("Commission; below 0, the agency owes less", "1")
    browser.fill("Source of the sale that it refers to, if any", "shop")
    browser.fill("Id of that sale", "not yet")
    browser.fill("Reason", "agreed")
    records(browser)
    browser.until("document.querySelector('dialog [role=alert]')")
    browser.page.unroute(lose)
    browser.click("Change it")
    for _ in range(2):
        browser.fill("Commission; below 0, the agency owes less", "2")
        records(browser)
        browser.until("document.querySelector('dialog').innerText.includes('was already sent, before your changes')")
        browser.page.reload()
        browser.click("Record an adjustment")
        browser.fill("Source of the sale that it refers to, if any", "shop")
        browser.fill("Id of that sale", "not yet")
        browser.fill("Reason", "agreed")
    held = call(f"{address}/held?agency=42")[1]["items"]
    assert [one["event"]["commission"] for one in held if one["source"] == "finance"] == ["1"]


def test_a_dialog_cannot_be_cancelled_while_it_sends(browser: Tab, address: str) -> None:
    waiting: list[Route] = []
    browser.page.route("**/events", lambda route: waiting.append(route))  # noqa: PLW0108 - Playwright wants a function
    browser.open(f"{address}/console/agencies/42")
    browser.click("Record a payment")
    browser.fill("Amount", "11.00")
    browser.fill("Reason", "transfer 9")
    records(browser)
    browser.until("document.querySelector('dialog button.first').disabled")
    assert browser.evaluate("document.querySelectorAll('dialog[open] button:disabled').length") == 3
    for _ in range(2):
        browser.press("Escape")
    assert browser.evaluate("Boolean(document.querySelector('dialog[open]'))")
    waiting[0].continue_()
    shown(browser, "It is recorded")
    browser.page.unroute("**/events")
