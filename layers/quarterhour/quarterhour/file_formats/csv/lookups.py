"""The columns that a map makes of others: `[lookups]` lists the texts of a column, or finds a word in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from quarterhour.file_formats.csv.cells import plain_text
from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.sections import Section

COLUMN: Final = "column"


@dataclass(frozen=True, slots=True)
class Lookup:
    """Returns the name under which the text of a column is listed; the empty text if it is not listed.

    With `after`, it is the word that follows this text in the column instead.
    """

    column: str
    names: Mapping[str, str]
    after: str = ""

    def __call__(self, cell: str) -> str:
        """Return the name of a cell's text; case, blanks and the two forms of an accent make no difference."""
        if self.after:
            return next(iter(cell.partition(self.after)[2].split()), "")
        return self.names.get(plain_text(cell), "")


def read_lookups(section: Section) -> dict[str, Lookup]:
    """Return the lookups of a map by the column that each makes; raise `MapError` if one is invalid."""
    with section:
        return {name: _lookup(section.section(name)) for name in section.names()}


def _lookup(section: Section) -> Lookup:
    with section, section.section("texts") as texts:
        column, after = section.text(COLUMN), section.text("after", "")
        names: dict[str, str] = {}
        for name in texts.names():
            for text in texts.texts(name):
                if names.setdefault(plain_text(text), name) != name:
                    raise MapError(texts.path(name), f"{text!r} is already listed under {names[plain_text(text)]}")
        if bool(names) == bool(after):
            raise MapError(texts.name, "must list the texts of the column, or `after` must say where its word begins")
        return Lookup(column, names, after)
