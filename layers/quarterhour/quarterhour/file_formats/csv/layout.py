"""Finds the table in a file whose form nobody has declared: its delimiter, its header and its first row."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from quarterhour.file_formats.csv.columns import is_text
from quarterhour.file_formats.csv.errors import FileError
from quarterhour.file_formats.csv.lines import FileLine
from quarterhour.file_formats.csv.proposal import Answer, MapEntry, quoted
from quarterhour.file_formats.csv.table import DELIMITERS, HEADER_LINES, CsvRecord, Table, names, records


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
