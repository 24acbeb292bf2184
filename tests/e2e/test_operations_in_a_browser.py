"""The page of operations in Chromium: what an operator sees there, and how finance pauses and changes the reports."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from quarterhour.model.clock import ManualClock
from tests.handlers.desk import send as machine_sends
from tests.support.browser import HOSTILE, IN_A_BROWSER, PHONE, Tab, open_as, shown
from tests.support.events import refund
from tests.support.openid import Issuer
from tests.support.repository import ROOT
from tests.support.requests import post
from tests.support.served import call, served

pytestmark = IN_A_BROWSER

WEEKDAYS = "cron(0 8 ? * MON-FRI *)"
BUTTONS = "[...document.querySelectorAll('main button:not(.tools button, .sort)')].map((one) => one.innerText)"


@pytest.fixture
def address(issuer: Issuer) -> Iterator[str]:
    """The address of a stack with a held refund, a parked record and two dead letters; its reports are on time."""
    with operated(issuer) as url:
        yield url


@pytest.fixture
def late(issuer: Issuer) -> Iterator[str]:
    """The address of such a stack whose reports are late, because a machine has paused them."""
    with operated(issuer, paused=True) as url:
        yield url


@contextmanager
def operated(issuer: Issuer, *, paused: bool = False) -> Iterator[str]:
    """Run such a stack for the length of the block; yield its address."""
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), issuer.with_roles) as (server, world):
        with server.turns.taken():
            world.sell("100.00", HOSTILE)
            world.sell("5.00", "42")
            post(world, refund("r1", "-2", "order-7", agency=HOSTILE))
            sqs = world.stack.engine.sqs()
            for queue in ("ParkedQueue", "DeadLetterQueue", "DeadLetterQueue"):
                sqs.send_message(QueueUrl=world.stack.ref(queue), MessageBody="{}")
            if paused:
                assert machine_sends(world, "PUT", "/schedule", {"paused": True, "reason": "maintenance"}).status == 200
            world.pass_time(hours=4)
        yield server.url


def opened(browser: Tab, address: str, issuer: Issuer, role: str) -> None:
    """Open the page as a person with a role."""
    open_as(browser, f"{address}/console/operations", issuer, role)
    shown(browser, "Next runs")
    shown(browser, "dead-letters")
    shown(browser, "r1")


def ask(browser: Tab, button: str, reason: str) -> None:
    """Press a button of the schedule, and write a reason into its dialog."""
    browser.follow("button", button)
    browser.fill("Reason", reason)


def send(browser: Tab) -> None:
    """Send the dialog twice, as an impatient person does."""
    browser.evaluate("[1, 2].forEach(() => document.querySelector('dialog button').click())")


def test_an_operator_sees_what_waits_and_why_an_event_is_held(browser: Tab, late: str, issuer: Issuer) -> None:
    opened(browser, late, issuer, "auditor")
    rows = browser.evaluate("[...document.querySelectorAll('main tbody tr')].map((one) => one.innerText)")
    texts = [" ".join(one.split()) for one in rows]
    assert any(one.startswith("records-parked") and one.endswith("1 0") for one in texts), texts
    assert any(one.startswith("dead-letters") and one.endswith("2 0") for one in texts), texts
    (held,) = (one for one in texts if "r1" in one)
    assert HOSTILE in held
    assert "unknown sale" in held
    assert "Id of the sale: It is no recorded sale yet." in held
    assert "data." not in held
    assert "order-7" in held
    shown(browser, "has waited for")
    assert browser.evaluate("document.querySelector('.tag.late')?.innerText") == "late"
    assert browser.evaluate(BUTTONS) == []
    assert browser.violations() == []
    assert browser.errors == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_an_operator_pauses_the_schedule_and_resumes_it(browser: Tab, address: str, issuer: Issuer) -> None:
    opened(browser, address, issuer, "finance")
    ask(browser, "Pause", "the bank is closed")
    assert "No report runs until" in browser.evaluate("document.querySelector('dialog').innerText")
    assert browser.violations() == []
    send(browser)
    shown(browser, "the bank is closed")
    shown(browser, "none")
    schedule = call(f"{address}/schedule")[1]
    assert (schedule["state"], schedule["version"]) == ("paused", 1), "sent twice, changed once"

    ask(browser, "Resume", "it is open again")
    send(browser)
    shown(browser, "it is open again")
    schedule = call(f"{address}/schedule")[1]
    assert (schedule["state"], [one["by"] for one in schedule["items"]]) == ("enabled", ["ann", "ann"])
    assert browser.violations() == []
    assert browser.errors == []


def test_an_invalid_expression_shows_what_the_api_expects_and_a_valid_one_applies(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    opened(browser, address, issuer, "finance")
    ask(browser, "Change", "weekdays only")
    browser.fill("Expression", "rate(5 minutes)")
    send(browser)
    browser.until("document.querySelector('dialog [role=alert]')?.innerText.includes('5 minutes')")
    assert browser.violations() == []
    assert browser.evaluate("document.querySelector('dialog input').value") == "rate(5 minutes)", "it can be corrected"
    browser.fill("Expression", WEEKDAYS)
    send(browser)
    shown(browser, "weekdays only")
    assert call(f"{address}/schedule")[1]["expression"] == WEEKDAYS

    ask(browser, "Use the deployed one", "as before")
    send(browser)
    shown(browser, "as before")
    assert call(f"{address}/schedule")[1]["desired"]["overridden"] is False


def test_a_change_by_somebody_else_is_shown_beside_what_was_seen(browser: Tab, address: str, issuer: Issuer) -> None:
    opened(browser, address, issuer, "finance")
    ask(browser, "Change", "twice as often")
    browser.fill("Expression", "rate(30 minutes)")
    body = {"expression": "rate(2 hours)", "reason": "half as often"}
    assert call(f"{address}/schedule", body, "application/json", "PUT")[0] == 200
    send(browser)
    browser.until("document.querySelector('dialog')?.innerText.includes('half as often')")
    rows = browser.page.locator("dialog tbody tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [
        ["Schedule", "rate(2 hours)", "rate(30 minutes)"],
        ["Reason", "half as often", "twice as often"],
    ]
    assert "You saw rate(1 hour)." in browser.evaluate("document.querySelector('dialog').innerText")
    assert browser.violations() == []
    assert browser.page.locator("dialog button.first").all_inner_texts() == ["Keep theirs and close"]
    browser.follow("button", "Keep theirs and close")
    shown(browser, "half as often")
    assert call(f"{address}/schedule")[1]["expression"] == "rate(2 hours)"


def test_a_person_of_an_agency_sees_neither_the_page_nor_its_menu_entry(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    open_as(browser, f"{address}/console/operations", issuer, "agency", "42")
    shown(browser, "Only people with the role")
    assert "Operations" not in browser.evaluate("document.querySelector('nav').innerText")


def test_a_queue_leads_to_its_runbook_and_that_to_others(browser: Tab, address: str, issuer: Issuer) -> None:
    opened(browser, address, issuer, "support")
    browser.follow("link", "records-parked")
    shown(browser, "cannot count a posting")
    assert "aws sqs receive-message" in browser.evaluate("document.querySelector('pre').innerText")
    assert browser.violations() == []
    browser.follow("link", "a broken ledger item")
    shown(browser, "Runbook a-broken-ledger-item")
    assert browser.errors == []


def test_every_alarm_has_a_runbook_without_marks_of_its_format(browser: Tab, address: str, issuer: Issuer) -> None:
    chapter = (ROOT / "docs" / "runbooks.md").read_text("utf-8").partition("\n## Alarms\n")[2].partition("\n## ")[0]
    open_as(browser, f"{address}/console/operations", issuer, "auditor")
    for name in re.findall(r"^### (.+)$", chapter, re.MULTILINE):
        place = f"history.pushState(null, '', '/console/runbooks/{name}')"
        browser.evaluate(f"({place}, window.dispatchEvent(new PopStateEvent('popstate')))")
        shown(browser, f"Runbook {name}")
        shown(browser, "Means")
        prose = "[...document.querySelectorAll('main :is(p, th, td)')].map((one) => one.cloneNode(true))"
        texts = browser.evaluate(
            f"{prose}.map((one) => (one.querySelectorAll('code').forEach((code) => code.remove()), one.textContent))"
        )
        assert [text for text in texts if re.search(r"\*\*|`|\]\(|\|", text)] == [], name
        assert browser.violations() == [], name


def test_a_runbook_that_is_not_there_leads_back_to_operations(browser: Tab, address: str, issuer: Issuer) -> None:
    open_as(browser, f"{address}/console/runbooks/none", issuer, "auditor")
    shown(browser, "There is no runbook of this name")
    browser.click("Operations")
    shown(browser, "Records set aside")


def test_the_overview_leads_staff_to_what_waits(browser: Tab, late: str, issuer: Issuer) -> None:
    open_as(browser, late, issuer, "support")
    shown(browser, "1 record is set aside")
    shown(browser, "2 dead letters wait")
    delay = "223 min (runs of the schedule meanwhile: 3.7)"
    shown(browser, f"Reports are late: the oldest quarter-hour has waited for {delay}")
    assert browser.violations() == []
    browser.follow("link", "Show operations")
    shown(browser, "Records set aside")


def test_the_overview_asks_nothing_of_the_operation_for_an_agency(browser: Tab, late: str, issuer: Issuer) -> None:
    open_as(browser, late, issuer, "agency", "42")
    shown(browser, "What needs attention")
    assert [one for one in browser.requested if one.endswith("/operations")] == []
    assert "set aside" not in browser.evaluate("document.querySelector('main').innerText")
