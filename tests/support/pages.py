"""Pages of Markdown: their headings, and their links inside the project."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_LINK: Final = re.compile(r"\]\((?!https?://)([^)\s]+)\)")


def anchors(text: str) -> set[str]:
    """Return the names of a page's headings, as links write them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(text: str, folder: Path) -> Iterator[str]:
    """Yield the links of a page in a folder that have no target inside the project."""
    for link in _LINK.findall(text):
        name, _, anchor = link.partition("#")
        target = folder / name
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8") if name else text)):
            yield link
