"""Writes what was measured into the pages, between markers: ``<!-- name -->`` and ``<!-- /name -->``."""

import re
from pathlib import Path
from typing import Final

from benchmarks.functions import ROOT

PAGE: Final = ROOT / "docs" / "benchmarks.md"
README: Final = ROOT / "README.md"


def insert(page: Path, name: str, text: str) -> bool:
    """Replace the text between the markers of a name, and return whether it changed.

    Raises ``ValueError`` if the page lacks the markers.
    """
    content = page.read_text("utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    written, found = re.subn(
        f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", lambda _: f"\n{text}\n\n", content, count=1, flags=re.DOTALL
    )
    if not found:
        raise ValueError(f"{page} has no {begin.strip()} with its end")
    page.write_text(written, "utf-8")
    return written != content
