"""A bank's file in Chromium: its lines with their reasons, the choice, the review with sums, and the recording."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from quarterhour_tools.emulator.server import Server
from tests.e2e.test_finance_in_a_browser import drained, pressed, recorded
from tests.e2e.test_payments_in_a_browser import NOVEMBER, OCTOBER, market, opened
from tests.handlers.test_bank_files import proposed
from tests.support.bank_files import OWN_ACCOUNT, camt, entry, mt940, table
from tests.support.browser import IN_A_BROWSER, PHONE, Tab, shown, texts
from tests.support.events import payment
from tests.support.openid import Issuer
from tests.support.requests import post, verdicts
from tests.support.system import World

__all__ = ["market"]
pytestmark = IN_A_BROWSER
READ = "Read the file"
SUMS = "dialog tbody :is(th, td)"


def read(browser: Tab, path: Path) -> None:
    browser.page.set_input_files("input[type=file]", path)
    browser.click(READ)


def test_a_person_records_what_is_certain_and_what_they_have_checked_once(
    browser: Tab, market: tuple[Server, World], issuer: Issuer, tmp_path: Path
) -> None:
    file = tmp_path / "bank.csv"
    file.write_bytes(table([("12.50", f"Invoice {OCTOBER}"), ("30.00", NOVEMBER), ("7.00", "=1+1 rent")], "GBP"))
    opened(browser, market, issuer, "bank-file", "Choose a file of your bank")
    (tmp_path / "bad.csv").write_text("Buchung;Betrag\n")
    read(browser, tmp_path / "bad.csv")
    shown(browser, "The file: It has the columns Buchung;Betrag.")

    read(browser, file)
    shown(browser, "Without a match: 1 line")
    assert texts(browser, "main h3") == ["Certain: 1 line", "To review: 1 line", "Without a match: 1 line"]
    assert texts(browser, "main table:has(caption) tbody tr")[:4] == [
        "GBP\tCertain\t1\t12.50",
        "GBP\tTo review\t1\t30.00",
        "GBP\tWithout a match\t1\t7.00",
        "GBP\tIn the file\t3\t49.50",
    ]
    assert browser.violations() == []
    shown(browser, "it names S-000001 and pays all of it")
    browser.click("Review 1 line")
    assert browser.page.locator("dialog[open] h2").inner_text() == "Record 1 payment"
    assert texts(browser, SUMS) == ["GBP", "1", "12.50", "0.00"]
    browser.click("Cancel")

    browser.page.get_by_label("Record 30.00 GBP of 2026-11-05").check()
    browser.click("Review 2 lines")
    assert texts(browser, SUMS) == ["GBP", "3", "42.50", "0.00"]
    shown(browser, "1 line of these is not certain.")
    assert browser.violations() == []
    browser.page.get_by_label("I have checked this").check()
    pressed(browser, times=2)
    shown(browser, "3 payments recorded")
    assert browser.page.get_by_role("button", name="Review 0 lines").is_disabled()
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert browser.evaluate("getComputedStyle(document.querySelector('.rows tbody tr')).display") == "grid", "a box"
    assert browser.violations() == []
    drained(market)
    paid = sorted((one["amount"], one.get("statement")) for one in recorded(market, "payment.recorded"))
    assert paid == [("12.50", OCTOBER), ("25.00", NOVEMBER), ("5.00", None)]

    read(browser, file)
    shown(browser, "Recorded before: 2 lines")
    assert texts(browser, "main h3") == ["Recorded before: 2 lines", "Without a match: 1 line"]


def test_what_somebody_else_records_after_the_review_stops_the_recording_of_the_file(
    browser: Tab, market: tuple[Server, World], issuer: Issuer, tmp_path: Path
) -> None:
    server, world = market
    file = tmp_path / "bank.csv"
    file.write_bytes(table([("12.50", f"Invoice {OCTOBER}"), ("25.00", NOVEMBER), ("25.00", f"{NOVEMBER} II")], "GBP"))
    opened(browser, market, issuer, "bank-file", "Choose a file of your bank")
    read(browser, file)
    shown(browser, "To review: 1 line")
    browser.click("Review 2 lines")
    with server.turns.taken():
        first, second, _ = proposed(world, file.read_bytes())["lines"]
        assert verdicts(post(world, first["events"])) == ["recorded"]
    pressed(browser, times=2)
    shown(browser, "Nothing is recorded. Somebody recorded a payment since your review, so 1 line changed.")
    assert texts(browser, "main h3") == ["Certain: 1 line", "To review: 1 line", "Recorded before: 1 line"]
    assert len(recorded(market, "payment.recorded")) == 1
    assert browser.violations() == []
    browser.click("Review 1 line")
    with server.turns.taken():
        hand = payment("by-hand", "25.00", currency="GBP", statement=NOVEMBER, reason="transfer")
        assert verdicts(post(world, hand)) == ["recorded"]
        world.drain()
    pressed(browser)
    shown(browser, "To review: 2 lines")
    assert texts(browser, "main h3") == ["To review: 2 lines", "Recorded before: 1 line"]
    assert second["events"][0]["id"] not in {one["id"] for one in recorded(market, "payment.recorded")}

    read(browser, file)
    shown(browser, "To review: 2 lines")
    assert browser.page.get_by_role("button", name="Review 0 lines").is_disabled()


def test_the_statements_of_a_file_add_up_and_those_of_an_earlier_file_are_named(
    browser: Tab, market: tuple[Server, World], issuer: Issuer, tmp_path: Path
) -> None:
    file = tmp_path / "bank.sta"
    text = mt940(("CR7,00NTRFNONREF//E1", "rent"), closing="107,00").replace("EUR", "GBP")
    file.write_text(text + text)
    opened(browser, market, issuer, "bank-file", "Choose a file of your bank")
    read(browser, file)
    shown(browser, "Repeated: 1 line")
    assert texts(browser, "main table:has(caption) tbody tr")[:2] == [
        f"1/1\t{OWN_ACCOUNT} GBP\t100.00\t1\t7.00\t107.00\t",
        f"1/1\t{OWN_ACCOUNT} GBP\t100.00\t1\t7.00\t107.00\tIt is statement 1 again.",
    ]
    assert browser.violations() == []
    file.write_text(text.replace("107,00", "170,00"))
    read(browser, file)
    shown(browser, "does not add up: statement 1 (1/1)")


def test_a_person_assigns_a_line_and_keeps_its_payer(
    browser: Tab, market: tuple[Server, World], issuer: Issuer, tmp_path: Path
) -> None:
    file = tmp_path / "bank.xml"
    paid = {"name": "Old Mill Holding", "iban": "GB33BUKB20201555555555", "currency": "GBP"}
    file.write_bytes(camt(entry("3.00", "thanks", reference="M1", **paid), closing="103.00"))
    opened(browser, market, issuer, "bank-file", "Choose a file of your bank")
    read(browser, file)
    shown(browser, "Without a match: 1 line")
    browser.click("Assign")
    assert browser.page.locator("dialog[open] h2").inner_text() == "Assign 3.00 GBP"
    assert browser.violations() == []
    browser.page.get_by_label("Agency").fill("42")
    browser.page.get_by_label("Statement; empty").fill(NOVEMBER)
    browser.page.locator("dialog[open] button.first").click()
    shown(browser, "You have assigned it.")
    browser.click("Review 1 line")
    shown(browser, "Old Mill Holding, GB33BUKB20201555555555 pays for")
    assert browser.violations() == []
    browser.page.get_by_label("I have checked this").check()
    pressed(browser)
    shown(browser, "1 payment recorded")
    drained(market)
    assert [one.get("statement") for one in recorded(market, "payment.recorded") if one["amount"] == "3.00"] == [
        NOVEMBER
    ]
    content = market[1].read("/agencies/42")["content"]
    assert (content["payer_names"], content["payer_ibans"]) == (["Old Mill Holding"], [paid["iban"]])

    file.write_bytes(camt(entry("3.10", "more", reference="M2", **paid), closing="103.10"))
    read(browser, file)
    shown(browser, "the IBAN is that of the agency")
    assert texts(browser, "main h3") == ["To review: 1 line"]


@pytest.mark.parametrize("role", ["support", "auditor"])
def test_only_finance_finds_the_page(browser: Tab, market: tuple[Server, World], issuer: Issuer, role: str) -> None:
    issuer.role = role
    browser.set_clock(datetime(2026, 12, 5, 12, tzinfo=UTC))
    browser.open(f"{market[0].url}/console/bank-file")
    shown(browser, "Only people with the role finance see this page")
    assert "Bank file" not in texts(browser, "header nav")[0]
