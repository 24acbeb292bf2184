"""The overview of a marketplace that begins, in Chromium: nothing sold yet, and one agency."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.server import Server
from tests.handlers.desk import send
from tests.support.browser import IN_A_BROWSER, Tab, shown
from tests.support.events import ABSENT, refund, view
from tests.support.requests import post, put
from tests.support.served import served
from tests.support.system import World

pytestmark = IN_A_BROWSER

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DRAWN = """(() => {
  const canvas = document.querySelector('.chart canvas'), {width, height} = canvas;
  const {data} = canvas.getContext('2d').getImageData(0, 0, width, height), found = new Set();
  for (let at = 0; at < data.length; at += 4) found.add(data.slice(at, at + 3).join());
  return [...found];
})()"""
"""The colours of the chart."""


@pytest.fixture
def small() -> Iterator[tuple[str, World, Server]]:
    """A stack without events: its address, the system, and the server, whose turns the test takes."""
    with served(ManualClock(NOW)) as (server, world):
        yield server.url, world, server


def test_an_overview_without_a_sale_says_how_to_begin(browser: Tab, small: tuple[str, World, Server]) -> None:
    address, world, server = small
    with server.turns.taken():
        post(world, view("v1", "/index", "ann"))
        world.drain()
    browser.open(address)
    shown(browser, "No sale is recorded yet. Sales appear here some seconds after a shop sends them. Send one with")
    assert browser.errors == []


def test_held_events_need_attention_before_any_is_recorded(browser: Tab, small: tuple[str, World, Server]) -> None:
    address, world, server = small
    with server.turns.taken():
        post(world, refund("r1", "-5.00", of="e0"))
        world.drain()
    browser.open(address)
    shown(browser, "1 event is held")
    shown(browser, "No sale is recorded yet")
    browser.follow("link", "Show why")
    shown(browser, "Its sale: shop e0")
    assert browser.errors == []


def test_events_that_no_rate_card_fits_need_attention(browser: Tab, small: tuple[str, World, Server]) -> None:
    address, world, server = small
    with server.turns.taken():
        world.sell("1.00", commission_rate=ABSENT)
        world.pass_time(minutes=20)
        world.report()
    browser.open(address)
    shown(browser, "1 account is added up.")
    assert "default rate" not in browser.evaluate("document.body.innerText"), "without rate cards, it is the rule"
    with server.turns.taken():
        rate_card = {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"category": "books", "percent": "8"}]}
        put(world, "/documents/rate-card:42", {"seen": 0, "content": rate_card})
    browser.open(address)
    shown(browser, "1 event was charged by the default rate")
    browser.click("Nov 30, 2026")
    shown(browser, "Events charged by the default rate: 1.")


def test_a_period_without_statements_needs_attention(browser: Tab, small: tuple[str, World, Server]) -> None:
    address, world, server = small
    with server.turns.taken():
        world.sell("1.00")
        world.pass_time(minutes=20)
        world.report()
        assert send(world, "PUT", "/schedule", {"paused": True, "reason": "maintenance"}).status == 200
        world.pass_time(days=5)
    browser.open(address)
    shown(browser, "1 period is over, and its statements are not made yet\n\nNovember 2026: waiting to begin")
    shown(browser, "The live counters compared with it: verified.")
    browser.open(f"{address}/console/operations")
    shown(browser, "November 2026 is over, and its statements are not made yet (waiting to begin).")
    browser.open(f"{address}/console/statements")
    shown(browser, "There are no statements yet. The statements of a month are made some days after it ends.")
    assert browser.errors == []


def test_a_chart_has_the_colours_of_the_page_and_is_printed_in_light_ones(
    browser: Tab, small: tuple[str, World, Server]
) -> None:
    address, world, server = small
    with server.turns.taken():
        world.sell("1.00")
        world.drain()
    light, dark = "29,91,191", "134,180,255"
    browser.open(address, "dark")
    browser.until("document.querySelector('.chart canvas')")
    browser.until(f"{DRAWN}.includes({dark!r})")
    browser.page.emulate_media(color_scheme="light")
    browser.until(f"{DRAWN}.includes({light!r})")
    browser.page.emulate_media(color_scheme="dark")
    browser.until(f"{DRAWN}.includes({dark!r})")
    browser.page.emulate_media(media="print")
    browser.until(f"{DRAWN}.includes({light!r}) && !{DRAWN}.includes({dark!r})")
    browser.page.emulate_media(media="screen")


def test_without_anything_that_needs_attention_one_line_says_so(browser: Tab, small: tuple[str, World, Server]) -> None:
    address, world, server = small
    with server.turns.taken():
        put(world, "/agencies/42", {"seen": 0, "content": {"legal_name": "Harbour Books Ltd"}})
        world.sell("1.00")
        world.drain()
    browser.open(address)
    shown(browser, "Nothing needs attention.")
    assert browser.page.locator(".attention li").count() == 0
    assert browser.violations() == []
