"""The search in Chromium: one box that finds by name, number or id, by keyboard, and for each role its own."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from playwright.sync_api import Route

from quarterhour.model.clock import ManualClock
from tests.handlers.desk import place
from tests.support.agencies import OWNER, tax
from tests.support.browser import HOSTILE, IN_A_BROWSER, PHONE, Tab, open_as, shown, texts
from tests.support.events import sale
from tests.support.openid import Issuer
from tests.support.requests import post, put, verdicts
from tests.support.served import served

pytestmark = IN_A_BROWSER

FROM = "2026-01-01T00:00:00Z"
OPTIONS = "dialog.search [role=option]"
ACTIVE = "document.getElementById(document.querySelector('[role=combobox]').getAttribute('aria-activedescendant'))"


@pytest.fixture(scope="module")
def address(issuer: Issuer) -> Iterator[str]:
    """The address of a stack in July whose June is sealed, with agencies whose names have accents."""
    with served(ManualClock(datetime(2026, 6, 29, 12, tzinfo=UTC)), issuer.with_roles) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            legal = {"42": "Café Lumière", "43": "Müller & Söhne", "44": "Harbour Ltd", "45": HOSTILE}
            for agency, name in legal.items():
                put(
                    world,
                    f"/agencies/{agency}",
                    {"seen": 0, "content": {**tax(percent="20"), "legal_name": name, "valid_from": FROM}},
                )
            sent = [
                sale("a1", "100.00", agency="42", order_id="7001", commission_rate="0.1"),
                sale("b1", "40.00", agency="43", order_id="7002", commission_rate="0.1"),
            ]
            assert verdicts(post(world, sent)) == ["recorded"] * 2
            assert place(world, "1001", customer="ann").status == 201
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            world.drain()
        yield server.url


def searched(browser: Tab, text: str) -> list[str]:
    """Write a text into the search, and return its results once they are there."""
    if browser.page.locator("dialog.search").count() == 0:
        browser.press("/")
    browser.page.get_by_role("combobox", name="Name, number or id").fill(text)
    browser.until("!document.querySelector('dialog.search [role=status]').innerText.includes('Searching')")
    return [text.replace("\u2068", "").replace("\u2069", "") for text in texts(browser, OPTIONS)]


def heading(browser: Tab, text: str) -> None:
    browser.until(f"document.querySelector('h1').innerText.replace(/[\u2068\u2069]/g, '') === {text!r}")


def test_the_box_opens_and_closes_by_keyboard_and_axe_finds_nothing(browser: Tab, address: str, issuer: Issuer) -> None:
    open_as(browser, f"{address}/console/accounts", issuer, "finance")
    for key in ("/", "Control+k"):
        browser.press(key)
        browser.until("document.activeElement?.getAttribute('role') === 'combobox'")
        assert "Overview" in texts(browser, OPTIONS)
        assert browser.violations() == []
        browser.press("Escape")
        browser.until("!document.querySelector('dialog')")
    searched(browser, "42")
    assert browser.violations() == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert browser.errors == []


def test_a_slash_in_a_field_is_a_character(browser: Tab, address: str, issuer: Issuer) -> None:
    open_as(browser, f"{address}/console/events", issuer, "finance")
    browser.page.get_by_label("Order").first.focus()
    browser.press("/")
    assert browser.page.locator("dialog").count() == 0
    assert browser.page.get_by_label("Order").first.input_value() == "/"


def test_arrows_and_enter_choose_a_result(browser: Tab, address: str, issuer: Issuer) -> None:
    open_as(browser, f"{address}/", issuer, "finance")
    results = searched(browser, "")
    assert browser.evaluate(f"{ACTIVE}.innerText") == results[0] == "Overview"
    browser.press("ArrowUp")
    assert browser.evaluate(f"{ACTIVE}.innerText") == results[-1]
    browser.press("ArrowDown")
    browser.press("ArrowDown")
    assert browser.evaluate(f"{ACTIVE}.innerText") == results[1] == "Close"
    browser.press("Enter")
    heading(browser, "Close")
    browser.until("!document.querySelector('dialog') && document.activeElement.id === 'main'")


@pytest.mark.parametrize("text", ["cafe lum", "LUMIERE", "Café"])
def test_an_agency_is_found_by_its_name_without_accents(browser: Tab, address: str, issuer: Issuer, text: str) -> None:
    open_as(browser, f"{address}/", issuer, "support")
    assert searched(browser, text)[0] == "Café Lumière 42"
    browser.press("Enter")
    heading(browser, "Café Lumière 42")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "s-000002",
            (
                "S-000002 statement of Müller & Söhne 43 in GBP, June 2026",
                "Statement of Müller & Söhne 43 in GBP, June 2026",
            ),
        ),
        ("a1", ("shop a1 Sale of Café Lumière 42, 100.00 GBP, Jun 29, 2026, 12:00 PM", "Event a1 of shop")),
        ("shop b1", ("shop b1 Sale of Müller & Söhne 43, 40.00 GBP, Jun 29, 2026, 12:00 PM", "Event b1 of shop")),
        ("1001", ("Order 1001 open, 12.50 GBP", "Events")),
        ("ann", ("Customer ann", "Events")),
        ("2026-06", ("Statements of June 2026", "Statements")),
    ],
)
def test_a_number_or_an_id_is_found_without_a_span(
    browser: Tab, address: str, issuer: Issuer, text: str, found: tuple[str, str]
) -> None:
    result, title = found
    open_as(browser, f"{address}/", issuer, "finance")
    assert searched(browser, text)[0] == result
    browser.press("Enter")
    heading(browser, title)
    assert browser.errors == []


def test_the_events_of_an_order_of_months_ago_are_looked_for(browser: Tab, address: str, issuer: Issuer) -> None:
    open_as(browser, f"{address}/", issuer, "support")
    results = searched(browser, "7002")
    assert results == ["Events of the order 7002", "Events of the customer 7002"]
    browser.press("Enter")
    shown(browser, "shop b1")
    reads = [one for one in browser.requested if "/events?" in one]
    assert len(reads) == 1, "one request finds the events of an order in all months"


def test_the_requests_of_a_page_end_when_it_is_left(browser: Tab, address: str, issuer: Issuer) -> None:
    browser.page.route("**/events?*", lambda _: None)
    with browser.page.expect_request("**/events?*"):
        open_as(browser, f"{address}/console/events", issuer, "finance")
    with browser.page.expect_event("requestfailed") as ended:
        browser.follow("link", "Statements")
    assert "/events?" in ended.value.url
    browser.page.unroute_all()


def test_a_person_of_an_agency_finds_only_what_belongs_to_it(browser: Tab, address: str, issuer: Issuer) -> None:
    open_as(browser, f"{address}/", issuer, "agency", "42")
    titles = searched(browser, "")
    assert "Statements" in titles
    assert not {"Operations", "Reports", "Register an agency"} & set(titles)
    assert searched(browser, "S-000001")[0].startswith("S-000001 statement of Café Lumière 42")
    for foreign in ("S-000002", "b1", "Müller", "1001", "43"):
        assert all(one.startswith("Events of the") for one in searched(browser, foreign)), foreign
    assert searched(browser, "lumiere")[0] == "Café Lumière 42"


def test_a_hostile_name_is_text_and_a_failure_is_said(browser: Tab, address: str, issuer: Issuer) -> None:
    open_as(browser, f"{address}/", issuer, "finance")
    assert searched(browser, "45")[0] == f"{HOSTILE} 45"
    assert browser.evaluate("document.title") != "ran"
    browser.page.route("**/search?*", lambda route: route.abort())
    browser.page.get_by_role("combobox", name="Name, number or id").fill("zzz")
    browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('did not respond')")
    browser.page.unroute("**/search?*")


def test_lists_take_a_part_of_a_name_for_an_agency(browser: Tab, address: str, issuer: Issuer) -> None:
    open_as(browser, f"{address}/console/statements", issuer, "auditor")
    browser.fill("Agency", "muller")
    browser.follow("button", "Show")
    browser.until("window.location.search === '?agency=43'")
    shown(browser, "S-000002")
    assert "S-000001" not in browser.page.inner_text("main")
    browser.open(f"{address}/console/events?from=2026-06-01&to=2026-07-01")
    browser.fill("Agency", "Harbour")
    browser.follow("button", "Show")
    browser.until("window.location.search.includes('agency=44')")
    assert browser.violations() == []


def test_the_page_of_agencies_finds_one_by_name(browser: Tab, address: str, issuer: Issuer) -> None:
    open_as(browser, f"{address}/console/agencies", issuer, "support")
    shown(browser, "Harbour Ltd")
    browser.page.get_by_label("Filter").fill("lumiere")
    browser.until("document.querySelectorAll('tbody tr').length === 1")
    shown(browser, "Café Lumière")
    browser.page.get_by_label("Filter").fill("nobody")
    shown(browser, "No row matches.")
    assert browser.violations() == []


def test_a_list_that_loads_in_steps_is_saved_with_all_rows(
    browser: Tab, address: str, issuer: Issuer, tmp_path: Path
) -> None:
    def in_steps(route: Route) -> None:
        """Answer with one item a page, whatever was requested."""
        place = urlsplit(route.request.url)
        query = urlencode({**dict(parse_qsl(place.query)), "limit": "1"})
        route.fulfill(response=route.fetch(url=place._replace(query=query).geturl()))

    browser.page.route(lambda url: urlsplit(url).path == "/agencies", in_steps)
    open_as(browser, f"{address}/console/agencies", issuer, "support")
    browser.until("document.querySelectorAll('tbody tr').length === 4")
    with browser.page.expect_download() as download:
        browser.follow("button", "Download all as CSV")
    download.value.save_as(tmp_path / "agencies.csv")
    rows = (tmp_path / "agencies.csv").read_text("utf-8").splitlines()
    assert [row.partition(",")[0] for row in rows] == ["agency", "42", "43", "44", "45"]
    assert browser.evaluate("document.querySelectorAll('tbody tr').length") == 4
    browser.page.unroute_all()
