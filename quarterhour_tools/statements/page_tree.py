"""A page of a statement as plain data: its elements and texts as JSON, for a template that lays them out."""

import re
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any, Final
from xml.etree import ElementTree as ET  # nosec B405 - trees are built here; no XML is read

Node = dict[str, Any] | str
"""An element, or a text. Members of an element: ``tag``, ``class``, ``of`` (what is in it); of an image ``data``."""

_VOID: Final = frozenset({"meta", "link", "br", "img"})
_BLANKS: Final = re.compile(r"[ \t\r\n\f]+")
_SVG: Final = "http://www.w3.org/2000/svg"
_ACCENT: Final = {"fill": "#1d5bbf", "stroke": "#556074"}
"""The colors of a chart, which the style of a page has."""


def page_data(page: bytes) -> dict[str, Any]:
    """Return the language, title, number, agency and content of ``statement.html`` for the template.

    Texts stay texts, whatever is in them. Only the images in the page itself are read.
    """
    root = _parsed(page)
    party = root.find(".//div[@class='parties']/div[2]/p[@class='lead']")
    number = root.find(".//div[@class='title']/p/bdi")
    return {
        "language": root.get("lang") or "en",
        "title": _text(root.find("./head/title")),
        "number": _text(number),
        "agency": _text(party),
        "of": _content(root.find("./body")),
    }


class _Builder(HTMLParser):
    """Builds the tree of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = ET.TreeBuilder()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tree.start(tag, {name: value or "" for name, value in attrs})
        if tag in _VOID:
            self.tree.end(tag)

    def handle_endtag(self, tag: str) -> None:
        self.tree.end(tag)

    def handle_data(self, data: str) -> None:
        self.tree.data(data)


def _parsed(page: bytes) -> ET.Element:
    builder = _Builder()
    _, _, html = page.decode().partition("<html")  # after the document type
    builder.feed(f"<html{html.rstrip()}")
    builder.close()
    return builder.tree.close()


def _text(element: ET.Element | None) -> str:
    return "" if element is None else _BLANKS.sub(" ", "".join(element.itertext())).strip()


def _content(element: ET.Element | None) -> list[Node]:
    """Return what is in an element; blanks between elements at the begin of a line are no text."""
    if element is None:
        return []
    nodes: list[Node] = [element.text or ""]
    for child in element:
        nodes += [_node(child), child.tail or ""]
    return [_BLANKS.sub(" ", one) if isinstance(one, str) else one for one in nodes if one and not _is_layout(one)]


def _is_layout(node: Node) -> bool:
    return isinstance(node, str) and "\n" in node and not node.strip(" \t\r\n\f")


def _node(element: ET.Element) -> Node:
    node: dict[str, Any] = {"tag": element.tag, "class": element.get("class", "").split()}
    if element.tag == "img":
        return {**node, "data": list(_image(element.get("src", ""))), "alt": element.get("alt", "")}
    if element.tag == "svg":
        return {**node, "data": list(_drawing(element)), "alt": element.get("aria-label", "")}
    return {**node, "of": _content(element)}


def _image(uri: str) -> bytes:
    """Return the image in a data URI; nothing for another address, which is never loaded."""
    kind, _, data = uri.partition(";base64,")
    return b64decode(data) if kind.startswith("data:") else b""


def _drawing(svg: ET.Element) -> bytes:
    """Return a chart as a separate SVG file."""
    drawing = ET.Element("svg")
    drawing.extend(svg)
    drawing.text = svg.text
    drawing.attrib = {"xmlns": _SVG, "viewBox": svg.get("viewbox", ""), "preserveAspectRatio": "none", **_ACCENT}
    return ET.tostring(drawing)
