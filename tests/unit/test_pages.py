"""The pages: every link inside the project has a target."""

import re
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
