"""Signing in to the console in Chromium, at an issuer on this machine: the whole flow, and what must not work."""

from collections.abc import Iterator
from typing import Any

import pytest

from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import open_stack
from tests.support.browser import IN_A_BROWSER, Tab, shown
from tests.support.events import by_sign
from tests.support.openid import Issuer
from tests.support.served import call, until

pytestmark = IN_A_BROWSER

STORED = (
    "JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie, window.location.href, history.state])"
)


@pytest.fixture(scope="module")
def address(issuer: Issuer) -> Iterator[str]:
    """The address of a stack whose people sign in, with accounts of two agencies."""
    server = Server(0)
    with open_stack("embedded", issuer.parameters, s3_url=server.url) as stack, server.serving(stack):
        for number, agency in enumerate(("42", "43")):
            assert call(f"{server.url}/events", by_sign(f"e{number}", "10.00", agency=agency))[0] == 202
        until(lambda: len(call(f"{server.url}/accounts")[1]["items"]) == 2)
        yield server.url


@pytest.fixture(autouse=True)
def _issuer_as_at_first(issuer: Issuer) -> None:
    issuer.seconds, issuer.nonce, issuer.error, issuer.refreshes, issuer.ends_sessions = 3600, "", "", True, True
    issuer.grants.clear()


def test_a_person_signs_in_and_sees_their_agency_at_the_address_of_the_link(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    browser.open(f"{address}/console/statements?agency=42")
    shown(browser, "Show")
    assert browser.evaluate("window.location.pathname + window.location.search") == "/console/statements?agency=42"
    browser.click("Accounts")
    shown(browser, "Lifetime totals")
    agencies = browser.evaluate("[...document.querySelectorAll('tbody th')].map((one) => one.innerText)")
    assert agencies == ["42"]
    assert "Zoë Quine" in browser.evaluate("document.querySelector('header').innerText")
    assert (issuer.grants, browser.errors) == (["authorization_code"], [])


def test_a_cold_visit_with_a_sign_in_transfers_each_file_once(browser: Tab, address: str) -> None:
    """The way to the issuer and back loads the page twice, and its files from the cache the second time."""
    files: list[str] = []
    cached: set[str] = set()

    def received(event: dict[str, Any]) -> None:
        response, request = event["response"], event["requestId"]
        if "/assets/" in response["url"] and not (response.get("fromDiskCache") or request in cached):
            files.append(response["url"])

    chromium = browser.page.context.browser
    assert chromium
    with chromium.new_context() as cold:
        page = cold.new_page()
        network = cold.new_cdp_session(page)
        network.on("Network.requestServedFromCache", lambda event: cached.add(event["requestId"]))
        network.on("Network.responseReceived", received)
        network.send("Network.enable")
        page.goto(f"{address}/console/accounts")
        page.get_by_text("Lifetime totals").wait_for()
        page.wait_for_load_state("networkidle")
    assert len(files) > 30
    assert sorted(files) == sorted(set(files))


def test_no_token_is_stored_anywhere(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/accounts")
    shown(browser, "Lifetime totals")
    assert browser.evaluate(STORED) == f'[{{}},{{}},"","{address}/console/accounts",null]'


@pytest.mark.parametrize("grant", ["refresh_token", "authorization_code"])
def test_a_token_is_renewed_without_a_prompt_before_it_expires(
    browser: Tab, address: str, issuer: Issuer, grant: str
) -> None:
    issuer.refreshes = grant == "refresh_token"
    browser.open(f"{address}/console/accounts")
    shown(browser, "Lifetime totals")
    browser.evaluate(f"Date.now = ((now) => () => now() + {3550 * 1000})(Date.now)")
    browser.click("Statements")
    until(lambda: issuer.grants == ["authorization_code", grant])
    shown(browser, "Show")
    assert browser.evaluate("window.location.pathname") == "/console/statements"


def test_tokens_that_expire_soon_do_not_send_the_page_to_the_issuer_again_and_again(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    issuer.seconds, issuer.refreshes = 30, False
    browser.open(f"{address}/console/accounts")
    shown(browser, "Lifetime totals")
    assert issuer.grants == ["authorization_code"]


def test_a_refusal_of_the_issuer_is_shown_and_the_page_is_kept_for_another_try(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    issuer.error = "access_denied"
    browser.open(f"{address}/console/accounts")
    shown(browser, "access_denied")
    issuer.error = ""
    browser.click("Sign in")
    shown(browser, "Lifetime totals")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (None, "{} is down, or refuses requests from this page."),
        (503, "{}: status 503."),
    ],
)
def test_an_issuer_that_does_not_work_is_named(
    browser: Tab, address: str, issuer: Issuer, status: int | None, message: str
) -> None:
    configuration = "**/.well-known/openid-configuration"
    browser.page.route(configuration, lambda route: route.fulfill(status=status) if status else route.abort())
    browser.open(f"{address}/console/accounts")
    shown(browser, message.format(issuer.url))
    browser.page.unroute(configuration)
    browser.click("Sign in")
    shown(browser, "Lifetime totals")


@pytest.mark.parametrize("query", ["code=code-1&state=forged", "state=forged&error=access_denied", "state=&code=x"])
def test_a_response_that_answers_no_sign_in_of_this_tab_is_refused(
    browser: Tab, address: str, issuer: Issuer, query: str
) -> None:
    browser.open(f"{address}/?{query}")
    shown(browser, "does not belong to a sign-in that this tab started")
    assert issuer.grants == []


def test_a_token_of_another_sign_in_is_refused(browser: Tab, address: str, issuer: Issuer) -> None:
    issuer.nonce = "replayed"
    browser.open(address)
    shown(browser, "not for this sign-in")
    assert [one for one in browser.requested if one.endswith("/accounts")] == []


@pytest.mark.parametrize("page", ["//evil.example/", "https://evil.example/"])
def test_no_stored_page_leads_to_another_host(browser: Tab, address: str, page: str) -> None:
    browser.open(f"{address}/assets/none")
    pending = f'{{state: "s", nonce: "n", verifier: "v", page: {page!r}}}'
    browser.evaluate(f"sessionStorage.setItem('sign-in', JSON.stringify({pending}))")
    browser.open(f"{address}/?state=s&code=x")
    browser.until("document.querySelector('[role=alert]')")
    assert browser.evaluate("window.location.origin") == address


def test_a_person_signs_out_at_the_issuer_too(browser: Tab, address: str, issuer: Issuer) -> None:
    browser.open(f"{address}/console/accounts")
    shown(browser, "Lifetime totals")
    button = "[...document.querySelectorAll('header button')].find((one) => one.innerText === 'Sign out')"
    browser.evaluate(f"[1, 2].forEach(() => {button}.click())")
    browser.until("window.location.pathname === '/sign-out'")
    assert browser.errors == []
    assert issuer.signed_out[-1]["post_logout_redirect_uri"] == f"{address}/"


def test_a_person_stays_signed_out_where_the_issuer_has_no_address_for_that(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    issuer.ends_sessions = False
    browser.open(f"{address}/console/accounts")
    shown(browser, "Lifetime totals")
    browser.click("Sign out")
    shown(browser, "your session there may go on")
    browser.click("Sign in")
    shown(browser, "Overview")
    assert issuer.grants == ["authorization_code"] * 2
