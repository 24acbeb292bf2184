"""A map in the making: its entries and open questions, and what about it is certain and what is to be checked."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from quarterhour.file_formats.csv.columns import Column
from quarterhour.file_formats.csv.numbers import OPEN

QUESTION: Final = " # QUESTION: "
"""What follows an entry of the map that is a question, before its answers."""
_ORDER: Final = (
    "",
    "[values]",
    "[file]",
    "[numbers]",
    "[numbers",
    "[time]",
    "[text]",
    "[columns",
    "[total]",
    "[counters]",
    "[[event]]",
    "[event",
)
"""The sections of a map, as they begin."""


@dataclass(frozen=True, slots=True)
class MapEntry:
    """One entry of a map's section: its value in TOML, or a question and the answers to it, the likeliest first."""

    section: str
    name: str
    value: str
    question: str = ""
    answers: tuple[str, ...] = ()

    @classmethod
    def open(cls, section: str, name: str, question: str, answers: Sequence[str]) -> "MapEntry":
        """Return an entry that is a question; the answers are TOML, the likeliest first."""
        return cls(section, name, answers[0], question, tuple(answers))


@dataclass(frozen=True, slots=True)
class Answer:
    """What is found out about one question: entries of the map, and sentences for people."""

    entries: tuple[MapEntry, ...] = ()
    certain: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()

    @classmethod
    def of(cls, *entries: MapEntry, certain: str = "", check: str = "") -> "Answer":
        """Return an answer with at most one sentence of each kind."""
        return cls(entries, (certain,) if certain else (), (check,) if check else ())

    def __add__(self, other: "Answer") -> "Answer":
        """Return this answer, and behind it another one."""
        return Answer(self.entries + other.entries, self.certain + other.certain, self.checks + other.checks)


class ProposedColumn(NamedTuple):
    """A column of the file, with its first values."""

    name: str
    values: list[str]


@dataclass(slots=True)
class Proposal:
    """A proposed map. `unused` are the columns that it leaves out; `parts` names the columns of an event's parts.

    `shipped` are the maps that come with the tools whose columns the file has.
    """

    entries: list[MapEntry] = field(default_factory=list)
    certain: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    shipped: list[str] = field(default_factory=list)
    columns: list[ProposedColumn] = field(default_factory=list)
    parts: dict[str, str] = field(default_factory=dict)

    def add(self, answers: Iterable[Answer]) -> None:
        """Take the answers to some questions."""
        for one in answers:
            self.entries += one.entries
            self.certain += one.certain
            self.checks += one.checks

    @property
    def questions(self) -> list[str]:
        """The open questions, each once, in the order in which they came up."""
        return list(dict.fromkeys(one.question for one in self.entries if one.answers))

    @property
    def texts(self) -> str:
        """All that the map has in its entries, or may have."""
        return "\n".join(text for one in self.entries for text in (one.value, *one.answers))

    def toml(self, *, answered: bool) -> str:
        """Return the map in TOML, with questions or with the first answer to each."""
        lines: list[str] = []
        for section, entries in self._sections():
            lines += ["", section] if section else [""]
            for one in entries:
                if answered or not one.answers:
                    lines.append(f"{one.name} = {one.value}")
                else:
                    value = f'["{OPEN}"]' if one.name == "formats" else f'"{OPEN}"'
                    lines.append(f"{one.name} = {value}{QUESTION}{' or '.join(one.answers)}")
        return "\n".join(lines[1:]) + "\n"

    def open_entries(self) -> list[MapEntry]:
        """Return the entries that are questions, in the order of the map."""
        return [one for _, entries in self._sections() for one in entries if one.answers]

    def _sections(self) -> list[tuple[str, list[MapEntry]]]:
        sections: dict[str, list[MapEntry]] = {}
        for one in self.entries:
            sections.setdefault(one.section, []).append(one)
        return sorted(sections.items(), key=lambda item: _ORDER.index(item[0].split(".")[0]))


def quoted(text: str) -> str:
    """Return a text as a TOML string."""
    written = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08X}" for one in written)


def braced(column: Column) -> str:
    """Return the text of a map that is the cell of a column."""
    return quoted("{" + column.name + "}")
