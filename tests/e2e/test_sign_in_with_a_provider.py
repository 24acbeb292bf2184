"""`quarterhour up --sign-in` in Chromium: a certified OpenID provider signs people in, and what must not work."""

import json
import re
import signal
import socket
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import pytest
from quarterhour_client import Verdict

from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.sign_in import provider
from quarterhour_tools.sign_in.people import PEOPLE
from quarterhour_tools.target.remote import Remote
from tests.support.browser import Tab, missing, shown, tab
from tests.support.events import by_sign
from tests.support.served import call, until

LACKS = missing("node", "npm")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(LACKS), reason=LACKS)]

AGENCIES = ("42", "43", "44")
JWT = re.compile(r"eyJ[\w-]+\.eyJ")
COMMAND = "import sys; from quarterhour_tools.entry import main; sys.exit(main())"
TWO_LIFETIMES = 5
"""Requests for tokens: the first, and one after each half of a lifetime."""
STORED = "[{...sessionStorage}, {...localStorage}, document.cookie, history.state]"
AN_HOUR_LATER = "void (Date.now = ((now) => () => now() + 3_590_000)(Date.now))"
NO_REFRESH = """void (window.fetch = ((fetch) => (address, options) => String(options?.body).includes("refresh_token")
  ? Promise.reject(Error()) : fetch(address, options))(window.fetch))"""


@dataclass(frozen=True)
class Up:
    """A running `quarterhour up --sign-in`: the console's address and that of the provider."""

    process: "subprocess.Popen[str]"
    address: str
    issuer: str


@contextmanager
def up(folder: Path) -> Iterator[Up]:
    """Run the command for the length of the block; its logs go to a file in the folder."""
    command = [sys.executable, "-c", COMMAND, "up", "--port", "0", "--sign-in"]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,  # noqa: S603 - our own
    ):
        try:
            assert process.stdout
            head = [process.stdout.readline() for _ in range(2 + len(PEOPLE))]
            address, issuer = (re.findall(r"http://127\.0\.0\.1:\d+", line)[0] for line in head[:2])
            assert [line.strip() for line in head[2:]] == [f"{one.name} - {one.work}" for one in PEOPLE.values()]
            yield Up(process, address, issuer)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """The system with an account of each agency."""
    with up(tmp_path_factory.mktemp("up")) as running:
        machine = Remote(running.address)
        for number, agency in enumerate(AGENCIES):
            body = by_sign(f"e{number}", "10.00", agency=agency)
            assert machine.record([body])[0].verdict is Verdict.RECORDED
        until(lambda: len(machine.get("/accounts", {})["items"]) == len(AGENCIES))
        yield running


@pytest.fixture
def browser() -> Iterator[Tab]:
    """A browser in which nobody has signed in."""
    with tab() as opened:
        yield opened


def signs_in(browser: Tab, subject: str) -> None:
    """Choose a person on the provider's page; wait for the console, whose header names them."""
    shown(browser, "These people are made up")
    browser.click(PEOPLE[subject].name)
    browser.until(f"document.querySelector('header')?.innerText.includes({PEOPLE[subject].name!r})")


def place(browser: Tab) -> Any:
    """Return the address that the browser shows."""
    return browser.evaluate("window.location.href")


def agencies(browser: Tab) -> Any:
    """Return the agencies of the list of accounts."""
    shown(browser, "Lifetime totals")
    return browser.evaluate("[...document.querySelectorAll('tbody th')].map((one) => one.innerText)")


@pytest.mark.parametrize("subject", ["controller", "support", "auditor"])
def test_staff_sign_in_and_see_all_agencies(browser: Tab, running: Up, subject: str) -> None:
    browser.open(f"{running.address}/console/accounts")
    signs_in(browser, subject)
    assert sorted(agencies(browser)) == [*AGENCIES]
    browser.click("Locations")
    browser.until("document.querySelector('h1')?.innerText === 'Locations'")
    assert not browser.evaluate("document.querySelector('[role=alert]')")
    assert browser.errors == []


def test_a_person_of_an_agency_sees_it_and_is_refused_what_is_for_staff(browser: Tab, running: Up) -> None:
    browser.open(f"{running.address}/console/accounts")
    signs_in(browser, "agency")
    assert agencies(browser) == ["42"]
    assert browser.errors == []
    browser.open(f"{running.address}/console/locations")
    shown(browser, "Only people with the role finance, support, or auditor see this page")
    browser.open(f"{running.address}/console/statements/2026-11/43/GBP")
    shown(browser, "Your token is of another agency")


def test_a_person_of_two_agencies_sees_each_and_no_third(browser: Tab, running: Up) -> None:
    browser.open(f"{running.address}/console/events?agency=43")
    signs_in(browser, "agencies")
    browser.until("document.querySelector('tbody')?.innerText.includes('e1')")
    browser.open(f"{running.address}/console/events?agency=42")
    browser.until("document.querySelector('tbody')?.innerText.includes('e0')")
    browser.open(f"{running.address}/console/events?agency=44")
    shown(browser, "Your token is of another agency")


def test_a_link_leads_through_the_sign_in_to_its_page(browser: Tab, running: Up) -> None:
    link = f"{running.address}/console/statements?agency=42"
    browser.open(link)
    signs_in(browser, "auditor")
    assert place(browser) == link
    browser.open(f"{running.address}/console/accounts")
    assert sorted(agencies(browser)) == [*AGENCIES], "signed in once, nobody is asked again"


def test_the_page_of_the_provider_works_with_the_keyboard_and_on_a_phone(browser: Tab, running: Up) -> None:
    browser.resize(360, 640)
    for scheme in ("light", "dark"):
        browser.open(f"{running.address}/console/accounts", scheme)
        shown(browser, "These people are made up")
        assert browser.violations() == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    assert [one for one in browser.requested if not one.startswith((running.address, running.issuer))] == []
    browser.press("Tab")
    browser.press("Enter")
    browser.until("document.querySelector('header')?.innerText.includes('Menu')")
    browser.follow("button", "Menu")
    browser.until(f"document.querySelector('header')?.innerText.includes({PEOPLE['controller'].name!r})")


def test_no_token_is_where_a_script_or_a_request_of_another_site_could_use_it(browser: Tab, running: Up) -> None:
    browser.open(f"{running.address}/console/accounts")
    signs_in(browser, "controller")
    shown(browser, "Lifetime totals")
    assert browser.evaluate(STORED) == [{}, {}, "", None]
    # Cookies ignore the port: these are the provider's, which hold the session there.
    assert all(
        one["httpOnly"] and not JWT.search(one["value"]) for one in browser.page.context.cookies(running.address)
    )
    stranger = "fetch('/accounts').then((answer) => answer.status)"
    assert browser.evaluate(stranger) == 401, "the API takes nothing but the token"


@pytest.mark.parametrize("refused", [False, True])
def test_a_token_is_renewed_without_asking_anybody(browser: Tab, running: Up, *, refused: bool) -> None:
    browser.open(f"{running.address}/console/accounts")
    signs_in(browser, "controller")
    shown(browser, "Lifetime totals")
    browser.requested.clear()
    browser.evaluate("window.stays = true")
    if refused:
        browser.evaluate(NO_REFRESH)
    browser.evaluate(AN_HOUR_LATER)
    browser.click("Statements")
    if refused:
        browser.until("!window.stays")
    shown(browser, "Show")
    assert browser.evaluate("Boolean(window.stays)") is not refused
    assert place(browser) == f"{running.address}/console/statements"
    flow = [urlsplit(one).path for one in browser.requested if one.startswith(running.issuer)]
    assert flow == (["/auth", "/.well-known/openid-configuration", "/token"] if refused else ["/token"])
    assert browser.errors == []


def test_tokens_that_live_for_seconds_are_renewed_while_the_page_is_used(browser: Tab) -> None:
    server = Server(0)
    with (
        provider.running((server.url,), seconds=6) as issuer,
        open_stack("embedded", provider.parameters(issuer), s3_url=server.url, anonymous=False) as stack,
        server.serving(stack),
    ):
        browser.open(f"{server.url}/console/exchange-rates")
        signs_in(browser, "auditor")
        browser.evaluate("window.stays = true")
        until(lambda: renewals_after_a_click(browser) >= TWO_LIFETIMES)
        assert browser.evaluate("window.stays")
        assert browser.errors == [], "the API has taken every token"


def renewals_after_a_click(browser: Tab) -> int:
    """Load the list of statements once more; return how often tokens were requested."""
    browser.click("Accounts")
    browser.click("Statements")
    shown(browser, "Show")
    return sum(one.endswith("/token") for one in browser.requested)


def test_a_person_signs_out_and_another_one_signs_in(browser: Tab, running: Up) -> None:
    browser.open(f"{running.address}/console/accounts")
    signs_in(browser, "controller")
    assert sorted(agencies(browser)) == [*AGENCIES]
    browser.click("Sign out")
    shown(browser, "Sign out of Quarterhour?")
    assert browser.violations() == []
    browser.press("Enter")
    signs_in(browser, "agency")
    browser.click("Accounts")
    assert agencies(browser) == ["42"]


def test_after_signing_out_the_way_back_shows_nothing(browser: Tab, running: Up) -> None:
    browser.open(f"{running.address}/console/accounts")
    signs_in(browser, "controller")
    shown(browser, "Lifetime totals")
    browser.click("Sign out")
    shown(browser, "Sign out of Quarterhour?")
    browser.click("Sign out")
    shown(browser, "These people are made up")
    browser.evaluate("window.stays = true")
    browser.evaluate("history.go(-2)")
    browser.until("!window.stays")
    shown(browser, "These people are made up")


def test_who_cancels_may_try_again_and_comes_to_the_page_of_the_link(browser: Tab, running: Up) -> None:
    link = f"{running.address}/console/statements?agency=42"
    browser.open(link)
    shown(browser, "These people are made up")
    browser.click("Cancel")
    shown(browser, "Nobody has signed in")
    browser.click("Sign in")
    signs_in(browser, "auditor")
    assert place(browser) == link


def test_a_response_that_this_tab_did_not_request_is_refused(browser: Tab, running: Up) -> None:
    browser.open(running.address)
    signs_in(browser, "controller")
    browser.open(f"{running.address}/?code=stolen&state=forged&iss={running.issuer}")
    shown(browser, "does not belong to a sign-in that this tab started")
    assert [one for one in browser.requested if one.endswith(("/token", "/accounts"))] == []


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"nonce": "another"}, "not for this sign-in"),
        ({"verifier": "another" * 8}, "grant request is invalid"),
        ({"page": "//evil.example/"}, ""),
        ({"page": "https://evil.example/"}, ""),
    ],
)
def test_a_sign_in_whose_secrets_or_page_were_changed_is_refused(
    browser: Tab, running: Up, stored: dict[str, str], message: str
) -> None:
    pending = {"state": "s", "nonce": "n", "verifier": "v" * 43, "page": "/console/accounts"}
    browser.open(f"{running.address}/assets/none")
    browser.evaluate(f"sessionStorage.setItem('sign-in', {json.dumps(json.dumps({**pending, **stored}))})")
    browser.open(authorization(running, f"{running.address}/", pending["verifier"]))
    shown(browser, "These people are made up")
    browser.click(PEOPLE["controller"].name)
    browser.until("document.querySelector('[role=alert]')")
    assert message in browser.evaluate("document.querySelector('[role=alert]').innerText")
    assert place(browser).startswith(f"{running.address}/")
    assert [one for one in browser.requested if "evil.example" in one or one.endswith("/accounts")] == []


def test_the_provider_sends_nobody_to_another_address_than_the_consoles(browser: Tab, running: Up) -> None:
    browser.open(authorization(running, "http://127.0.0.1:1/", "v" * 43))
    shown(browser, "redirect_uri did not match")
    assert place(browser).startswith(running.issuer)


@pytest.mark.parametrize("path", ["/console/..//evil.example/", "/console/%2e%2e//evil.example/", "//evil.example/"])
def test_no_link_leads_through_the_console_to_another_host(browser: Tab, running: Up, path: str) -> None:
    browser.open(f"{running.address}{path}")
    assert place(browser) == f"{running.address}//evil.example/"
    assert [one for one in browser.requested if not one.startswith(running.address)] == []


def test_the_api_takes_a_token_or_a_signature(running: Up) -> None:
    assert call(f"{running.address}/accounts")[0] == 401
    assert call(f"{running.address}/2015-03-31/functions/repair/invocations", {"action": "unpark"})[0] == 401
    assert Remote(running.address).get("/accounts", {})["items"]
    with urlopen(running.address) as page:  # noqa: S310 - our own
        assert page.status == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_provider_ends_with_the_command(tmp_path: Path, number: signal.Signals) -> None:
    with up(tmp_path) as started:
        port = urlsplit(started.issuer).port
        assert port
        socket.create_connection(("127.0.0.1", port)).close()
        started.process.send_signal(number)
        started.process.wait()
        until(lambda: not answers(port))


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def authorization(running: Up, redirect_uri: str, verifier: str) -> str:
    """Return the address at which somebody signs in, with fixed secrets."""
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
    query = {"response_type": "code", "client_id": "console", "scope": "openid profile", "state": "s", "nonce": "n"}
    proof = {"redirect_uri": redirect_uri, "code_challenge": challenge, "code_challenge_method": "S256"}
    return f"{running.issuer}/auth?{urlencode({**query, **proof})}"
