"""What finance does by file and by form in the console: agencies, sales, a re-rating, exchange rates."""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload

from quarterhour.model.clock import ManualClock
from quarterhour_tools.csv import command
from quarterhour_tools.emulator.server import Server
from tests.handlers.test_files import MAP, SALES
from tests.support.browser import IN_A_BROWSER, PHONE, Tab, open_as, shown, texts
from tests.support.events import sale
from tests.support.openid import Issuer
from tests.support.requests import post, put, verdicts
from tests.support.served import call, served
from tests.support.system import World

pytestmark = IN_A_BROWSER

NOW = datetime(2026, 10, 30, 12, tzinfo=UTC)
UNDECIDED = "receipt;shop;sold;price\nR-1;42;03.04.2026;12,50\nR-2;42;05.04.2026;10,00\n"
"""A file that does not decide the order of day and month, nor the currency."""
AGENCIES = "agency,legal_name,country\n42,Quay Records Ltd,GB\n43,Harbour Books Ltd,GB\n"


@pytest.fixture(scope="module")
def market(issuer: Issuer) -> Iterator[tuple[Server, World]]:
    """The server of a stack on which finance may upload from the source `till`."""
    parameters = {**issuer.with_roles, "upload_sources": ["till"], "base_currency": "EUR"}
    with served(ManualClock(NOW), parameters) as (server, world):
        yield server, world


def attach(browser: Tab, label: str, name: str, content: str) -> None:
    """Choose a file in the field with a label."""
    file = FilePayload(name=name, mimeType="text/plain", buffer=content.encode())
    browser.page.get_by_label(label).set_input_files(file)


def test_agencies_and_sales_of_files_are_checked_as_by_the_commands_and_sent_once(
    browser: Tab,
    market: tuple[Server, World],
    issuer: Issuer,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    server, _ = market
    file, toml = tmp_path / "sales.csv", tmp_path / "map.toml"
    file.write_text(SALES, "utf-8")
    toml.write_text(MAP, "utf-8")
    parser = argparse.ArgumentParser()
    command.configure(parser)
    command.run(parser.parse_args([str(file), "--map", str(toml), "--set", "till=till"]))
    messages = capfdbinary.readouterr().err.decode().splitlines()

    browser.set_clock(NOW)
    open_as(browser, f"{server.url}/console/upload?kind=agencies", issuer, "finance")
    attach(browser, "File (CSV or NDJSON, plain or gzipped)", "agencies.csv", AGENCIES + "44,,UK\n")
    browser.click("Check the file")
    shown(browser, "line 4: country is 'UK': expected an ISO 3166-1 code of two letters such as GB")
    shown(browser, "Nothing is sent while a line is invalid")
    attach(browser, "File (CSV or NDJSON, plain or gzipped)", "agencies.csv", AGENCIES)
    browser.click("Check the file")
    browser.click("Register 2 of them")
    shown(browser, "created 2")
    assert call(f"{server.url}/agencies/43")[1]["content"] == {"legal_name": "Harbour Books Ltd", "country": "GB"}

    browser.choose("The file holds", "Sales and other events")
    attach(browser, "File (CSV, plain or gzipped)", "till.csv", UNDECIDED)
    browser.click("Check the file")
    form = "Which form do the times of 'sold' have? The data do not decide the order of day and month. (formats)"
    browser.choose(form, '["%d.%m.%Y"]')
    browser.choose("Which currency do the amounts have? (currency)", '"GBP"')
    browser.click("Check the file")
    shown(browser, "2 rows, 2 events, 0 bad rows")
    assert texts(browser, "main tbody tr")[-1] == "April 2026\tGBP\tsale.recorded\t2\t22.50", "day before month"
    assert browser.violations() == []
    attach(browser, "File (CSV, plain or gzipped)", "sales.csv", SALES)
    browser.choose("Map", "a file of your own")
    attach(browser, "File of the map (TOML)", "map.toml", MAP)
    browser.click("Check the file")
    browser.fill("till: the name of the till", "till")
    browser.click("Check the file")
    shown(browser, messages[-1])
    assert texts(browser, "main .mark li") == messages[:2], "the very messages of the command"
    assert texts(browser, "main tbody tr") == [
        "events\t2\t0\tGBP\t13.50",
        "bad\t2\t2\t\t",
        "file\t4\t2\tGBP\t13.50",
        "October 2026\tGBP\tsale.recorded\t2\t13.50",
    ]
    assert browser.violations() == []
    browser.click("Send 2 events")
    shown(browser, "All is sent. recorded 2")
    assert call(f"{server.url}/events/till/R-1")[1]["recorded_by"] == issuer.subject
    browser.click("Check the file")
    browser.click("Send 2 events")
    shown(browser, "All is sent. duplicate 2")
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.violations() == []


FAULTY = (
    "number,day,where,worth,cur\nF-1,2026-10-01,42,10.00,EUR\nF-2,27/10/2026,42,11.00,EUR\nF-3,2026-10-03,42,abc,EUR\n"
    "F-4,2026-10-04,42,12.00,XXY\nF-5,2026-10-05,42,13.00,EUR\n"
)
CORRECTED = ("27/10/2026", "2026-10-27"), ("abc", "12.50"), ("XXY", "EUR")


def test_columns_are_chosen_in_a_table_and_bad_rows_are_downloaded_corrected_and_sent(
    browser: Tab, market: tuple[Server, World], issuer: Issuer, tmp_path: Path
) -> None:
    server, _ = market
    browser.set_clock(NOW)
    open_as(browser, f"{server.url}/console/upload", issuer, "finance")
    attach(browser, "File (CSV, plain or gzipped)", "faulty.csv", FAULTY)
    browser.click("Check the file")
    shown(browser, "The columns of the file")
    for part, column in {"Time": "day", "Agency": "where", "Amount": "worth", "Currency": "cur"}.items():
        browser.page.get_by_label(part, exact=True).select_option(column)
    browser.click("Check the file")
    shown(browser, "5 rows, 2 events, 3 bad rows")
    assert texts(browser, "main .mark li")[1].endswith("worth is 'abc', not a number of the form 1234.56")
    assert browser.violations() == []
    with browser.page.expect_download() as downloading:
        browser.click("Download the bad rows")
    file = tmp_path / "bad.csv"
    downloading.value.save_as(file)
    bad = file.read_text("utf-8-sig")
    assert bad.split() == [FAULTY.split(maxsplit=1)[0], *FAULTY.split()[2:5]]
    browser.click("Send 2 events")
    shown(browser, "All is sent. recorded 2")

    for wrong, right in CORRECTED:
        bad = bad.replace(wrong, right)
    attach(browser, "File (CSV, plain or gzipped)", "bad.csv", bad)
    browser.click("Check the file")
    for part, column in {"Time": "day", "Agency": "where", "Amount": "worth", "Currency": "cur"}.items():
        browser.page.get_by_label(part, exact=True).select_option(column)
    browser.click("Check the file")
    shown(browser, "3 rows, 3 events, 0 bad rows")
    browser.click("Send 3 events")
    shown(browser, "All is sent. recorded 3")
    assert call(f"{server.url}/events/till/F-3")[1]["amount"] == "12.50"


def test_nothing_is_sent_from_a_source_that_is_not_open_to_people(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    server, _ = market
    browser.set_clock(NOW)
    open_as(browser, f"{server.url}/console/upload", issuer, "finance")
    content = FAULTY.replace("day,where,worth,cur", "date,agency,amount,currency")
    attach(browser, "File (CSV, plain or gzipped)", "sales.csv", content)
    browser.choose("Source", "finance: payments and adjustments")
    browser.click("Check the file")
    shown(browser, "These events would be rejected.")
    assert browser.page.get_by_role("button", name="Send 2 events").is_disabled()
    browser.choose("Source", "till")
    browser.click("Check the file")
    browser.click("Send 2 events")
    shown(browser, "All is sent.")


def test_a_file_whose_ids_hold_the_row_is_sent_once_a_person_says_that_it_never_changes(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    server, _ = market
    by_row = MAP.replace("{receipt}", "row:{row}").replace("{till}", "till")
    browser.set_clock(NOW)
    open_as(browser, f"{server.url}/console/upload", issuer, "finance")
    attach(browser, "File (CSV, plain or gzipped)", "sales.csv", SALES)
    browser.choose("Map", "a file of your own")
    attach(
        browser, "File of the map (TOML)", "map.toml", by_row.replace('[settings]\ntill = "the name of the till"\n', "")
    )
    browser.click("Check the file")
    shown(browser, "This file must never change: the ids hold the number of the row")
    send = browser.page.get_by_role("button", name="Send 2 events")
    assert send.is_disabled()
    browser.page.get_by_label("This file never changes.").check()
    assert send.is_enabled()
    browser.click("Check the file")
    shown(browser, "4 rows, 2 events, 2 bad rows")
    browser.click("Send 2 events")
    shown(browser, "All is sent. recorded 2")
    assert browser.violations() == []


def test_finance_enters_a_rate_and_rerates_what_the_preview_shows(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    server, world = market
    with server.turns.taken():
        assert verdicts(post(world, sale("s1", "100.00", agency="nord"))) == ["recorded"]
        rate_card = {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": "20"}]}
        put(world, "/documents/rate-card:nord", {"seen": 0, "content": rate_card})
    (sold,) = call(f"{server.url}/events?from=2026-10-30&to=2026-10-31&agency=nord")[1]["items"]
    browser.set_clock(NOW)
    with browser.in_language("de-DE") as german:
        german.set_clock(NOW)
        open_as(german, f"{server.url}/console/exchange-rates", issuer, "finance")
        german.click("Enter exchange rates")
        german.fill("Base currency", "EUR")
        german.fill("Source", "ECB")
        german.fill("Currency", "GBP")
        german.fill("Units for one unit of the base currency", "0,8705")
        german.click("Review")
        german.until("document.querySelector('dialog').innerText.includes('1 EUR = 0,8705 GBP')")
        assert german.violations() == []
        german.click("Enter")
        german.until("!document.querySelector('dialog[open]')")
    assert call(f"{server.url}/exchange-rates/GBP")[1]["units_per_base"] == "0.8705"

    open_as(browser, f"{server.url}/console/rerate?agency=nord", issuer, "finance")
    browser.page.get_by_label("Recorded from").fill("2026-10-30")
    browser.page.get_by_label("To, not included").fill("2026-10-31")
    browser.fill("Reason", "new contract")
    browser.click("Preview")
    shown(browser, "Events of nord. Rate card of the agency, version 1")
    rows = texts(browser, "main tbody tr")
    assert [row.split("\t")[-2] for row in rows] == ["20.00", "20.00"]
    assert browser.violations() == []
    browser.click("Record 1 re-rating")
    shown(browser, "1 of 1 sent. recorded 1")
    events = call(f"{server.url}/events?from=2026-10-30&to=2026-10-31&agency=nord")[1]["items"]
    (rerated,) = (one for one in events if "rerating" in one)
    assert (rerated["recorded_by"], rerated["rerating"]["by"]) == (issuer.subject, issuer.subject)
    assert Decimal(rerated["commission"]) == 20 - Decimal(sold["commission"])
    browser.click("Preview")
    shown(browser, "Nothing changes.")
