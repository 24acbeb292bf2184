"""Payments of statements in Chromium: the open statement is preselected, and every page says what is paid of it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.server import Server
from tests.e2e.test_finance_in_a_browser import drained, field, filled, message, pressed, recorded, reviewed
from tests.support.agencies import OWNER, tax
from tests.support.browser import IN_A_BROWSER, Tab, shown
from tests.support.openid import Issuer
from tests.support.requests import put
from tests.support.served import served
from tests.support.system import World

pytestmark = IN_A_BROWSER

EXEMPT = tax(scheme="exempt", percent=None)
OCTOBER, NOVEMBER, CREDIT = "S-000001", "S-000003", "S-000002"


@pytest.fixture
def market(issuer: Issuer) -> Iterator[tuple[Server, World]]:
    """A stack in December. Agency 42 owes 12.50 for October and 25.00 for November; agency 43 is owed 87.50."""
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), issuer.with_roles) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            put(world, "/agencies/42", {"seen": 0, "content": EXEMPT})
            put(world, "/agencies/43", {"seen": 0, "content": {**EXEMPT, "collects": "marketplace"}})
            for amount, days in (("100.00", 5), ("200.00", 31)):
                world.sell(amount, "42", commission_rate="0.125")
                if days == 5:
                    world.sell(amount, "43", commission_rate="0.125")
                world.pass_time(days=days)
                world.report()
                world.stack.invoke("statements", {})
                world.drain()
        yield server, world


def opened(browser: Tab, market: tuple[Server, World], issuer: Issuer, path: str, text: str) -> None:
    """Open a page as a person of finance."""
    issuer.role = "finance"
    browser.set_clock(datetime(2026, 12, 5, 12, tzinfo=UTC))
    browser.open(f"{market[0].url}/console/{path}")
    shown(browser, text)


def options(browser: Tab) -> list[Any]:
    """Return the text of the options of the list of statements, and which is chosen."""
    found: list[Any] = field(browser, "statement").evaluate(
        "(one) => [...[...one.options].map((option) => option.text.replace(/\\s+/g, ' ').trim()), one.selectedIndex]"
    )
    return found


def proposed(browser: Tab) -> str:
    """Return the amount in the form."""
    return field(browser, "amount").input_value()


def test_the_oldest_open_statement_is_preselected_and_paid(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, market, issuer, "agencies/42?tab=statements", "S-000003")
    rows = "[...document.querySelectorAll('td .tag.overdue, td .tag.open')].map((one) => one.closest('tr').innerText)"
    browser.until(f"{rows}.length === 2")
    browser.click("Record a payment")
    assert options(browser) == [
        "S-000001, October 2026: 12.50 GBP, overdue", "S-000003, November 2026: 25.00 GBP, open",
        "no statement: the oldest is paid first", 0,
    ]  # fmt: skip
    assert (field(browser, "payer").input_value(), proposed(browser)) == ("agency", "12.50")
    assert browser.violations() == []
    browser.choose("Statement", "S-000003, November 2026: 25.00 GBP, open")
    assert proposed(browser) == "25.00"
    filled(browser, amount="0", reason="transfer 8")
    assert message(browser, "amount") == "Write a number above 0."
    filled(browser, amount="20.00")
    text = reviewed(browser)
    assert f"Agency 42 paid 20.00 GBP to the marketplace for statement {NOVEMBER}." in text
    assert f"{NOVEMBER}, of which 5.00 GBP stays open" in text
    assert "17.50 GBP, owed by the agency" in text
    assert browser.violations() == []
    browser.click("Change it")
    filled(browser, amount="30.00")
    assert f"{NOVEMBER}, which is paid then; the other 5.00 GBP pays the oldest statements" in reviewed(browser)
    browser.click("Change it")
    filled(browser, amount="20.00")
    reviewed(browser)
    pressed(browser)
    shown(browser, "It is recorded")
    drained(market)
    (paid,) = recorded_in_december(market)
    assert (paid["amount"], paid["statement"], paid["reason"]) == ("20.00", NOVEMBER, "transfer 8")

    opened(browser, market, issuer, "statements/2026-11/42/GBP", "partly paid")
    figures = "document.querySelector('[aria-label=\"Payment\"]').innerText"
    assert browser.evaluate(figures).split("\n")[1:] == ["Amount\t25.00", "\N{MINUS SIGN} Paid\t20.00", "Open\t5.00"]
    opened(browser, market, issuer, "statements?agency=42", "partly paid")
    assert browser.violations() == []


def test_without_a_statement_the_oldest_is_paid_and_an_agency_that_is_owed_is_paid(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, market, issuer, "agencies/42?tab=statements", "S-000003")
    browser.click("Record a payment")
    browser.choose("Statement", "no statement: the oldest is paid first")
    assert proposed(browser) == ""
    filled(browser, amount="1.00", reason="cash")
    assert "none: the oldest statements are paid first" in reviewed(browser)
    pressed(browser)
    shown(browser, "It is recorded")
    opened(browser, market, issuer, "agencies/43?tab=statements", CREDIT)
    browser.click("Record a payment")
    assert (field(browser, "payer").input_value(), proposed(browser)) == ("marketplace", "87.50")
    browser.choose("Who paid", "The agency paid")
    assert (field(browser, "statement").count(), proposed(browser)) == (0, "")
    browser.choose("Who paid", "The agency was paid")
    filled(browser, reason="payout")
    text = reviewed(browser)
    assert f"The marketplace paid 87.50 GBP to agency 43 for statement {CREDIT}." in text
    assert f"{CREDIT}, which is paid then" in text
    pressed(browser)
    shown(browser, "It is recorded")
    found = {one["reason"]: (one["amount"], one.get("statement")) for one in recorded_in_december(market)}
    assert found == {"cash": ("1.00", None), "payout": ("-87.50", CREDIT)}


def test_what_is_proposed_is_in_the_persons_language_and_read_as_such(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    issuer.role = "finance"
    with browser.in_language("de-DE") as german:
        german.open(f"{market[0].url}/console/agencies/42?tab=statements")
        shown(german, "S-000003")
        german.click("Record a payment")
        assert proposed(german) == "12,50"
        filled(german, amount="1.234", reason="in German")
        assert "Agency 42 paid 1.234,00 GBP to the marketplace for statement S-000001." in reviewed(german)
        assert "This is more than the agency owes." in german.evaluate("document.querySelector('dialog').innerText")


def recorded_in_december(market: tuple[Server, World]) -> list[dict[str, Any]]:
    """Return the payments that finance has recorded."""
    return [one for one in recorded(market, "payment.recorded") if one["source"] == "finance"]
