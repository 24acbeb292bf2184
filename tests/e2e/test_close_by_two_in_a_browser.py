"""The close of a period in Chromium, where two persons must agree to each release."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.server import Server
from tests.support.browser import IN_A_BROWSER, Tab
from tests.support.close_page import ROWS, focus, opened
from tests.support.month_to_close import PARAMETERS, STARTS, owner_and_agencies, sealed
from tests.support.openid import Issuer
from tests.support.served import call, served
from tests.support.system import World

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def of_two(issuer: Issuer) -> Iterator[tuple[Server, World]]:
    """The server of a marketplace whose October has one draft, where a second person must agree to release it."""
    parameters = {**issuer.with_roles, **PARAMETERS, "approvals": 2}
    with served(ManualClock(STARTS), parameters) as (server, world):
        with server.turns.taken():
            owner_and_agencies(world)
            world.sell("100.00", "harbour")
            world.pass_time(days=5)
            sealed(world)
        yield server, world


def test_a_second_person_agrees_to_what_the_first_has_proposed(
    browser: Tab, of_two: tuple[Server, World], issuer: Issuer
) -> None:
    opened(browser, of_two, issuer, "/console/close")
    focus(browser, "harbour · GBP")
    browser.press("r")
    browser.press("Enter")
    dialog = browser.page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 of 1 done. proposed 1 A second person must agree to what is proposed.")
    browser.press("Enter")
    focus(browser, "harbour · GBP")
    browser.press("Enter")
    expect(dialog.get_by_role("button", name="Hold")).to_be_visible()
    expect(dialog.get_by_role("button", name="Agree")).to_have_count(0)
    issuer.subject = "ben"
    opened(browser, of_two, issuer, "/console/close")
    issuer.subject = "ann"
    browser.page.locator(ROWS, has_text="harbour · GBP").get_by_role("checkbox").click()
    browser.follow("button", "Agree to 1")
    expect(dialog).to_contain_text("Another person proposed to release them, and you agree.")
    browser.press("Enter")
    expect(dialog).to_contain_text("1 of 1 done. releasing 1")
    decisions = call(f"{of_two[0].url}/drafts/harbour/GBP/2026-10")[1]["decisions"]
    assert [(one["state"], one["by"]) for one in decisions] == [("proposed", "ann"), ("releasing", "ben")]
