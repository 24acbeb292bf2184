"""Reads XML into a tree without namespaces. A DTD is refused, so no entity can grow or fetch anything."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat  # nosec B407 - a DTD is refused before any entity is declared

from quarterhour.file_formats.bank.line import BankFileError

_DEEPEST: Final = 50
_MOST_ELEMENTS: Final = 500_000
_EXPECTED: Final = "whole XML, without a DTD"


@dataclass(slots=True)
class Element:
    """An element: its name without namespace, its attributes, its elements, and its text."""

    name: str
    attributes: dict[str, str]
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def all(self, path: str) -> Iterator["Element"]:
        """Yield the elements at a path such as ``Acct/Id``."""
        first, _, rest = path.partition("/")
        for one in self.children:
            if one.name == first:
                if rest:
                    yield from one.all(rest)
                else:
                    yield one

    def first(self, *paths: str) -> "Element | None":
        """Return the first element at one of these paths; ``None`` if there is none."""
        return next((one for path in paths for one in self.all(path)), None)

    def value(self, *paths: str) -> str:
        """Return the first text at one of these paths that is not blank; empty if there is none."""
        texts = (one.text.strip() for path in paths for one in self.all(path))
        return next(filter(None, texts), "")


def parse(content: bytes) -> Element:
    """Return the root element; raise ``BankFileError`` if the content is not whole XML, or has a DTD."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    top = Element("", {})
    open_ = [top]
    count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > _MOST_ELEMENTS or len(open_) > _DEEPEST:
            raise BankFileError("has too many elements, or too deep ones", "a statement of a bank")
        element = Element(name.rpartition(" ")[2], attributes)
        open_[-1].children.append(element)
        open_.append(element)

    def end(_: str) -> None:
        open_.pop()

    def text(data: str) -> None:
        open_[-1].text += data

    def refuse(*_: object) -> None:
        raise BankFileError("has a DTD", _EXPECTED)

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)  # noqa: FBT003 - expat takes it by position
    except expat.ExpatError as error:
        raise BankFileError(f"is not XML: {error}", _EXPECTED) from error
    except (LookupError, ValueError) as error:
        raise BankFileError("is in an encoding that is not known", "UTF-8") from error
    return top.children[0]
