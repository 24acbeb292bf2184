"""What the benchmarks write into the pages."""

from pathlib import Path

import pytest

from benchmarks.pages import insert
from benchmarks.peers import comparison
from tests.support.repository import ROOT


def test_what_was_measured_replaces_what_stood_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\nold\n<!-- /a -->\n<!-- b -->\n<!-- /b -->\nafter\n", "utf-8")
    for _ in range(2):
        insert(page, "a", r"| new \1 |")
        insert(page, "b", "more")
    assert page.read_text("utf-8") == (
        "before\n<!-- a -->\n\n| new \\1 |\n\n<!-- /a -->\n<!-- b -->\n\nmore\n\n<!-- /b -->\nafter\n"
    )


def test_a_page_without_the_markers_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- a -->\nno end\n", "utf-8")
    with pytest.raises(ValueError, match="<!-- a -->"):
        insert(page, "a", "text")


def test_the_pages_that_are_written_have_their_markers(tmp_path: Path) -> None:
    for source, names in ((ROOT / "docs" / "benchmarks.md", ("results", "peers")), (ROOT / "README.md", ("peers",))):
        page = tmp_path / source.name
        page.write_bytes(source.read_bytes())
        for name in names:
            insert(page, name, "text")


def test_the_comparison_says_what_is_lost_and_doubled() -> None:
    own = {"calls": 0.084, "write_units": 2.0, "events": 26, "doubled": 0, "crash_lost": 0, "crash_doubled": 0}
    loop = {"calls": 1.04, "write_units": 2.0, "events": 26, "doubled": 26, "crash_lost": 3, "crash_doubled": 1}
    shown = comparison({"loop": {"times": 3.0, "rate": 2000.0, "own": 6000.4}}, {"Quarterhour": own, "loop": loop})
    assert shown.splitlines()[2:] == [
        "| Quarterhour | 6,000 | 0.08 | 2.00 | exact | exact |",
        "| loop | 2,000 | 1.04 | 2.00 | 26 of 26 doubled | 3 of 26 lost, 1 of 26 doubled |",
    ]
