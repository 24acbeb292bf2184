"""The columns that a map makes of others: `[lookups]` lists the texts of a column under one name each."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.sections import Section

COLUMN: Final = "column"


@dataclass(frozen=True, slots=True)
class Lookup:
    """Returns the name under which the text of a column is listed; the empty text if it is not listed."""

    column: str
    names: Mapping[str, str]

    def __call__(self, cell: str) -> str:
        """Return the name of a cell's text; case, blanks and the two forms of an accent make no difference."""
        return self.names.get(_plain(cell), "")


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def read_lookups(section: Section) -> dict[str, Lookup]:
    """Return the lookups of a map by the column that each makes; raise `MapError` if one is invalid."""
    with section:
        return {name: _lookup(section.section(name)) for name in section.names()}


def _lookup(section: Section) -> Lookup:
    with section, section.section("texts") as texts:
        column = section.text(COLUMN)
        names: dict[str, str] = {}
        for name in texts.names():
            for text in texts.texts(name):
                if names.setdefault(_plain(text), name) != name:
                    raise MapError(texts.path(name), f"{text!r} is already listed under {names[_plain(text)]}")
        if not names:
            raise MapError(texts.name, "must list the texts of the column")
        return Lookup(column, names)
