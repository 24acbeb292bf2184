"""Two people agree to a rate card in the console, in Chromium: one proposes it, another approves it."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.server import Server
from tests.support.browser import IN_A_BROWSER, PHONE, Tab, shown
from tests.support.openid import Issuer
from tests.support.proposals import drafted, keep_proposal
from tests.support.requests import put
from tests.support.served import call, served
from tests.support.system import World

pytestmark = IN_A_BROWSER

NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
DEAL = {"valid_from": "2026-01-01T00:00:00Z", "rules": [{"percent": "8"}]}
CHANGED = {**DEAL, "rules": [{"percent": "80"}]}


@pytest.fixture
def market(issuer: Issuer) -> Iterator[tuple[Server, World]]:
    """The server of a stack on which two people must agree, where ann has proposed a rate card."""
    parameters = {**issuer.with_roles, "approvals": 2}
    with served(ManualClock(NOON), parameters) as (server, world):
        with server.turns.taken():
            put(world, "/documents/rate-card:quay", {"seen": 0, "content": DEAL})
            keep_proposal(world, drafted("rate-card:quay", CHANGED, 1))
        yield server, world


def opens(browser: Tab, server: Server, issuer: Issuer, person: str) -> None:
    issuer.role, issuer.subject = "finance", person
    browser.set_clock(NOON)
    browser.open(f"{server.url}/console/operations")
    shown(browser, "Changes that a second person must approve")


def test_the_first_person_can_only_discard_and_a_second_one_approves_once(
    browser: Tab, market: tuple[Server, World], issuer: Issuer
) -> None:
    server, before = market[0], issuer.subject
    opens(browser, server, issuer, "ann")
    assert browser.evaluate("!!document.querySelector('[aria-label=\"Approve rate-card:quay\"]')") is False
    opens(browser, server, issuer, "bob")
    shown(browser, '[{"percent":"80"}]')
    assert browser.violations() == []
    browser.follow("button", "Approve rate-card:quay")
    browser.fill("Reason", "agreed with the agency")
    assert browser.violations() == []
    browser.evaluate("[1, 2].forEach(() => document.querySelector('dialog button.first').click())")
    browser.until("!document.querySelector('main').innerText.includes('must approve')")
    latest = call(f"{server.url}/documents/rate-card:quay")[1]
    assert (latest["version"], latest["content"]) == (2, CHANGED)
    assert (latest["written_by"], latest["approved_by"]) == ("ann", "bob")
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.errors == []
    issuer.subject = before
