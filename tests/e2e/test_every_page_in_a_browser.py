"""Every page of the console in Chromium, with a hostile name wherever one can be: on a phone, by keyboard, on paper."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Response

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.model.clock import ManualClock
from quarterhour_tools.target.remote import segment
from tests.handlers.desk import send
from tests.support.agencies import OWNER
from tests.support.browser import HOSTILE, IN_A_BROWSER, PAPER, PHONE, RIGHT_TO_LEFT, ZONE, Tab, right_edge, shown
from tests.support.connections import connect, deliver
from tests.support.events import ABSENT, refund, sale
from tests.support.openid import Issuer
from tests.support.repository import ROOT
from tests.support.requests import post, put, verdicts
from tests.support.served import served

pytestmark = IN_A_BROWSER

NAME = f"=cmd|' {HOSTILE} {RIGHT_TO_LEFT}"
"""A formula, HTML and text from right to left."""
LINES = 90
"""The lines of a statement that fills more than a sheet of paper."""
IN_NAME = quote(NAME, safe="")
STATEMENT = f"/console/statements/2026-10/{IN_NAME}/GBP"
AGENCY = f"/console/agencies/{IN_NAME}"
RUN = "/console/reports/2026-10-30T1200-2400"
SUBJECTS = {
    "agencies": NAME,
    "statements": f"{NAME}#GBP#2026-10",
    "lines": f"shop#{NAME}",
    "reports": "2026-10-30T1200-2400",
}
"""A subject of each kind of a thread."""
FIGURES = {"currency": "GBP", "provider": "10.00", "ledger": "0", "difference": "10.00"}
RESULT = {
    "period": "2026-10",
    "made_at": "2026-11-03T10:00:00Z",
    **dict.fromkeys(("rows", "outside", "difference_count", "problem_count", "proposals"), 1),
    "problems": [f"line 3: {NAME}"],
    "row_sums": [{"kind": "excluded", "rule": NAME, "rows": 1, "unread": 0, "amounts": {"GBP": "10.00"}}],
    "totals": [{"measure": "amount", **FIGURES}],
    "sums": [{"measure": "amount", "label": "missing here", "findings": 1, **FIGURES}],
    "differences": [dict.fromkeys(("line", "name", "kind", "label", "agency", "events", "note"), NAME) | FIGURES],
}
"""The result of a reconciliation."""
PAGES = {
    "/": NAME,
    "/console/accounts": NAME,
    "/console/agencies": NAME,
    AGENCY: "Balance in GBP",
    f"{AGENCY}?tab=statements": "S-00000",
    f"{AGENCY}?tab=rates": "Calculator",
    f"{AGENCY}?tab=messages": NAME,
    f"{AGENCY}?tab=registration": "of the registration",
    f"{AGENCY}?currency=GBP&month=2026-10": "Oct 30, 2026",
    f"{AGENCY}?currency=GBP&day=2026-10-30": "Events",
    "/console/agencies/nobody": "No event of this agency is recorded yet",
    f"/console/events?from=2026-10-30&to=2026-10-31&agency={IN_NAME}&order={IN_NAME}": NAME,
    f"/console/events/shop/{IN_NAME}": "Commission so far",
    "/console/events/shop/none": "Request",
    "/console/statements": NAME,
    f"/console/statements?agency={IN_NAME}": NAME,
    STATEMENT: "Closing balance",
    f"/console/statements/2026-11/{IN_NAME}/GBP": "A preview as of",
    "/console/close/2026-10": NAME,
    "/console/receivables": NAME,
    f"/console/receivables/{IN_NAME}": "Balance now",
    "/console/payouts": "No payout run has paid",
    "/console/bank-file": "Choose a file of your bank",
    "/console/reconciliations": NAME,
    f"/console/reconciliations/2026-10/{IN_NAME}": "What explains the difference",
    "/console/reports": "verified",
    RUN: NAME,
    f"/console/locations?location=GB%23{IN_NAME}": NAME,
    "/console/questions?ask=commission-by-product": NAME,
    "/console/connections": "partner",
    "/console/connections/partner": "the payload is no order",
    "/console/subscriptions": "hooks.marketplace.com",
    "/console/subscriptions/erp": "Nothing was sent to it yet",
    "/console/exchange-rates": NAME,
    "/console/exchange-rates/GBP": NAME,
    "/console/settings": "Time zone of the months",
    "/console/operations": NAME,
    "/console/upload": "The file holds",
    "/console/verify": "Files, chosen or dropped here",
    f"/console/rerate?agency={IN_NAME}": "Recorded from",
    "/console/runbooks/held-overdue": "Means",
    f"/console/{IN_NAME}": "There is no page at this address",
}
"""Each page, and what it shows when it is complete."""
COMPLETE = "[...document.querySelectorAll('main [role=status]')].every((one) => !one.innerText.includes('…'))"
SMALL = """[...document.querySelectorAll('button, input, select, summary, header a')]
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([one, {width, height}]) => height && (height < 24 || width < 24) && !one.matches('.skip'))
  .map(([one]) => one.outerHTML)"""
HIDDEN = """(() => {
  const [menu, page] = ['.top', 'main'].map((one) => document.querySelector(one).getBoundingClientRect());
  const tables = [...document.querySelectorAll('.rows, .scroll, .grid')];
  return page.left - menu.right < 8 ? [] : tables.filter((one) => one.scrollWidth > one.clientWidth)
    .map((one) => one.innerText);
})()"""
"""The tables that hide columns beside empty space."""
LOOSE = f"""(() => {{
  const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {{
    const {{data, parentElement: around}} = texts.currentNode;
    const isName = !around.closest('h1') || data === {json.dumps(NAME)};
    const alone = around.closest('bdi, [dir=auto]') && isName;
    if (/[\\u0590-\\u05ff]/.test(data) && !data.includes('\\u2068') && !alone) found.push(around.outerHTML);
  }}
  return found;
}})()"""
"""Text from right to left that could turn what is around it."""


@pytest.fixture(scope="module")
def address(issuer: Issuer) -> Iterator[str]:
    """The address of a stack in November whose October is sealed, with one name for whatever people name."""
    issuer.role, issuer.name = "finance", NAME
    parameters = {**ZONE, **issuer.with_roles, "base_currency": "EUR", "Notifications": "webhooks", "Intake": "queue"}
    named = {"customer": NAME, "order_id": NAME, "product": NAME, "category": NAME, "location": f"GB#{NAME}#{NAME}"}
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), parameters) as (server, world):
        with server.turns.taken():
            tax = {"scheme": "standard", "percent": "20"}
            facts = {"legal_name": NAME, "address": NAME, "contact": NAME, "group": NAME, "tax": tax, "country": "GB"}
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            put(world, f"/agencies/{segment(NAME)}", {"seen": 0, "content": facts})
            for owner in (NAME, f"group/{NAME}", "default"):
                content = {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"category": NAME, "percent": "8"}]}
                put(world, f"/documents/{segment(f'rate-card:{owner}')}", {"seen": 0, "content": content})
            result = {**RESULT, "provider": NAME, "file": NAME}
            put(world, f"/documents/{segment(f'reconciliation:2026-10:{NAME}')}", {"seen": 0, "content": result})
            rate = {"units_per_base": "0.8712", "source": NAME, "as_of": "2026-10-23T14:15:00Z"}
            put(world, "/exchange-rates/GBP", rate)
            # A subscription of an agency that nothing happens to: no test may send to its address.
            hook = {"address": "https://hooks.marketplace.com/hook", "agency": f"quiet {NAME}"}
            put(world, "/subscriptions/erp", hook)
            connect(world, "partner", Provider.SHOPIFY, source=NAME, agency={"field": f"vendor {NAME}"})
            deliver(world, {"name": NAME}, "partner", provider=Provider.SHOPIFY, x_shopify_topic="orders/paid")
            assert verdicts(post(world, [sale(NAME, "10.00", agency=NAME, **named)])) == ["recorded"]
            assert verdicts(post(world, [refund(f"held {NAME}", "-1.00", "none", agency=NAME)])) == ["held"]
            for n in range(LINES):
                world.sell(f"{1234567 + n}.10", NAME, commission_rate=ABSENT, **named)
            world.sell("5.00", "unregistered " + NAME)
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            world.drain()
            disputed = {"source": "shop", "id": "e0", "reason": NAME}
            assert send(world, "POST", f"/statements/{segment(NAME)}/GBP/2026-10/disputes", disputed).status == 201
            world.sell("20.00", NAME, **named)
            world.drain()
            for kind, subject in SUBJECTS.items():
                message = {"id": "m-1", "user": NAME, "text": NAME}
                sent = send(world, "POST", f"/threads/{kind}/{segment(subject)}/messages", message)
                assert sent.status == 201, sent.body
        yield server.url


def test_every_page_is_walked() -> None:
    known = re.findall(r'parts: \["([\w-]+)"', (ROOT / "functions/console/static/pages.js").read_text("utf-8"))
    assert known
    assert set(known) <= {page.split("?")[0].split("/")[2] for page in PAGES if page != "/"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.replace(IN_NAME, "NAME"))
def test_a_page_with_hostile_names_fits_a_phone(browser: Tab, address: str, page: str) -> None:
    browser.resize(*PHONE)
    browser.open(f"{address}{page}")
    shown(browser, PAGES[page])
    browser.until(COMPLETE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert browser.evaluate("[document.title === 'ran', document.images.length]") == [False, 0]
    assert browser.evaluate(SMALL) == [], "a finger hits it"
    assert browser.evaluate(LOOSE) == []
    absent = page.endswith(("none", "nobody"))
    assert [one for one in browser.errors if not (absent and "404" in one)] == []
    browser.resize(1800, 900)
    assert browser.evaluate(HIDDEN) == [], "no table hides columns beside empty space"


@pytest.mark.parametrize("role", ["support", "auditor", "agency"])
def test_no_page_requests_what_its_reader_may_not_see(browser: Tab, address: str, issuer: Issuer, role: str) -> None:
    """Walk every page within one visit; the API refuses with 403 what a role may not see. Finance sees everything."""
    refused: list[tuple[int, str]] = []

    def remember(response: Response) -> None:
        if response.status in {401, 403}:
            refused.append((response.status, response.url.removeprefix(address)))

    issuer.role = role
    issuer.agency = NAME
    browser.page.on("response", remember)
    browser.open(address)
    browser.until("document.querySelector('nav a')")
    for page in PAGES:
        if "nobody" in page:  # an agency that somebody else has typed into the address
            continue
        browser.evaluate(f"window.history.pushState(null, '', {page!r}), dispatchEvent(new PopStateEvent('popstate'))")
        browser.until(f"document.querySelector('h1') && {COMPLETE}")
    browser.page.wait_for_load_state("networkidle")
    browser.page.remove_listener("response", remember)
    issuer.role = "finance"
    assert refused == []


def test_the_keyboard_walks_a_page_in_the_order_in_which_it_is_read(browser: Tab, address: str) -> None:
    browser.open(f"{address}{STATEMENT}")
    shown(browser, "Closing balance")
    browser.evaluate("window.walked = [document.querySelector('.skip')]; 0")
    browser.press("Tab")
    assert browser.evaluate("document.activeElement === walked[0]")
    for _ in range(14):
        browser.press("Tab")
        browser.evaluate("walked.push(document.activeElement); 0")
    following = "walked[index].compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING"
    assert browser.evaluate(f"walked.slice(1).every((one, index) => {following})")
    assert browser.evaluate("new Set(walked).size") == 15
    assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_dialog_closes_by_escape_and_gives_the_focus_back(browser: Tab, address: str) -> None:
    button = "document.querySelector('[aria-label=\"Resolve e0\"]')"
    browser.open(f"{address}{STATEMENT}")
    browser.until(button)
    browser.evaluate(f"{button}.focus()")
    browser.press("Enter")
    browser.until("document.querySelector('dialog[open]')?.contains(document.activeElement)")
    assert browser.evaluate("document.activeElement.name") == "reason"
    browser.press("Escape")
    browser.until(f"!document.querySelector('dialog') && document.activeElement === {button}")


def test_a_dialog_keeps_what_was_written_until_a_second_escape(browser: Tab, address: str) -> None:
    browser.open(f"{address}{STATEMENT}")
    browser.click("Resolve")
    browser.fill("Reason", "they have agreed")
    browser.press("Escape")
    shown(browser, "Press Escape again to discard it.")
    assert browser.page.locator("dialog [name=reason]").input_value() == "they have agreed"
    assert browser.violations() == []
    browser.press("Escape")
    browser.until("!document.querySelector('dialog')")
    browser.click(f"Show the {LINES + 1} lines")
    browser.until("document.activeElement.innerText === 'Lines'")


def test_going_back_shows_the_same_rows_at_the_same_place(browser: Tab, address: str) -> None:
    rows = "[...document.querySelectorAll('tbody tr')].map((one) => one.innerText)"
    browser.resize(1280, 500)
    browser.open(f"{address}/console/events?from=2026-10-30&to=2026-10-31#events.size=25")
    browser.until("document.querySelectorAll('tbody tr').length === 25")
    browser.click("Show more")
    browser.follow("button", "Amount")
    shown(browser, "25 of 92")
    browser.click("Show more")
    browser.until("document.querySelectorAll('tbody tr').length === 50")
    before = browser.evaluate(rows)
    assert "1,234,656.10" in before[0], "the largest first"
    began = browser.page.get_by_label("From (Asia/Tokyo)").input_value()
    assert began == "2026-10-30T09:00", "midnight of UTC, in the time zone of the rows"
    link = browser.page.locator("tbody th a").nth(40)
    link.scroll_into_view_if_needed()
    place = browser.evaluate("window.scrollY")
    assert place > 500
    link.click()
    shown(browser, "Commission so far")
    browser.page.go_back()
    browser.until(f"{rows}.length === 50 && window.scrollY === {place}")
    assert browser.evaluate(rows) == before


@pytest.mark.parametrize("paper", PAPER)
@pytest.mark.parametrize("page", [STATEMENT, RUN, AGENCY], ids=["statement", "run", "agency"])
def test_a_page_is_printed_whole_without_its_controls(
    browser: Tab, address: str, tmp_path: Path, page: str, paper: str
) -> None:
    browser.open(f"{address}{page}", "dark")
    shown(browser, PAGES[page])
    browser.until(COMPLETE)
    text = browser.printed(tmp_path, paper, "-layout")
    assert "111,115,0" in text, "a figure"
    assert "Times are in Asia/Tokyo" in text
    for control in ("Skip to", "Sign out", "Exchange rates", "Download", "Verify", "Resolve", "Calculate", "Update"):
        assert control not in text.split(), control
    assert right_edge(browser.printed(tmp_path, paper, "-bbox")) <= PAPER[paper][0] - 0.5, "half an inch is left"


@pytest.mark.parametrize("paper", PAPER)
def test_the_lines_of_a_statement_are_printed_below_their_heads(
    browser: Tab, address: str, tmp_path: Path, paper: str
) -> None:
    browser.open(f"{address}{STATEMENT}")
    browser.click(f"Show the {LINES + 1} lines")
    shown(browser, "The sealed lines")
    text = browser.printed(tmp_path, paper, "-layout")
    assert all(f"{1234567 + n:,}.10" in text for n in range(LINES))
    sheets = [sheet for sheet in text.split("\f") if re.search(r"1,234,\d{3}\.10", sheet)]
    assert len(sheets) > 1
    assert all("Recorded" in sheet and "Commission" in sheet for sheet in sheets), "the head of the table"
    assert right_edge(browser.printed(tmp_path, paper, "-bbox")) <= PAPER[paper][0] - 0.5, "half an inch is left"
