"""Writes the sealed file of a part of a quarter-hour: one CSV line per posting; the same postings, the same bytes."""

import io
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cached_property
from operator import itemgetter
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Final, Self, cast

from quarterhour.ledger.events.event import REFUND
from quarterhour.ledger.postings.posting import LACKS
from quarterhour.model.errors import LedgerItemError
from quarterhour.model.identifiers import POSITION_LENGTH
from quarterhour.reports.digests import stream_digest
from quarterhour.reports.lines import (
    COLUMNS,
    FLAG,
    POSTING,
    UNLINKED,
    CsvWriter,
    Line,
    Tallier,
    flags_of,
)
from quarterhour.reports.packing import packed
from quarterhour.reports.plan import PartTotals, SealedFile

_required: Final = itemgetter(*POSTING)
"""Gets the attributes that every posting has."""
_BLANK: Final = dict.fromkeys(COLUMNS, "")


class SealedFileWriter:
    """A gzipped CSV file on disk, and the totals of its lines; the file is deleted when the block ends.

    ``file`` exists once a line is written: most quarter-hours of a small marketplace are empty.
    """

    def __init__(self) -> None:
        self._tallier = Tallier()
        self._disk = ExitStack()
        self._layers = ExitStack()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    @cached_property
    def file(self) -> IO[bytes]:
        """The compressed file."""
        return self._disk.enter_context(TemporaryFile())

    @cached_property
    def _csv(self) -> CsvWriter:
        """The CSV file, with the header line."""
        file = self._layers.enter_context(packed(self.file))
        text = io.TextIOWrapper(cast("IO[bytes]", file), encoding="utf-8", newline="")
        self._layers.enter_context(text)
        writer = CsvWriter(text, COLUMNS)
        self._layers.callback(writer.flush)
        return writer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Delete the file."""
        self._layers.close()
        self._disk.close()

    def write(self, postings: Iterable[Line]) -> list[Line]:
        """Write postings and return their lines.

        Raises ``LedgerItemError``, which names partition and position, for values that are not those of a posting.
        """
        lines: list[Line] = []
        add = self._tallier.add
        for posting in postings:
            try:
                _check(posting)
                values = {**_BLANK, **posting}
                add(values)
            except (ValueError, ArithmeticError) as error:
                raise LedgerItemError(_place(posting), error) from error
            if values["type"] == REFUND and not values["refers_to"]:
                values[FLAG] = UNLINKED
            if "unregistered" in values or LACKS in values:
                values[FLAG] = flags_of(values)
            lines.append(values)
        if lines:
            self._csv.write(lines)
        return lines

    def seal(self) -> SealedFile:
        """Complete the file and return its number of lines, SHA-256 and size; ``file`` is then at its beginning."""
        self._layers.close()
        if not self._tallier.lines:
            return SealedFile(0)
        size = self.file.tell()
        self.file.seek(0)
        sealed = SealedFile(self._tallier.lines, stream_digest(self.file), size)
        self.file.seek(0)
        return sealed

    def totals(self) -> PartTotals:
        """Return the totals of the lines written so far."""
        return self._tallier.totals()


def _check(posting: Line) -> None:
    """Raise ``ValueError`` for values that are not those of a posting."""
    try:
        _required(posting)
    except KeyError:
        raise ValueError(f"missing: {', '.join(sorted({*POSTING} - posting.keys()))}") from None
    if len(posting["position"]) != POSITION_LENGTH:
        raise ValueError(f"{posting['position']!r} is not a position")


def _place(posting: Line) -> str:
    """Return partition and position of a posting; ``?`` for what is missing."""
    return " ".join(posting.get(name, "?") for name in ("quarter_hour", "position"))
