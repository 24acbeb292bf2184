"""Messages in Chromium: people of an agency and support write them, each once, and both read them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Route

from quarterhour.model.clock import ManualClock
from tests.support.agencies import OWNER, tax
from tests.support.browser import HOSTILE, IN_A_BROWSER, PHONE, RIGHT_TO_LEFT, Tab, errors, open_as, shown, texts
from tests.support.openid import Issuer
from tests.support.requests import put
from tests.support.served import call, served

pytestmark = IN_A_BROWSER

MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def time() -> ManualClock:
    return ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC))


@pytest.fixture(scope="module")
def address(issuer: Issuer, time: ManualClock) -> Iterator[str]:
    """The address of a stack in November whose October is sealed, with three agencies."""
    with served(time, issuer.with_roles) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            for agency in ("42", "43", "44"):
                put(world, f"/agencies/{agency}", {"seen": 0, "content": tax()})
                world.sell("100.00", agency)
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            world.drain()
        yield server.url


def written(browser: Tab, text: str) -> None:
    """Write a message, press the button twice at once, and wait until the page shows the message."""
    browser.fill("Message", text)
    browser.evaluate("[1, 2].forEach(() => document.querySelector('main form:has(textarea) button').click())")
    browser.until(f"[...document.querySelectorAll('.text')].some((one) => one.innerText === {text!r})")


def messages(browser: Tab) -> list[str]:
    """Return the messages that the page shows, once it has loaded them."""
    browser.until("[...document.querySelectorAll('h2')].at(-1)?.innerText === 'Messages'")
    browser.until("![...document.querySelectorAll('[role=status]')].some((one) => one.innerText === 'Loading…')")
    return texts(browser, ".text")


@pytest.mark.parametrize("page", ["agencies/42?tab=messages", "statements/2026-10/42/GBP", "events/shop/e0"])
def test_support_and_a_person_of_the_agency_write_to_each_other(
    browser: Tab, address: str, issuer: Issuer, time: ManualClock, page: str
) -> None:
    question, answer = "Why 12.5 %?\nOur card says 10.", f"{HOSTILE} {RIGHT_TO_LEFT}"
    issuer.subject = "ann"
    open_as(browser, f"{address}/console/{page}", issuer, "agency", "42")
    assert messages(browser) == []
    shown(browser, "Nobody has written a message yet.")
    written(browser, question)
    time.advance(MINUTE)
    assert browser.page.get_by_label("Message", exact=True).input_value() == ""
    issuer.subject = HOSTILE
    open_as(browser, f"{address}/console/{page}", issuer, "support")
    assert messages(browser) == [question]
    assert browser.violations() == []
    written(browser, answer)
    time.advance(MINUTE)
    written(browser, f"{question} Again.")
    time.advance(MINUTE)
    for role, agency in (("auditor", ""), ("agency", "42")):
        issuer.subject = "ann"
        open_as(browser, f"{address}/console/{page}", issuer, role, agency)
        assert messages(browser) == [f"{question} Again.", answer, question], "the newest first, each once"
        assert [one.split(",")[:2] for one in texts(browser, "li .note:has(+ .text)")] == [
            [HOSTILE, " support"],
            [HOSTILE, " support"],
            ["ann (you)", " agency"],
        ]
        assert bool(browser.evaluate("document.querySelector('textarea')")) == (role == "agency")
        assert browser.evaluate("document.images.length") == 0
        assert browser.violations() == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert errors(browser) == []


def test_a_message_whose_response_was_lost_is_written_once(browser: Tab, address: str, issuer: Issuer) -> None:
    issuer.subject = "ann"
    open_as(browser, f"{address}/console/agencies/43?tab=messages", issuer, "agency", "43")
    assert messages(browser) == []
    lost: list[Route] = []

    def lose(route: Route) -> None:
        if route.request.method != "POST" or lost:
            return route.continue_()
        lost.append(route)
        route.fetch()
        return route.abort()

    browser.page.route("**/messages*", lose)
    browser.fill("Message", "Hello?")
    browser.click("Send the message")
    shown(browser, "The API did not respond.")
    browser.click("Send the message")
    browser.until("document.querySelector('.text')")
    browser.page.unroute("**/messages*")
    open_as(browser, f"{address}/console/agencies/43?tab=messages", issuer, "agency", "43")
    assert (messages(browser), len(lost)) == (["Hello?"], 1)


def test_many_messages_are_shown_by_pages_from_either_end(
    browser: Tab, address: str, issuer: Issuer, time: ManualClock
) -> None:
    path = f"{address}/threads/agencies/44/messages"
    for number in range(40):
        time.advance(MINUTE)
        body = {"id": f"m-{number}", "user": "ann", "text": f"text {number}"}
        assert call(path, body, "application/json")[0] == 201
    open_as(browser, f"{address}/console/agencies/44?tab=messages", issuer, "auditor")
    assert messages(browser) == [f"text {number}" for number in reversed(range(15, 40))]
    browser.page.get_by_role("button", name="Show more").last.click()
    browser.until("document.querySelectorAll('.text').length === 40")
    assert messages(browser)[-1] == "text 0"
    browser.click("Show the oldest first")
    browser.until("document.querySelector('.text')?.innerText === 'text 0'")
    assert messages(browser)[-1] == "text 39", "as many as before"
