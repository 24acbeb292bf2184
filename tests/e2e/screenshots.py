"""Draws the pictures of the console that the documentation shows: ``python -m tests.e2e.screenshots``.

The pages show the generated year of `quarterhour demo`. The clock stands still at its end, so the same pages give the
same pictures.
"""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Final
from urllib.parse import quote

from PIL import Image

from quarterhour.model import clock
from quarterhour_tools.demo.year import MONTHS, Calendar
from quarterhour_tools.demo.year_agencies import CLIENT
from quarterhour_tools.demo.year_run import PARAMETERS, SETTINGS, YEAR_ENDS, run_year
from quarterhour_tools.emulator.engines import EMBEDDED
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.replay.replay import replaying
from tests.support.browser import Tab, shown, tab
from tests.support.close_page import FIGURES
from tests.support.repository import ROOT
from tests.support.served import call

FOLDER: Final = ROOT / "docs" / "screenshots"
SIZE: Final = (1280, 800)
TALL: Final = (1280, 1350)
LOW: Final = (1280, 640)
PHONE: Final = (390, 844)
_CALENDAR: Final = Calendar(YEAR_ENDS)
_CLOSING, _RELEASED = (f"{_CALENDAR.month(before):%Y-%m}" for before in (1, 2))
_COMPLETE: Final = "[...document.querySelectorAll('main [role=status]')].every((one) => !one.innerText.includes('…'))"


_DRAWN: Final = "document.querySelector('.spark') && !document.querySelector('.spark polyline[points=\\'\\']')"


Opening = Callable[[Tab, str], None]
"""Opens a page of the console at an address in a browser."""


def _open(path: str, text: str, *, color_scheme: str = "light", size: tuple[int, int] = SIZE) -> Opening:
    """Return the opening of a page, which is complete when it shows a text."""

    def open_(browser: Tab, address: str) -> None:
        browser.resize(*size)
        browser.open(f"{address}{path}", color_scheme)
        shown(browser, text)

    return open_


def _overview(color_scheme: str, size: tuple[int, int]) -> Opening:
    """Return the opening of the overview, which is complete with its exchange rates and the line of each agency."""

    def open_(browser: Tab, address: str) -> None:
        _open("/", "Falling agencies", color_scheme=color_scheme, size=size)(browser, address)
        shown(browser, "All in EUR")
        browser.until(_DRAWN)

    return open_


def _proof(browser: Tab, address: str) -> None:
    """Open the page of the latest run that sealed many lines, and prove it."""
    runs = call(f"{address}/reports?limit=20")[1]["items"]
    run = next(one["run"] for one in runs if one["lines"] >= _MANY)
    _open(f"/console/reports/{run}", "Exact sums", size=LOW)(browser, address)
    browser.follow("button", "Verify this run")
    shown(browser, "Proven:")
    browser.page.locator("details.evidence summary").click()


def _story(browser: Tab, address: str) -> None:
    """Open the page of the sale that was voided after its agency disputed it."""
    disputes = call(f"{address}/disputes?status=resolved")[1]["items"]
    sale = next(one for one in reversed(disputes) if "correction" in one)
    path = "/".join(quote(sale[name], safe="") for name in ("source", "id"))
    _open(f"/console/events/{path}", "Its page proves the file")(browser, address)


def _close(browser: Tab, address: str) -> None:
    """Open the close of the last full month, and wait for the figures of each draft."""
    _open(f"/console/close/{_CLOSING}", "0 of 42 released")(browser, address)
    browser.until(FIGURES)


_MANY: Final = 15
PICTURES: Final[dict[str, Opening]] = {
    "overview": _overview("light", TALL),
    "overview-dark": _overview("dark", TALL),
    "overview-phone": _overview("light", PHONE),
    "operations": _open("/console/operations", "Next runs"),
    "agency": _open(f"/console/agencies/{CLIENT}?currency=GBP", "Details"),
    "statement": _open(f"/console/statements/{_RELEASED}/{CLIENT}/GBP", "Commission by terms", size=TALL),
    "story": _story,
    "proof": _proof,
    "close": _close,
}
"""The pictures by name."""


def draw(folder: Path, months: int = MONTHS) -> None:
    """Draw all pictures into a folder; ``months``: of the year, from its end."""
    server = Server(0)
    with (
        tab() as browser,
        open_stack(EMBEDDED, PARAMETERS, virtual=True, s3_url=server.url, settings=SETTINGS) as stack,
        replaying(stack) as replay,
    ):
        run_year(stack, replay, Calendar(YEAR_ENDS, months))
        browser.set_clock(clock.now())
        with server.serving(stack):
            for name, open_ in PICTURES.items():
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
