"""Draws the pictures of the console that the documentation shows: ``python -m tests.e2e.screenshots``.

The pages show the generated day of `quarterhour demo` and the end of its month; the close of a period shows the month
of a test, which has drafts to decide about. The clock is set by hand, so the same pages give the same pictures.
"""

from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Final
from urllib.parse import quote

from PIL import Image

from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.engines import MOTO
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import Stack, open_stack
from quarterhour_tools.replay.demo import close_month
from quarterhour_tools.replay.marketplace import expected_accounts, marketplace_day
from quarterhour_tools.replay.month_end import MONTH, correction_of, expected_statements, month_end_documents
from quarterhour_tools.replay.replay import replaying
from tests.support.browser import Tab, shown, tab
from tests.support.close_page import FIGURES
from tests.support.month_to_close import PARAMETERS, PERIOD, STARTS, month_to_close
from tests.support.repository import ROOT
from tests.support.served import served

FOLDER: Final = ROOT / "docs" / "screenshots"
SIZE: Final = (1280, 800)
TALL: Final = (1280, 1150)
LOW: Final = (1280, 640)
PHONE: Final = (390, 844)
_DAY: Final = marketplace_day(7)
_CORRECTED: Final = correction_of(_DAY)
_AGENCY, _CURRENCY = _CORRECTED.account
_SALE: Final = "/".join(quote(_CORRECTED.sale[name], safe="") for name in ("source", "id"))
_STATEMENT: Final = f"/console/statements/{MONTH}/{_AGENCY}/{_CURRENCY}"
_COMPLETE: Final = "[...document.querySelectorAll('main [role=status]')].every((one) => !one.innerText.includes('…'))"


Opening = Callable[[Tab, str], None]
"""Opens a page of the console at an address in a browser."""


def _open(path: str, text: str, *, color_scheme: str = "light", size: tuple[int, int] = SIZE) -> Opening:
    """Return the opening of a page, which is complete when it shows a text."""

    def open_(browser: Tab, address: str) -> None:
        browser.resize(*size)
        browser.open(f"{address}{path}", color_scheme)
        shown(browser, text)

    return open_


def _proof(browser: Tab, address: str) -> None:
    """Open the page of the demo's fullest run, and prove it."""
    _open("/console/reports/2026-11-27T1145-1245", "Exact sums", size=LOW)(browser, address)
    browser.follow("button", "Verify this run")
    shown(browser, "Proven:")
    browser.page.locator("details.evidence summary").click()


def _menu(browser: Tab, address: str) -> None:
    """Open the menu on a phone."""
    _open("/console/statements", "Statements", size=PHONE)(browser, address)
    browser.follow("button", "Menu")


def _close(browser: Tab, address: str) -> None:
    """Open the close of a month, and wait for the figures of each draft."""
    _open(f"/console/close/{PERIOD}", "0 of 7 released")(browser, address)
    browser.until(FIGURES)


OF_THE_DAY: Final = {
    "overview": _open("/", "Falling agencies", size=TALL),
    "overview-dark": _open("/", "Falling agencies", color_scheme="dark", size=TALL),
    "overview-phone": _open("/", "Falling agencies", size=PHONE),
    "operations": _open("/console/operations", "Next runs"),
}
"""The pictures of the end of the day, by name."""
OF_THE_MONTH: Final = {
    "agency": _open(f"/console/agencies/{_AGENCY}?currency={_CURRENCY}", "Details", size=SIZE),
    "statement": _open(_STATEMENT, "Commission by terms", size=TALL),
    "statement-dark": _open(_STATEMENT, "Commission by terms", color_scheme="dark"),
    "menu-phone": _menu,
    "story": _open(f"/console/events/{_SALE}", "Its page proves the file"),
    "proof": _proof,
}
"""The pictures of the time when the month is sealed and corrected, by name."""
OF_THE_CLOSE: Final = {"close": _close}
"""The pictures of another marketplace, whose month has drafts to decide about."""


def draw(folder: Path) -> None:
    """Draw all pictures into a folder."""
    server = Server(0)
    sealed = expected_statements(expected_accounts(_DAY), _CORRECTED)
    with tab() as browser, open_stack(MOTO, virtual=True, s3_url=server.url) as stack, replaying(stack) as replay:
        replay.prepare(month_end_documents())
        replay.play(f"{line}\n".encode() for line in _DAY)
        replay.finish()
        _draw(folder, browser, Server(0), stack, OF_THE_DAY)
        close_month(stack, replay, _CORRECTED, sealed)
        _draw(folder, browser, server, stack, OF_THE_MONTH)
    with tab() as browser, served(ManualClock(STARTS), PARAMETERS) as (server, world):
        with server.turns.taken():
            month_to_close(world)
        _draw_pictures(folder, browser, server, OF_THE_CLOSE)


def _draw(folder: Path, browser: Tab, server: Server, stack: Stack, pictures: Mapping[str, Opening]) -> None:
    with server.serving(stack):
        _draw_pictures(folder, browser, server, pictures)


def _draw_pictures(folder: Path, browser: Tab, server: Server, pictures: Mapping[str, Opening]) -> None:
    browser.set_clock(clock.now())
    for name, open_ in pictures.items():
        open_(browser, server.url)
        browser.until(_COMPLETE)
        _save(browser.page.screenshot(animations="disabled"), folder / f"{name}.png")


def _save(picture: bytes, path: Path) -> None:
    """Write a picture with 256 colours: pages have few, and a picture is half as large then."""
    with Image.open(BytesIO(picture)) as image:
        image.convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    draw(FOLDER)
