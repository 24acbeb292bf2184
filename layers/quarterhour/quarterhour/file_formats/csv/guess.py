"""`quarterhour csv --guess`: proposes a map for a CSV file.

The proposal is TOML. What the data decide is filled in, what they do not decide is a question: its value is "?", which
no command accepts. A decimal sign or the order of day and month is never taken from what is usual.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from quarterhour.file_formats.csv.column_names import ROLES, names_a_total, plain, without_code
from quarterhour.file_formats.csv.columns import CellKind, Column, columns, is_text, without_faults
from quarterhour.file_formats.csv.doubts import doubts
from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.events import converted
from quarterhour.file_formats.csv.lines import FileLine
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.numbers import OPEN
from quarterhour.file_formats.csv.proposal import Answer, MapEntry, Proposal, ProposedColumn, quoted
from quarterhour.file_formats.csv.questions import QUESTIONS, clean_up, fees, unused_columns
from quarterhour.file_formats.csv.recognised import proposed, recognised
from quarterhour.file_formats.csv.sample import Sample
from quarterhour.file_formats.csv.table import DELIMITERS, HEADER_LINES, CsvRecord, Table, names, read_table, records
from quarterhour.ledger.events.billed import SOURCE
from quarterhour.model.fields import printable


class Layout(NamedTuple):
    """A table that was found, the number of its header's line (`None` without a header), and what a map says of it."""

    table: Table
    header_line: int | None
    answer: Answer


def layout_of(lines: Sequence[FileLine]) -> Layout:
    """Return the table that the lines of a file hold; raise `FileError` if they hold none."""
    delimiter, start = _beginning(lines)
    rows = records(iter(lines[start:]), delimiter, '"')
    top = next(rows)
    if not isinstance(top, CsvRecord):
        raise FileError("is not a table: its first row is not CSV")
    separated = Answer.of(certain=f"{quoted(delimiter)} separates the columns")
    header = names(top.cells)
    if all(is_text(cell) for cell in header if cell) and len(set(filter(None, header))) > 1:
        return Layout(Table(header, rows, delimiter), top.line, separated)
    header = [f"column {n}" for n in range(1, len(header) + 1)]
    numbered = Answer.of(
        MapEntry("[file]", "delimiter", quoted(delimiter)),
        MapEntry("[file]", "columns", json.dumps(header)),
        check="the file has no header: the columns are named by their number",
    )
    return Layout(Table(header, chain([top], rows), delimiter), None, separated + numbered)


def _beginning(lines: Sequence[FileLine]) -> tuple[str, int]:
    """Return the delimiter and the index of the line with which the table begins."""
    best, place = (0, 0), None
    for delimiter in DELIMITERS:
        rows = [row for row in records(iter(lines[:HEADER_LINES]), delimiter, '"') if isinstance(row, CsvRecord)]
        widths = Counter(len(row.cells) for row in rows if len(row.cells) > 1)
        if widths and (score := max((count, width) for width, count in widths.items())) > best:
            first = _first_row([row for row in rows if len(row.cells) == score[1] and _filled(row) > 1])
            if first:
                best, place = score, (delimiter, first.line - 1)
    if place is None:
        raise FileError("is not a table: no delimiter gives more than one column")
    return place


def _first_row(rows: list[CsvRecord]) -> CsvRecord | None:
    """Return the row with which the table begins: the fullest one of names, after titles with fewer cells filled."""
    named = [row for row in rows if all(is_text(cell) for cell in row.cells if cell.strip())]
    if named:
        header = max(named, key=_filled)
        if all(_filled(row) < _filled(header) for row in rows[: rows.index(header)]):
            return header
    return next(iter(rows), None)


def _filled(row: CsvRecord) -> int:
    return sum(bool(cell.strip()) for cell in row.cells)


LINES: Final = 20_000
"""The lines from which a map is made."""
SAMPLES: Final = 3

_CHARACTERS: Final = 1 << 24
_CURRENCY_NAMES: Final = frozenset(("currency", "currency code", "währung", "devise", "moneda", "divisa", "valuta"))
_MOST_COLUMNS: Final = 1000


class Given(NamedTuple):
    """What a person says of a file: its name, the source of its events, and columns by their parts in an event."""

    name: str
    source: str | None = None
    columns: Mapping[str, str] = MappingProxyType({})


def guess(
    lines: Iterable[FileLine], given: Given, *, encoding: str | None, encoding_in_doubt: bool
) -> tuple[str, Proposal]:
    """Return a map for the lines of a file, as text and as the proposal that it was made of.

    `encoding` is the encoding to declare, `None` for UTF-8; it is a question if it is in doubt. Raises
    `FileError` if the lines are no table.
    """
    read = list(_first(lines))
    name = given.name
    if not given.columns and (found := recognised(read)):
        proposal = proposed(found)
        proposal.add([_encoding(encoding, in_doubt=encoding_in_doubt)])
        shown = [json.dumps(one.body, ensure_ascii=False) for one in found[0].events[:SAMPLES]]
        return _comments(proposal, name, found[0].rows, None, shown) + "\n" + proposal.toml(answered=False), proposal
    layout = layout_of(read)
    sample = _sample(layout.table, given)
    proposal = Proposal(columns=[ProposedColumn(one.name, _values(sample, one)) for one in sample.columns])
    proposal.parts = sample.parts
    proposal.add([_encoding(encoding, in_doubt=encoding_in_doubt), layout.answer])
    proposal.add(question(sample) for question in QUESTIONS)
    _add_unused(sample, proposal)
    proposal.add([clean_up(sample, proposal)])
    events_ = _samples(read, proposal, layout.header_line)
    comments = _comments(proposal, name, len(sample.rows), layout.header_line, events_)
    return comments + "\n" + proposal.toml(answered=False), proposal


def _encoding(encoding: str | None, *, in_doubt: bool) -> Answer:
    if encoding and in_doubt:
        question = f"Which encoding is it? The rows are read as {encoding}."
        return Answer.of(MapEntry.open("[file]", "encoding", question, [quoted(encoding)]))
    if encoding:
        certain = f"the encoding is {encoding}: there is no other reading"
        return Answer.of(MapEntry("[file]", "encoding", quoted(encoding)), certain=certain)
    return Answer()


def _values(sample: Sample, column: Column) -> list[str]:
    place = sample.header.index(column.name)
    return list(islice(filter(None, (row[place].strip() for row in sample.rows)), SAMPLES))


def _sample(table: Table, given: Given) -> Sample:
    """Return the rows of a table by which a map is made.

    Raises `FileError` if it has too many columns, or not one that was chosen.
    """
    header, width = table.header, len(table.header)
    if width > _MOST_COLUMNS:
        raise FileError(f"has {width:,} columns: a map is proposed for at most {_MOST_COLUMNS:,}")
    cells = [row.cells for row in table.rows if isinstance(row, CsvRecord)]
    totals = [[*row, *[""] * (width - len(row))] for row in cells if len(row) <= width and _is_total(row)]
    rows = [row for row in cells if len(row) == width and not _is_total(row)]
    found, counts = columns(header, rows), Counter(header)
    usable = [one for one in found if one.filled and counts[one.name] == 1 and _can_be_named(one.name)]
    if missing := [name for name in given.columns.values() if all(one.name != name for one in usable)]:
        raise FileError(f"has no column {missing[0]!r} that a map can name")
    usable = [_corrected(one, rows, header.index(one.name), given.columns) for one in usable]
    stem = re.sub(r"[^\w.-]+", "-", Path(given.name).stem.split(".")[0] or "file")
    # The source of billed orders is taken.
    source = given.source or (f"{stem}-csv" if stem == SOURCE else stem)
    return Sample(header, rows, totals, usable, source, given.columns)


def _corrected(column: Column, rows: Sequence[Sequence[str]], place: int, chosen: Mapping[str, str]) -> Column:
    """Return a column without its faults, if its name or a person says what it has to be, and most of its cells are."""
    part = next((part for part, name in chosen.items() if name == column.name), None)
    kind = _kind(part) if part else _kind_by_name(column.name)
    if kind is None or kind.fits(column):
        return column
    corrected = without_faults(kind, column.name, (row[place] for row in rows))
    if not kind.fits(corrected):
        if part:
            raise FileError(f"has no cell of {column.name!r} that is {kind.value}")
        return column
    return corrected if part or corrected.filled > corrected.faults.total() else column


def _kind(part: str) -> CellKind | None:
    by_part = {"time": CellKind.TIME, "currency": CellKind.CURRENCY}
    return CellKind.NUMBER if part in {"amount", "quantity", "unit_price"} else by_part.get(part)


def _kind_by_name(name: str) -> CellKind | None:
    parts = ("time", "amount", "quantity", "unit_price")
    if plain(name) in _CURRENCY_NAMES:
        return CellKind.CURRENCY
    return next((_kind(part) for part in parts if {plain(name), without_code(name)} & {*ROLES[part]}), None)


def _add_unused(sample: Sample, proposal: Proposal) -> None:
    """Name the columns that are left out, and ask about those that look like a commission or a fee."""
    unused = unused_columns(sample, proposal)
    questions = fees(sample, unused) + doubts(sample, unused)
    names = {one.name for one in questions}
    proposal.unused = [one for one in unused if quoted(one) not in names]
    left_out = f"these columns are not used: {', '.join(map(repr, proposal.unused))}" if proposal.unused else ""
    proposal.add([Answer.of(*questions, check=left_out)])


def _first(lines: Iterable[FileLine]) -> Iterator[FileLine]:
    """Yield the first lines, until there are enough of them or of their characters."""
    characters = 0
    for line in islice(lines, LINES):
        characters += len(line.text or "")
        if characters > _CHARACTERS:
            return
        yield line


def _can_be_named(name: str) -> bool:
    """Return whether a map can name a column."""
    return bool(name) and not set("{}") & set(name)


def _is_total(cells: Sequence[str]) -> bool:
    return any(map(names_a_total, cells))


def _samples(lines: list[FileLine], proposal: Proposal, header_line: int | None) -> list[str]:
    """Return the first rows as events, in JSON, or why they give none."""
    csv_map = load_map(proposal.toml(answered=True))
    try:
        table = read_table(lines, csv_map.file, csv_map.used_by)
    except MapError:  # another line has the columns too
        proposal.add([Answer.of(MapEntry("[file]", "header", str(header_line)))])
        csv_map = load_map(proposal.toml(answered=True))
        table = read_table(lines, csv_map.file, csv_map.used_by)
    shown = []
    for one in islice(converted(table, csv_map, whole=False), SAMPLES):
        shown += [json.dumps(event.body, ensure_ascii=False) for event in one.events]
        if one.bad:
            shown.append(f"line {one.line}: {one.bad}")
    return shown


def _comments(proposal: Proposal, name: str, rows: int, header_line: int | None, samples: list[str]) -> str:
    certain = [f"line {header_line} is the header", *proposal.certain] if header_line else proposal.certain
    parts = [
        [f"A map for {name}, made by quarterhour csv --guess from {rows:,} rows."],
        ["Certain:", *(f"- {one}" for one in certain)],
        ["To check:", *(f"- {one}" for one in proposal.checks)] if proposal.checks else [],
        [f'Questions: write each answer in place of its "{OPEN}".', *(f"- {one}" for one in proposal.questions)]
        if proposal.questions
        else [],
        [
            f"The first rows as events{', with the first answer to each question' if proposal.questions else ''}:",
            *samples,
        ],
    ]
    return "".join(f"# {printable(line, 1000)}\n" for part in parts for line in part)
