"""What waits for a second person in the console, in Chromium: adjustments, payouts and cancellations."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.server import Server
from tests.handlers.test_approvals import record
from tests.handlers.test_held import watch
from tests.support.agencies import OWNER, tax
from tests.support.browser import IN_A_BROWSER, PHONE, Tab, shown, texts
from tests.support.events import payment, refund, sale, void
from tests.support.openid import Issuer
from tests.support.requests import post, put
from tests.support.served import call, served
from tests.support.system import World

pytestmark = IN_A_BROWSER

NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
NOW = NOON + timedelta(days=5)


@pytest.fixture(scope="module")
def market(issuer: Issuer) -> Iterator[tuple[Server, World]]:
    """The server of a stack on which two people must agree, in November, with a statement of October."""
    parameters = {**issuer.with_roles, "approvals": 2}
    with served(ManualClock(NOON), parameters) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            put(world, "/agencies/quay", {"seen": 0, "content": tax(percent="20")})
            world.sell("100.00", "quay")
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            world.drain()
        yield server, world


class Desk:
    """The console of a person of finance, who changes."""

    def __init__(self, browser: Tab, address: str, issuer: Issuer) -> None:
        self._browser, self._address, self._issuer = browser, address, issuer

    def opens(self, person: str, page: str, text: str) -> list[str]:
        """Open a page as a person; return the names of its buttons."""
        self._issuer.role, self._issuer.subject = "finance", person
        self._browser.set_clock(NOW)
        self._browser.open(f"{self._address}/console/{page}")
        shown(self._browser, text)
        names = "[...document.querySelectorAll('main button')].map((one) => one.ariaLabel || one.innerText)"
        found: list[str] = self._browser.evaluate(names)
        return found


@pytest.fixture
def desk(browser: Tab, market: tuple[Server, World], issuer: Issuer) -> Iterator[Desk]:
    """The console, whose pages have no error."""
    before = issuer.subject
    yield Desk(browser, market[0].url, issuer)
    issuer.subject = before
    assert browser.errors == []


def sent(browser: Tab, button: str, reason: str) -> None:
    """Press a button, write a reason into its dialog, and send it twice, as an impatient person does."""
    browser.follow("button", button)
    browser.fill("Reason", reason)
    assert browser.violations() == []
    browser.evaluate("[1, 2].forEach(() => document.querySelector('dialog button.first').click())")
    browser.until("!document.querySelector('dialog[open]')")


def test_a_second_person_approves_a_payout_and_discards_what_cannot_be_posted(
    browser: Tab, market: tuple[Server, World], desk: Desk
) -> None:
    server, world = market
    with server.turns.taken():
        record(world, payment("payout 7", "-25.00", agency="quay", reason="settled"))
        post(world, void("v1", "nobody knows"))
    own = desk.opens("fay", "operations", "payout 7")
    assert [one for one in own if "finance" in one or "shop" in one] == [
        "Discard finance payout 7",
        "Discard shop v1",
    ]
    shown(browser, "needs approval")
    shown(browser, "Recorded by fay: settled")
    browser.choose("Waiting for", "a second person")
    browser.until("document.querySelectorAll('main button[aria-label^=Discard]').length === 1")

    names = desk.opens("bob", "operations", "payout 7")
    assert "Approve finance payout 7" in names
    sent(browser, "Approve finance payout 7", "agreed with the agency")
    shown(browser, "Approved by bob")
    (held,) = call(f"{server.url}/held?reason=needs_approval")[1]["items"]
    assert (held["approved"]["by"], held["approved"]["reason"]) == ("bob", "agreed with the agency")
    sent(browser, "Discard shop v1", "sent by a test")
    browser.until("!document.querySelector('main').innerText.includes('v1')")
    with server.turns.taken():
        assert watch(world)["posted"] == 1
    recorded = call(f"{server.url}/events/finance/payout%25207")[1]
    assert (recorded["recorded_by"], recorded["approved_by"]) == ("fay", "bob")
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_one_decision_is_made_about_several_held_events_of_those_that_it_fits(
    browser: Tab, market: tuple[Server, World], desk: Desk
) -> None:
    server, world = market
    with server.turns.taken():
        post(world, [void("v2", "nobody knows"), refund("r2", "-1.00", "none"), refund("r3", "-2.00", "none")])
    desk.opens("fay", "operations", "r3")
    browser.follow("button", "Choose all 3")
    shown(browser, "3 chosen")
    browser.page.get_by_label("Choose shop r3").uncheck()
    assert texts(browser, "[aria-label=Selection] button") == ["Release 1", "Discard 2", "Choose none"]
    sent(browser, "Discard 2", "sent by a test")
    browser.until("!document.querySelector('main').innerText.includes('shop r2')")
    assert [one["id"] for one in call(f"{server.url}/held")[1]["items"]] == ["r3"]
    discarded = call(f"{server.url}/held?status=discarded")[1]["items"]
    assert {one["id"] for one in discarded} >= {"v2", "r2"}
    browser.page.get_by_label("Choose shop r3").check()
    with server.turns.taken():
        post(world, sale("none", "5.00"))
        assert watch(world)["posted"] == 1
    browser.follow("button", "Discard 1")
    browser.fill("Reason", "too late")
    browser.press("Enter")
    browser.until("document.querySelector('dialog [role=alert]')")
    browser.press("Escape")
    browser.press("Escape")
    browser.errors.clear()


def test_a_second_person_agrees_to_a_cancellation(browser: Tab, market: tuple[Server, World], desk: Desk) -> None:
    page = "statements/2026-10/quay/GBP"
    assert "Cancel the statement" in desk.opens("bob", page, "Closing balance")
    sent(browser, "Cancel the statement", "the name is wrong")
    shown(browser, "bob proposed to cancel this statement")
    assert "Agree" not in desk.opens("bob", page, "Somebody else must agree")
    desk.opens("fay", page, "A second person must agree")
    sent(browser, "Agree", "it is")
    shown(browser, "The next release cancels this statement")
    assert call(f"{market[0].url}/drafts/quay/GBP/2026-10")[1]["state"] == "cancelling"
    assert browser.violations() == []
