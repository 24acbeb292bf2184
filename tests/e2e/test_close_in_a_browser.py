"""The close of a period in Chromium: its checklist, its drafts in a table, and decisions about many at once."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.server import Server
from tests.support.browser import IN_A_BROWSER, PHONE, Tab, called, open_as, shown, texts
from tests.support.close_page import PAGE, ROWS, focus, opened
from tests.support.month_to_close import PARAMETERS, PERIOD, STARTS, decide, month_to_close, sealed
from tests.support.openid import Issuer
from tests.support.served import call, served
from tests.support.system import World

pytestmark = IN_A_BROWSER
GRID = "document.querySelector('.grid')"
NARROWEST = (1024, 1216, 1264)
"""Widths at which the table of drafts has the least space: below the menu, and beside it."""

UNKNOWN = "\N{EN DASH}"
NAMES = f"[...document.querySelectorAll('{ROWS} .agency')].map((one) => one.innerText.replace(/\\s+/g, ' '))"


@pytest.fixture(scope="module")
def market(issuer: Issuer) -> Iterator[tuple[Server, World]]:
    """The server of a marketplace in December whose November has to be closed; one person decides."""
    with served(ManualClock(STARTS), {**issuer.with_roles, **PARAMETERS}) as (server, world):
        with server.turns.taken():
            month_to_close(world)
        yield server, world


def draft(market: tuple[Server, World], agency: str, currency: str = "GBP") -> dict[str, Any]:
    """Return a draft of November."""
    found: dict[str, Any] = call(f"{market[0].url}/drafts/{agency}/{currency}/{PERIOD}")[1]
    return found


def checklist(browser: Tab) -> dict[str, tuple[str, str]]:
    """Return the state and the number of each row of the checklist, by title."""
    rows = browser.evaluate(
        "[...document.querySelectorAll('.checklist li')].map((one) =>"
        " ['span:nth-of-type(2)', '.tag', 'strong'].map((part) => one.querySelector(part).innerText))"
    )
    return {title: (state, number) for title, state, number in rows}


def losing_once(browser: Tab, part: str) -> list[str]:
    """Lose the response to the first decision whose path has a part, after it is made; return its address then."""
    lost: list[str] = []

    def handle(route: Route) -> None:
        if route.request.method != "PUT" or part not in route.request.url or lost:
            route.continue_()
        else:
            route.fetch()
            lost.append(route.request.url)
            route.abort()

    browser.page.route("**/drafts/**", handle)
    return lost


def test_the_checklist_has_the_numbers_of_the_period_and_leads_to_what_to_do(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, market, issuer, "/console/close")
    shown(browser, "0 of 7 released")
    assert checklist(browser) == {
        "Drafts made": ("done", "7"),
        "Reports sealed to the cut-off": ("done", "until Dec 5, 2026, 11:45 AM"),
        "Live counters": ("done", "verified"),
        "Held events": ("attention", "1"),
        "Records set aside": ("done", "0"),
        "Drafts with failed checks": ("attention", "2"),
        "Agencies not registered in full": ("attention", "1"),
        "Drafts with the default rate": ("attention", "1"),
        "Currencies without exchange rate": ("attention", "1"),
        "Open disputes": ("attention", "1"),
        "Unmatched payments": ("attention", "5.00 GBP"),
    }
    shown(browser, "4 of 11 done")
    assert browser.violations() == []
    browser.page.locator(".checklist li", has_text="default rate").get_by_role("link").click()
    browser.until(f"document.querySelectorAll('{ROWS}').length === 1")
    browser.until(f"{NAMES}.join() === 'Mill SARL mill · EUR'")
    assert browser.evaluate("location.search") == "?show=warning&text=default"
    browser.page.go_back()
    browser.until(f"document.querySelectorAll('{ROWS}').length === 7")
    browser.follow("link", "Register it")
    shown(browser, "Agency al-mina")
    assert browser.errors == []


def test_a_period_that_is_open_has_no_drafts_and_says_from_when(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    browser.set_clock(market[1].clock.now())
    open_as(browser, f"{market[0].url}/console/close/2026-12", issuer, "finance")
    shown(browser, "Checklist")
    found = checklist(browser)
    assert found["Drafts made"] == ("to do", UNKNOWN)
    assert found["Reports sealed to the cut-off"][0] == "to do"
    assert found["Drafts with failed checks"] == ("to do", UNKNOWN)
    assert browser.evaluate("document.querySelector('#drafts')") is None
    browser.choose("Period", "October 2026")
    shown(browser, "Close October 2026")
    shown(browser, "2 of 2 released")


def test_drafts_are_sorted_by_value_within_each_currency_and_filtered(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, market, issuer)
    shown(browser, "Harbour Books Ltd")
    assert "#" not in browser.evaluate("document.querySelector('main').innerText")
    assert browser.evaluate(NAMES) == [
        *("al-mina · EUR", "Mill SARL mill · EUR", "Quay & Sons quay · EUR"),
        *("al-mina · GBP", "Harbour Books Ltd harbour · GBP", "Lamplight GmbH lamp · GBP"),
        "Quay & Sons quay · GBP",
    ]
    assert texts(browser, "#drafts .group .net") == ["7,130.00", "1,670.01"]
    assert texts(browser, "#drafts .group .commission") == ["889.75", "208.75"]
    browser.follow("button", "Net sales")
    assert texts(browser, f"{ROWS} .net") == ["7,000.00", "70.00", "60.00", "1,100.00", "400.01", "90.00", "80.00"]
    assert browser.evaluate("document.querySelector('th.net').ariaSort") == "descending"
    browser.follow("button", "Net sales")
    assert texts(browser, f"{ROWS} .net")[:4] == ["60.00", "70.00", "7,000.00", "80.00"]
    browser.follow("button", "Change")
    assert [one.replace("\n", " ") for one in texts(browser, f"{ROWS} .change")][3:] == [
        *("+37.50 +300%", "+12.50 +10%", "new", "new"),
    ]
    for column in ("Commission", "Last period", "Tax", "Closing", "Checks", "State", "Agency"):
        browser.follow("button", column)
        assert browser.evaluate("document.querySelectorAll('th[aria-sort]').length") == 1
    exact = browser.evaluate(f"[...document.querySelectorAll('{ROWS} .net data')].map((one) => one.title)")
    assert "400.0123" in exact

    browser.page.get_by_role("searchbox", name="Filter").fill("quay disputed")
    shown(browser, "2 of 7 drafts")
    browser.choose("Currency", "GBP")
    shown(browser, "1 of 7 drafts")
    assert browser.evaluate("location.search") == "?text=quay+disputed&currency=GBP"
    browser.page.get_by_role("searchbox", name="Filter").fill("nothing")
    shown(browser, "No draft matches.")
    browser.follow("button", "Show all drafts")
    browser.follow("button", "Failed 2")
    assert browser.evaluate(NAMES) == ["al-mina · EUR", "al-mina · GBP"]
    browser.follow("button", "Warnings 5")
    shown(browser, "5 of 7 drafts")
    assert browser.errors == []


def test_a_failed_draft_shows_its_reason_and_is_left_out_of_a_release(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, market, issuer)
    row = browser.page.locator(ROWS, has_text="al-mina · GBP")
    row.locator("summary").click()
    reason = "the agency is not registered at the end of 2026-11: register it"
    expect(row).to_contain_text(reason)
    focus(browser, "al-mina · GBP")
    browser.press("r")
    dialog = browser.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Release 0 drafts")
    expect(dialog).to_contain_text(reason)
    expect(dialog.get_by_role("button", name="Release 0 drafts")).to_be_disabled()
    assert browser.violations() == []
    browser.press("Escape")
    browser.press("Enter")
    expect(dialog).to_contain_text(reason)
    expect(dialog).to_contain_text("Register its tax")
    expect(dialog.get_by_role("button", name="Release")).to_have_count(0)
    assert draft(market, "al-mina")["state"] == "open"


def test_a_preview_has_all_figures_and_walks_to_the_next_draft(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, market, issuer)
    focus(browser, "harbour · GBP")
    browser.press("Enter")
    dialog = browser.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Harbour Books Ltd")
    expect(dialog).to_contain_text("50.0015375")
    expect(dialog).to_contain_text("VAT 20 %")
    expect(dialog).to_contain_text("the commission is 50.0015375, and was 12.5")
    assert browser.violations() == []
    browser.press("j")
    expect(dialog).to_contain_text("Lamplight GmbH")
    browser.press("k")
    expect(dialog).to_contain_text("Harbour Books Ltd")
    browser.follow("link", "Open its page")
    shown(browser, "A preview as of")
    browser.follow("link", "Close November 2026")
    shown(browser, "Checklist")


def test_a_draft_is_held_with_a_reason_by_keyboard(browser: Tab, market: tuple[Server, World], issuer: Issuer) -> None:
    opened(browser, market, issuer)
    focus(browser, "mill · EUR")
    browser.press("h")
    field = browser.page.locator("dialog [name=reason]")
    expect(field).to_be_focused()
    browser.press("Enter")
    assert not field.evaluate("(one) => one.validity.valid"), "a hold needs a reason"
    browser.page.keyboard.type("asks for its rate")
    browser.press("Enter")
    expect(browser.page.get_by_role("dialog")).to_contain_text("1 of 1 done. held 1")
    browser.press("Enter")
    browser.until("!document.querySelector('dialog')")
    assert (draft(market, "mill", "EUR")["state"], draft(market, "mill", "EUR")["decisions"][-1]["reason"]) == (
        *("held", "asks for its rate"),
    )
    row = browser.page.locator(ROWS, has_text="mill · EUR")
    expect(row.locator(".state")).to_have_text("held")
    row.locator("summary").click()
    expect(row).to_contain_text("it is held: asks for its rate")


def test_an_auditor_reads_and_cannot_decide_and_an_agencys_person_gets_no_page(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, market, issuer, role="auditor")
    assert browser.evaluate("document.querySelectorAll('main input[type=checkbox]').length") == 0
    focus(browser, "harbour · GBP")
    browser.press("r")
    assert browser.evaluate("document.querySelector('dialog')") is None
    for page in ("/console/close", PAGE):
        open_as(browser, f"{market[0].url}{page}", issuer, "agency", "harbour")
        shown(browser, "Only people with the role finance, support, or auditor see this page.")
        assert "Close" not in texts(browser, "nav a")
        of_staff = re.compile("/(drafts|periods|releases|receivables)([/?]|$)")
        assert [one for one in browser.requested if of_staff.search(one)] == []


def test_the_page_fits_a_phone_and_axe_finds_nothing(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    browser.resize(*PHONE)
    opened(browser, market, issuer)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    for width in NARROWEST:
        browser.resize(width, 900)
        assert browser.evaluate(f"{GRID}.scrollWidth <= {GRID}.clientWidth"), width
    browser.resize(*PHONE)
    browser.page.locator(ROWS, has_text="harbour · GBP").get_by_role("checkbox").click()
    expect(browser.page.locator(".selection")).to_contain_text("1 selected")
    assert browser.violations() == []


def test_several_drafts_are_released_by_keyboard_with_progress_and_each_refusal_says_what_to_do(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    server, world = market
    opened(browser, market, issuer)
    browser.follow("button", "Ready 5")
    focus(browser, "mill · EUR")
    for key in ("x", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown"):
        browser.press(key)
    shown(browser, "4 selected")
    shown(browser, "GBP commission 61.25")
    browser.press("r")
    dialog = browser.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Release 4 drafts of November 2026")
    sums = [one.split("\t") for one in texts(browser, "dialog tbody tr")]
    assert sums == [
        ["EUR", "2", "130.00", "14.75", "2.95", "17.70"],
        ["GBP", "2", "490.01", "61.25", "12.25", "88.50"],
    ]
    assert browser.violations() == []
    with server.turns.taken():
        decide(world, "lamp", "GBP", PERIOD, "hold", reason="somebody else")
    lost = losing_once(browser, "/quay/")
    browser.press("Enter")
    expect(dialog).to_contain_text("4 of 4 done. releasing 2")
    refused = dialog.get_by_role("alert")
    expect(refused).to_contain_text("Refused: 2 drafts.")
    expect(refused).to_contain_text("Lamplight GmbH lamp · GBP: Somebody else decided first.")
    expect(refused).to_contain_text("Quay & Sons quay · EUR: There was no response. Repeat it: nothing is done twice.")
    expect(dialog.get_by_role("button", name="Repeat 1 draft")).to_be_focused()
    browser.press("Enter")
    expect(dialog).to_contain_text("1 of 1 done. releasing 3")
    assert [one["state"] for one in draft(market, "quay", "EUR")["decisions"]] == ["releasing"], "sent twice, made once"
    browser.press("Escape")
    browser.until("!document.querySelector('dialog')")
    browser.follow("button", "All 7")
    expect(browser.page.locator(ROWS, has_text="lamp · GBP").locator(".state")).to_have_text("held")
    for name in ("harbour · GBP", "mill · EUR", "quay · EUR"):
        expect(browser.page.locator(ROWS, has_text=name).locator(".state")).to_have_text("releasing")
    shown(browser, "1 selected")
    with server.turns.taken():
        sealed(world)
    browser.follow("button", "Refresh")
    shown(browser, "3 of 7 released")
    shown(browser, "3 issued")
    shown(browser, f"quarterhour statements --stack NAME --period {PERIOD} --out statements-{PERIOD} --pdf")
    shown(browser, "aws s3 cp s3://BUCKET/statements/releases/000002/manifest.json .")
    (release, *_) = call(f"{server.url}/releases")[1]["items"]
    shown(browser, release["manifest_sha256"])
    assert browser.violations() == []
    browser.page.unroute_all()
    assert [one for one in browser.errors if lost[0] not in one and "409" not in one] == []


def test_rows_are_rounded_half_to_even_and_drafts_of_two_currencies_are_never_compared(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, market, issuer, "/console/close/2026-11")
    assert [called(browser, "lib/format.js", "amount", *one) for one in (
        ("1.005", "EUR"), ("1.015", "EUR"), ("-0.004", "EUR"), ("1234.5", "JPY"), ("0.0005", "KWD"),
    )] == ["1.00", "1.02", "0.00", "1,234", "0.000"]  # fmt: skip
    drafts = [
        {"agency": name, "currency": currency, "key": name, "commission": commission, "checks": []}
        for name, currency, commission in (("a", "JPY", "900"), ("b", "EUR", "10"), ("c", "EUR", "9.5"))
    ]
    found = called(browser, "close/drafts.js", "grouped", drafts, {"by": "commission", "down": True})
    assert [(one["currency"], [row["key"] for row in one["rows"]]) for one in found] == [
        ("EUR", ["b", "c"]),
        ("JPY", ["a"]),
    ]
