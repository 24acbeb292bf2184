"""Converts a CSV file part by part: each part's events and bad rows are those that `quarterhour csv` has for its rows.

What one part has to hand on to the next is a token. Nothing is kept between two parts, and nothing is written.
"""

import base64
import codecs
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, NamedTuple

from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.events import Converter, MappedEvent
from quarterhour.file_formats.csv.guess import Given, guess
from quarterhour.file_formats.csv.lines import (
    AS_BROKEN,
    BROKEN,
    COMMONEST,
    LONGEST,
    UTF_8,
    FileLine,
    check_kind,
    is_utf_8,
    marked,
)
from quarterhour.file_formats.csv.map import CsvMap
from quarterhour.file_formats.csv.proposal import Proposal
from quarterhour.file_formats.csv.seen import SeenRows
from quarterhour.file_formats.csv.summary import ConvertedRow, FileSummary
from quarterhour.file_formats.csv.table import BadRow, CsvRecord, PartEndError, check_columns, read_table, records
from quarterhour.file_formats.csv.totals import TotalLine
from quarterhour.model import exact_json, fields, money
from quarterhour.model.fields import printable

MAX_COUNTS: Final = 5_000
"""The most counts of a token: a row that is equal to one before all of these gets the id of that row."""
MAX_EVENT_BYTES: Final = 2_000_000
"""About how many bytes of events and messages a part gives; the rows behind them are left for the next part."""

_LINE: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ASCII: Final = bytes(range(128))
_LONGEST_SUM: Final = 200
"""Characters; a sum has at most 120 digits."""
_LARGEST_HASH: Final = (1 << 63) - 1
_OF_NO_ANSWER: Final = "is of no answer about a part"
_ONLY_BY_COMMAND: Final = "save the file as UTF-8, or convert it with quarterhour csv"


@dataclass(frozen=True, slots=True)
class PartPlace:
    """Where the next part begins, and what its rows need of the rows before it.

    `language` is that of the file's header, `line` the number of its first line, `rows` the number of rows before it,
    and `last_line` the line of the last of these. `filled`, `sums` and `totals` are those of `Converter` and
    `FileTotals`, and `counts` the latest of `SeenRows`, if these are not kept elsewhere.
    """

    encoding: str
    columns: list[str]
    language: int
    delimiter: str
    line: int
    rows: int
    last_line: int
    filled: dict[str, str]
    sums: dict[str, Decimal]
    totals: list[TotalLine]
    counts: list[tuple[int, int]] = field(default_factory=list)

    @property
    def token(self) -> str:
        """The place as opaque text."""
        values = asdict(self)
        values["sums"] = _texts(self.sums)
        values["counts"] = [[str(cells), number] for cells, number in self.counts]
        values["totals"] = [[line, _texts(numbers)] for line, numbers in self.totals]
        return base64.urlsafe_b64encode(exact_json.write(values).encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, token: str) -> "PartPlace":
        """Return the place of a token; raise `ValueError` if it is none."""
        try:
            padded = token + "=" * (-len(token) % 4)
            values = exact_json.parse(base64.b64decode(padded, b"-_", validate=True).decode())
            columns = [_text(one) for one in values["columns"]]
            line, rows, last = (_whole(values[name]) for name in ("line", "rows", "last_line"))
            language = _whole(values["language"])
            totals = [TotalLine(_whole(at), _numbers(numbers)) for at, numbers in values["totals"]]
            delimiter, encoding = _text(values["delimiter"]), _text(values["encoding"])
            filled = {name: _text(text) for name, text in values["filled"].items()}
            counts = [(_hash(cells), _whole(number)) for cells, number in values["counts"]]
            sums = _numbers(values["sums"])
            place = cls(encoding, columns, language, delimiter, line, rows, last, filled, sums, totals, counts)
        except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise ValueError(_OF_NO_ANSWER) from error
        if not line or len(delimiter) != 1 or delimiter in "\r\n" or not _keeps_ascii(encoding):
            raise ValueError(_OF_NO_ANSWER)
        return place


class ConvertedPart(NamedTuple):
    """What a part gives: events, bad rows, the summary of its rows, the bytes that were read, and the next place.

    `head` is the text of the file up to its first row, in the first part. `lines` has the line of each event, `line` is
    the last one that was read. `bad` has problems of the file, too. The next part begins behind these bytes; `next` is
    `None` at the end of the file.
    """

    head: str | None
    events: list[MappedEvent]
    lines: list[int]
    bad: list[BadRow]
    summary: FileSummary
    read: int
    line: int
    next: PartPlace | None


class FileConversion(NamedTuple):
    """How a file is converted: by a map, with the values that it asks for, and with what is known of the rows so far.

    `seen` knows the rows of the parts before, or at least their `counts`.
    """

    map: CsvMap
    settings: dict[str, str]
    seen: SeenRows


def convert_part(content: bytes, by: FileConversion, place: PartPlace | None, *, last: bool) -> ConvertedPart:
    """Return what a part of a file gives: its bytes from a place on, or from the beginning of the file.

    `last`: whether the file ends with this part. Without it, the last row may be cut, and is left for the next part.
    Raises `MapError`, or `FileError` if the file is of another kind or a row does not fit into a part.
    """
    csv_map = by.map
    encoding = place.encoding if place else _encoding_of(content, csv_map.file.encoding)
    lines, ends = _lines(content, encoding, place.line if place else 1, last=last)
    is_first = place is None
    place = place or _beginning(lines, by, encoding)
    check_columns(place.columns, csv_map.used_by)
    if place.language > len(csv_map.languages):
        raise MapError("languages", "are fewer than those of the map of the part before")
    converter = _converter(place, by)
    first = lines[0].number if lines else place.line
    # Of the first part, the lines up to its header were read above.
    left = lines[place.line - first :]
    end = first + len(lines)
    found, behind = _Found(), end
    try:
        rows = records(_of_part(left, end, last=last), place.delimiter, csv_map.file.quote)
        for row in converter.rows_of(rows):
            if found.size > MAX_EVENT_BYTES and not (converter.orders and converter.orders.in_order):
                behind = row.line
                break
            found.add(row, converter.convert(row))
    except PartEndError as cut:
        behind = cut.line
    is_over = last and behind == end
    bad = _with_texts(found.bad, lines, [*found.starts, behind])
    if is_over:
        for problem in converter.problems_of_totals():
            found.summary.add(problem)
            bad.append(BadRow(problem.line, problem.bad))
    read = len(content) if is_over else ends[behind - first - 1] if behind > first else 0
    if not (is_over or read):
        raise FileError(f"line {behind}: the row does not fit into a part; {_ONLY_BY_COMMAND}")
    head = _joined(lines[: found.starts[0] - 1]) if is_first and found.starts else None
    following = None if is_over else _after(converter, place, behind)
    return ConvertedPart(head, found.events, found.lines, bad, found.summary, read, behind - 1, following)


@dataclass(slots=True)
class _Found:
    """What the rows of a part have given so far: `starts` has the line of each, `size` about the bytes of all."""

    events: list[MappedEvent] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    summary: FileSummary = field(default_factory=FileSummary)
    size: int = 0

    def add(self, row: CsvRecord | BadRow, outcome: ConvertedRow) -> None:
        """Take what became of a row."""
        self.starts.append(row.line)
        self.summary.add(outcome)
        if outcome.bad:
            self.bad.append(BadRow(outcome.line, printable(outcome.bad)))
            self.size += len(self.bad[-1].reason)
        self.events += outcome.events
        self.lines += [outcome.line] * len(outcome.events)
        self.size += sum(len(exact_json.write(one.body)) for one in outcome.events)


def _with_texts(bad: list[BadRow], lines: list[FileLine], starts: list[int]) -> list[BadRow]:
    """Return bad rows with their texts in some lines; `starts` are the first lines of rows, and one behind the last."""
    ends = dict(pairwise(starts))
    first = lines[0].number if lines else 0
    return [
        replace(one, text=_joined(lines[one.line - first : ends[one.line] - first])) if one.line in ends else one
        for one in bad
    ]


def _joined(lines: list[FileLine]) -> str | None:
    """Return the text of some lines; `None` if one is too long, or has bytes that are not of the file's encoding."""
    text = "".join(one.text or "" for one in lines)
    return None if any(one.text is None for one in lines) or BROKEN in text else text


def map_of_part(content: bytes, given: Given, *, last: bool) -> tuple[str, Proposal]:
    """Return a map for a file, by its first bytes, as ``guess`` proposes it; ``last``: whether they are all.

    Raises ``FileError`` if the file is of another kind, or no table.
    """
    check_kind(content)
    in_doubt = not (marked(content) or is_utf_8(content))
    declared = COMMONEST if in_doubt else None
    lines, _ = _lines(content, _encoding_of(content, declared), 1, last=last)
    return guess(lines, given, encoding=declared, encoding_in_doubt=in_doubt)


def _encoding_of(content: bytes, declared: str | None) -> str:
    """Return the encoding of a file from its first bytes; raise `FileError` if it cannot be read here."""
    check_kind(content)
    mark = marked(content)
    if declared and mark and not declared.startswith(mark):
        raise FileError(f'begins with the byte order mark of {mark}, but the map has encoding = "{declared}"')
    found = declared or mark
    if not found:
        if not is_utf_8(content):
            raise FileError(f'is not UTF-8: set encoding = "{COMMONEST}" or another in [file]')
        found = UTF_8
    if not _keeps_ascii(found):
        raise FileError(f"is {found}: {_ONLY_BY_COMMAND}")
    return found


def _keeps_ascii(encoding: str) -> bool:
    """Return whether bytes below 128 are ASCII in an encoding, so that its bytes show its lines."""
    try:
        return codecs.decode(_ASCII, encoding) == _ASCII.decode()
    except (LookupError, ValueError, TypeError):
        return False


def _lines(content: bytes, encoding: str, number: int, *, last: bool) -> tuple[list[FileLine], list[int]]:
    """Return the lines of a part, and where each ends. Without `last`, a line that may go on is left out."""
    lines, ends = [], []
    for number_, found in enumerate(_LINE.finditer(content), number):
        if not last and found.end() == len(content) and not found[0].endswith(b"\n"):
            break  # the rest of the line, or the second half of its end, is in the next part
        text = found[0].decode(encoding, AS_BROKEN)
        text = text.removeprefix("\ufeff") if number_ == 1 else text
        lines.append(FileLine(number_, text if len(text) <= LONGEST else None))
        ends.append(found.end())
    return lines, ends


def _of_part(lines: list[FileLine], end: int, *, last: bool) -> Iterator[FileLine]:
    yield from lines
    if not last:
        raise PartEndError(end)


def _beginning(lines: list[FileLine], by: FileConversion, encoding: str) -> PartPlace:
    """Return the place of the first row of a file."""
    table = read_table(lines, by.map.file, by.map.used_by)
    row = next(table.rows, None)
    line = row.line if row else len(lines) + 1
    fresh = Converter(table.header, by.map, None, by.seen)
    sums = fresh.totals.sums if fresh.totals else {}
    return PartPlace(encoding, table.header, table.language, table.delimiter, line, 0, 0, fresh.filled, sums, [])


def _converter(place: PartPlace, by: FileConversion) -> Converter:
    """Return a converter that goes on at a place."""
    converter = Converter(place.columns, by.map.of_language(place.language), by.settings, by.seen)
    converter.rows, converter.line = place.rows, place.last_line
    converter.filled |= {name: place.filled[name] for name in converter.filled.keys() & place.filled.keys()}
    if converter.totals:
        converter.totals.sums |= {name: place.sums[name] for name in converter.totals.sums.keys() & place.sums.keys()}
        names = converter.totals.sums.keys()
        converter.totals.given += [one for one in place.totals if one.numbers.keys() == names]
    return converter


def _after(converter: Converter, place: PartPlace, line: int) -> PartPlace:
    """Return the place behind the rows of a converter."""
    totals = converter.totals
    return PartPlace(
        place.encoding,
        place.columns,
        place.language,
        place.delimiter,
        line,
        converter.rows,
        converter.line,
        converter.filled,
        totals.sums if totals else {},
        totals.given if totals else [],
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _whole(value: object) -> int:
    number = fields.whole(value)
    if number is None:
        raise TypeError(value)
    return number


def _hash(value: object) -> int:
    number = int(_text(value))
    if abs(number) > _LARGEST_HASH:
        raise ValueError(value)
    return number


def _texts(numbers: dict[str, Decimal]) -> dict[str, str]:
    return {name: money.plain(number) for name, number in numbers.items()}


def _numbers(texts: Any) -> dict[str, Decimal]:  # noqa: ANN401 - any JSON
    if not all(len(_text(text)) <= _LONGEST_SUM for text in texts.values()):
        raise TypeError(texts)
    return {name: Decimal(text) for name, text in texts.items()}
