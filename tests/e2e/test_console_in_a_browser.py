"""The console in Chromium against `quarterhour up`: what people see and do, and what a hostile name cannot do."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from urllib.parse import quote

import pytest

from quarterhour.model.clock import ManualClock
from quarterhour_tools.target.remote import segment
from tests.support.agencies import OWNER
from tests.support.browser import HOSTILE, IN_A_BROWSER, PHONE, RIGHT_TO_LEFT, ZONE, Tab, called, shown, texts
from tests.support.openid import Issuer
from tests.support.requests import put
from tests.support.served import call, served

pytestmark = IN_A_BROWSER

AGENCIES = (HOSTILE, RIGHT_TO_LEFT, "50% off / outlet")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a stack in November whose October is sealed, with agencies that have difficult names."""
    tax = {"scheme": "standard", "percent": "20"}
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), ZONE) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            for agency in AGENCIES:
                registered = {"legal_name": agency, "address": "1 Quay", "country": "GB", "tax": tax}
                put(world, f"/agencies/{segment(agency)}", {"seen": 0, "content": registered})
                world.sell("1234567.10", agency, product=HOSTILE)
                world.sell("10.00", agency, product="=cmd|' /C calc'!A0")
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            world.sell("20.00", "50% off / outlet")
            world.drain()
        yield server.url


def test_the_page_of_accounts_shows_them_and_axe_finds_nothing(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/accounts")
    shown(browser, "50% off / outlet")
    shown(browser, "154,322.14")
    assert "154,322.1375" in browser.evaluate("[...document.querySelectorAll('data')].map((one) => one.title)")
    browser.click("Show all digits")
    shown(browser, "154,322.1375")
    assert browser.violations() == []
    assert browser.errors == []
    assert [one for one in browser.requested if not one.startswith(address)] == []


def test_a_hostile_name_is_text(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/accounts")
    browser.until("document.querySelectorAll('tbody tr').length === 3")
    assert HOSTILE in browser.evaluate("document.querySelector('main').innerText")
    assert browser.evaluate("document.images.length") == 0
    directions = "[...document.querySelectorAll('bdi')].map((one) => one.innerText)"
    assert RIGHT_TO_LEFT in browser.evaluate(directions), "it changes the direction of nothing around it"
    assert browser.evaluate("document.title") == "Accounts · Quarterhour"


def test_an_inline_script_would_not_run(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/accounts")
    shown(browser, "Lifetime totals")
    browser.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'document.title = 1'}))"
    )
    assert browser.evaluate("document.title") == "Accounts · Quarterhour"


def test_another_origin_can_neither_frame_the_console_nor_read_the_api(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    browser.open(issuer.url)
    frame = "Object.assign(document.createElement('iframe'), {src: %s, onload: done})"
    browser.evaluate(f"new Promise((done) => document.body.append({frame % json.dumps(address)}))")
    assert [one.url for one in browser.page.frames[1:]] == ["chrome-error://chromewebdata/"]
    answered = "fetch(%s, {mode: %s}).then((answer) => answer.type, () => 'refused')"
    assert browser.evaluate(answered % (json.dumps(f"{address}/accounts"), "'cors'")) == "refused"
    assert browser.evaluate(answered % (json.dumps(f"{address}/accounts"), "'no-cors'")) == "opaque", "it was reached"


def test_no_page_is_wider_than_a_phone(browser: Tab, address: str) -> None:
    browser.resize(*PHONE)
    browser.open(address)
    shown(browser, "50% off / outlet")
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_the_keyboard_reaches_the_content_and_the_menu(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/none")
    shown(browser, "There is no page at this address")
    browser.press("Tab")
    browser.until("document.activeElement.innerText === 'Skip to the content'")
    browser.press("Tab")
    browser.until("document.activeElement.innerText === 'Search'")
    browser.press("Tab")
    browser.until("document.activeElement.innerText === 'Overview'")
    browser.press("Enter")
    shown(browser, "50% off / outlet")
    browser.until("document.activeElement.id === 'main' && window.location.pathname === '/'")


def test_the_overview_shows_two_spans_their_days_and_what_needs_attention(browser: Tab, address: str) -> None:
    browser.open(address)
    shown(browser, "Top agencies in GBP")
    text = browser.evaluate("document.querySelector('main').innerText")
    assert "Commission in GBP\n\n2.50\n\nagainst 0.00" in text, "nothing was recorded up to 4 October"
    assert "What needs attention" in text
    browser.until("document.querySelector('.chart canvas')")
    assert browser.evaluate("document.querySelector('.chart').clientHeight") > 100
    browser.page.get_by_text("The same as a table").click()
    shown(browser, "Nov 4, 2026\t2.50\t2.50\tOct 4, 2026\t0.00")
    assert browser.violations() == []
    assert browser.errors == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_a_figure_of_the_overview_leads_to_its_statement(browser: Tab, address: str) -> None:
    browser.open(address)
    browser.click("2.50")
    shown(browser, "Closing balance")
    assert browser.evaluate("document.querySelector('h1').innerText").endswith("in GBP, November 2026")


def statement(agency: str) -> str:
    """Return the path of the page of an agency's statement of October."""
    return f"/console/statements/2026-10/{quote(agency, safe='')}/GBP"


def disputed(browser: Tab, reason: str) -> None:
    """Write a reason into the dialog, and send it twice."""
    browser.until("document.querySelector('dialog[open] input')")
    browser.evaluate(f"document.querySelector('dialog input').value = {reason!r}")
    browser.evaluate("[1, 2].forEach(() => document.querySelector('dialog button').click())")
    browser.until("!document.querySelector('dialog')")


@pytest.mark.parametrize("path", ["/console/statements", statement(HOSTILE)])
def test_axe_finds_nothing_on_the_pages_of_statements(browser: Tab, address: str, path: str) -> None:
    browser.open(f"{address}{path}")
    shown(browser, "30,864.43" if path == "/console/statements" else "Closing balance")
    assert browser.violations() == []
    assert browser.errors == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_statements_are_found_by_their_filter_and_its_address_can_be_shared(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/statements")
    shown(browser, "S-000003")
    browser.evaluate("document.querySelector('input[name=agency]').value = '50% off / outlet'")
    browser.click("Show")
    browser.until("document.querySelectorAll('tbody tr').length === 1")
    browser.open(browser.evaluate("window.location.href"))
    browser.until("document.querySelectorAll('tbody tr').length === 1")
    browser.open(f"{address}/console/statements?status=resolved")
    shown(browser, "No statement matches")


def test_what_a_person_types_stays_while_the_page_is_drawn_again(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/statements?agency=a&status=accepted&period=2026-10")
    browser.until("document.querySelector('select[name=period]')?.value === '2026-10'")
    browser.fill("Agency", "51%")
    browser.choose("Status", "disputed")
    browser.click("Show UTC")
    browser.until("document.querySelector('footer').innerText.includes('Times are in UTC')")
    browser.follow("button", "Show")
    browser.until("new URLSearchParams(window.location.search).get('status') === 'disputed'")
    assert browser.evaluate("document.querySelector('input[name=agency]').value") == "51%"
    browser.open(f"{address}/console/events?from=2026-10-30&to=2026-11-05&type=sale.refunded")
    browser.fill("Customer", "ann")
    browser.click("Show UTC")
    browser.follow("button", "Show")
    browser.until("window.location.search.includes('customer=ann')")
    assert browser.evaluate("document.querySelector('select[name=type]').value") == "sale.refunded"


def test_a_person_disputes_a_line_of_a_statement(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/statements")
    browser.until("document.querySelectorAll('tbody tr').length === 3")
    (name,) = (one for one in AGENCIES if one.startswith("50%"))
    browser.open(f"{address}{statement(name)}")
    browser.click("Show the 2 lines")
    shown(browser, "The sealed lines")
    browser.click("Dispute")
    disputed(browser, "this sale was returned")
    shown(browser, "this sale was returned")
    assert browser.evaluate("document.querySelectorAll('ul.plain')[0].children.length") == 1, "sent twice, changed once"
    path = f"/statements/{segment(name)}/GBP/2026-10"
    assert call(f"{address}{path}")[1]["status"] == "disputed"
    assert browser.errors == []
    browser.click("Overview")
    shown(browser, "1 statement is disputed")
    assert browser.violations() == []


def test_a_change_by_somebody_else_is_shown(browser: Tab, address: str) -> None:
    path = f"{address}/statements/{segment(RIGHT_TO_LEFT)}/GBP/2026-10"
    browser.open(f"{address}{statement(RIGHT_TO_LEFT)}")
    browser.click("Accept")
    browser.until("document.querySelector('dialog[open] input')")
    body = {"status": "disputed", "reason": "not ours", "seen": 0}
    assert call(f"{path}/status", body, "application/json", "PUT")[0] == 200
    browser.evaluate("document.querySelector('dialog input').value = 'fine'")
    browser.evaluate("document.querySelector('dialog button').click()")
    browser.until("document.querySelector('dialog').innerText.includes('not ours')")
    assert "You saw issued. Since then:" in browser.evaluate("document.querySelector('dialog').innerText")
    assert call(path)[1]["status"] == "disputed"
    assert texts(browser, "dialog button.first") == ["Keep theirs and close"]
    browser.follow("button", "Keep theirs and close")
    browser.until("!document.querySelector('dialog')")
    shown(browser, "not ours")


def test_a_statement_that_is_not_there_says_why(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/statements/2026-10/nobody/GBP")
    browser.until("document.querySelector('[role=alert]')?.innerText.includes('Request')")
    browser.open(f"{address}/console/statements/2026-11/50%25%20off%20%2F%20outlet/GBP")
    shown(browser, "A preview as of")


def test_a_saved_table_holds_no_formula_and_reads_as_it_was(browser: Tab, address: str) -> None:
    browser.open(address)
    names = ["=cmd|' /C calc'!A0", "+1", "@a", "\uff1da", "'a", 'a "quoted", b', "two\r\nlines", "-1.50", "plain", ""]
    text = called(browser, "lib/csv.js", "writeCsv", ["name", "n"], [{"name": one, "n": "1"} for one in names])
    cells = [one["name"] for one in called(browser, "lib/csv.js", "readCsv", text)]
    assert cells[:5] == [f"'{one}" for one in names[:5]]
    assert cells[5:] == names[5:]


@pytest.mark.parametrize(
    "texts",
    [[], ["0.1", "0.2"], ["-0.05", "0.04"], ["9" * 38, "0." + "9" * 38], ["5", "-5.00"], ["-1.5", "-2.25", "10"]],
)
def test_sums_are_exact(browser: Tab, address: str, texts: list[str]) -> None:
    browser.open(address)
    with localcontext() as context:
        context.prec = 100
        assert called(browser, "lib/decimal.js", "sum", texts) == format(sum(map(Decimal, texts), Decimal(0)), "f")


def test_a_file_that_is_not_the_sealed_one_is_refused(browser: Tab, address: str) -> None:
    browser.open(f"{address}{statement(HOSTILE)}")
    shown(browser, "Show the 2 lines")
    _, one = call(f"{address}/statements/{segment(HOSTILE)}/GBP/2026-10")
    file = next(one for one in one["files"] if one["key"].endswith("lines.csv.gz"))
    assert len(called(browser, "proof/sealed.js", "sealedLines", file)) == 2
    forged = {**file, "sha256": "0" * 64}
    problem = browser.evaluate(
        "import(document.querySelector('script[type=module]').src.replace('app.js', 'proof/sealed.js'))"
        f".then((module) => module.sealedLines({json.dumps(forged)})).catch((problem) => problem.title)"
    )
    assert problem == f"{file['key']} is not the file that was sealed"


def test_times_are_those_of_the_marketplace_or_of_utc(browser: Tab, address: str) -> None:
    browser.open(f"{address}{statement(HOSTILE)}")
    shown(browser, "Nov 4, 2026, 8:45 PM")
    browser.click("Show UTC")
    shown(browser, "Nov 4, 2026, 11:45 AM")
    browser.click("Show Asia/Tokyo")
    shown(browser, "Nov 4, 2026, 8:45 PM")
