"""Times the console's pages in Chromium from click to figures, against the calls to the API that each page makes.

`python -m benchmarks.console` prints the table of docs/benchmarks.md, `--write` writes it into that page.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final

from benchmarks.marketplace import accounts, days_before, fill, write
from benchmarks.pages import PAGE, insert
from benchmarks.table import MISSED, Line, at_most, show
from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.clock import ManualClock, iso_millis, using
from quarterhour.model.identifiers import Account
from quarterhour.model.instants import midnight
from quarterhour.registry.agencies.rows import AgencyRow
from quarterhour.statements.drafts.draft import DraftDecision, DraftItem, DraftState
from quarterhour.statements.keys import open_drafts
from quarterhour_tools.demo.year_agencies import OWNER
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import Stack, open_stack
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.exchange_rates import RateFile, RateRow
from quarterhour_tools.replay.replay import Document, replaying

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

NOW: Final = datetime(2026, 12, 8, 12, tzinfo=UTC)
AGENCIES: Final = 1000
FIRST_DAY: Final = date(2026, 10, 1)
MOST_GROWTH: Final = 3
LATENCY_MS: Final = 50
"""Milliseconds that each request takes longer, as to the API in a region that is not far."""
BY_THE_CLOCK: Final = (
    f"By the clock, in Chromium, with the embedded engine and {LATENCY_MS} ms more for each request: from the click "
    "until figures are painted and nothing loads any more. The same calls again, all at once, and nothing shown."
)
PARAMETERS: Final = {"ReportRate": "rate(1 day)"}
SETTINGS: Final = {"base_currency": "EUR", "release": "manual"}
_PAGE: Final = 500
_ROUNDS: Final = 5
_RELEASED_AT: Final = datetime(2026, 11, 5, 12, tzinfo=UTC)

_BROWSERS: Final = ("chromium", "chromium-headless-shell")
_CLICK: Final = """([selector, path, figures]) => new Promise((resolve) => {
  const began = performance.now();
  const watch = new MutationObserver(() => {
    const text = document.querySelector("main").textContent;
    const shown = window.location.pathname === path && new RegExp(figures).test(text);
    if (!shown || /Loading…|More follow…|Reading…|Searching…/.test(text)) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve((performance.now() - began) / 1000)));
  });
  watch.observe(document.body, { childList: true, subtree: true, characterData: true });
  document.querySelector(selector).click();
})"""
"""Clicks a link or a button, and waits until a page with figures is painted that loads nothing more."""

_AT_ONCE: Final = """async (calls) => {
  const began = performance.now();
  await Promise.all(calls.map(async ({ path, ...call }) => {
    const response = await fetch(path, call);
    if (!response.ok && response.status !== 404) throw new Error(`${path}: ${response.status}`);
    await response.text();
  }));
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

    The budget allows for calls that have to wait for each other. ``figures``: a pattern of what the page shows in the
    end. ``file``: the content of a file that is chosen at ``start``, and ``fields`` the values of its form, before its
    button is clicked.
    """

    name: str
    address: str
    start: str
    budget: float
    figures: str = r"\d[.]\d"
    file: Callable[[], bytes] | None = None
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def selector(self) -> str:
        """The link or the button to be clicked."""
        return "main form button.first" if self.file or self.fields else f'a[href="{self.address}"]'


def _bank_file() -> bytes:
    """Return a bank's file of a payment of each October statement."""
    rows = (f"2026-12-07,100.00,{_CURRENCY[number % 2]},S-{number + 1:06}\n" for number in range(AGENCIES))
    return ("date,amount,currency,reference\n" + "".join(rows)).encode()


def _sales() -> bytes:
    """Return a file of sales, for which a map is proposed without a question."""
    rows = (
        f"r-{number},agency {number:04},2026-12-07T10:00:00Z,{number % 90 + 10}.00,EUR\n" for number in range(AGENCIES)
    )
    return ("id,agency,time,amount,currency\n" + "".join(rows)).encode()


_CURRENCY: Final = ("EUR", "GBP")
_AGENCY: Final = "/console/agencies/agency%200000?currency=EUR"
_RERATED: Final = {"agency": "agency 0000", "rate_card": "rate-card:default", "reason": "a new contract"}
VISITS: Final = (
    Visit("the overview", "/", "/console/accounts", 2),
    Visit("the accounts", "/console/accounts", "/", 2),
    Visit("the agencies", "/console/agencies", "/", 2, "agency 00"),
    Visit("an agency", _AGENCY, "/console/accounts", 4),
    Visit("the close of a month", "/console/close", "/", 4, r"Net sales[^]*\d[.]\d"),
    Visit("the statements", "/console/statements", "/", 3),
    Visit("a statement", "/console/statements/2026-10/agency%200000/EUR", f"{_AGENCY}&tab=statements", 3),
    Visit("receivables", "/console/receivables", "/", 3),
    Visit(
        "an account statement",
        "/console/receivables/agency%200002?currency=EUR",
        "/console/receivables?currency=EUR",
        4,
    ),
    Visit("payouts", "/console/payouts", "/", 4),
    Visit("the events", "/console/events", "/", 2),
    Visit("the exchange rates", "/console/exchange-rates", "/", 2),
    Visit("the reports", "/console/reports", "/", 2, "verified"),
    Visit("operations", "/console/operations", "/", 2, r"\d"),
    Visit("a bank's file of 1,000 payments", "/console/bank-file", "/console/bank-file", 2, file=_bank_file),
    Visit("an upload of 1,000 sales", "/console/upload", "/console/upload", 2, file=_sales),
    Visit(
        *("a re-rating", "/console/rerate", "/console/rerate", 2, "Nothing changes|Would be"),
        fields={**_RERATED, "from": "2026-11-01", "to": "2026-12-01"},
    ),
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


def timings(rounds: int) -> tuple[list[Timing], float]:
    """Make each visit so many times; return the fastest timing of each, and how a long list grows.

    That is how long the tenth hundred of the accounts takes to be shown, as a multiple of the second hundred. Raises
    ``ToolError`` without Chromium.
    """
    with _page() as page, _marketplace() as url:
        found = [_fastest([_timing(page, url, visit) for _ in range(rounds)]) for visit in VISITS]
        grown = [_growing(page, url) for _ in range(rounds)]
    return found, min(last for _, last in grown) / min(first for first, _ in grown)


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
    page.locator(visit.selector).first.wait_for()
    page.wait_for_load_state("networkidle")
    for name, value in visit.fields.items():
        page.locator(f"main form [name={name}]").fill(value)
    if visit.file:
        page.locator("main form [name=file]").set_input_files(
            {"name": "file.csv", "mimeType": "text/csv", "buffer": visit.file()}
        )
    requested: list[Request] = []

    def remember(request: "Request") -> None:
        requested.append(request)

    page.on("request", remember)
    path = visit.address.partition("?")[0]
    page_seconds = page.evaluate(_CLICK, [visit.selector, path, visit.figures])
    page.remove_listener("request", remember)
    content = visit.file().decode() if visit.file else None
    calls = [_call(one, url, content) for one in requested if not one.url.startswith(f"{url}/assets/")]
    return Timing(page_seconds, page.evaluate(_AT_ONCE, calls), len(calls))


def _call(request: "Request", url: str, content: str | None) -> dict[str, Any]:
    """Return a call of a page; those of these pages write nothing. ``content``: of the file that it may send."""
    call: dict[str, Any] = {"path": request.url.removeprefix(url), "method": request.method}
    if request.method == "GET":
        return call
    # The browser does not tell the body of a request that is a file.
    return {**call, "body": request.post_data or content, "headers": {"content-type": request.headers["content-type"]}}


def _fastest(found: Sequence[Timing]) -> Timing:
    """Return the fastest time of the page and the fastest of its calls: what else runs only makes them slower."""
    return Timing(min(one.page_seconds for one in found), min(one.calls_seconds for one in found), found[0].calls)


@contextmanager
def _marketplace() -> Iterator[str]:
    """Serve a marketplace, and yield its address.

    Each agency has a released statement of October, a draft of November, a sale of December, and counters of each day.
    The marketplace collects for every fourth agency.
    """
    server = Server(0)
    every = accounts(AGENCIES)
    with open_stack("embedded", PARAMETERS, s3_url=server.url, virtual=True, settings=SETTINGS) as stack:
        with replaying(stack) as replay:
            replay.prepare(_documents(every))
            replay.expect_exchange_rates(RateFile([RateRow(midnight("2026-10-01"), "GBP", "0.86", "ECB", 0, "EUR")]))
            replay.play(_sales_of(every, datetime(2026, 10, 20, 12, tzinfo=UTC)))
            replay.timeline.advance(_RELEASED_AT)
            _release(stack)
            replay.play(_sales_of(every, datetime(2026, 11, 20, 12, tzinfo=UTC)))
            replay.play(_sales_of(every, datetime(2026, 12, 7, 12, tzinfo=UTC)))
            replay.timeline.advance(NOW)
            stack.invoke("report", {})
            stack.invoke("statements", {})
            fill(stack, every, days_before(NOW.date(), (NOW.date() - FIRST_DAY).days))
            replay.timeline.drain()
        with using(ManualClock(NOW)), server.serving(stack):
            yield server.url


def _documents(every: Sequence[Account]) -> Iterator[Document | AgencyRow]:
    """Yield the owner, a rate card, and the agencies."""
    yield Document("/documents/owner", OWNER)
    rules = {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": "12.5"}]}
    yield Document("/documents/rate-card%253Adefault", rules)
    for number, account in enumerate(every):
        tax = {"scheme": "standard", "percent": "19"}
        content = {"legal_name": f"Shop {number:04}", "address": "1 Quay", "country": "DE", "tax": tax}
        collects = {"collects": "marketplace", "iban": "DE62370400440532013001"} if number % 4 == 0 else {}
        yield AgencyRow(0, account.agency, {**content, **collects})


def _sales_of(every: Sequence[Account], at: datetime) -> Iterator[bytes]:
    """Yield a sale of each account at an instant, as NDJSON."""
    for account in every:
        data = {"amount": "800.00", "currency": account.currency, "order_id": f"{at:%m} {account.agency}"}
        sale = {"specversion": "1.0", "source": "shop", "id": data["order_id"], "type": "sale.recorded"}
        yield json.dumps({**sale, "subject": account.agency, "time": at.isoformat(), "data": data}).encode() + b"\n"


def _release(stack: Stack) -> None:
    """Make the drafts of the month that is over, decide to release all of them, and release them."""
    stack.invoke("report", {})
    stack.invoke("statements", {})
    table = stack.ref("EntityTable")
    decision = DraftDecision(DraftState.RELEASING, "finance", iso_millis(_RELEASED_AT), "")
    drafts = list(EntityReader(stack.dynamodb, table).read_index(open_drafts(), _PAGE))
    write(stack, [DraftItem.of(values).decided(decision).as_item() for values in drafts])
    stack.invoke("statements", {})


@contextmanager
def _page() -> Iterator["Page"]:
    """Start the browser, and yield a page of it, from which every request takes some milliseconds.

    Raises ``ToolError`` without the browser.
    """
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if not program:
        raise ToolError(f"{' or '.join(_BROWSERS)} not found (apt-get install {_BROWSERS[0]})")
    # Only this row needs the browser's driver.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=program, chromium_sandbox=os.geteuid() != 0) as browser,
    ):
        page = browser.new_page()
        page.clock.set_fixed_time(NOW)
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send(
            "Network.emulateNetworkConditions",
            {"offline": False, "latency": LATENCY_MS, "downloadThroughput": -1, "uploadThroughput": -1},
        )
        yield page


def measured(rounds: int) -> Iterator[Line]:
    """Time the pages against their calls, and yield each with its budget; a note says so without Chromium."""
    try:
        found, slower = timings(rounds)
    except ToolError as error:
        yield Line("time from click to figures in the console", "not measured", notes=(str(error),))
        return
    for visit, timing in zip(VISITS, found, strict=True):
        yield Line(
            f"time from click to figures of {visit.name}, against its calls to the API",
            f"{timing.ratio:.2f}x ({timing.page_seconds * 1000:,.0f} ms, calls: {timing.calls})",
            f"<= {visit.budget:g}x",
            at_most(visit.budget, timing.ratio),
            (BY_THE_CLOCK,),
        )
    yield Line(
        f"time to show the tenth hundred of {AGENCIES:,} accounts, against the second",
        f"{slower:.2f}x",
        f"<= {MOST_GROWTH}x",
        at_most(MOST_GROWTH, slower),
        (BY_THE_CLOCK,),
    )


def write_block(lines: Sequence[Line]) -> None:
    """Write the table of the console into docs/benchmarks.md."""
    insert(PAGE, "console", f"```text\n{show(lines, notes=False)}\n```")


def main() -> int:
    """Measure and print; return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=__doc__)
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help=f"rounds, the fastest counts; default {_ROUNDS}")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    options = parser.parse_args()
    lines = list(measured(options.rounds))
    print(show(lines))
    if options.write:
        write_block(lines)
    return int(any(line.verdict == MISSED for line in lines))


if __name__ == "__main__":
    sys.exit(main())
