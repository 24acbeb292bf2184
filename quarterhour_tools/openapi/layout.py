"""Lays out JSON for people: what fits on a line is on one line, and plain values share lines."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

WIDTH: Final = 120
INDENT: Final = "  "


def laid_out(value: object, indent: str = "", before: int = 0) -> str:
    """Return a value as JSON in lines of up to 120 columns, as far as its texts permit.

    ``indent`` is that of the value's first line, and ``before`` the number of columns that a name takes there.
    """
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(indent) + before + len(line) + len(",") <= WIDTH:
        return line
    inner = indent + INDENT
    if isinstance(value, list):
        opening, members, closing = "[", [("", one) for one in value], "]"
    else:
        members = [(f"{json.dumps(name, ensure_ascii=False)}: ", one) for name, one in value.items()]
        opening, closing = "{", "}"
    return f"{opening}\n{inner}" + f",\n{inner}".join(_lines(members, inner)) + f"\n{indent}{closing}"


def _lines(members: Iterable[tuple[str, object]], indent: str) -> Iterator[str]:
    """Yield the lines of an object or a list; an object or a list in it begins a new line."""
    line = ""
    for name, value in members:
        text = name + laid_out(value, indent, len(name))
        nested = isinstance(value, dict | list)
        if line and (nested or len(indent) + len(f"{line}, {text},") > WIDTH):
            yield line
            line = ""
        line = f"{line}, {text}" if line else text
        if nested:
            yield line
            line = ""
    if line:
        yield line
