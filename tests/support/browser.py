"""A headless Chromium, driven by Playwright; and what its tests share."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import ConsoleMessage, Page, sync_playwright
from playwright.sync_api import Error as BrowserError

from tests.support.openid import Issuer

HOSTILE: Final = "<img src=x onerror=document.title='ran'>"
RIGHT_TO_LEFT: Final = "שלום & Co"
ZONE: Final = {"time_zone": "Asia/Tokyo"}
SCREEN: Final = (1280, 900)
Role = Literal["button", "link"]
PHONE: Final = (360, 740)
PAPER: Final = {"A4": (8.27, 11.69), "Letter": (8.5, 11)}
"""Width and height in inches."""
PROGRAM: Final = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""Chromium without what draws windows, which takes 25 % less time; or else the whole."""
_REACHABLE: Final = "dialog[open], body:not(:has(dialog[open]))"
"""An open dialog, or else the page: what is behind a dialog cannot be reached."""
_PATIENCE: Final = 60_000
"""Milliseconds that a page may take to show something."""
_PAUSE: Final = 50
_NETWORK_CHANGED: Final = "net::ERR_NETWORK_CHANGED"
"""Chromium gives up its requests when a network interface comes or goes, as one does with every container beside it."""


def missing(*more: str) -> str:
    """Return what a browser test lacks here; empty if it lacks nothing. ``more`` are programs that it needs, too."""
    absent = [program for program in ("pdftotext", *more) if not shutil.which(program)]
    absent += [] if PROGRAM else ["Chromium"]
    return f"{', '.join(absent)} not found (CONTRIBUTING.md, Tests, says what to install)" if absent else ""


IN_A_BROWSER: Final = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]
"""The marks of a module whose tests need the browser."""


class Tab:
    """A page of the browser. ``page`` is Playwright's, for what is found by role or label."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requested: list[str] = []
        """The addresses that pages requested since the last was opened."""
        self.errors: list[str] = []
        """What pages wrote to the console as an error since the last was opened."""
        self._lacks_a_file = False
        self._opened = ""
        self._reachable = page.locator(_REACHABLE)
        page.set_default_timeout(_PATIENCE)
        page.on("request", lambda request: self.requested.append(request.url))
        page.on("console", self._remember)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, page: Path | str, color_scheme: str = "light") -> None:
        """Open a file or an address; wait until it is loaded."""
        self.requested, self.errors = [], []
        self.page.emulate_media(color_scheme="dark" if color_scheme == "dark" else "light")
        self._opened = page.as_uri() if isinstance(page, Path) else page
        self.page.goto(self._opened)

    def set_clock(self, now: datetime) -> None:
        """Let it be this time, and no other, in every page that is opened from now on."""
        self.page.clock.set_fixed_time(now)

    @contextmanager
    def in_language(self, language: str) -> Iterator["Tab"]:
        """Yield a page of the same browser, of a person whose language is another one, such as de-DE."""
        browser = self.page.context.browser
        assert browser
        page = browser.new_page(locale=language, viewport=self.page.viewport_size)
        yield Tab(page)
        page.close()

    def evaluate(self, expression: str) -> Any:
        """Return the JSON value of an expression, or of what it promises."""
        return self.page.evaluate(expression)

    def violations(self) -> list[str]:
        """Return what axe-core finds wrong with the page, in either color scheme."""
        if not self.evaluate("'axe' in window"):
            self.evaluate((files("axe_core_python") / "axe.min.js").read_text("utf-8"))
        found = {scheme: self._checked(scheme) for scheme in ("dark", "light")}
        return [
            f"{scheme}, {one['id']}: {node['html']}"
            for scheme, violations in found.items()
            for one in violations
            for node in one["nodes"]
        ]

    def until(self, expression: str) -> None:
        """Wait until an expression has a true value."""
        # Playwright's wait_for_function evaluates the text within the page, where the security policy forbids it.
        ends = time.monotonic() + _PATIENCE / 1000
        while not self._holds(expression):
            if self._lacks_a_file:
                self._lacks_a_file = False
                self._load_again()
            assert time.monotonic() < ends, (expression, self.page.inner_text("body"), self.errors)
            self.page.wait_for_timeout(_PAUSE)

    def _load_again(self) -> None:
        """Load the page again; at the address to which a sign-in returns, which works once, what was opened before."""
        if "code=" in self.page.url:
            self.page.goto(self._opened)
        else:
            self.page.reload()

    def click(self, text: str) -> None:
        """Click the first link or button with a text, or else whose text begins so, as soon as there is one."""
        begins = self._reachable.locator("a, button", has_text=re.compile(rf"^\s*{re.escape(text)}"))
        is_whole = self._reachable.locator("a, button", has_text=re.compile(rf"^\s*{re.escape(text)}\s*$"))
        begins.first.wait_for()
        (is_whole if is_whole.count() else begins).first.click()

    def follow(self, role: Role, name: str) -> None:
        """Click the first element with a role and an accessible name, as soon as there is one."""
        self._reachable.get_by_role(role, name=name, exact=True).first.click()

    def fill(self, label: str, text: str) -> None:
        """Write a text into the field with a label, in place of what it held."""
        # A field with suggestions is a combobox.
        field = self._reachable.get_by_role("textbox", name=label, exact=True)
        field.or_(self._reachable.get_by_role("combobox", name=label, exact=True)).first.fill(text)

    def choose(self, label: str, option: str) -> None:
        """Choose an option of the list with a label."""
        self._reachable.get_by_role("combobox", name=label, exact=True).first.select_option(label=option)

    def press(self, key: str) -> None:
        """Press a key, such as Tab or Enter."""
        self.page.keyboard.press(key)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size, in pixels."""
        self.page.set_viewport_size({"width": width, "height": height})

    def printed(self, folder: Path, paper: str, form: str) -> str:
        """Print the page to a file in a folder, and return its text as pdftotext writes it in a form."""
        file, (width, height) = folder / "printed.pdf", PAPER[paper]
        self.page.pdf(path=file, width=f"{width}in", height=f"{height}in", print_background=True)
        command = ["pdftotext", form, str(file), "-"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own file

    def _checked(self, scheme: Literal["dark", "light"]) -> Any:
        self.page.emulate_media(color_scheme=scheme)
        found = self.evaluate("axe.run().then(({violations, passes}) => ({violations, passes: passes.length}))")
        assert found["passes"], "axe-core checked nothing"
        return found["violations"]

    def _holds(self, expression: str) -> bool:
        try:
            return bool(self.evaluate(f"Boolean({expression})"))
        except BrowserError as error:
            if "context was destroyed" in str(error):
                return False  # The page has just moved to another address.
            raise

    def _remember(self, message: ConsoleMessage) -> None:
        address = message.location.get("url", "")
        if _NETWORK_CHANGED in message.text:
            # The page reads again what it asks of the API, but not its own files.
            self._lacks_a_file |= "." in urlsplit(address).path.rpartition("/")[2]
        elif message.type == "error":
            self.errors.append(f"{message.text} {address}")


def shown(browser: Tab, text: str) -> None:
    """Wait until the page shows a text; what isolates a name from the text around it is invisible."""
    browser.until(f"document.querySelector('main')?.innerText.replace(/[\u2068\u2069]/g, '').includes({text!r})")


def proven(browser: Tab, what: str = "statement") -> str:
    """Verify what is open, a statement or a run; return the result in one sentence."""
    browser.follow("button", f"Verify this {what}")
    return result_of_proof(browser)


def result_of_proof(browser: Tab) -> str:
    """Return the result of a proof in one sentence, once it is there."""
    browser.until("document.querySelector('main [role=status] :is(.proven, .mark)')")
    return str(browser.evaluate("document.querySelector('main [role=status] :is(.proven, .mark)').innerText"))


def open_as(browser: Tab, address: str, issuer: Issuer, role: str, *agencies: str) -> None:
    """Open an address as a person with a role at agencies, and wait until they are signed in."""
    issuer.role, issuer.agency = role, list(agencies) if len(agencies) > 1 else "".join(agencies)
    browser.open(address)
    browser.until("document.querySelector('nav a')")


def texts(browser: Tab, selector: str) -> list[str]:
    """Return the texts of the elements that a selector finds."""
    found: list[str] = browser.evaluate(f"[...document.querySelectorAll({selector!r})].map((one) => one.innerText)")
    return found


def errors(browser: Tab) -> list[str]:
    """Return what the page wrote as an error; a person may not see whether there are rate cards, which is a 404."""
    return [one for one in browser.errors if "/documents/rate-card" not in one]


def right_edge(words: str) -> float:
    """Return how far to the right the words of printed pages reach, in inches, as ``pdftotext -bbox`` has them."""
    edges = [float(edge) for edge in re.findall(r'<word xMin="[^"]*" yMin="[^"]*" xMax="([^"]*)"', words)]
    assert len(edges) > 100
    return max(edges) / 72


def called(browser: Tab, module: str, function: str, *arguments: Any) -> Any:
    """Return what a function of one of the page's modules returns."""
    address = "document.querySelector('script[type=module]').src"
    browser.until("document.querySelector('nav a')")  # Signed in: until then, the page may move to another address.
    call_ = f"module.{function}(...{json.dumps(arguments)})"
    return browser.evaluate(f"import({address}.replace('app.js', {module!r})).then((module) => {call_})")


@contextmanager
def tab() -> Iterator[Tab]:
    """Start a browser, and yield a page of it."""
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=PROGRAM,
            chromium_sandbox=os.geteuid() != 0,
            args=["--disable-dev-shm-usage", "--disable-gpu"],
            # Pages to which somebody goes back are kept, as in people's browsers.
            ignore_default_args=["--disable-back-forward-cache"],
        ) as browser,
    ):
        yield Tab(browser.new_page())
