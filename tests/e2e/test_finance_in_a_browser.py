"""What finance writes in the console, in Chromium: payments, adjustments, agencies and rate cards, each once."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.operations.remote import segment
from tests.e2e.test_console_agencies_in_a_browser import put
from tests.e2e.test_server import call, serving
from tests.support.browser import HOSTILE, IN_A_BROWSER, PHONE, ZONE, Tab, shown
from tests.support.openid import AUDIENCE, CLIENT, Issuer
from tests.support.system import World

pytestmark = IN_A_BROWSER

RATE_CARD = {"valid_from": "2020-01-01T00:00:00Z", "rules": [{"percent": "15"}]}
LOST = """
  const sent = window.fetch;
  window.fetch = async (path, options) => {
    const response = await sent(path, options);
    if (options?.method !== %r) return response;
    window.fetch = sent;
    throw new TypeError("the response was lost");
  };"""
"""A script that loses the response to the next request of a method, after the API has handled it."""


@pytest.fixture(scope="module")
def market(issuer: Issuer) -> Iterator[tuple[Server, World]]:
    """The server of a stack with sales of two agencies, one with a hostile name, whose people sign in."""
    server, clock_ = Server(0), ManualClock(datetime(2026, 11, 10, 12, tzinfo=UTC))
    signs_in = {"JwtIssuer": issuer.url, "JwtAudience": AUDIENCE, "JwtRoleClaim": "role", "ConsoleClientId": CLIENT}
    parameters = {**signs_in, **ZONE}
    with (
        using(clock_),
        open_stack("moto", parameters, s3_url=server.url, virtual=True) as stack,
        serving(server, stack),
    ):
        with server.turns.taken():
            world = World(stack, clock_)
            for agency in ("42", HOSTILE):
                put(stack, f"/documents/{segment(f'rate-card:{agency}')}", {"seen": 0, "content": RATE_CARD})
                world.sell("100.00", agency)
            put(stack, "/documents/rate-card:default", {"seen": 0, "content": RATE_CARD})
            world.drain()
        yield server, world


@pytest.fixture
def as_finance(browser: Tab, market: tuple[Server, World], issuer: Issuer) -> Any:
    """Return a function that opens a page as a person of finance."""

    def opened(path: str, text: str, color_scheme: str = "light") -> None:
        issuer.role = "finance"
        browser.open(f"{market[0].url}/console/{path}", color_scheme)
        shown(browser, text)

    return opened


def filled(browser: Tab, **fields: str) -> None:
    """Fill the fields of the dialog, as a person who types."""
    browser.until("document.querySelector('dialog[open]')")
    for name, value in fields.items():
        browser.evaluate(
            f"""(() => {{
              const field = document.querySelector(`dialog [name={name}]`);
              field.value = {value!r};
              field.dispatchEvent(new Event("input", {{ bubbles: true }}));
            }})()"""
        )


def pressed(browser: Tab, times: int = 1) -> None:
    """Press the first button of the dialog, so many times at once."""
    browser.evaluate(
        f"for (let time = 0; time < {times}; time += 1) document.querySelector('dialog button.first').click()"
    )


def recorded(market: tuple[Server, World], type_: str) -> list[dict[str, Any]]:
    """Return the recorded events of finance of a type."""
    path = f"/events?from=2026-11-01&to=2026-12-01&source=finance&type={type_}"
    found: list[dict[str, Any]] = call(market[0].url + path)[1]["items"]
    return found


def drained(market: tuple[Server, World]) -> None:
    """Deliver the streams."""
    server, world = market
    with server.turns.taken():
        world.drain()


def test_a_payment_is_recorded_once_though_its_response_is_lost_and_the_balance_follows(
    browser: Tab, market: tuple[Server, World], as_finance: Any
) -> None:
    as_finance("agencies/42", "Balance in GBP")
    assert "12.50" in browser.evaluate("document.querySelector('.figure').innerText")
    browser.click("Record a payment")
    filled(browser, amount="10.005", reason="transfer 8", reference="ref-8", time="2026-11-05T18:00")
    pressed(browser)
    assert browser.evaluate("document.querySelector('dialog [name=amount]').validity.patternMismatch")
    filled(browser, amount="10.00")
    assert browser.violations() == []
    browser.evaluate(LOST % "POST")
    pressed(browser, times=2)
    browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('No response')")
    assert len(recorded(market, "payment.recorded")) == 1
    pressed(browser, times=2)
    browser.until("!document.querySelector('dialog')")
    shown(browser, "It was recorded before, once")
    drained(market)
    browser.until("document.querySelector('.figure')?.innerText === '2.50'")
    (paid,) = recorded(market, "payment.recorded")
    assert (paid["amount"], paid["time"], paid["recorded_by"]) == ("10.00", "2026-11-05T09:00:00Z", "ann")
    assert (paid["reason"], paid["extra"]) == ("transfer 8", '{"reference":"ref-8"}')
    browser.click(f"finance {paid['id']}")
    shown(browser, "recorded by")
    assert browser.errors == []


def test_an_adjustment_from_the_page_of_a_sale_is_in_its_story(
    browser: Tab, market: tuple[Server, World], as_finance: Any
) -> None:
    as_finance("events/shop/e1", "Story")
    browser.click("Adjust the commission")
    filled(browser, commission="-0.12345", reason=HOSTILE)
    assert browser.evaluate("document.querySelector('dialog').innerText.includes('shop e1')")
    pressed(browser, times=2)
    shown(browser, "It is recorded")
    shown(browser, "12.37655")
    (adjusted,) = recorded(market, "adjustment.recorded")
    assert (adjusted["agency"], adjusted["refers_to"], adjusted["refers_to_source"]) == (HOSTILE, "e1", "shop")
    browser.click(f"finance {adjusted['id']}")
    shown(browser, HOSTILE)
    assert (browser.evaluate("document.title").startswith("Event"), browser.errors) == (True, [])


def test_an_adjustment_of_an_unknown_sale_is_held_and_one_of_another_agencys_sale_is_refused(
    browser: Tab, as_finance: Any
) -> None:
    as_finance("agencies/42", "Balance in GBP")
    browser.click("Record an adjustment")
    filled(browser, commission="1", reason="agreed", refers_to="nothing")
    pressed(browser)
    assert browser.evaluate("document.querySelector('dialog [name=refers_to_source]').validity.valueMissing")
    filled(browser, refers_to_source="shop")
    pressed(browser)
    shown(browser, "It is held, and in no figure yet: data.refers_to is no recorded sale yet")
    browser.click("Record an adjustment")
    filled(browser, commission="1", reason="agreed", refers_to="e1", refers_to_source="shop")
    pressed(browser)
    browser.until("document.querySelector('dialog [role=alert]')")
    text = browser.evaluate("document.querySelector('dialog [role=alert]').innerText")
    assert "The event is rejected" in text
    assert "is a sale of another account" in text
    assert "Request" in text


@pytest.mark.parametrize("role", ["agency", "support", "auditor"])
def test_nobody_else_sees_the_buttons(browser: Tab, market: tuple[Server, World], issuer: Issuer, role: str) -> None:
    issuer.role = role
    for path, text in (("agencies/42", "Balance in GBP"), ("events/shop/e0", "Commission so far")):
        browser.open(f"{market[0].url}/console/{path}")
        shown(browser, text)
        assert "Record a" not in browser.evaluate("document.body.innerText")
        assert "Adjust" not in browser.evaluate("document.body.innerText")


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
@pytest.mark.parametrize("button", ["Record a payment", "Record an adjustment"])
def test_axe_finds_nothing_in_a_dialog_and_it_fits_a_phone(
    browser: Tab, as_finance: Any, button: str, color_scheme: str
) -> None:
    as_finance("agencies/42", "Balance in GBP", color_scheme)
    browser.click(button)
    browser.until("document.querySelector('dialog[open]')")
    assert browser.violations() == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert browser.evaluate(
        "document.querySelector('dialog').scrollWidth <= document.querySelector('dialog').clientWidth"
    )
    assert browser.errors == []
