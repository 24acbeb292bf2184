"""The pictures of the console in the documentation: all are drawn by one command, and all are shown."""

import re
from pathlib import Path

import pytest

from tests.e2e.screenshots import FOLDER, PICTURES, draw
from tests.support.browser import missing
from tests.support.repository import ROOT

NAMES = set(PICTURES)
MOST_BYTES = 120_000


def test_each_picture_is_small_and_shown_in_the_tour() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == NAMES
    page = (ROOT / "docs" / "console.md").read_text("utf-8")
    shown = re.findall(r"\]\(screenshots/([\w-]+)\.png\)", page)
    assert sorted(shown) == sorted(NAMES)
    assert [file.name for file in FOLDER.iterdir() if file.stat().st_size > MOST_BYTES] == []


def test_make_draws_the_pictures() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(rf"^screenshots: .*\n\t.* -m {re.escape(draw.__module__)}$", makefile, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_each_picture_can_be_drawn(tmp_path: Path) -> None:
    draw(tmp_path, months=3)
    assert {file.stem for file in tmp_path.iterdir()} == NAMES
