"""The sealed pages, `statement.html` and `report.html`, in Chromium: accessible, self-contained, no cut row."""

from decimal import Decimal
from pathlib import Path

import pytest

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals
from quarterhour.reports.manifest import run_files
from quarterhour.reports.plan import PartTotals, Plan, RunTotals, SealedFile
from quarterhour.statements.document.page import statement_page
from tests.support.browser import IN_A_BROWSER, PAPER, Tab, right_edge
from tests.support.builders import QUARTER_HOUR
from tests.support.statement_documents import order_row, statement, sums
from tests.support.statement_examples import EXAMPLES

pytestmark = IN_A_BROWSER

ROWS = 120
LONGEST = "9" * 38
OF_TWO_LINES = (
    "of the illustrated history of lighthouses on the northern coasts, cloth, with maps and a register, second"
)


def statements() -> dict[str, bytes]:
    """Return statements that differ in what they show, by name."""
    orders = [
        order_row(f"order{n:04}", f"begin{n:04} {OF_TWO_LINES} end{n:04}", sums(1, f"{n}.25", "0", "net"))
        for n in range(ROWS)
    ]
    widest = [order_row("w" * 200, "株" * 200, sums(1, f"-{LONGEST}", f"-0.{LONGEST}", "net"))]
    shown = ("credit note, still owed", "several taxes", "in yen", "German", "French", "long names", "right to left")
    return {
        "many rows": statement_page(statement(orders=orders)),
        "the widest": statement_page(statement(orders=widest, opening=f"-{LONGEST}", agency="a" * 200)),
        **{name: statement_page(EXAMPLES[name]) for name in shown},
    }


def report() -> bytes:
    """Return the report of a run with many accounts."""
    plan = Plan(
        QUARTER_HOUR,
        QUARTER_HOUR.next,
        "2026-10-23T02:05:00.000Z",
        "1.0",
        2,
        ("2026-10-23T0115-0130", "0"),
        (QUARTER_HOUR, QUARTER_HOUR.next),
    )
    totals = RunTotals.of(plan.quarter_hours)
    periods = {
        (Account(f"order{n:04} begin{n:04} {OF_TWO_LINES} end{n:04}", "GBP"), Period(2026, 10)): Totals(
            1, Decimal(f"{n}.25")
        )
        for n in range(ROWS)
    }
    totals.add(QUARTER_HOUR, PartTotals(periods))
    *_, page = run_files(plan, [SealedFile(ROWS, "f" * 64, 9_999), SealedFile(0)], totals, None).named
    return page.content


PAGES = {**statements(), "a report": report()}
"""All pages by name."""


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file of a page."""
    path = tmp_path / "page.html"
    path.write_bytes(PAGES[request.param])
    return path


def test_axe_finds_nothing_and_nothing_but_the_page_is_requested(browser: Tab, page: Path) -> None:
    browser.open(page)
    assert browser.violations() == []
    assert [address for address in browser.requested if not address.startswith("data:")] == [page.as_uri()]


def test_the_dark_page_is_dark(browser: Tab, page: Path) -> None:
    grounds = []
    for color_scheme in ("light", "dark"):
        browser.open(page, color_scheme)
        grounds.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(255, 255, 255)", "rgb(18, 23, 31)"]


def test_a_script_in_a_page_would_not_run(browser: Tab, tmp_path: Path) -> None:
    path = tmp_path / "forged.html"
    path.write_bytes(PAGES["a report"].replace(b"<main>", b"<main><script>document.title = 'ran'</script>"))
    browser.open(path)
    assert browser.evaluate("document.title") == "Sealing report 2026-10-23T0130-0200"


@pytest.mark.parametrize("name", ["many rows", "a report"])
@pytest.mark.parametrize("paper", PAPER)
def test_no_row_is_cut_on_paper(browser: Tab, tmp_path: Path, name: str, paper: str) -> None:
    sheets = printed(browser, tmp_path, PAGES[name], paper, "-layout").split("\f")
    for n in range(ROWS):
        parts = (f"order{n:04}", f"begin{n:04}", f"end{n:04}", f"{n}.25")
        holding = [{number for number, text in enumerate(sheets) if part in text.split()} for part in parts]
        assert len(holding[0]) == 1, n
        assert all(holding[0] <= one for one in holding), n
    with_rows = [text for text in sheets if "begin0" in text]
    assert len(with_rows) > 2
    assert all("Commission" in text for text in with_rows), "the head of the table is on every sheet"


@pytest.mark.parametrize("paper", PAPER)
def test_nothing_is_beyond_the_edge_of_the_paper(browser: Tab, page: Path, tmp_path: Path, paper: str) -> None:
    words = printed(browser, tmp_path, page.read_bytes(), paper, "-bbox")
    assert right_edge(words) <= PAPER[paper][0] - 0.5, "half an inch is left"


def printed(browser: Tab, folder: Path, content: bytes, paper: str, form: str) -> str:
    """Print a page, and return its text as pdftotext writes it."""
    page = folder / "printed.html"
    page.write_bytes(content)
    browser.open(page)
    return browser.printed(folder, paper, form)
