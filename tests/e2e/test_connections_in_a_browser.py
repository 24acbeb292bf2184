"""The pages of connections in Chromium: finance connects a provider, repairs what is parked, and gives a new secret."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.server import Server
from tests.support.browser import HOSTILE, IN_A_BROWSER, PHONE, Tab, open_as, shown, texts
from tests.support.connections import SECRETS, call, connect, deliver, state
from tests.support.openid import Issuer
from tests.support.served import served
from tests.support.system import World

pytestmark = IN_A_BROWSER

SECRET = SECRETS[Provider.SHOPIFY]
OTHER = "another-secret-0123456789"
NAME = "Name, as in its address"
SIGNS = "Secret with which the provider signs"
FIELD = "Name of the agency, or the field, such as vendor or metadata.seller"
BUTTONS = "main button:not(.tools button, .sort, .command button)"
ORDER: dict[str, Any] = {
    "id": 12345678901234567890,
    "name": "#1001",
    "currency": "GBP",
    "created_at": "2026-10-20T12:00:00Z",
    "financial_status": "paid",
    "email": "ann@example.org",
    "line_items": [{"id": 1, "name": HOSTILE, "sku": "MUG", "price": "40.00", "quantity": 1, "seller": "42"}],
}


@pytest.fixture
def place(issuer: Issuer) -> Iterator[tuple[Server, World]]:
    """A stack that takes deliveries."""
    clock = ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC))
    with served(clock, {**issuer.with_roles, "Intake": "queue"}) as (server, world):
        yield server, world


@contextmanager
def world_of(place: tuple[Server, World]) -> Iterator[World]:
    server, world = place
    with server.turns.taken():
        yield world


def take(place: tuple[Server, World], secret: str = SECRET) -> Any:
    """Deliver the order; return the answer."""
    with world_of(place) as world:
        return deliver(world, ORDER, provider=Provider.SHOPIFY, secret=secret, x_shopify_topic="orders/paid").json()


def test_finance_connects_a_provider_and_repairs_what_is_parked(
    browser: Tab, place: tuple[Server, World], issuer: Issuer
) -> None:
    server, _ = place
    open_as(browser, f"{server.url}/console/connections", issuer, "finance")
    shown(browser, "There is no connection yet")
    browser.follow("button", "Connect a provider")
    browser.fill(NAME, "shop")
    browser.fill(SIGNS, "short secret of 20+")
    browser.choose("Its agency", "the agency that a field names")
    browser.fill(FIELD, "vendor")
    assert browser.violations() == []
    browser.follow("button", "Connect")
    browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('Secret')")
    assert "short secret" not in browser.evaluate("document.querySelector('dialog').innerText")
    browser.fill(SIGNS, SECRET)
    browser.follow("button", "Connect")
    shown(browser, "/connections/shop")
    shown(browser, "Nothing is parked")

    assert take(place)["delivery"] == "parked"
    browser.open(f"{server.url}/console/connections/shop")
    shown(browser, "there is no vendor, which names the agency")
    browser.click("Show")
    browser.until("document.querySelector('dialog pre')?.innerText.includes('ann@example.org')")
    content = browser.evaluate("document.querySelector('dialog pre').innerText")
    assert '\n  "id": 12345678901234567890,\n' in content, "no digit is rounded"
    assert json.loads(content) == ORDER
    assert browser.violations() == []
    browser.follow("button", "Close")
    browser.follow("button", "Change")
    browser.fill(FIELD, "seller")
    browser.evaluate("[1, 2].forEach(() => document.querySelector('dialog form .bar button').click())")
    browser.until("!document.querySelector('dialog')")
    with world_of(place) as world:
        world.drain()
        assert (state(world)["parked"], state(world)["recorded"]) == (0, 1)
        assert world.read("/connections/shop")["version"] == 2, "sent twice, changed once"
    browser.open(f"{server.url}/console/connections/shop")
    shown(browser, "Nothing is parked")
    assert browser.violations() == []
    assert browser.errors == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_new_secret_counts_beside_the_one_before_and_a_connection_with_parked_deliveries_stays(
    browser: Tab, place: tuple[Server, World], issuer: Issuer
) -> None:
    server, _ = place
    with world_of(place) as world:
        connect(world, provider=Provider.SHOPIFY, agency={"field": "vendor"})
    open_as(browser, f"{server.url}/console/connections/shop", issuer, "finance")
    browser.click("New secret")
    browser.fill(SIGNS, OTHER)
    browser.follow("button", "Replace")
    shown(browser, "The secret before counts until")
    assert (take(place, OTHER)["delivery"], take(place)["delivery"]) == ("parked", "parked")
    with world_of(place) as world:
        assert state(world)["refused_signatures"] == 0

    browser.open(f"{server.url}/console/connections/shop")
    browser.click("Apply all again")
    shown(browser, "1 are being applied")
    browser.click("Show what is left")
    shown(browser, "there is no vendor")
    browser.click("Delete")
    browser.until("document.querySelector('dialog')?.innerText.includes('apply or discard them first')")
    browser.evaluate("document.querySelector('dialog form .bar button').click()")
    browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('parked deliveries')")
    browser.follow("button", "Cancel")
    browser.click("Discard")
    browser.evaluate("document.querySelector('dialog form .bar button').click()")
    shown(browser, "Nothing is parked")
    browser.click("Delete")
    browser.evaluate("document.querySelector('dialog form .bar button').click()")
    shown(browser, "There is no connection yet")
    with world_of(place) as world:
        assert world.read("/connections")["items"] == []


def test_a_change_by_somebody_else_is_not_overwritten(
    browser: Tab, place: tuple[Server, World], issuer: Issuer
) -> None:
    server, _ = place
    with world_of(place) as world:
        connect(world, provider=Provider.SHOPIFY, agency={"field": "vendor"})
    open_as(browser, f"{server.url}/console/connections/shop", issuer, "finance")
    browser.click("Change")
    browser.fill(FIELD, "seller")
    with world_of(place) as world:
        connect(world, provider=Provider.SHOPIFY, agency={"field": "brand"})
    browser.evaluate("document.querySelector('dialog form .bar button').click()")
    browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('in the meantime')")
    with world_of(place) as world:
        assert world.read("/connections/shop")["agency"] == {"field": "brand"}
    open_as(browser, f"{server.url}/console/connections", issuer, "finance")
    browser.click("Connect a provider")
    browser.fill(NAME, "shop")
    browser.fill(SIGNS, OTHER)
    browser.fill(FIELD, "mine")
    browser.follow("button", "Connect")
    browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('in the meantime')")
    with world_of(place) as world:
        assert world.read("/connections/shop")["version"] == 2, "the form of a new one changes no other"


def test_a_vendor_with_a_hostile_name_is_registered_by_its_external_id(
    browser: Tab, place: tuple[Server, World], issuer: Issuer
) -> None:
    server, _ = place
    open_as(browser, f"{server.url}/console/connections", issuer, "finance")
    browser.click("Connect a provider")
    browser.fill(NAME, "shop")
    browser.fill(SIGNS, SECRET)
    browser.choose("Its agency", "the agency whose id is in a field")
    browser.fill(FIELD, "vendor")
    browser.follow("button", "Connect")
    shown(browser, "the agency whose id is in a field: vendor")
    item = {**ORDER["line_items"][0], "vendor": HOSTILE}
    with world_of(place) as world:
        assert world.read("/connections/shop")["agency"] == {"external_id": "vendor"}
        order = {**ORDER, "line_items": [item]}
        answer = deliver(world, order, provider=Provider.SHOPIFY, x_shopify_topic=f"orders/{HOSTILE}")
        assert answer.json()["delivery"] == "parked"
    browser.open(f"{server.url}/console/connections/shop")
    shown(browser, f"no agency has the shopify id {HOSTILE!r}")
    shown(browser, f"orders/{HOSTILE}")
    browser.click("Show")
    browser.until("document.querySelector('dialog pre')?.innerText.includes('vendor')")
    assert browser.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    assert browser.evaluate("document.title") != "ran"
    assert browser.violations() == []
    with world_of(place) as world:
        content = {"seen": 0, "content": {"external_ids": {"shopify": [HOSTILE]}}}
        assert call(world, "PUT", "/agencies/42", content).status == 201
    browser.open(f"{server.url}/console/connections/shop")
    browser.click("Apply all again")
    shown(browser, "1 are being applied")
    with world_of(place) as world:
        world.drain()
        assert (state(world)["parked"], state(world)["recorded"]) == (0, 1)
    assert browser.errors == []


@pytest.mark.parametrize("role", ["support", "auditor"])
def test_others_see_why_a_delivery_is_parked_and_not_what_it_holds(
    browser: Tab, place: tuple[Server, World], issuer: Issuer, role: str
) -> None:
    server, _ = place
    with world_of(place) as world:
        connect(world, provider=Provider.SHOPIFY, agency={"field": "vendor"})
    take(place)
    open_as(browser, f"{server.url}/console/connections/shop", issuer, role)
    shown(browser, "there is no vendor, which names the agency")
    assert texts(browser, BUTTONS) == []
    assert "ann@example.org" not in browser.evaluate("document.body.innerText")
    for method, path in [
        ("GET", "/connections/shop/parked/{}"),
        ("DELETE", "/connections/shop/parked/{}"),
        ("POST", "/connections/shop/parked"),
        ("DELETE", "/connections/shop"),
        ("PUT", "/connections/shop"),
    ]:
        with world_of(place) as world:
            (parked,) = world.all("/connections/shop/parked")
        assert refused(browser, method, path.format(parked["id"])) == [403, False], (method, path)


def refused(browser: Tab, method: str, path: str) -> Any:
    """Return the status of the reader's own request, and whether the answer has the order's address in it."""
    module = "document.querySelector('script[type=module]').src.replace('app.js', 'lib/session.js')"
    return browser.evaluate(
        f"import({module}).then(({{headersOf}}) => headersOf()).then((headers) => fetch({json.dumps(path)}, "
        f"{{method: {json.dumps(method)}, headers: {{...headers, 'content-type': 'application/json'}}, "
        f"body: {json.dumps(method)} === 'PUT' ? '{{}}' : undefined}}))"
        ".then((response) => response.text().then((text) => [response.status, text.includes('ann@')]))"
    )
