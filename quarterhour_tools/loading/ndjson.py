"""Lines of NDJSON, read in bounded memory from a file or from standard input, plain or gzip."""

import gzip
import io
import json
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from json import JSONDecodeError
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Final, NamedTuple, cast

from quarterhour_client import Problem

from quarterhour.model import exact_json
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.input_lines import BLANKS, STDIN, input_lines

LONGEST: Final = 256 << 10
"""The most bytes of a line that can be an event."""
NOT_JSON: Final = "is not JSON"
"""How the problem of a line begins that is not JSON."""

_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"
_EXPECTED: Final = "one event as JSON in UTF-8"


class Line(NamedTuple):
    """A line that is not blank. ``body`` has no blanks at either end; it is empty if ``size`` is above ``LONGEST``.

    ``chain`` is the SHA-256 of the line and of the ``chain`` of the line before: it identifies the input up to here.
    """

    number: int
    body: bytes
    chain: bytes
    size: int


class Lines:
    """The lines of an input, one after the other. Reading never fails: ``problem`` says why it ended too early."""

    def __init__(self, stream: IO[bytes], raw: IO[bytes] | None = None, size: int | None = None) -> None:
        """Take the stream of lines; ``raw`` and ``size`` are those of the file on disk, if there is one."""
        self._stream = stream
        self._raw = raw
        self._lines = self._read()
        self.size = size
        self.number = 0
        """The number of the last line that was read."""
        self.problem: str | None = None

    def __iter__(self) -> Iterator[Line]:
        return self._lines

    def position(self) -> int:
        """Return the number of bytes of the file on disk that were read."""
        return self._raw.tell() if self._raw else 0

    def _read(self) -> Iterator[Line]:
        chain = b""
        try:
            for start, size, too_long in input_lines(self._stream, LONGEST):
                content = too_long or (start if self.number else start.removeprefix(_BOM)).strip(BLANKS)
                self.number += 1
                if content:
                    chain = sha256(chain + content).digest()
                    text = b"" if too_long else content
                    yield Line(self.number, text, chain, size if too_long else len(text))
        except (OSError, EOFError, ValueError, zlib.error) as error:
            self.problem = f"what follows line {self.number:,} cannot be read: {error}"


@contextmanager
def open_lines(name: str) -> Iterator[Lines]:
    """Open a file of NDJSON, or standard input for ``-``; compressed content is recognized by its first bytes.

    Raises ``ToolError`` if it cannot be opened or is not a regular file.
    """
    if name == STDIN:
        yield Lines(_unpacked(_standard_input()))
        return
    try:
        found = Path(name).stat()
        if not stat.S_ISREG(found.st_mode):
            raise ToolError(f"{name} is not a regular file: for a pipe, send it to standard input, and write -")
        raw = Path(name).open("rb")  # noqa: SIM115 - closed by the block below
    except OSError as error:
        raise ToolError(f"{name}: {error.strerror}") from error
    with raw:
        yield Lines(_unpacked(raw), raw, found.st_size)


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise ToolError("there is no standard input")
    stream: Any = sys.stdin.buffer
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)


def _unpacked(stream: io.BufferedReader) -> IO[bytes]:
    if stream.peek(len(_GZIP))[: len(_GZIP)] != _GZIP:
        return stream
    return cast("IO[bytes]", gzip.GzipFile(fileobj=stream))


def values(lines: Sequence[Line]) -> list[Any] | None:
    """Return the JSON value of each line, whose numbers are not exact; ``None`` if one of them is no event.

    All lines are parsed as one array, with a random fence between them. No line holds the fence, so if all fences are
    items of the array, no value goes beyond its line. Each line is sent as it is. The API refuses one that repeats a
    key.
    """
    fence = token_hex()
    try:
        array = (b"[%b]" % f',"{fence}",'.encode().join([line.body for line in lines])).decode()
        found = json.loads(array, parse_int=float)  # an int has a limit of digits
    except (ValueError, RecursionError):
        return None
    whole = len(found) == 2 * len(lines) - 1 and all(one == fence for one in found[1::2])
    return found[::2] if whole else None


class NoEventError(Exception):
    """A line cannot be one item of a request."""

    def __init__(self, problem: str, expected: str) -> None:
        super().__init__(problem)
        self.problem = Problem("line", problem, expected)


def value_of(line: Line) -> Any:  # noqa: ANN401 - JSON is any value
    """Return the JSON value of a line; raise ``NoEventError`` if it is none."""
    if line.size > LONGEST:
        raise NoEventError(f"has {line.size:,} bytes", f"at most {LONGEST:,}")
    try:
        return exact_json.parse(line.body.decode())
    except UnicodeDecodeError as error:
        raise NoEventError(f"{NOT_JSON}: byte {error.start + 1} is not UTF-8", _EXPECTED) from error
    except JSONDecodeError as error:
        raise NoEventError(f"{NOT_JSON}: {error.msg} at character {error.pos + 1}", _EXPECTED) from error
    except ValueError as error:
        raise NoEventError(f"{NOT_JSON}: {error}", _EXPECTED) from error
