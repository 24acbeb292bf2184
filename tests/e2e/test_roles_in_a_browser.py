"""A statement in Chromium as people with different roles see it, and what finance does with it."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from quarterhour.model.clock import ManualClock
from tests.support.browser import IN_A_BROWSER, Tab, shown
from tests.support.openid import Issuer
from tests.support.served import call, served

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def address(issuer: Issuer) -> Iterator[str]:
    """The address of a stack in November whose October is stated; its agency has no tax profile."""
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), issuer.with_roles) as (server, world):
        with server.turns.taken():
            world.sell("100.00", "42")
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            world.drain()
        yield server.url


def opened(browser: Tab, address: str, issuer: Issuer, role: str, color_scheme: str = "light") -> list[str]:
    """Open the statement as a person with a role; return the buttons of its page."""
    issuer.role = role
    browser.open(f"{address}/console/statements/2026-10/42/GBP", color_scheme)
    shown(browser, "Closing balance")
    buttons = "[...document.querySelectorAll('main button:not(form *)')]"
    texts: list[str] = browser.evaluate(f"{buttons}.map((one) => one.innerText)")
    return [text for text in texts if not text.startswith("Show")]


def sent(browser: Tab, button: str, reason: str) -> None:
    """Press a button, write a reason into the dialog and send it twice; wait until the page shows it."""
    browser.click(button)
    browser.until("document.querySelector('dialog[open] input')")
    assert browser.violations() == []
    browser.evaluate(f"document.querySelector('dialog input').value = {reason!r}")
    browser.evaluate("[1, 2].forEach(() => document.querySelector('dialog button').click())")
    browser.until("!document.querySelector('dialog')")
    shown(browser, reason)


def test_finance_issues_a_statement_and_resolves_a_line_that_its_agency_disputes(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    path = f"{address}/statements/42/GBP/2026-10"
    assert opened(browser, address, issuer, "auditor") == []
    assert opened(browser, address, issuer, "agency") == []
    assert opened(browser, address, issuer, "finance") == ["Issue"]
    sent(browser, "Issue", "the profile is agreed")
    assert call(path)[1]["changes"] == 1, "sent twice, changed once"

    assert opened(browser, address, issuer, "support") == []
    assert opened(browser, address, issuer, "agency") == ["Accept", "Dispute the statement"]
    body = {"source": "shop", "id": "e0", "reason": "it was returned"}
    assert call(f"{path}/disputes", body, "application/json")[0] == 201

    assert opened(browser, address, issuer, "auditor") == []
    assert opened(browser, address, issuer, "finance", "dark") == ["Resolve"]
    sent(browser, "Resolve", "agreed by telephone")
    assert browser.violations() == []
    assert call(path)[1]["status"] == "resolved"
    assert opened(browser, address, issuer, "finance") == []
    assert opened(browser, address, issuer, "agency") == []
    assert "agreed by telephone" in browser.evaluate("document.querySelector('main').innerText")
    assert browser.errors == []


def test_staff_see_all_agencies_and_a_token_without_a_role_sees_a_problem(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    issuer.role, issuer.agency = "support", "none"
    browser.open(f"{address}/console/accounts")
    browser.until("document.querySelector('tbody th')?.innerText === '42'")
    issuer.role = ""
    browser.open(f"{address}/console/accounts")
    browser.until("document.querySelector('[role=alert]')?.innerText.includes('your token has no role')")
