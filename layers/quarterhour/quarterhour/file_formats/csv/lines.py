"""The lines of a CSV file, numbered, and what its first bytes show of its kind and encoding.

The encoding is that of the map, of a byte order mark, UTF-8, or one that can be detected without doubt.
"""

import codecs
import io
from collections.abc import Iterator
from typing import Final, NamedTuple

from quarterhour.file_formats.csv.errors import FileError

LONGEST: Final = 1 << 18
"""The most characters of a line, and of a row."""
UTF_8: Final = "utf-8"
COMMONEST: Final = "cp1252"
"""The encoding that most files that are not UTF-8 have."""
BROKEN: Final = "\udcff"
"""Stands in a text for bytes that are not of its encoding."""

AS_BROKEN: Final = "quarterhour-broken"
"""The handler of errors that decodes bytes that are not of an encoding as `BROKEN`."""
codecs.register_error(
    AS_BROKEN, lambda error: (BROKEN, error.end) if isinstance(error, UnicodeDecodeError) else (BROKEN, 0)
)

_MARKS: Final = (  # the marks of UTF-32 before those of UTF-16, with which they begin
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KINDS: Final = (
    (b"PK\x03\x04", "a spreadsheet or another ZIP file: save it as CSV, or unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet (.xls): save it as CSV"),
    (b"%PDF", "a PDF file: export the data as CSV"),
    (b"PAR1", "a Parquet file: export the data as CSV"),
    (b"SQLite format 3", "a database: export the data as CSV"),
    (b"BZh", "compressed with bzip2: decompress it first"),
    (b"\xfd7zXZ", "compressed with xz: decompress it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: decompress it first"),
    (b"7z\xbc\xaf", "a 7z archive: unpack it first"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
)
_NUL_SHARE: Final = 5
"""A text in UTF-16 has a NUL in two bytes; one in 5 tells it from a damaged text."""
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\f"))
_CONTROL_SHARE: Final = 20
_PAGES: Final = (b"<!doctype", b"<html", b"<?xml", b"{\\rtf")


class FileLine(NamedTuple):
    """A line of the file with its end, numbered from 1; `text` is `None` if it is longer than `LONGEST`."""

    number: int
    text: str | None


def numbered(text: io.TextIOBase) -> Iterator[FileLine]:
    """Yield the lines of an open text without its byte order mark. A line that is too long is skipped to its end."""
    number = 0
    while line := text.readline(LONGEST + 1):
        number += 1
        if len(line) <= LONGEST:
            yield FileLine(number, line.removeprefix("\ufeff") if number == 1 else line)
            continue
        yield FileLine(number, None)
        while line and not line.endswith(("\n", "\r")):
            line = text.readline(LONGEST)


def check_kind(sample: bytes) -> None:
    """Raise `FileError` if the first bytes of a file are not those of text."""
    for magic, kind in _KINDS:
        if sample.startswith(magic):
            raise FileError(f"is not a CSV file but {kind}")
    if sample[:100].removeprefix(codecs.BOM_UTF8).lstrip().lower().startswith(_PAGES):
        raise FileError("is not a CSV file but a page or a document (HTML, XML, RTF): export the data as CSV")


def marked(sample: bytes) -> str | None:
    """Return the encoding that a byte order mark names; `None` without one."""
    return next((encoding for mark, encoding in _MARKS if sample.startswith(mark)), None)


def is_utf_8(sample: bytes) -> bool:
    """Return whether the first bytes of a text are UTF-8; raise `FileError` if they are no text."""
    if sample.count(0) * _NUL_SHARE > len(sample):
        raise FileError('has many NUL bytes: if it is UTF-16, set encoding = "utf-16-le" or "utf-16-be" in [file]')
    if sample.isascii() or _mostly_utf_8(sample):
        return True
    if len(sample) - len(sample.translate(None, _CONTROLS)) > len(sample) // _CONTROL_SHARE:
        raise FileError("is not text: export the data as CSV")
    return False


def _mostly_utf_8(sample: bytes) -> bool:
    """Return whether more bytes of a text are UTF-8 than are not; a character that the sample cuts does not count."""
    text = codecs.getincrementaldecoder(UTF_8)("surrogateescape").decode(sample)
    broken = sum("\udc80" <= one <= "\udcff" for one in text)
    return sum(one >= "\x80" for one in text) - broken >= broken
