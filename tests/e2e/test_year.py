"""A console with history: the made-up year of `quarterhour up --demo`, and a person's own after `replay --open`."""

import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from quarterhour.model import clock
from quarterhour_tools.demo.year import first_of
from quarterhour_tools.demo.year_agencies import AGENCIES, CLIENT, DISPUTES, FAILS, NEW, UNMATCHED, UNREGISTERED
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.serving import serve_from
from quarterhour_tools.emulator.stack import open_stack
from tests.e2e.sales import START, event, lines
from tests.support.browser import Tab, missing, shown
from tests.support.close_page import ROWS
from tests.support.keyboard import enter, reach, write
from tests.support.served import call, until

COMMAND = "import sys; from quarterhour_tools.entry import main; sys.exit(main())"


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[str, list[str]]]:
    """Run a command until it prints where its console is; yield the address, and the lines before it."""
    command = [sys.executable, "-c", COMMAND, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:  # noqa: S603 - our own
        try:
            assert process.stdout
            before: list[str] = []
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    yield found[0], before
                    break
                before.append(line.strip())
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def items(url: str, path: str) -> list[dict[str, Any]]:
    """Return the items of a list, from all its pages."""
    found: list[dict[str, Any]] = []
    following: str | None = ""
    while following is not None:
        after = f"&next={following}" if following else ""
        status, answer = call(f"{url}{path}{'&' if '?' in path else '?'}limit=1000{after}")
        assert status == 200
        found += answer["items"]
        following = answer["next"]
    return found


def drafts_with(drafts: Sequence[dict[str, Any]], check: str) -> set[str]:
    return {one["agency"] for one in drafts if check in {each["check"] for each in one["checks"]}}


@pytest.fixture(scope="module")
def demo() -> Iterator[tuple[str, list[str]]]:
    """The address of a made-up year of two months, and what its command printed before."""
    with serving("up", "--demo", "--demo-months", "2", "--port", "0") as served:
        yield served


def months() -> list[str]:
    """Return the last month that is over, and the one before it."""
    return [f"{first_of(datetime.now(UTC).date(), ahead):%Y-%m}" for ahead in (-1, -2)]


@pytest.mark.slow
def test_a_made_up_year_ends_today_and_its_last_month_is_to_be_closed(demo: tuple[str, list[str]]) -> None:
    url, before = demo
    registered = {one["agency"]: one["legal_name"] for one in items(url, "/agencies")}
    assert registered == {agency.id: agency.name for agency in AGENCIES}
    last, released = months()
    drafts = items(url, "/drafts")
    assert before == [f"{last} is to be closed: {len(drafts)} drafts wait for a person."]
    assert {(one["period"], one["state"]) for one in drafts} == {(last, "open")}
    assert {one["agency"] for one in drafts} == {agency.id for agency in AGENCIES} - {FAILS} | {UNREGISTERED}
    assert drafts_with(drafts, "agency") == {UNREGISTERED}
    assert drafts_with(drafts, "default_rate") == {NEW, UNREGISTERED}
    assert drafts_with(drafts, "disputes") == {DISPUTES}
    assert drafts_with(drafts, "held_events") == {CLIENT}
    assert (CLIENT, "USD") in {(one["agency"], one["currency"]) for one in drafts}
    assert {one["currency"] for one in items(url, "/exchange-rates")} == {"GBP", "JPY"}
    statements = items(url, f"/statements?period={released}")
    assert {one["currency"] for one in statements} == {"EUR", "GBP", "JPY"}
    assert Counter(one["document"] for one in statements)["statement"] > 35
    receivables = items(url, "/receivables")
    assert [one["agency"] for one in receivables if one["unknown"]] == [UNMATCHED]


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_the_last_month_of_the_demo_is_closed_by_keyboard_from_its_checklist_to_the_last_release(
    browser: Tab, demo: tuple[str, list[str]]
) -> None:
    url, _ = demo
    (last, _), made = months(), len(items(url, "/drafts"))
    browser.open(url)
    browser.until("document.querySelector('nav a')")
    checklist(browser)
    assert attention(browser) == {
        *("Held events", "Drafts with failed checks", "Agencies not registered in full"),
        *("Drafts with the default rate", "Currencies without exchange rate", "Open disputes", "Unmatched payments"),
    }
    discard_what_is_held(browser)
    register_the_agency(browser)
    enter_the_rate(browser)
    resolve_the_dispute(browser)
    checklist(browser)
    enter(browser, next(one.name for one in AGENCIES if one.id == UNMATCHED))
    shown(browser, "Payments that clear nothing: 480.00")

    checklist(browser)
    assert attention(browser) == {"Drafts with the default rate", "Unmatched payments"}, "these keep no draft back"
    enter(browser, "Show them")
    browser.until(f"document.querySelectorAll('{ROWS}').length === 2")
    enter(browser, f"All {made}")
    reach(browser, "Filter")
    browser.press("Control+a")
    browser.press("Delete")
    shown(browser, f"{made} of {made} drafts")
    browser.press("Enter")  # to the first draft
    browser.press("a")
    shown(browser, f"{made} selected")
    browser.press("r")
    browser.until(f"document.querySelector('dialog')?.innerText.includes('Release {made} drafts')")
    browser.press("Enter")
    browser.until(f"document.querySelector('dialog').innerText.includes('{made} of {made} done')")
    browser.press("Enter")
    browser.until("!document.querySelector('dialog')")
    enter(browser, "Make the statements now")
    shown(browser, "The statements are being made.")
    until(lambda: not items(url, "/drafts"))
    checklist(browser)
    shown(browser, f"{made} of {made} released")
    assert attention(browser) == set(), "the statement of October has used up the payment"
    assert len(items(url, f"/statements?period={last}")) == made
    assert browser.errors == []


def discard_what_is_held(browser: Tab) -> None:
    enter(browser, "Show why")
    enter(browser, "Choose all 5")
    enter(browser, "Discard 5")
    decide(browser, "they were sent by mistake")
    shown(browser, "No event is held")


def register_the_agency(browser: Tab) -> None:
    checklist(browser)
    enter(browser, "Register it")
    enter(browser, "Register this agency")
    for field, text in (("Legal name", "Kiosk 9 e. K."), ("Address", "Am Hafen 9, Hamburg"), ("Country", "DE")):
        write(browser, field, text)
    write(browser, "Tax", "standard")
    write(browser, "Tax rate (%)", "19")
    browser.press("Enter")
    browser.until("!document.querySelector('dialog')")
    browser.until("!document.querySelector('main').innerText.includes('This agency is not registered')")


def enter_the_rate(browser: Tab) -> None:
    checklist(browser)
    enter(browser, "show the rates")
    enter(browser, "Enter exchange rates")
    for field, text in (("Source", "ECB"), ("Currency", "USD"), ("Units for one unit of the base currency", "1.1")):
        write(browser, field, text)
    browser.press("Enter")
    browser.until("document.querySelector('dialog').innerText.includes('1 EUR = 1.10 USD')")
    enter(browser, "Enter")
    browser.until("!document.querySelector('dialog')")


def resolve_the_dispute(browser: Tab) -> None:
    checklist(browser)
    enter(browser, "Show the statements")
    enter(browser, "S-0")
    enter(browser, "Resolve")
    decide(browser, "agreed by telephone")
    shown(browser, "agreed by telephone")


def checklist(browser: Tab) -> None:
    """Go to the close of the month by the menu, and wait until it is complete."""
    enter(browser, "Close")
    shown(browser, "Unmatched payments")


def attention(browser: Tab) -> set[str]:
    """Return the titles of those rows of the checklist that need attention."""
    rows = "[...document.querySelectorAll('.checklist li')].filter((one) => one.innerText.startsWith('attention'))"
    return set(browser.evaluate(f"{rows}.map((one) => one.querySelector('span:nth-of-type(2)').innerText)"))


def decide(browser: Tab, reason: str) -> None:
    """Write a reason into the dialog, which has the focus, and send it."""
    browser.until("document.activeElement.name === 'reason'")
    browser.page.keyboard.type(reason)
    browser.press("Enter")
    browser.until("!document.querySelector('dialog')")


@pytest.mark.slow
def test_a_history_of_ones_own_is_shown_with_its_last_month_as_this_month(tmp_path: Path) -> None:
    history = tmp_path / "history.ndjson"
    history.write_bytes(b"".join(lines([event(number) for number in range(3)])))
    with serving("replay", str(history), "--statements", "--open", "--no-browser", "--port", "0") as (url, before):
        assert before[-1] == "verified: counters and sealed files agree"
        (account,) = items(url, "/accounts")
        assert account["events"] == 3
        (period, *_) = items(url, "/periods")
        assert (period["period"], period["state"]) == (f"{START:%Y-%m}", "open")


def test_the_clock_runs_on_from_the_end_of_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(0)
    seen: list[Any] = []

    def look(address: str) -> None:
        with urlopen(address) as page:  # noqa: S310 - our own
            seen.append(page.status)
        seen.extend((call(f"{server.url}/periods?limit=1")[1]["items"][0]["period"], clock.now()))
        server.stop()

    monkeypatch.setattr("webbrowser.open", lambda address: threading.Thread(target=look, args=(address,)).start())
    with open_stack("embedded", s3_url=server.url, virtual=True) as stack:
        serve_from(server, stack, START, "/console/statements")
    assert seen[:2] == [200, f"{START:%Y-%m}"]
    assert seen[2] > START
