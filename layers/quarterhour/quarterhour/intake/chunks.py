"""Reads a file's content in chunks of bounded size: events with their lines, problems, and where it goes on."""

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from quarterhour.file_formats.csv.parts import FileConversion, PartPlace, convert_part
from quarterhour.file_formats.csv.summary import FileSummary
from quarterhour.intake.file_result import BAD_ROW, Problem
from quarterhour.intake.keys import UnreadableError
from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.events.http import MAX_BATCH, event_of_line
from quarterhour.model.errors import FieldProblem

LONGEST_LINE: Final = 1 << 18
"""The most bytes of a line; the most that a message of the queue has, too."""
_LONGEST_DROPPED: Final = 64 << 20
"""A file with a longer line than this is not read further: a part must end in time, and ends at a line."""
_MOST_BLANK: Final = 1 << 20
"""A file with more bytes of blank lines together is not read further: some kilobytes of gzip unpack to millions."""
_BLOCK: Final = 1 << 18
_MAX_CHUNK: Final = 4 << 20
_PART: Final = 700_000
"""Bytes of a CSV file that are converted at a time."""
_BOM: Final = b"\xef\xbb\xbf"
_TOO_LONG: Final = Rejection(
    None, None, (FieldProblem("", f"is a line of more than {LONGEST_LINE:,} bytes", "one event a line"),)
)


class Content(Protocol):
    """The content of a file as a stream."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""


class Chunk(NamedTuple):
    """Some events with their lines, the problems of rows without one, and the place behind them.

    ``offset``, ``line`` and ``place`` are those of ``FileResult``; ``summary`` says what became of the rows of CSV.
    """

    events: list[Event | Rejection]
    lines: list[int]
    problems: list[Problem]
    offset: int
    line: int
    place: str | None = None
    summary: FileSummary | None = None


def chunks_of_lines(content: Content, offset: int, line: int) -> Iterator[Chunk]:
    """Yield the chunks of NDJSON whose first byte is at ``offset``, behind ``line`` lines; skips blank lines.

    Raises ``UnreadableError`` if a line has no end within ``_LONGEST_DROPPED`` bytes, or too many lines are blank.
    """
    events: list[Event | Rejection] = []
    numbers: list[int] = []
    begun = filled = offset
    for text, size in _lines(content):
        offset += size
        line += 1
        if line == 1 and text is not None:
            text = text.removeprefix(_BOM)  # noqa: PLW2901 - the mark is no part of the line
        if text is None or text.strip():
            events.append(_TOO_LONG if text is None else event_of_line(text))
            numbers.append(line)
            filled = offset
        _check_blank(offset - filled)
        if len(events) == MAX_BATCH or offset - begun > _MAX_CHUNK:
            yield Chunk(events, numbers, [], offset, line)
            events, numbers, begun = [], [], offset
    yield Chunk(events, numbers, [], offset, line)


def _check_blank(size: int) -> None:
    if size > _MOST_BLANK:
        raise UnreadableError(f"has more than {_MOST_BLANK:,} bytes of blank lines together: leave them out")


def _lines(content: Content) -> Iterator[tuple[bytes | None, int]]:
    """Yield each line without its end, ``None`` if it is too long, and the bytes that it takes."""
    rest, dropped = b"", 0
    while block := content.read(_BLOCK):
        *whole, rest = (rest + block).split(b"\n")
        for text in whole:
            yield (None if dropped or len(text) > LONGEST_LINE else text), dropped + len(text) + 1
            dropped = 0
        if dropped or len(rest) > LONGEST_LINE:
            dropped, rest = dropped + len(rest), b""
        if dropped > _LONGEST_DROPPED:
            raise UnreadableError(f"a line has more than {_LONGEST_DROPPED:,} bytes: write one event a line")
    if rest or dropped:
        yield (None if dropped else rest), dropped + len(rest)


class CsvPlace(NamedTuple):
    """Where the rest of a CSV file begins: its first byte, and the token of the part before."""

    offset: int
    token: str | None


def chunks_of_csv(content: Content, by: FileConversion, place: CsvPlace) -> Iterator[Chunk]:
    """Yield the chunks of a CSV file from a place on.

    Raises ``MapError`` or ``FileError`` if the file cannot be read by the map, and ``UnreadableError`` if too many
    lines are blank.
    """
    offset, begins = place.offset, PartPlace.parse(place.token) if place.token else None
    buffer, is_over, blank = b"", False, 0
    while True:
        while not is_over and len(buffer) < _PART:
            block = content.read(_PART - len(buffer))
            buffer, is_over = buffer + block, not block
        part = convert_part(buffer, by, begins, last=is_over)
        problems = [Problem(one.line, BAD_ROW, None, None, one.reason) for one in part.bad]
        buffer, offset, begins = buffer[part.read :], offset + part.read, part.next
        blank = 0 if part.summary.file.rows else blank + part.read
        _check_blank(blank)
        token = begins.token if begins else None
        events: list[Event | Rejection] = [one.event for one in part.events]
        yield Chunk(events, part.lines, problems, offset, part.line, token, part.summary)
        if begins is None:
            return
