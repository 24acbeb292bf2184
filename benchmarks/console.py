"""Times the console's pages in Chromium from click to figures, against the calls to the API that each page makes."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final

from benchmarks.marketplace import accounts, days_before, fill
from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.errors import ToolError

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

NOW: Final = datetime(2026, 11, 30, 12, tzinfo=UTC)
AGENCIES: Final = 300
DAYS: Final = 61
MANY: Final = 1000
MOST_GROWTH: Final = 3
LATENCY_MS: Final = 50
"""Milliseconds that each request takes longer, as to the API in a region that is not far."""

_BROWSER: Final = "chromium"
_CLICK: Final = """(href) => new Promise((resolve) => {
  const began = performance.now();
  const watch = new MutationObserver(() => {
    const text = document.querySelector("main").textContent;
    const shown = window.location.pathname === new URL(href, window.location).pathname && /[0-9][.][0-9]/.test(text);
    if (!shown || /Loading…|More follow…/.test(text)) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve((performance.now() - began) / 1000)));
  });
  watch.observe(document.body, { childList: true, subtree: true, characterData: true });
  document.querySelector(`a[href="${href}"]`).click();
})"""
"""Clicks a link, and waits until a page with figures is painted that loads nothing more."""

_AT_ONCE: Final = """async (paths) => {
  const began = performance.now();
  await Promise.all(paths.map(async (path) => (await fetch(path)).text()));
  return (performance.now() - began) / 1000;
}"""
"""Makes the same calls, all at once."""


_SHOW_MORE: Final = """() => new Promise((resolve) => {
  const rows = () => document.querySelectorAll("tbody tr").length;
  const before = rows(), began = performance.now();
  const watch = new MutationObserver(() => {
    if (rows() === before) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve((performance.now() - began) / 1000)));
  });
  watch.observe(document.body, { childList: true, subtree: true });
  [...document.querySelectorAll("button")].find((one) => one.innerText === "Show more").click();
})"""
"""Loads the next hundred rows of a list, and waits until they are painted."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A page, its address, the page whose link leads to it, and the budget: its time as a multiple of its calls'.

    The budget allows for calls that have to wait for each other.
    """

    name: str
    address: str
    start: str
    budget: float


_AGENCY: Final = "/console/agencies/agency%200000?currency=EUR"
VISITS: Final = (
    Visit(f"the overview of {AGENCIES} agencies", "/", "/console/accounts", 2),
    Visit("an agency", _AGENCY, "/console/accounts", 4),
    Visit("a statement", "/console/statements/2026-11/agency%200000/EUR", _AGENCY, 3),
)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a page took to show its figures, how long its calls take alone, and how many there are."""

    page_seconds: float
    calls_seconds: float
    calls: int

    @property
    def ratio(self) -> float:
        """The time of the page as a multiple of that of its calls."""
        return self.page_seconds / self.calls_seconds


def timings(rounds: int) -> list[Timing]:
    """Make each visit so many times, and return the fastest timing of each; raise ``ToolError`` without Chromium."""
    with _page() as page, _marketplace(AGENCIES, DAYS) as url:
        return [_fastest([_timing(page, url, visit) for _ in range(rounds)]) for visit in VISITS]


def growth(rounds: int) -> float:
    """Return how long the tenth hundred of ``MANY`` accounts takes to be shown, as a multiple of the second hundred.

    Raises ``ToolError`` without Chromium.
    """
    with _page() as page, _marketplace(MANY, 1) as url:
        found = [_growing(page, url) for _ in range(rounds)]
    return min(last for _, last in found) / min(first for first, _ in found)


def _growing(page: "Page", url: str) -> tuple[float, float]:
    """Show all accounts, a hundred after the other; return the seconds that the second and the last hundred took."""
    page.goto(f"{url}/console/accounts")
    more = page.get_by_role("button", name="Show more", exact=True)
    more.wait_for()
    seconds = []
    while more.count():
        seconds.append(page.evaluate(_SHOW_MORE))
        page.wait_for_load_state("networkidle")
    return seconds[0], seconds[-1]


def _timing(page: "Page", url: str, visit: Visit) -> Timing:
    page.goto(url + visit.start)
    page.locator(f'a[href="{visit.address}"]').first.wait_for()
    page.wait_for_load_state("networkidle")
    requested: list[str] = []

    def remember(request: "Request") -> None:
        requested.append(request.url.removeprefix(url))

    page.on("request", remember)
    page_seconds = page.evaluate(_CLICK, visit.address)
    page.remove_listener("request", remember)
    calls = [one for one in requested if not one.startswith("/assets/")]
    return Timing(page_seconds, page.evaluate(_AT_ONCE, calls), len(calls))


def _fastest(found: Sequence[Timing]) -> Timing:
    """Return the fastest time of the page and the fastest of its calls: what else runs only makes them slower."""
    return Timing(min(one.page_seconds for one in found), min(one.calls_seconds for one in found), found[0].calls)


@contextmanager
def _marketplace(agencies: int, days: int) -> Iterator[str]:
    """Serve a marketplace of some agencies with some days each, and yield its address."""
    server = Server(0)
    with using(ManualClock(NOW)), open_stack("moto", s3_url=server.url, virtual=True) as stack:
        fill(stack, accounts(agencies), days_before(date(2026, 12, 1), days))
        with server.serving(stack):
            yield server.url


@contextmanager
def _page() -> Iterator["Page"]:
    """Start the browser, and yield a page of it, from which every request takes some milliseconds.

    Raises ``ToolError`` without the browser.
    """
    if not shutil.which(_BROWSER):
        raise ToolError(f"{_BROWSER} not found (apt-get install {_BROWSER})")
    # Only this row needs the browser's driver.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=shutil.which(_BROWSER), chromium_sandbox=os.geteuid() != 0
        ) as browser,
    ):
        page = browser.new_page()
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send(
            "Network.emulateNetworkConditions",
            {"offline": False, "latency": LATENCY_MS, "downloadThroughput": -1, "uploadThroughput": -1},
        )
        yield page


if __name__ == "__main__":
    for one, timing in zip(VISITS, timings(5), strict=True):
        print(f"{one.name}: {timing.ratio:.2f}x ({timing.page_seconds * 1000:.0f} ms, calls: {timing.calls})")
    print(f"the tenth hundred of {MANY:,} accounts: {growth(5):.2f}x the second")
