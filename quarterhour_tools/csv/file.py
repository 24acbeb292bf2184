"""Reads CSV files as they are: plain or gzipped bytes in any encoding become numbered lines, in bounded memory.

The encoding is that of the map, of a byte order mark, UTF-8, or one that can be detected without doubt.
"""

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from quarterhour.file_formats.csv.errors import EncodingError, FileError
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
    numbered,
)

STDIN: Final = "-"

_SAMPLE: Final = 1 << 20
"""The bytes from which kind and encoding are read."""
_GZIP: Final = b"\x1f\x8b"
_FREE_EXPANSION: Final = 1 << 26
_MOST_EXPANSION: Final = 250
"""How many bytes one compressed byte may give beyond `_FREE_EXPANSION`; files of sales give 5 to 50."""


@dataclass(slots=True)
class TextFile:
    """An open file: its lines, and its encoding, which the map gives or which was `detected`.

    After the last line, `problem` says why the file could not be read to its end, if so.
    """

    encoding: str
    detected: bool
    _text: io.TextIOWrapper
    _source: "_Source"
    problem: str | None = None

    def lines(self) -> Iterator[FileLine]:
        """Yield the lines, until the end or a problem."""
        try:
            yield from numbered(self._text)
        except UnicodeError as error:  # in place of the text, where UTF-16 has no byte order mark
            self.problem = str(error)
        self.problem = self._source.problem or self.problem

    def texts(self) -> Iterator[str]:
        """Yield the texts of the lines; raise `FileError` for a line that is too long, or that is not all text."""
        for line in self.lines():
            if line.text is None:
                raise FileError(f"line {line.number:,} has more than {LONGEST:,} characters")
            if BROKEN in line.text:
                raise FileError(f"line {line.number:,} has bytes that are no text: expected UTF-8")
            yield line.text


@contextmanager
def open_text(name: str, encoding: str | None) -> Iterator[TextFile]:
    """Open a file, a gzipped file or standard input (`-`) as text, in an encoding or in the one that is detected.

    Bytes that cannot be decoded become `BROKEN`. Raises `FileError` if the file is of another kind, or if its encoding
    is in doubt, `OSError` if it cannot be opened.
    """
    with nullcontext(sys.stdin.buffer) if name == STDIN else Path(name).open("rb") as opened:
        source = _Source(opened, must_be_gzip=name.endswith(".gz"))
        sample = source.read_sample()
        if source.problem and not sample:
            raise FileError(f"cannot be read: {source.problem}")
        check_kind(sample)
        mark = marked(sample)
        if encoding and mark and not encoding.startswith(mark):
            raise FileError(f'begins with the byte order mark of {mark}, but the map has encoding = "{encoding}"')
        found = encoding or mark or detect(sample, whole=len(sample) < _SAMPLE)
        text = io.TextIOWrapper(io.BufferedReader(source), found, AS_BROKEN, newline="")
        yield TextFile(found, encoding is None, text, source)


class _Source(io.RawIOBase):
    """The decompressed bytes of a file. What ends the file early is kept in `problem`: the bytes before it count."""

    def __init__(self, opened: BinaryIO, *, must_be_gzip: bool) -> None:
        self._opened = _Counted(opened)
        start = io.BufferedReader(self._opened)
        zipped = start.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
        self._bytes: io.BufferedIOBase = gzip.GzipFile(fileobj=start) if zipped or must_be_gzip else start
        self._zipped = zipped
        self._ahead = b""
        self._given = 0
        self.problem: str | None = None

    def read_sample(self) -> bytes:
        """Return the first bytes, which will be read once more."""
        pieces, missing = [], _SAMPLE
        while missing and (piece := self._piece(missing)):
            pieces.append(piece)
            missing -= len(piece)
        self._ahead = b"".join(pieces)
        return self._ahead

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the buffer of a BufferedReader
        if self._ahead:
            piece, self._ahead = self._ahead[: len(buffer)], self._ahead[len(buffer) :]
        else:
            piece = self._piece(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def _piece(self, most: int) -> bytes:
        """Return the next bytes; none at the end, or after a problem."""
        if self.problem:
            return b""
        try:
            piece = self._bytes.read1(most)
        except (OSError, EOFError, zlib.error) as error:
            self.problem = f"it ends early: {error}" if isinstance(error, EOFError) else str(error)
            return b""
        self._given += len(piece)
        if self._zipped and self._given > max(_FREE_EXPANSION, _MOST_EXPANSION * self._opened.count):
            self.problem = f"it expands more than {_MOST_EXPANSION}-fold: decompress it yourself if you trust it"
            return b""
        return piece


class _Counted(io.RawIOBase):
    """Counts the bytes that are read from a file."""

    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the buffer of a BufferedReader
        piece: bytes = self._opened.read1(len(buffer))  # type: ignore[attr-defined] # open files and standard input have it
        buffer[: len(piece)] = piece
        self.count += len(piece)
        return len(piece)


def detect(sample: bytes, *, whole: bool = True) -> str:
    """Return the encoding of the first bytes of a file, which are the `whole` file or not.

    Raises `EncodingError` if there is doubt: two encodings give two texts, or the file goes on after a sample that is
    not UTF-8.
    """
    if is_utf_8(sample):
        return UTF_8
    from charset_normalizer import from_bytes  # noqa: PLC0415 - few files need it

    unclear = b"".join(line for line in sample.splitlines(keepends=True) if not line.isascii())
    readings: dict[str, str] = {}
    for match in from_bytes(unclear):
        names = match.could_be_from_charset
        name = COMMONEST if COMMONEST in names else match.encoding
        readings.setdefault(unclear.decode(name, "replace"), name)
    if len(readings) == 1 and whole:
        return codecs.lookup(next(iter(readings.values()))).name
    names = sorted({COMMONEST, *readings.values()}, key=lambda name: (name != COMMONEST, name))[:4]
    lines = unclear.splitlines()[:200]
    line = max(lines, key=lambda one: len({one.decode(name, "replace") for name in names}))
    shown = ", ".join(f"{name} reads {line.decode(name, 'replace').strip()[:60]!r}" for name in names)
    raise EncodingError(f'is not UTF-8: set encoding = "{COMMONEST}" or another in [file]; {shown}')
