"""The console in Chromium against `quarterhour up`: what people see and do, and what a hostile name cannot do."""

from collections.abc import Iterator

import pytest

from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import open_stack
from tests.e2e.test_server import call, serving, until
from tests.support.browser import Tab, missing, tab
from tests.support.events import by_sign
from tests.support.requests import events_request

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

HOSTILE = "<img src=x onerror=document.title='ran'>"
RIGHT_TO_LEFT = "שלום & Co"
PHONE = (390, 844)
SCREEN = (1280, 900)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a stack with sales of agencies that have difficult names."""
    server = Server(0)
    with open_stack("moto", s3_url=server.url) as stack, serving(server, stack):
        events = [
            by_sign(f"e{n}", "1234567.10", agency=agency, commission_rate="0.125")
            for n, agency in enumerate((HOSTILE, RIGHT_TO_LEFT, "50% off / outlet"))
        ]
        with server.turns.taken():
            answer = stack.request(events_request(events))
        assert answer.status == 202
        until(lambda: len(call(f"{server.url}/accounts")[1]["items"]) == len(events))
        yield server.url


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with tab(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _screen(browser: Tab) -> None:
    browser.resize(*SCREEN)


def shown(browser: Tab, text: str) -> None:
    """Wait until the page shows a text."""
    browser.until(f"document.querySelector('main')?.innerText.includes({text!r})")


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_first_page_shows_the_accounts_and_axe_finds_nothing(browser: Tab, address: str, color_scheme: str) -> None:
    browser.open(address, color_scheme)
    shown(browser, "50% off / outlet")
    shown(browser, "154,320.8875")
    assert browser.violations() == []
    assert browser.errors == []
    assert [one for one in browser.requested if not one.startswith(address)] == []


def test_a_hostile_name_is_text(browser: Tab, address: str) -> None:
    browser.open(address)
    browser.until("document.querySelectorAll('tbody tr').length === 3")
    assert HOSTILE in browser.evaluate("document.querySelector('main').innerText")
    assert browser.evaluate("document.images.length") == 0
    directions = "[...document.querySelectorAll('bdi')].map((one) => one.innerText)"
    assert RIGHT_TO_LEFT in browser.evaluate(directions), "it changes the direction of nothing around it"
    assert browser.evaluate("document.title") == "Accounts · Quarterhour"


def test_an_inline_script_would_not_run(browser: Tab, address: str) -> None:
    browser.open(address)
    shown(browser, "Lifetime totals")
    browser.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'document.title = 1'}))"
    )
    assert browser.evaluate("document.title") == "Accounts · Quarterhour"


def test_no_page_is_wider_than_a_phone(browser: Tab, address: str) -> None:
    browser.resize(*PHONE)
    browser.open(address)
    shown(browser, "50% off / outlet")
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_the_keyboard_reaches_the_content_and_the_menu(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/none")
    shown(browser, "There is no page at this address")
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.innerText") == "Skip to the content"
    browser.press("Tab")
    browser.press("Enter")
    shown(browser, "50% off / outlet")
    assert browser.evaluate("[document.activeElement.id, window.location.pathname]") == ["main", "/"]
