"""The page that closes a period, as its tests open and use it."""

from typing import Final

from quarterhour_tools.emulator.server import Server
from tests.support.browser import Tab, open_as, shown
from tests.support.month_to_close import PERIOD
from tests.support.openid import Issuer
from tests.support.system import World

PAGE: Final = f"/console/close/{PERIOD}"
ROWS: Final = "#drafts tr[data-key]"
FIGURES: Final = f"[...document.querySelectorAll('{ROWS} .closing')].every((one) => /\\d/.test(one.innerText))"
"""Whether the figures that follow the drafts are all there."""


def opened(browser: Tab, market: tuple[Server, World], issuer: Issuer, page: str = PAGE, role: str = "finance") -> None:
    """Open the page as a person with a role, and wait until all figures are there."""
    browser.set_clock(market[1].clock.now())
    open_as(browser, f"{market[0].url}{page}", issuer, role)
    shown(browser, "Checklist")
    browser.until(f"document.querySelector('{ROWS}')")
    browser.until(FIGURES)


def focus(browser: Tab, name: str) -> None:
    """Give the focus to the row of a draft, such as 'harbour · GBP'."""
    row = browser.page.locator(ROWS, has_text=name).first
    row.evaluate("(one) => one.focus()")
