"""Splits the lines of a CSV file into a header and rows.

The header is the line that holds the names of the columns that the map uses, so lines before it are skipped. A row that
is not CSV loses its first line alone: the lines after it are read again.
"""

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.lines import LONGEST, FileLine
from quarterhour.model.texts import one_form

DELIMITERS: Final = (",", ";", "\t", "|")
"""The delimiters that are tried if the map names none; `,` counts if a single column leaves the choice open."""
HEADER_LINES: Final = 100
"""The first lines of a file, among which its header is looked for."""

_MOST_AGAIN: Final = 1 << 24
"""The most characters of a file that are read again; then a bad row takes its lines with it."""
_LONGEST_HEADER: Final = 20
"""The most lines of a header whose names hold line ends."""


@dataclass(frozen=True, slots=True)
class FileForm:
    """The form of a file, as the map declares it; `None` for what the file shows.

    `columns` names the columns of a file without a header line, `header` is the line of the header. `names` has, for
    each language of a map, what its files call the columns of the map, the likeliest name first.
    `never_changes`: whether the number of a row may be a part of its id.
    """

    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = '"'
    columns: tuple[str, ...] = ()
    header: int | None = None
    names: tuple[Mapping[str, tuple[str, ...]], ...] = ({},)
    never_changes: bool = False


@dataclass(frozen=True, slots=True)
class CsvRecord:
    """One row of the file: its cells, and the physical line on which it starts."""

    line: int
    cells: list[str]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row without an event: the physical line on which it starts, the reason, and its text if that is known."""

    line: int
    reason: str
    text: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Table:
    """The names of the columns as the map has them, the rows under them, the delimiter, and the file's language.

    `language` is its place in `FileForm.names`.
    """

    header: list[str]
    rows: Iterator[CsvRecord | BadRow]
    delimiter: str
    language: int = 0


def read_table(lines: Iterable[FileLine], form: FileForm, used_by: Mapping[str, str]) -> Table:
    """Return the table in the lines of a file.

    `used_by` has, for each column that must be there, the entry of the map that uses it. Raises `MapError` if no line
    has all columns, if two have, or if a column is there twice.
    """
    lines = iter(lines)
    if form.columns:
        header = list(form.columns)
        check_columns(header, used_by)
        delimiter = form.delimiter or DELIMITERS[0]
        return Table(header, records(lines, delimiter, form.quote), delimiter)
    first = list(islice(lines, max(HEADER_LINES, form.header or 0)))
    start, delimiter, language = _header_place(first, form, used_by)
    rows = records(chain(first[start:], lines), delimiter, form.quote)
    top = next(rows, None)
    if not isinstance(top, CsvRecord):
        raise MapError("file.columns", "the file has no header line, and the map names no columns")
    header = in_words_of_the_map(names(top.cells), form.names[language])
    check_columns(header, used_by)
    return Table(header, rows, delimiter, language)


def in_words_of_the_map(header: list[str], names_of: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the columns of a header as the map calls them; one that the header has by that name is left as it is."""
    there = set(header)
    known = {}
    for column, given in names_of.items():
        if column not in there and (found := next((name for name in given if name in there), None)):
            known[found] = column
    return [known.get(name, name) for name in header]


def names(cells: Iterable[str]) -> list[str]:
    """Return the names of columns, without blanks around them."""
    return [cell.strip() for cell in cells]


def check_columns(header: list[str], used_by: Mapping[str, str]) -> None:
    """Raise `MapError` if a column in use is not there, or is there twice."""
    for column, use in used_by.items():
        if header.count(column) != 1:
            found = "more than one column" if column in header else "no column"
            raise MapError(use, f"the file has {found} {column!r}; it has {', '.join(header)}")


def _header_place(first: list[FileLine], form: FileForm, used_by: Mapping[str, str]) -> tuple[int, str, int]:
    """Return the index of the header among the first lines, the delimiter of the file, and its language.

    If no line has all columns, it is the line that has most of them.
    """
    delimiters = (form.delimiter,) if form.delimiter else DELIMITERS
    starts = range(len(first)) if form.header is None else range(form.header - 1, min(form.header, len(first)))
    best, place, complete, behind = -1, (0, delimiters[0], 0), list[int](), 0
    for start in starts:
        for delimiter in delimiters:
            found, lines = header_at(first, start, delimiter, form.quote)
            fitting, language = _best_language(found, form, used_by)
            if found and fitting > best:
                best, place = fitting, (start, delimiter, language)
            if used_by and fitting == len(used_by) and start >= behind:
                complete.append(first[start].number)
                behind = start + lines
    if len(complete) > 1:
        numbers = f"{complete[0]} and {complete[1]}"
        raise MapError("file.header", f"lines {numbers} both have the columns of the map: set header = {complete[0]}")
    return place


def _best_language(header: list[str], form: FileForm, used_by: Mapping[str, str]) -> tuple[int, int]:
    """Return how many of the columns a header has, and the first language in which it has most."""
    fitting = [len(used_by.keys() & set(in_words_of_the_map(header, one))) for one in form.names]
    return max(fitting), fitting.index(max(fitting))


def header_at(first: list[FileLine], start: int, delimiter: str, quote: str | None) -> tuple[list[str], int]:
    """Return the names in the row that begins at one of the first lines, and its lines; no names if there is no row."""
    lines = first[start : start + _LONGEST_HEADER]
    left = iter(lines)
    top = next(records(left, delimiter, quote), None)
    if not isinstance(top, CsvRecord) or top.line != first[start].number:
        return [], 0
    return names(top.cells), len(lines) - sum(1 for _ in left)


class _LongLineError(Exception):
    """A line is longer than `LONGEST`."""

    def __str__(self) -> str:
        return "a quote is still open at a line that is too long"


class PartEndError(Exception):
    """The lines of a part of a file have ended, and others follow; `line` is where the next row begins."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _LongRowError(Exception):
    """The lines of a row are longer than `LONGEST`."""


def records(lines: Iterator[FileLine], delimiter: str, quote: str | None) -> Iterator[CsvRecord | BadRow]:
    """Split lines into rows, with cells in one form. A quoted cell may hold line ends; blank lines are skipped.

    If a row is not CSV, its first line is a bad row, and its other lines are read again: an unclosed quote loses no
    other row. Passes a `PartEndError` of the lines on, with the line of the row in which it was raised.
    """
    feed = _Feed(lines)
    reader = _reader(feed.texts(), delimiter, quote)
    while True:
        feed.taken.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except PartEndError as end:
            raise PartEndError(feed.taken[0].number if feed.taken else end.line) from None
        except (csv.Error, _LongLineError, _LongRowError) as error:
            yield feed.bad_row(error)
            reader = _reader(feed.texts(), delimiter, quote)
        else:
            if cells:
                yield CsvRecord(feed.taken[0].number, list(map(one_form, cells)))


class _Feed:
    """The lines that a reader takes for one row."""

    def __init__(self, lines: Iterator[FileLine]) -> None:
        self._lines = lines
        self._again: deque[FileLine] = deque()
        self._left = _MOST_AGAIN
        self.taken: list[FileLine] = []

    def texts(self) -> Iterator[str]:
        """Yield the texts of the lines; raise an error at a line or a row that is too long."""
        size = 0
        while line := self._again.popleft() if self._again else next(self._lines, None):
            size = size if self.taken else 0
            self.taken.append(line)
            if line.text is None:
                raise _LongLineError
            size += len(line.text)
            if size > LONGEST:
                raise _LongRowError
            yield line.text

    def bad_row(self, error: Exception) -> BadRow:
        """Return the row that has an error, and keep its other lines to be read again."""
        first, *others = self.taken
        self._left -= sum(len(line.text or "") for line in others)
        reason = f"is not CSV: {error}"
        if isinstance(error, _LongRowError):
            reason = f"is a row of more than {LONGEST:,} characters"
        elif first.text is None:
            reason = f"is longer than {LONGEST:,} characters"
        if self._left > 0:
            self._again.extendleft(reversed(others))
        elif others:
            reason += f"; it takes the lines up to {others[-1].number} with it"
        return BadRow(first.number, reason)


def _reader(lines: Iterator[str], delimiter: str, quote: str | None) -> Iterator[list[str]]:
    return csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quote,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        strict=True,
    )
