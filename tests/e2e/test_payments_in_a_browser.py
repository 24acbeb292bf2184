"""Payments of statements in Chromium: the open statement is preselected, and every page says what is paid of it."""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest

from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.server import Server
from tests.e2e.test_finance_in_a_browser import drained, field, filled, message, pressed, recorded, reviewed
from tests.support.agencies import OWNER, tax
from tests.support.browser import IN_A_BROWSER, Tab, open_as, shown, texts
from tests.support.events import payment
from tests.support.openid import Issuer
from tests.support.requests import post, put, verdicts
from tests.support.served import call, served
from tests.support.system import World

pytestmark = IN_A_BROWSER

EXEMPT = tax(scheme="exempt", percent=None)
OCTOBER, NOVEMBER, CREDIT = "S-000001", "S-000003", "S-000002"


@pytest.fixture
def market(issuer: Issuer) -> Iterator[tuple[Server, World]]:
    """A stack in December. Agency 42 owes 12.50 for October and 25.00 for November; agency 43 is owed 87.50."""
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), issuer.with_roles) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            put(world, "/agencies/42", {"seen": 0, "content": EXEMPT})
            put(world, "/agencies/43", {"seen": 0, "content": {**EXEMPT, "collects": "marketplace"}})
            for amount, days in (("100.00", 5), ("200.00", 31)):
                world.sell(amount, "42", commission_rate="0.125")
                if days == 5:
                    world.sell(amount, "43", commission_rate="0.125")
                world.pass_time(days=days)
                world.report()
                world.stack.invoke("statements", {})
                world.drain()
        yield server, world


def opened(browser: Tab, market: tuple[Server, World], issuer: Issuer, path: str, text: str) -> None:
    """Open a page as a person of finance."""
    issuer.role = "finance"
    browser.set_clock(datetime(2026, 12, 5, 12, tzinfo=UTC))
    browser.open(f"{market[0].url}/console/{path}")
    shown(browser, text)


def options(browser: Tab) -> list[Any]:
    """Return the text of the options of the list of statements, and which is chosen."""
    found: list[Any] = field(browser, "statement").evaluate(
        "(one) => [...[...one.options].map((option) => option.text.replace(/\\s+/g, ' ').trim()), one.selectedIndex]"
    )
    return found


def proposed(browser: Tab) -> str:
    """Return the amount in the form."""
    return field(browser, "amount").input_value()


def test_the_oldest_open_statement_is_preselected_and_paid(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, market, issuer, "agencies/42?tab=statements", "S-000003")
    rows = "[...document.querySelectorAll('td .tag.overdue, td .tag.open')].map((one) => one.closest('tr').innerText)"
    browser.until(f"{rows}.length === 2")
    browser.click("Record a payment")
    assert options(browser) == [
        "S-000001, October 2026: 12.50 GBP, overdue", "S-000003, November 2026: 25.00 GBP, open",
        "no statement: the oldest is paid first", 0,
    ]  # fmt: skip
    assert (field(browser, "payer").input_value(), proposed(browser)) == ("agency", "12.50")
    assert browser.violations() == []
    browser.choose("Statement", "S-000003, November 2026: 25.00 GBP, open")
    assert proposed(browser) == "25.00"
    filled(browser, amount="0", reason="transfer 8")
    assert message(browser, "amount") == "Write a number above 0."
    filled(browser, amount="20.00")
    text = reviewed(browser)
    assert f"Agency Harbour Books Ltd 42 paid 20.00 GBP to the marketplace for statement {NOVEMBER}." in text
    assert f"{NOVEMBER}, of which 5.00 GBP stays open" in text
    assert "17.50 GBP, owed by the agency" in text
    assert browser.violations() == []
    browser.click("Change it")
    filled(browser, amount="30.00")
    assert f"{NOVEMBER}, which is paid then; the other 5.00 GBP pays the oldest statements" in reviewed(browser)
    browser.click("Change it")
    filled(browser, amount="20.00")
    reviewed(browser)
    pressed(browser)
    shown(browser, "It is recorded")
    drained(market)
    (paid,) = recorded_in_december(market)
    assert (paid["amount"], paid["statement"], paid["reason"]) == ("20.00", NOVEMBER, "transfer 8")

    opened(browser, market, issuer, "statements/2026-11/42/GBP", "partly paid")
    figures = "document.querySelector('[aria-label=\"Payment\"]').innerText"
    assert browser.evaluate(figures).split("\n")[1:] == ["Amount\t25.00", "\N{MINUS SIGN} Paid\t20.00", "Open\t5.00"]
    opened(browser, market, issuer, "statements?agency=42", "partly paid")
    assert browser.violations() == []


def test_without_a_statement_the_oldest_is_paid_and_an_agency_that_is_owed_is_paid(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, market, issuer, "agencies/42?tab=statements", "S-000003")
    browser.click("Record a payment")
    browser.choose("Statement", "no statement: the oldest is paid first")
    assert proposed(browser) == ""
    filled(browser, amount="1.00", reason="cash")
    assert "none: the oldest statements are paid first" in reviewed(browser)
    pressed(browser)
    shown(browser, "It is recorded")
    opened(browser, market, issuer, "agencies/43?tab=statements", CREDIT)
    browser.click("Record a payment")
    assert (field(browser, "payer").input_value(), proposed(browser)) == ("marketplace", "87.50")
    browser.choose("Who paid", "The agency paid")
    assert (field(browser, "statement").count(), proposed(browser)) == (0, "")
    browser.choose("Who paid", "The agency was paid")
    filled(browser, reason="payout")
    text = reviewed(browser)
    assert f"The marketplace paid 87.50 GBP to agency Harbour Books Ltd 43 for statement {CREDIT}." in text
    assert f"{CREDIT}, which is paid then" in text
    pressed(browser)
    shown(browser, "It is recorded")
    found = {one["reason"]: (one["amount"], one.get("statement")) for one in recorded_in_december(market)}
    assert found == {"cash": ("1.00", None), "payout": ("-87.50", CREDIT)}


def test_what_somebody_records_after_the_review_stops_the_recording_and_must_be_looked_at(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    server, world = market
    opened(browser, market, issuer, "agencies/42?tab=statements", "S-000003")
    browser.click("Record a payment")
    filled(browser, reason="transfer 9")
    assert "already recorded" not in reviewed(browser)
    with server.turns.taken():
        other = payment("other", "12.50", currency="GBP", statement=OCTOBER, reason="the same transfer")
        assert verdicts(post(world, other)) == ["recorded"]
    pressed(browser)
    shown(browser, "Nothing is recorded yet: look again.")
    shown(browser, "Recorded since your review")
    pressed(browser)  # Without the confirmation, the browser keeps the form.
    assert recorded_in_december(market) == []
    browser.page.get_by_label("I have checked this").check()
    pressed(browser)
    shown(browser, "It is recorded")
    assert [one["reason"] for one in recorded_in_december(market)] == ["transfer 9"]

    browser.click("Record a payment")
    browser.choose("Statement", f"{OCTOBER}, October 2026: 12.50 GBP, overdue")
    filled(browser, amount="12.50", reason="transfer 10")
    text = reviewed(browser)
    assert text.count("The same is already recorded for this day") == 2
    assert browser.violations() == []


def test_what_is_proposed_is_in_the_persons_language_and_read_as_such(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    issuer.role = "finance"
    with browser.in_language("de-DE") as german:
        german.open(f"{market[0].url}/console/agencies/42?tab=statements")
        shown(german, "S-000003")
        german.click("Record a payment")
        assert proposed(german) == "12,50"
        filled(german, amount="1.234", reason="in German")
        text = reviewed(german)
        assert "Agency Harbour Books Ltd 42 paid 1.234,00 GBP to the marketplace for" in text
        assert "one thousand two hundred thirty-four British pounds" in text
        assert "This is more than the agency owes." in german.evaluate("document.querySelector('dialog').innerText")


def recorded_in_december(market: tuple[Server, World]) -> list[dict[str, Any]]:
    """Return the payments that finance has recorded."""
    return [one for one in recorded(market, "payment.recorded") if one["source"] == "finance"]


def running(browser: Tab) -> list[list[str]]:
    """Return the cells of each row of the running statement, once it is there."""
    rows = "document.querySelector('[aria-label^=\"Documents and payments\"]')?.querySelectorAll('tbody tr') ?? []"
    browser.until(f"({rows}).length")
    cells = "[...one.cells].map((cell) => cell.innerText.replace(/\\s+/g, ' ').trim())"
    found: list[list[str]] = browser.evaluate(f"[...{rows}].map((one) => {cells})")
    return found


def reminded(browser: Tab, market: tuple[Server, World], issuer: Issuer) -> None:
    """See what is open as finance, and remind agency 42 of what is overdue by a message that begins with Hello."""
    server, _ = market
    browser.set_clock(datetime(2026, 12, 5, 12, tzinfo=UTC))
    open_as(browser, f"{server.url}/console/receivables", issuer, "finance")
    shown(browser, "Harbour Books Ltd 43")
    assert texts(browser, ".card .figure") == ["37.50", "12.50", "0.00"]
    shown(browser, "1 statement, the oldest due on Dec 4, 2026")
    assert texts(browser, "td.age + td + td") == ["25.00", "12.50", "0.00", "0.00", "0.00"]
    assert texts(browser, "[aria-label^='Agencies with'] tbody th") == [
        *("Harbour Books Ltd 42", "Harbour Books Ltd 43"),
    ]
    assert browser.violations() == []
    browser.page.get_by_label("Choose 42").check()
    shown(browser, "1 chosen")
    browser.click("Remind them")
    text = field(browser, "text").input_value()
    assert f"Statement {OCTOBER} of 2026-10: 12.50 GBP, due on 2026-12-04" in text
    assert NOVEMBER not in text
    assert browser.violations() == []
    filled(browser, text=f"Hello.\n{text}")
    pressed(browser, times=2)
    shown(browser, "Reminded: Harbour Books Ltd 42.")
    (sent,) = call(f"{server.url}/threads/agencies/42/messages")[1]["items"]
    assert (sent["text"], sent["role"]) == (f"Hello.\n{text}", "finance")


def test_what_was_open_at_the_end_of_a_day_is_shown_and_saved(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    """At the end of November no statement of November was issued, and nobody is reminded of the past."""
    server, world = market
    browser.set_clock(datetime(2026, 12, 5, 12, tzinfo=UTC))
    open_as(browser, f"{server.url}/console/receivables", issuer, "finance")
    shown(browser, "Harbour Books Ltd 43")
    browser.page.get_by_label("At the end of a day").fill("2026-11-30")
    browser.page.get_by_role("button", name="Show", exact=True).click()
    shown(browser, "What was open at the end of Nov 30, 2026")
    with server.turns.taken():
        (past,) = world.read("/receivables", on="2026-11-30")["totals"]
    assert texts(browser, ".card .figure")[0] == past["open"]
    assert "Remind" not in browser.evaluate("document.body.innerText")
    assert browser.violations() == []
    with browser.page.expect_download() as saved:
        browser.click("Download all as CSV")
    columns, *rows = csv.reader(StringIO(saved.value.path().read_text("utf-8-sig")))
    at = {name: place for place, name in enumerate(columns)}
    assert sum(Decimal(row[at["not_due"]]) for row in rows) == Decimal(past["aging"]["not_due"])
    browser.follow("link", "What is open now")
    shown(browser, "Harbour Books Ltd 43")
    assert "on=" not in browser.page.url


def test_open_items_lead_to_reminders_and_to_the_running_statement_that_the_agency_sees_too(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    server, _ = market
    reminded(browser, market, issuer)
    open_as(browser, f"{server.url}/console/receivables", issuer, "agency", "42")
    shown(browser, "see this page")
    assert not [one for one in browser.requested if "/receivables?" in one]
    browser.follow("link", "Account statement")
    shown(browser, "Hello.")
    assert texts(browser, ".card .figure") == ["37.50", "12.50", "37.50"]
    shown(browser, "The next is due on Jan 4, 2027")
    documents = [
        ["", "Brought forward", "", "", "", "0.00"],
        ["Nov 4, 2026", "S-000001, statement of October 2026", "Dec 4, 2026", "12.50", "", "12.50"],
        ["Dec 5, 2026", "S-000003, statement of November 2026", "Jan 4, 2027", "25.00", "", "37.50"],
    ]
    assert running(browser) == [*documents, ["", "Balance now, owed by the agency", "", "", "", "37.50"]]
    assert "Record a payment" not in browser.evaluate("document.body.innerText")
    paths = [one.removeprefix(server.url) for one in browser.requested if one.startswith(server.url)]
    assert not [one for one in paths if "/43" in one or "=43" in one]
    open_as(browser, f"{server.url}/console/receivables/43", issuer, "agency", "42")
    shown(browser, "see this page")

    open_as(browser, f"{server.url}/console/receivables/42", issuer, "finance")
    running(browser)
    assert browser.violations() == []
    browser.click("Record a payment")
    filled(browser, reason="transfer", reference="ref 7")
    assert "twelve point five zero British pounds" in reviewed(browser)
    pressed(browser)
    shown(browser, "It is recorded")
    drained(market)
    browser.until("document.querySelector('.card .figure').innerText === '25.00'")
    *before, paid, last = running(browser)
    assert before == documents
    assert (paid[1].endswith(f"payment for {OCTOBER} Reference ref 7"), paid[4:]) == (True, ["12.50", "25.00"])
    assert last[-1] == "25.00"

    with server.turns.taken():
        market[1].pass_time(days=1)
        for sent in (payment("wrong", "7.00"), payment("back", "-7.00")):
            assert verdicts(post(market[1], sent)) == ["recorded"]
            market[1].pass_time(minutes=1)
        market[1].drain()
    browser.set_clock(market[1].clock.now())
    open_as(browser, f"{server.url}/console/receivables/42", issuer, "finance")
    assert len(running(browser)) == len(documents) + 2
    browser.follow("button", "Show them, too")
    shown(browser, "shop wrong, payment")
    assert [row[4:] for row in running(browser) if "shop " in row[1]] == [["7.00", "18.00"], ["-7.00", "25.00"]]
    assert browser.errors == []


def test_a_payout_run_says_what_it_would_pay_and_what_waits_and_gives_its_command(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    server, world = market
    with server.turns.taken():
        collected = {**EXEMPT, "collects": "marketplace", "iban": "NL91ABNA0417164300"}
        put(world, "/agencies/43", {"seen": 1, "content": collected})
        world.sell("2000.00", "43", "EUR", commission_rate="0.125")
        paid = payment("payout-C-0", "-10.00", agency="43", currency="EUR", reason="payout 2026-12-01")
        assert verdicts(post(world, [{**paid, "source": "quarterhour/payouts"}])) == ["recorded"]
        world.pass_time(days=31)
        world.report()
        world.stack.invoke("statements", {})
        world.drain()
    browser.set_clock(datetime(2027, 1, 5, 12, tzinfo=UTC))
    issuer.role = "finance"
    with browser.in_language("de-DE") as german:
        german.set_clock(datetime(2027, 1, 5, 12, tzinfo=UTC))
        german.open(f"{server.url}/console/payouts")
        shown(german, "What the run would pay")
        shown(german, "1.740,00 EUR")
        shown(german, "A SEPA credit transfer moves euros alone.")
        shown(german, "2026-12-01")
        command = "document.querySelector('.command code').innerText"
        begin = "quarterhour payouts --stack NAME --name 2027-01-05 --date 2027-01-06"
        assert german.evaluate(command) == f"{begin} --out payouts-2027-01-05.xml"
        assert german.violations() == []
        german.fill("Least sum of an account (EUR)", "1.740")
        assert "one thousand seven hundred forty euros" in texts(german, "form output")
        german.follow("button", "Show")
        german.until(f"{command} === '{begin} --minimum 1740 --out payouts-2027-01-05.xml'")
        german.fill("Least sum of an account (EUR)", "1.740,01")
        german.follow("button", "Show")
        shown(german, "A run would pay nothing now.")
        shown(german, "The credits of the account are below the minimum.")
        assert german.errors == []
