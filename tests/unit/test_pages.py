"""The pages: every link inside the project has a target."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.repository import ROOT

PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
LINK = re.compile(r"\]\((?!https?://)([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as links write them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_inside_the_project_has_a_target(page: Path) -> None:
    broken = []
    for link in LINK.findall(page.read_text("utf-8")):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


NAMED = re.compile(r"\]\(([^)]+\.py)\): ((?:`test_\w+`(?:, )?)+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    for file, names in NAMED.findall(page.read_text("utf-8")):
        content = (page.parent / file).read_text("utf-8")
        assert [name for name in re.findall(r"\w+", names) if f"def {name}(" not in content] == [], file


TEST = re.compile(r"\[`(test_\w+)`\]\(([^)]+)\)")


def test_each_task_of_the_console_has_a_test_and_each_role_has_three() -> None:
    page = ROOT / "docs" / "console.md"
    section = page.read_text("utf-8").partition("\n## Tasks\n")[2].partition("\n## ")[0]
    first, more = (re.findall(r"^\| (.*) \|$", table, re.MULTILINE)[1:] for table in section.split("These are tested"))
    assert Counter(row.split(" | ")[0] for row in first) == {"controller": 3, "agency's person": 3, "auditor": 3}
    for row in (*first, *more):
        ((name, file),) = TEST.findall(row)
        assert f"def {name}(" in (page.parent / file).read_text("utf-8"), row
