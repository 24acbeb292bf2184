"""A statement in Chromium as people with different roles see it, and what finance does with it."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from quarterhour.model.clock import ManualClock
from tests.support.agencies import OWNER, tax
from tests.support.browser import IN_A_BROWSER, Tab, shown
from tests.support.events import adjustment
from tests.support.openid import Issuer
from tests.support.requests import post, put, verdicts
from tests.support.served import call, served

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def address(issuer: Issuer) -> Iterator[str]:
    """The address of a stack in November whose October is sealed; agency 43 is owed money."""
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), issuer.with_roles) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            for agency in ("42", "43"):
                put(world, f"/agencies/{agency}", {"seen": 0, "content": tax(scheme="exempt", percent=None)})
            world.sell("100.00", "42")
            assert verdicts(post(world, adjustment("a1", "-5", agency="43"))) == ["recorded"]
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            world.drain()
        yield server.url


def opened(browser: Tab, address: str, issuer: Issuer, role: str) -> list[str]:
    """Open the statement as a person with a role; return the buttons of its page."""
    issuer.role = role
    browser.open(f"{address}/console/statements/2026-10/42/GBP")
    shown(browser, "Closing balance")
    buttons = "[...document.querySelectorAll('main button:not(form *)')]"
    texts: list[str] = browser.evaluate(f"{buttons}.map((one) => one.innerText)")
    return [text for text in texts if not text.startswith(("Show", "Verify"))]


def sent(browser: Tab, button: str, reason: str) -> None:
    """Press a button, write a reason into the dialog and send it twice; wait until the page shows it."""
    browser.click(button)
    browser.until("document.querySelector('dialog[open] input')")
    assert browser.violations() == []
    browser.evaluate(f"document.querySelector('dialog input').value = {reason!r}")
    browser.evaluate("[1, 2].forEach(() => document.querySelector('dialog button').click())")
    browser.until("!document.querySelector('dialog')")
    shown(browser, reason)


def test_finance_resolves_a_line_that_its_agency_disputes_and_may_cancel_the_statement(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    path = f"{address}/statements/42/GBP/2026-10"
    assert opened(browser, address, issuer, "auditor") == []
    of_finance = ["Accept", "Dispute the statement", "Cancel the statement"]
    assert opened(browser, address, issuer, "finance") == of_finance
    assert opened(browser, address, issuer, "support") == []
    assert opened(browser, address, issuer, "agency") == ["Accept", "Dispute the statement"]
    body = {"source": "shop", "id": "e0", "reason": "it was returned"}
    assert call(f"{path}/disputes", body, "application/json")[0] == 201

    assert opened(browser, address, issuer, "auditor") == []
    assert opened(browser, address, issuer, "finance") == ["Cancel the statement", "Resolve"]
    sent(browser, "Resolve", "agreed by telephone")
    assert browser.violations() == []
    found = call(path)[1]
    assert (found["status"], found["changes"]) == ("resolved", 2), "sent twice, changed once"
    assert opened(browser, address, issuer, "finance") == ["Cancel the statement"]
    assert opened(browser, address, issuer, "agency") == []
    shown(browser, "resolved the line shop e0: agreed by telephone")
    assert browser.errors == []


def test_a_credit_note_and_a_balance_say_in_whose_favour_they_are(browser: Tab, address: str, issuer: Issuer) -> None:
    issuer.role = "finance"
    browser.open(f"{address}/console/statements/2026-10/43/GBP")
    shown(browser, "Credit note C-000001. It covers what was recorded before")
    shown(browser, "Figures in GBP. Closing balance: in favour of the agency")
    browser.open(f"{address}/console/agencies/43")
    shown(browser, "-5.00\n\nin favour of the agency")
    shown(browser, "The last statement, C-000001, closed at -5.00.")
    shown(browser, "Not on a statement yet: commission 0.00, tax 0.00, payments 0.00.")
    assert browser.errors == []


@pytest.mark.parametrize("page", ["", "console/accounts", "console/agencies/none"])
def test_a_page_without_events_names_no_route_that_its_reader_may_not_use(
    browser: Tab, address: str, issuer: Issuer, page: str
) -> None:
    issuer.role, issuer.agency = "agency", "none"
    browser.open(f"{address}/{page}")
    shown(browser, "recorded yet. Sales appear here some seconds after a shop sends them.")
    assert "POST" not in browser.evaluate("document.querySelector('main').innerText")


def test_staff_see_all_agencies_and_a_token_without_a_role_sees_a_problem(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    issuer.role, issuer.agency = "support", "none"
    browser.open(f"{address}/console/accounts")
    browser.until("document.querySelector('tbody th')?.innerText.endsWith('42')")
    issuer.role = ""
    browser.open(f"{address}/console/accounts")
    browser.until("document.querySelector('[role=alert]')?.innerText.includes('Your token has no role')")
