"""Reads a page as a browser does, for tests of what it shows."""

from html.parser import HTMLParser
from typing import Any, Final

_VOID: Final = {"meta", "link", "img", "br", "path"}


class Page(HTMLParser):
    """A page: its tags with attributes, its visible text, and the rows of its tables as the texts of their cells.

    Raises ``AssertionError`` if an element is not closed in its turn.
    """

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(content.decode())
        self.close()
        assert self._open == []

    @property
    def text(self) -> str:
        """The visible text, without line breaks."""
        return " ".join("".join(self.words).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of every element of a tag."""
        return [attributes for name, attributes in self.tags if name == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")
        elif tag == "br":
            self.words.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        self.words.append("\n" if tag not in {"bdi", "code", "strong"} else "")

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.words.append(data)
        if {"td", "th"} & set(self._open):
            self.rows[-1][-1] += data
