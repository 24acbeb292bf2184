"""The console in Chromium as people with different roles and agencies see it: menu, pages, choice of an agency."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from quarterhour.model.clock import ManualClock
from quarterhour_tools.target.remote import segment
from tests.support.agencies import OWNER, tax
from tests.support.browser import HOSTILE, IN_A_BROWSER, PHONE, RIGHT_TO_LEFT, Tab, errors, open_as, shown, texts
from tests.support.openid import Issuer
from tests.support.requests import put
from tests.support.served import served

pytestmark = IN_A_BROWSER

OWN = ["42", "43"]
LISTS = {
    "": "Commission in GBP",
    "console/accounts": "200.00",
    "console/events": "No event matches",
    "console/statements": "S-000002",
}
"""Pages that show a person of several agencies one of them, with what they show of agency 43."""
NAMED = [f"Harbour Books Ltd {agency}" for agency in OWN]
FOR_ALL = {"Overview", "Accounts", "Events", "Statements", "Exchange rates"}
FOR_STAFF = {"Agencies", "Reports", "Locations"}


@pytest.fixture(scope="module")
def address(issuer: Issuer) -> Iterator[str]:
    """The address of a stack in November whose October is sealed, with five agencies."""
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), issuer.with_roles) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            for number, agency in enumerate((*OWN, "44", HOSTILE, RIGHT_TO_LEFT)):
                put(world, f"/agencies/{segment(agency)}", {"seen": 0, "content": tax()})
                world.sell(f"{number + 1}00.00", agency)
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            world.sell("7.00", "42")
            world.drain()
        yield server.url


@pytest.mark.parametrize("role", ["finance", "support", "auditor", "agency"])
def test_the_menu_shows_the_pages_of_the_role_and_each_of_them_works(
    browser: Tab, address: str, issuer: Issuer, role: str
) -> None:
    open_as(browser, address, issuer, role, "42")
    menu = texts(browser, "header nav a")
    assert set(menu) >= FOR_ALL
    assert (set(menu) >= FOR_STAFF, "Agency" in menu) == ((True, False) if role != "agency" else (False, True))
    for text in menu:
        browser.click(text)
        browser.until(f"document.querySelector('header [aria-current=page]')?.innerText === {text!r}")
        browser.until("![...document.querySelectorAll('[role=status]')].some((one) => one.innerText === 'Loading…')")
        assert texts(browser, "[role=alert]") == []
    assert not browser.evaluate("document.querySelector('.agencies')")
    assert errors(browser) == []


@pytest.mark.parametrize("page", ["agencies", "reports", "locations"])
def test_a_page_for_staff_tells_a_person_of_an_agency_so_and_where_to_go(
    browser: Tab, address: str, issuer: Issuer, page: str
) -> None:
    open_as(browser, f"{address}/console/{page}", issuer, "agency", "42")
    shown(browser, "Only people with the role finance, support, or auditor")
    assert browser.violations() == []
    browser.click("The overview")
    shown(browser, "Commission in GBP")
    assert errors(browser) == []


@pytest.mark.parametrize("page", LISTS)
def test_a_person_of_several_agencies_chooses_one_and_the_address_names_it(
    browser: Tab, address: str, issuer: Issuer, page: str
) -> None:
    open_as(browser, f"{address}/{page}", issuer, "agency", *OWN)
    shown(browser, "Choose the one to show")
    shown(browser, NAMED[1])
    assert texts(browser, "main li") == NAMED
    assert browser.violations() == []
    browser.evaluate("document.querySelectorAll('main li a')[1].click()")
    shown(browser, LISTS[page])
    assert browser.evaluate("window.location.pathname + window.location.search") == f"/{page}?agency=43"
    browser.until(f"document.querySelector('header summary').innerText === {f'Agency {NAMED[1]}'!r}")
    assert errors(browser) == []


def test_the_chosen_agency_stays_on_every_page_until_another_is_chosen(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    open_as(browser, f"{address}/?agency=42", issuer, "agency", *OWN)
    shown(browser, "Commission in GBP")
    for text in ("Events", "Statements", "Accounts"):
        browser.click(text)
        browser.until(f"document.querySelector('h1').innerText === {text!r}")
        assert browser.evaluate("window.location.search") == "?agency=42"
    browser.click("Agency")
    shown(browser, "Balance in GBP")
    assert browser.evaluate("window.location.pathname + window.location.search") == "/console/agencies/42"
    browser.evaluate("document.querySelector('header summary').click()")
    assert browser.violations() == []
    browser.click(NAMED[1])
    browser.until("document.querySelector('h1').innerText.includes('43')")
    assert browser.evaluate("document.querySelector('header details').open") is False
    browser.click("Overview")
    shown(browser, "Commission in GBP")
    assert browser.evaluate("window.location.search") == "?agency=43"
    browser.click("Accounts")
    browser.until(f"document.querySelector('tbody th.long')?.innerText === {NAMED[1]!r}")
    assert NAMED[0] not in texts(browser, "tbody th")
    assert browser.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie])") == '[{},{},""]'
    assert errors(browser) == []


def test_a_statement_of_another_of_their_agencies_needs_no_choice(browser: Tab, address: str, issuer: Issuer) -> None:
    open_as(browser, f"{address}/console/statements/2026-10/43/GBP", issuer, "agency", *OWN)
    shown(browser, "Closing balance")
    browser.until(f"document.querySelector('header summary').innerText === {f'Agency {NAMED[1]}'!r}")
    browser.click("Statements")
    browser.until("window.location.search === '?agency=43'")
    assert "Agency" not in texts(browser, "main label")


def test_people_of_agencies_see_the_story_of_an_event_without_its_run(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    open_as(browser, f"{address}/console/events/shop/e0", issuer, "agency", "42")
    shown(browser, "Commission so far")
    assert "Sealed line" not in texts(browser, "h2")
    open_as(browser, f"{address}/console/events/shop/e0", issuer, "auditor")
    shown(browser, "Compare with the sealed line")


def test_axe_finds_nothing_on_the_choice_of_agencies_with_difficult_names(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    open_as(browser, address, issuer, "agency", "42", RIGHT_TO_LEFT.replace(" ", ""))
    shown(browser, "Choose the one to show")
    browser.evaluate("document.querySelector('header summary').click()")
    assert browser.violations() == []
    shown(browser, NAMED[0])
    assert texts(browser, "header li .id bdi") == ["42"]
    assert texts(browser, "header li bdi")[-1] == RIGHT_TO_LEFT.replace(" ", ""), "it is not registered"
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_without_the_api_the_page_says_so_and_tries_again(browser: Tab, address: str, issuer: Issuer) -> None:
    issuer.role = ""
    browser.open(f"{address}/console/accounts")
    shown(browser, "Your token has no role")
    assert texts(browser, "header button") == ["Sign out"]
    assert browser.violations() == []
    issuer.role, issuer.agency = "finance", ""
    browser.evaluate("window.location.reload()")
    shown(browser, "Lifetime totals")
