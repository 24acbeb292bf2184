"""The lines of sealed files: their columns, how cells are escaped, how lines are read and added up."""

import csv
import gzip
import io
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import IO, Final, Self, TextIO

from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.money import NO_CURRENCY
from quarterhour.model.totals import Totals
from quarterhour.reports.plan import Content

_AT: Final = ("quarter_hour", "position", "recorded_at")
_WHAT: Final = ("source", "id", "type", "agency", "currency")
_MONEY: Final = ("amount", "commission_rate", "commission")
_SENT: Final = (
    *("time", "product", "quantity", "unit_price", "customer", "order_id", "line", "location", "refers_to", "extra"),
)
FLAG: Final = "flag"
_FIRST: Final = (*_AT, *_WHAT, *_MONEY, *_SENT, FLAG)
COLUMNS: Final[Mapping[int, tuple[str, ...]]] = {1: _FIRST, 2: (*_FIRST, "category", "terms", "arithmetic")}
"""The columns by schema; what is sealed stays as it is, so a newer schema only adds."""

UNLINKED: Final = "unlinked refund"
"""The flag of a refund that names no sale, so that no sale bounds it."""

# Numbers and what we make ourselves begin with nothing that a spreadsheet would run; the rest is the senders' text.
_TEXT: Final = frozenset({"source", "id", "agency", *_SENT, "category"} - {"time", "quantity", "unit_price"})
# Their wide forms too, as Japanese input methods write them.
_RUN_BY_SPREADSHEETS: Final = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
_MARK: Final = "'"
_MARKED: Final = (*_RUN_BY_SPREADSHEETS, _MARK)

_LONGEST: Final = 1_000_000
"""Characters of a line: more than twice what a posting can hold, as an item is 400 KB and quotes are doubled."""


Line = Mapping[str, str]
"""The values of a line by their columns, as text."""


def harmless(text: str) -> str:
    """Write a text cell so that no spreadsheet runs it; ``original`` undoes it."""
    return _MARK + text if text.startswith(_MARKED) else text


def original(cell: str) -> str:
    """Return the text that ``harmless`` was given."""
    return cell.removeprefix(_MARK)


def read_lines(file: IO[bytes], schema: int | None = None) -> Iterator[dict[str, str]]:
    """Yield the values of each line of a sealed file, of one schema or (``None``) of any.

    Raises ``ValueError`` where it is none.
    """
    try:
        yield from _read_rows(file, COLUMNS.values() if schema is None else [COLUMNS[schema]])
    except (gzip.BadGzipFile, zlib.error, EOFError, csv.Error) as error:
        raise ValueError(str(error)) from error


def _read_rows(file: IO[bytes], known: Collection[tuple[str, ...]]) -> Iterator[dict[str, str]]:
    with (
        gzip.GzipFile(fileobj=file, mode="rb") as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        bounded = _Bounded(text)
        reader = csv.reader(bounded, strict=True)
        columns = tuple(next(reader, []))
        if columns not in known:
            raise ValueError(f"the columns are {columns}")
        for row in reader:
            bounded.room = _LONGEST
            if len(row) != len(columns):
                raise ValueError(f"line {reader.line_num} has {len(row)} cells, not {len(columns)}")
            yield {name: original(cell) if name in _TEXT else cell for name, cell in zip(columns, row, strict=True)}


class _Bounded:
    """Yields the lines of a text; raises ``ValueError`` where those read since ``room`` was set exceed it."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self.room = _LONGEST

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self.room + 1)
        self.room -= len(line)
        if self.room < 0:
            raise ValueError(f"a line has more than {_LONGEST:,} characters")
        if not line:
            raise StopIteration
        return line


class Tallying:
    """Adds up lines as the counters do; each key is parsed once, not once a line."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, str, str], Totals] = {}
        self._places: dict[tuple[str, str], Totals] = {}
        self.lines = 0

    def add(self, line: Line) -> None:
        """Add a line; raise ``KeyError`` or ``ArithmeticError`` where it is none."""
        key = line["agency"], line["currency"], line["quarter_hour"]
        amount, commission = Decimal(line["amount"]), Decimal(line["commission"])
        self._totals[key] = self._totals.get(key, _NOTHING).plus(amount, commission)
        if (location := line.get("location")) and line["currency"] != NO_CURRENCY:
            place = location, line["currency"]
            self._places[place] = self._places.get(place, _NOTHING).plus(amount, commission)
        self.lines += 1

    def content(self) -> Content:
        """Return what the lines add up to."""
        accounts = {
            (Account(agency, currency), Partition.parse(partition)): totals
            for (agency, currency, partition), totals in self._totals.items()
        }
        return Content(self.lines, accounts, self._places)


def tally_lines(lines: Iterable[Line]) -> Content:
    """Return what lines add up to, by account and partition, and by place."""
    tallying = Tallying()
    for line in lines:
        tallying.add(line)
    return tallying.content()


def cell(name: str, value: str) -> str:
    """Return a value as its column shows it."""
    return harmless(value) if name in _TEXT else value


_NOTHING: Final = Totals()
