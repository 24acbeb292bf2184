"""What finance writes in the console, in Chromium: payments, adjustments, agencies and rate cards, each once."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, Route

from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.target.remote import segment
from tests.support.browser import HOSTILE, IN_A_BROWSER, PHONE, Tab, called, shown, texts
from tests.support.openid import Issuer
from tests.support.requests import put
from tests.support.served import call, served
from tests.support.system import World

pytestmark = IN_A_BROWSER

TIME_ZONE = "Europe/Berlin"
OTHER = {"category": "books", "percent": "7"}
SPELLED = {
    "1.234": "one thousand two hundred thirty-four British pounds",
    "1,20": "one point two zero British pounds",
    "154,87": "one hundred fifty-four point eight seven British pounds",
}
"""What is typed in German, in the words that the review step shows."""
RATE_CARD = {"valid_from": "2020-01-01T00:00:00Z", "rules": [{"percent": "15"}]}


@pytest.fixture(scope="module")
def market(issuer: Issuer) -> Iterator[tuple[Server, World]]:
    """The server of a stack with sales of three agencies, one with a hostile name, whose people sign in."""
    parameters = {**issuer.with_roles, "time_zone": TIME_ZONE}
    with served(ManualClock(datetime(2026, 11, 10, 12, tzinfo=UTC)), parameters) as (server, world):
        with server.turns.taken():
            for agency in ("42", HOSTILE, "43"):
                put(world, f"/documents/{segment(f'rate-card:{agency}')}", {"seen": 0, "content": RATE_CARD})
                world.sell("100.00", agency)
            put(world, "/documents/rate-card:default", {"seen": 0, "content": RATE_CARD})
            world.drain()
        yield server, world


@pytest.fixture
def as_finance(browser: Tab, market: tuple[Server, World], issuer: Issuer) -> Any:
    """Return a function that opens a page as a person of finance."""

    def opened(path: str, text: str) -> None:
        issuer.role = "finance"
        browser.open(f"{market[0].url}/console/{path}")
        shown(browser, text)

    return opened


@pytest.fixture
def german(browser: Tab, market: tuple[Server, World], issuer: Issuer) -> Iterator[Tab]:
    """The page of agency 43 for a person of finance whose language is German."""
    issuer.role = "finance"
    with browser.in_language("de-DE") as tab:
        tab.open(f"{market[0].url}/console/agencies/43")
        shown(tab, "Balance in GBP")
        yield tab


def field(browser: Tab, name: str) -> Locator:
    """Return the first field of the dialog with a name."""
    return browser.page.locator(f"dialog[open] [name={name}]").first


def filled(browser: Tab, **fields: str) -> None:
    """Write into fields of the dialog."""
    for name, value in fields.items():
        field(browser, name).fill(value)


def is_valid(browser: Tab, name: str) -> bool:
    """Return whether the browser would send what a field holds."""
    return bool(field(browser, name).evaluate("(one) => one.validity.valid"))


def reviewed(browser: Tab) -> str:
    """Press Review, and return what the dialog then says that it will record."""
    pressed(browser)
    browser.until("document.querySelector('dialog [aria-label=\"What will be recorded\"]')")
    text: str = browser.evaluate("document.querySelector('dialog section').innerText.replace(/[\u2068\u2069]/g, '')")
    return text


def message(browser: Tab, name: str) -> str:
    """Return what the browser says of the text in a field of the dialog."""
    return str(field(browser, name).evaluate("(one) => one.validationMessage"))


def pressed(browser: Tab, times: int = 1) -> None:
    """Press the first button of the dialog, so many times at once."""
    press = "(one, times) => { for (let time = 0; time < times; time += 1) one.click(); }"
    browser.page.locator("dialog[open] button.first").evaluate(press, times)


@contextmanager
def losing(browser: Tab, method: str) -> Iterator[list[str]]:
    """Lose the responses to requests of a method after the API has handled them; yield the paths of these requests."""
    lost: list[str] = []

    def handle(route: Route) -> None:
        if route.request.method == method:
            route.fetch()
            lost.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    browser.page.route("**/*", handle)
    yield lost
    browser.page.unroute("**/*", handle)


def recorded(market: tuple[Server, World], type_: str) -> list[dict[str, Any]]:
    """Return the recorded events of finance of a type."""
    path = f"/events?from=2026-11-01&to=2027-01-01&source=finance&type={type_}"
    found: list[dict[str, Any]] = call(market[0].url + path)[1]["items"]
    return found


def registered(market: tuple[Server, World], agency: str) -> dict[str, Any]:
    """Return an agency's registration."""
    found: dict[str, Any] = call(f"{market[0].url}/agencies/{agency}")[1]
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
    filled(browser, amount="10.005", reason="transfer 8", reference="ref-8", time="2026-11-05T10:00")
    pressed(browser)
    assert message(browser, "amount") == "Write at most 2 decimal places, such as 1,234.50."
    filled(browser, amount="10.00")
    assert browser.violations() == []
    reviewed(browser)
    assert browser.violations() == []
    with losing(browser, "POST") as lost:
        pressed(browser, times=2)
        browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('No response')")
    assert len(lost) == 1, "pressed twice, sent once"
    assert len(recorded(market, "payment.recorded")) == 1
    pressed(browser, times=2)
    browser.until("!document.querySelector('dialog')")
    shown(browser, "It was already recorded")
    drained(market)
    browser.until("document.querySelector('.figure')?.innerText === '2.50'")
    (paid,) = recorded(market, "payment.recorded")
    assert (paid["amount"], paid["time"], paid["recorded_by"]) == ("10.00", "2026-11-05T09:00:00Z", "ann")
    assert (paid["reason"], paid["extra"]) == ("transfer 8", '{"reference":"ref-8"}')
    browser.click(f"finance {paid['id']}")
    shown(browser, "Recorded by\nann")
    shown(browser, "reference\nref-8")
    assert browser.errors == [f"Failed to load resource: net::ERR_FAILED {lost[0]}"]


@pytest.mark.parametrize(("text", "sent"), [("1.234", "1234"), ("1,20", "1.20"), ("154,87", "154.87")])
def test_numbers_are_those_of_the_persons_language_and_shown_before_they_are_recorded(
    german: Tab, market: tuple[Server, World], text: str, sent: str
) -> None:
    german.click("Record an adjustment")
    filled(german, commission="154.87", amount=text, reason=f"in German {sent}")
    pressed(german)
    assert message(german, "commission") == "Write a number such as 1.234,50."
    filled(german, commission="0")
    words = SPELLED[text]
    shown_back = texts(german, "dialog output")
    assert words in shown_back
    assert ("= 1.234,00" in shown_back) == (text == "1.234")
    figure = called(german, "lib/format.js", "money", sent, "GBP")
    review = reviewed(german)
    assert f"Its amount of net sales rises by {figure} GBP." in review
    assert words in review
    pressed(german)
    shown(german, "It is recorded")
    (adjusted,) = (one for one in recorded(market, "adjustment.recorded") if one["reason"] == f"in German {sent}")
    assert adjusted["amount"] == sent


def test_a_rate_card_is_written_and_shown_in_the_persons_language(german: Tab) -> None:
    german.click("Rate cards")
    german.page.locator("main form [name=amount]").fill("1.000,50")
    german.click("Calculate")
    german.until("document.querySelector('main form').nextElementSibling.innerText.includes('150,075')")
    german.click("New version: Rate card of the agency")
    filled(german, percent="12.5")
    pressed(german)
    assert message(german, "percent") == "Write a number such as 1.234,50."
    filled(german, percent="250")
    assert message(german, "percent") == "Write a number of at most 100."
    filled(german, percent="12,5", fixed="1.234", valid_from="2026-11-01T00:00")
    assert [one for one in texts(german, "dialog output") if one] == [
        *("= 12,50", "twelve point five", "= 1.234,00", "one thousand two hundred thirty-four"),
    ]
    filled(german, fixed="")
    pressed(german)
    shown(german, "What changes")
    pressed(german)
    shown(german, "Rate card of the agency, version 2, in force")
    german.click("New version: Rate card of the agency")
    assert field(german, "percent").input_value() == "12,5"


def test_a_payment_is_reviewed_in_words_and_an_unusual_one_must_be_confirmed(
    browser: Tab, market: tuple[Server, World], as_finance: Any
) -> None:
    browser.set_clock(datetime(2026, 11, 10, 12, tzinfo=UTC))
    as_finance(f"agencies/{quote(HOSTILE, safe='')}", "Balance in GBP")
    browser.click("Record a payment")
    filled(browser, amount="0", reason="too much", reference="ref 9", time="2031-01-05T10:00")
    assert message(browser, "amount") == "Write a number above 0."
    filled(browser, amount="99,999.00")
    text = reviewed(browser)
    assert f"Agency {HOSTILE} paid 99,999.00 GBP to the marketplace." in text
    assert "ninety-nine thousand nine hundred ninety-nine British pounds" in text
    for words in (
        "Jan 5, 2031, 10:00 AM (Europe/Berlin)", "GBP, owed by the agency", "GBP, in favour of the agency",
        "This is more than the agency owes.", "The date is in the future.", "ref 9", "too much",
    ):  # fmt: skip
        assert words in text
    assert browser.violations() == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.querySelector('dialog').scrollWidth") <= PHONE[0]
    pressed(browser)
    assert [one for one in recorded(market, "payment.recorded") if one["agency"] == HOSTILE] == []
    browser.click("Change it")
    assert browser.evaluate("document.activeElement.closest('dialog') !== null")
    filled(browser, amount="1.00", time="2026-05-05T10:00")
    browser.choose("Who paid", "The agency was paid")
    text = reviewed(browser)
    assert f"The marketplace paid 1.00 GBP to agency {HOSTILE}." in text
    assert "Nothing is owed to the agency." in text
    assert "The date is more than 90 days ago." in text
    browser.page.get_by_label("I have checked this").check()
    pressed(browser)
    shown(browser, "It is recorded")
    (paid,) = (one for one in recorded(market, "payment.recorded") if one["agency"] == HOSTILE)
    assert (paid["amount"], paid["currency"]) == ("-1.00", "GBP")


def test_a_double_click_on_review_records_nothing(browser: Tab, market: tuple[Server, World], as_finance: Any) -> None:
    before = recorded(market, "payment.recorded")
    as_finance("agencies/42", "Balance in GBP")
    browser.click("Record a payment")
    filled(browser, amount="0.01", reason="twice")
    # The answer is there before the second click, and the button at the same place.
    browser.evaluate(
        "document.querySelector('dialog button.first').dispatchEvent(new MouseEvent('click', {detail: 1}))"
    )
    browser.until("document.querySelector('dialog button.first').innerText === 'Record'")
    second = "new MouseEvent('click', {detail: 2, bubbles: true, cancelable: true})"
    browser.evaluate(f"document.querySelector('dialog button.first').dispatchEvent({second})")
    browser.click("Cancel")
    assert recorded(market, "payment.recorded") == before


def test_a_new_currency_is_an_explicit_choice(browser: Tab, as_finance: Any) -> None:
    as_finance("agencies/42", "Balance in GBP")
    browser.click("Record a payment")
    assert field(browser, "currency").evaluate("(one) => [...one.options].map((option) => option.text)") == [
        "GBP",
        "another currency",
    ]
    filled(browser, amount="5", reason="in yen")
    browser.choose("Currency", "another currency")
    filled(browser, other_currency="JPY", amount="5.50")
    pressed(browser)
    assert message(browser, "amount") == "Write no decimal places, such as 1,234."
    filled(browser, amount="5")
    assert "The agency has no account in JPY. This opens one, which the agency sees." in reviewed(browser)
    assert browser.violations() == []


def test_a_form_that_was_changed_after_a_lost_response_leads_to_what_was_recorded(
    browser: Tab, market: tuple[Server, World], as_finance: Any
) -> None:
    as_finance("agencies/42", "Balance in GBP")
    browser.click("Record an adjustment")
    filled(browser, commission="2", reason="agreed")
    reviewed(browser)
    with losing(browser, "POST"):
        pressed(browser)
        browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('No response')")
    browser.click("Change it")
    filled(browser, commission="3")
    reviewed(browser)
    pressed(browser)
    browser.until("document.querySelector('dialog').innerText.includes('already recorded, before your changes')")
    browser.click("show the recorded event")
    shown(browser, "Commission so far")
    assert [one["commission"] for one in recorded(market, "adjustment.recorded") if one["agency"] == "42"] == ["2"]


def test_the_time_of_a_form_is_one_of_the_marketplaces_zone(browser: Tab, as_finance: Any) -> None:
    as_finance("agencies/42", "Balance in GBP")
    for local in ("2026-10-25T01:59", "2026-10-25T12:00", "2026-03-29T03:00", "2026-07-01T00:00"):
        at = called(browser, "lib/format.js", "instant", local)
        assert datetime.fromisoformat(at) == datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(TIME_ZONE))
        assert called(browser, "lib/format.js", "localTime", at) == local


def test_an_adjustment_from_the_page_of_a_sale_is_in_its_story(
    browser: Tab, market: tuple[Server, World], as_finance: Any
) -> None:
    as_finance("events/shop/e1", "Story")
    browser.click("Adjust the commission")
    filled(browser, commission="-0.12345", reason=HOSTILE)
    assert browser.evaluate("document.querySelector('dialog').innerText.includes('shop e1')")
    assert "falls by 0.12345 GBP, for the sale shop e1." in reviewed(browser)
    pressed(browser, times=2)
    shown(browser, "It is recorded")
    shown(browser, "12.37655")
    (adjusted,) = (one for one in recorded(market, "adjustment.recorded") if one["agency"] == HOSTILE)
    assert (adjusted["refers_to"], adjusted["refers_to_source"]) == ("e1", "shop")
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
    assert not is_valid(browser, "refers_to_source")
    filled(browser, refers_to_source="shop")
    reviewed(browser)
    pressed(browser)
    shown(browser, "It is held, and not in any figure yet. It waits for the sale that it refers to.")
    browser.click("Record an adjustment")
    filled(browser, commission="1", reason="agreed", refers_to="e1", refers_to_source="shop")
    reviewed(browser)
    pressed(browser)
    browser.until("document.querySelector('dialog [role=alert]')")
    text = browser.evaluate("document.querySelector('dialog [role=alert]').innerText")
    assert (
        "Id of the sale: It must be that of a recorded sale of this agency in this currency; a void may name a refund."
        in text
    )
    assert "data." not in text
    assert "Request" in text


def test_an_agency_is_registered_and_its_registration_changed_each_once(
    browser: Tab, market: tuple[Server, World], as_finance: Any
) -> None:
    as_finance("agencies/42", "This agency is not registered")
    browser.click("Register this agency")
    filled(browser, legal_name=HOSTILE, address="1 Quay Street\nBristol", country="GB", group="books")
    field(browser, "scheme").select_option("standard")
    pressed(browser)
    assert not is_valid(browser, "percent")
    filled(browser, percent="20", vat_id="GB123")
    pressed(browser)
    browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('VAT id: Write one')")
    filled(browser, vat_id="")
    with losing(browser, "PUT"):
        pressed(browser, times=2)
        browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('No response')")
    pressed(browser, times=2)
    browser.click("Registration")
    shown(browser, "Version 1 of the registration")
    assert HOSTILE in browser.evaluate("document.querySelector('dl').innerText")
    browser.click("Change the registration")
    assert field(browser, "percent").input_value() == "20"
    filled(browser, contact="desk@example.com", valid_from="2026-11-01T00:00", iban="GB83WEST12345698765432")
    pressed(browser)
    browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('IBAN')")
    filled(browser, iban="GB82WEST12345698765432")
    field(browser, "status").select_option("closed")
    pressed(browser)
    shown(browser, "Version 2 of the registration")
    assert registered(market, "42")["content"] == {
        "legal_name": HOSTILE,
        "address": "1 Quay Street\nBristol",
        "country": "GB",
        "tax": {"scheme": "standard", "percent": "20"},
        "group": "books",
        "contact": "desk@example.com",
        "status": "closed",
        "iban": "GB82WEST12345698765432",
        "valid_from": "2026-10-31T23:00:00.000Z",
    }


def test_of_two_registrations_at_once_both_are_shown_and_the_second_goes_on_from_the_first(
    browser: Tab, market: tuple[Server, World], as_finance: Any
) -> None:
    as_finance("agencies", "Register an agency")
    browser.click("Register an agency")
    filled(browser, agency="new / agency", legal_name="Mine", contact="my desk")
    put(market[1], "/agencies/new%20%252F%20agency", {"seen": 0, "content": {"legal_name": "Theirs"}})
    pressed(browser)
    browser.until("document.querySelector('dialog table')")
    rows = browser.page.locator("dialog tbody tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [["Legal name", "Theirs", "Mine"], ["Contact", "", "my desk"]]
    assert browser.violations() == []
    browser.click("Start from their version")
    browser.until("document.querySelector('dialog [name=legal_name]').value === 'Theirs'")
    filled(browser, contact="my desk")
    pressed(browser, times=2)
    shown(browser, "Version 2 of the registration")
    assert registered(market, "new%20%252F%20agency")["content"] == {"legal_name": "Theirs", "contact": "my desk"}
    assert "new / agency" in browser.evaluate("document.querySelector('h1').innerText")


def test_a_rate_card_is_written_and_the_calculator_uses_it(
    browser: Tab, market: tuple[Server, World], as_finance: Any
) -> None:
    as_finance("agencies/42?tab=rates", "Calculator")
    browser.click("New version: Rate card of the agency")
    assert field(browser, "percent").input_value() == "15"
    browser.click("Add a rule")
    browser.click("Add a rule")
    browser.click("Remove")
    filled(browser, category="books", percent="8", currency="GBP", fixed="0.30", valid_from="2026-11-01T00:00")
    browser.page.locator("dialog [name=percent]").nth(1).fill("12.5")
    browser.page.locator("dialog [name=refund]").first.select_option("keep_fixed")
    assert browser.violations() == []
    pressed(browser)
    shown(browser, "What changes")
    assert "0.30 an item, the fixed part kept on refunds" in browser.evaluate(
        "document.querySelector('dialog').innerText"
    )
    assert browser.violations() == []
    with losing(browser, "PUT"):
        pressed(browser, times=2)
        browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('No response')")
    pressed(browser, times=2)
    shown(browser, "version 2, in force")
    shown(browser, "8 %, 0.30 an item, the fixed part kept on refunds")
    browser.page.locator("main form [name=category]").fill("books")
    browser.click("Calculate")
    shown(browser, "and 0.30 for each of 1")
    browser.until("document.querySelector('main form').nextElementSibling.innerText.includes('8.30')")
    assert [one["version"] for one in call(f"{market[0].url}/documents/rate-card%3A42/versions")[1]["items"]] == [2, 1]


def test_a_rate_card_that_begins_in_a_closed_month_is_written_if_that_is_meant(
    browser: Tab, market: tuple[Server, World], as_finance: Any
) -> None:
    def written() -> int:
        return len(call(f"{market[0].url}/documents/rate-card%3A43/versions")[1]["items"])

    before = written()
    as_finance("agencies/43?tab=rates", "Calculator")
    browser.click("New version: Rate card of the agency")
    filled(browser, percent="9", valid_from="2026-10-01T00:00")
    pressed(browser)
    shown(browser, "It begins in a month that is closed")
    assert browser.violations() == []
    pressed(browser)
    meant = browser.page.locator("dialog[open] input[type=checkbox]")
    assert meant.evaluate("(one) => one.matches(':invalid')")
    assert written() == before
    meant.check()
    pressed(browser)
    shown(browser, f"version {before + 1}, in force")
    assert written() == before + 1


def test_of_two_rate_cards_at_once_both_are_shown(browser: Tab, market: tuple[Server, World], as_finance: Any) -> None:
    as_finance("agencies/42?tab=rates", "Calculator")
    browser.click("New version: General rate card")
    filled(browser, percent="9")
    put(market[1], "/documents/rate-card:default", {"seen": 1, "content": {**RATE_CARD, "rules": [OTHER]}})
    pressed(browser)
    shown(browser, "What changes")
    pressed(browser)
    browser.until("[...document.querySelectorAll('dialog th')].some((one) => one.innerText.trim() === 'Theirs')")
    rows = browser.page.locator("dialog tbody tr").all_inner_texts()
    assert [row.split("\t") for row in rows][1:] == [
        ["Category \u2068books\u2069", "commission: 7 %", ""],
        ["All events", "", "commission: 9 %"],
    ]
    browser.click("Start from their version")
    browser.until("document.querySelector('dialog [name=category]').value === 'books'")
    filled(browser, percent="9", valid_from="2026-11-01T00:00")
    pressed(browser)
    shown(browser, "What changes")
    pressed(browser)
    shown(browser, "version 3, in force")


@pytest.mark.parametrize("role", ["agency", "support", "auditor"])
def test_nobody_else_sees_the_buttons(browser: Tab, market: tuple[Server, World], issuer: Issuer, role: str) -> None:
    issuer.role = role
    for path, text in (("agencies/42", "Balance in GBP"), ("events/shop/e0", "Commission so far")):
        browser.open(f"{market[0].url}/console/{path}")
        shown(browser, text)
        assert "Record a" not in browser.evaluate("document.body.innerText")
        assert "Register this" not in browser.evaluate("document.body.innerText")
        assert "Adjust" not in browser.evaluate("document.body.innerText")


def signs_in_elsewhere(browser: Tab) -> None:
    """Sign in in the new window that the page offers; it closes by itself."""
    with browser.page.expect_popup() as opened:
        browser.click("Sign in in a new window")
    if not opened.value.is_closed():
        opened.value.wait_for_event("close")


def test_a_form_is_kept_when_the_sign_in_ends_and_sent_after_the_same_person_signs_in_again(
    browser: Tab, market: tuple[Server, World], as_finance: Any, issuer: Issuer
) -> None:
    as_finance("agencies/43", "Balance in GBP")
    browser.click("Record an adjustment")
    filled(browser, commission="7", reason="kept")
    browser.evaluate("window.ahead = 3550e3; Date.now = ((now) => () => now() + window.ahead)(Date.now)")
    browser.page.route(f"{issuer.url}/token", lambda route: route.fulfill(status=400, json={"error": "invalid_grant"}))
    ended = "document.querySelector('dialog [role=alert]')?.innerText.includes('Your sign-in has ended')"
    pressed(browser)
    browser.until(ended)
    assert browser.violations() == []
    issuer.subject = "bob"
    signs_in_elsewhere(browser)
    issuer.subject = "ann"
    pressed(browser)
    browser.until(f"!document.querySelector('dialog button.first').disabled && {ended}")
    assert field(browser, "reason").input_value() == "kept"
    signs_in_elsewhere(browser)
    browser.evaluate("window.ahead = 0")
    reviewed(browser)
    pressed(browser)
    shown(browser, "It is recorded")
    browser.page.unroute(f"{issuer.url}/token")
    (adjusted,) = (one for one in recorded(market, "adjustment.recorded") if one["reason"] == "kept")
    assert adjusted["recorded_by"] == "ann"
    assert "eyJ" not in browser.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie])")


@pytest.mark.parametrize(
    "button", ["Record a payment", "Record an adjustment", "Register this agency", "New version: General rate card"]
)
def test_axe_finds_nothing_in_a_dialog_and_it_fits_a_phone(browser: Tab, as_finance: Any, button: str) -> None:
    as_finance(f"agencies/{quote(HOSTILE, safe='')}", "Balance in GBP")
    if "rate card" in button:
        browser.click("Rate cards")
    browser.click(button)
    browser.until("document.querySelector('dialog[open]')")
    assert browser.violations() == []
    browser.resize(*PHONE)
    assert browser.page.get_by_role("dialog").is_visible()
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert browser.evaluate(
        "document.querySelector('dialog').scrollWidth <= document.querySelector('dialog').clientWidth"
    )
    assert browser.errors == []
