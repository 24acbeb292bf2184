"""What the cells of a CSV file show about its columns: which forms of numbers and times can read all of them.

A form is certain if all forms that can read a column give the same values: then the data decide it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, partial
from itertools import product
from typing import Final, Generic, TypeVar
from zoneinfo import ZoneInfo

from quarterhour.file_formats.csv.cells import ISO, TimeForm
from quarterhour.file_formats.csv.errors import CellError
from quarterhour.file_formats.csv.numbers import NumberForm, signs, usual_forms
from quarterhour.model import money

PLACEHOLDERS: Final = frozenset({"NULL", "null", "N/A", "n/a", "NA", "None", "-", "--"})
"""Cells that stand for no value."""

_DATES: Final = (
    *(one.replace("/", sign) for sign in "/.-" for one in ("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%y/%m/%d")),
    *("%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%b %d, %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%B %d, %Y"),
)
_HOURS: Final = ("", " %H:%M", " %H:%M:%S", ", %H:%M", ", %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_OFFSETS: Final = ("", " %z", "%z", " UTC", " GMT")
_FORMATS: Final = (
    "%Y-%m-%d %H:%M:%S %z",
    "%Y-%m-%d %H:%M:%S UTC",
    *("".join(parts) for parts in product(_DATES, _HOURS, _OFFSETS)),
)
_TIME_LENGTHS: Final = range(6, 41)
_FEWEST_DIGITS: Final = 3
_YEARS: Final = range(1970, 2100)
_OFFSET: Final = re.compile(r"(Z|UTC|GMT|:\d\d ?[+-]\d\d:?\d\d)\Z")
_SHORT_OFFSET: Final = re.compile(r"(?<=:\d\d) ?[+-]\d\d:?\d\d\Z")
_SHARE: Final = re.compile(r"[-+\u2212]?\d[\d.,]* ?%?")
_UTC: Final = ZoneInfo("UTC")
_MOST_VALUES: Final = 20
_MOST_TRIED: Final = 500
"""The cells of a column with faults by which its form is found."""

F = TypeVar("F")


@dataclass(slots=True)
class Readings(Generic[F]):
    """The forms that can read all cells of a column, each with a digest of what it read."""

    forms: dict[F, int]

    def narrow(self, read: Callable[[F], object]) -> None:
        """Keep the forms that can read one more cell; `read` raises `CellError` for the others."""
        kept = {}
        for form, digest in self.forms.items():
            try:
                kept[form] = hash((digest, read(form)))
            except CellError:
                continue
        self.forms = kept

    def choices(self) -> list[F]:
        """Return one form for each way to read the column: one if the data decide it, none if no form can."""
        return list({digest: form for form, digest in reversed(self.forms.items())}.values())[::-1]


@dataclass(slots=True)
class Column:
    """A column, and what its cells show. `values` counts the values, until there are too many.

    `faults` are the cells that it would have to read and cannot; all else is said of the others.
    `all_numbered` says that all cells begin with `#`, `all_offsets` that all end as a time with an offset does,
    `all_shares` that all are digits, with or without a percent sign.
    """

    name: str
    filled: int = 0
    repeated: bool = False
    negative: bool = False
    fractions: bool = False
    signs: set[str] = field(default_factory=set)
    values: Counter[str] | None = field(default_factory=Counter)
    all_currencies: bool = True
    all_numbered: bool = True
    all_offsets: bool = True
    all_shares: bool = True
    numbers: Readings[NumberForm] = field(default_factory=lambda: Readings({}))
    times: Readings[str] = field(default_factory=lambda: Readings({}))
    faults: Counter[str] = field(default_factory=Counter)
    _seen: set[int] = field(default_factory=set)

    def add(self, cell: str) -> None:
        """Take one more cell that is not empty."""
        self.filled += 1
        if self.values is not None:
            self.values[cell] += 1
            if len(self.values) > _MOST_VALUES:
                self.values = None
        key = hash(cell)
        if key in self._seen:
            self.repeated = True
            return  # it shows nothing else that is new
        self._seen.add(key)
        self.all_currencies = self.all_currencies and money.is_currency(cell.upper())
        self.all_numbered = self.all_numbered and cell.startswith("#")
        self.all_offsets = self.all_offsets and _OFFSET.search(cell) is not None
        self.all_shares = self.all_shares and _SHARE.fullmatch(cell) is not None
        if self.filled == 1:
            self.times.forms = dict.fromkeys(_formats_like(cell), 0)
            self.numbers.forms = dict.fromkeys(_number_forms(frozenset()), 0)
        if self.times.forms:
            self.times.narrow(lambda form: _time(form, cell))
        if self.numbers.forms:
            self._add_number(cell)

    def _add_number(self, cell: str) -> None:
        if new := signs(cell) - self.signs:
            self.signs |= new
            digests = list(self.numbers.forms.values())
            positions = [(form.decimal, form.thousands) for form in self.numbers.forms]
            wider = {(form.decimal, form.thousands): form for form in _number_forms(frozenset(self.signs))}
            self.numbers.forms = {wider[place]: digest for place, digest in zip(positions, digests, strict=True)}
        self.numbers.narrow(lambda form: form.number(cell))
        for form in list(self.numbers.forms)[:1]:
            number = form.number(cell)
            self.negative = self.negative or number < 0
            self.fractions = self.fractions or money.places(number) > 0

    @property
    def is_time(self) -> bool:
        """Whether all cells are times of one form."""
        return bool(self.filled and self.times.forms)

    @property
    def is_number(self) -> bool:
        """Whether all cells are numbers of one form."""
        return bool(self.filled and self.numbers.forms and not self.is_time)

    @property
    def is_number_or_share(self) -> bool:
        """Whether all cells are numbers, of one form or with a percent sign such as ``15 %``."""
        return self.is_number or bool(self.filled and self.all_shares and not self.is_time)

    @property
    def is_currency(self) -> bool:
        """Whether all cells are currency codes."""
        return bool(self.filled and self.all_currencies)


def columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[Column]:
    """Return the columns of rows that have as many cells as the header."""
    found = [Column(name) for name in header]
    for row in rows:
        for column, cell in zip(found, row, strict=True):
            text = cell.strip()
            if text and text not in PLACEHOLDERS:
                column.add(text)
    return found


class CellKind(Enum):
    """What the cells of a column have to be."""

    NUMBER = "a number"
    TIME = "a time"
    CURRENCY = "a currency"

    def fits(self, column: Column) -> bool:
        """Return whether all cells of a column are of this kind, in one form."""
        return {
            CellKind.NUMBER: column.is_number,
            CellKind.TIME: column.is_time,
            CellKind.CURRENCY: column.is_currency,
        }[self]


def without_faults(kind: CellKind, name: str, cells: Iterable[str]) -> Column:
    """Return a column of the cells of a kind, in the form that most of them have; the others are its faults."""
    given = [text for cell in cells if (text := cell.strip()) and text not in PLACEHOLDERS]
    forms = _forms(kind, given[:_MOST_TRIED])
    best = max(forms, key=lambda reads: sum(map(reads, given[:_MOST_TRIED])), default=None)
    column = Column(name)
    for cell in given:
        if best and best(cell):
            column.add(cell)
        else:
            column.faults[cell] += 1
    return column


def _forms(kind: CellKind, cells: Sequence[str]) -> list[Callable[[str], bool]]:
    """Return for each form that some of these cells have whether it can read a cell."""
    if kind is CellKind.CURRENCY:
        return [lambda cell: money.is_currency(cell.upper())]
    if kind is CellKind.TIME:
        found = dict.fromkeys(form for cell in cells for form in _formats_like(cell))
        return [partial(_can, partial(_time, form)) for form in found]
    numbers = _number_forms(frozenset(sign for cell in cells for sign in signs(cell)))
    return [partial(_can, form.number) for form in numbers]


def _can(read: Callable[[str], object], cell: str) -> bool:
    try:
        read(cell)
    except CellError:
        return False
    return True


def is_text(cell: str) -> bool:
    """Return whether a cell is neither empty nor a number nor a time."""
    column = Column("")
    if text := cell.strip():
        column.add(text)
    return bool(text) and not column.is_number and not column.is_time


@cache
def _number_forms(found: frozenset[str]) -> tuple[NumberForm, ...]:
    return tuple(usual_forms(dict.fromkeys(sorted(found), "EUR")))  # only the sign matters here


def _formats_like(cell: str) -> list[str]:
    """Return the formats with the signs of a cell: to try the others would take long, and they cannot read it."""
    if len(cell) not in _TIME_LENGTHS or cell.isdigit() or sum(one.isdigit() for one in cell) < _FEWEST_DIGITS:
        return []
    return [ISO, *_formats_by_marks().get(_marks(_SHORT_OFFSET.sub("%z", cell)), ())]


@cache
def _formats_by_marks() -> dict[object, list[str]]:
    found: dict[object, list[str]] = {}
    for form in _FORMATS:
        found.setdefault(_marks(form.replace("%b", "Jan").replace("%B", "Jan").replace("%p", "AM")), []).append(form)
    return found


def _marks(text: str) -> object:
    """Return what texts of one form of time have in common."""
    zone = next((zone for zone in ("%z", "UTC", "GMT") if text.endswith(zone)), "")
    bare = re.sub("%.", "", text.removesuffix(zone))
    letters = len(re.findall(r"[^\W\d_]+", bare))
    return (*(bare.count(mark) for mark in ":/.,-"), letters, zone)


def _time(form: str, cell: str) -> object:
    time = TimeForm(_UTC, (form,)).utc(cell)
    if time.year not in _YEARS:
        raise CellError(f"{cell!r} is in another century")
    return time
