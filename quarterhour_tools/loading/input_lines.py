"""Lines of an input as bytes, read in bounded memory and bounded time, whatever the input holds."""

import gzip
from collections.abc import Iterator
from hashlib import sha256
from typing import IO, Final, NamedTuple

STDIN: Final = "-"
"""The name of standard input."""
BLANKS: Final = b" \t\r\n"

_MOST_UNUSED: Final = 64 << 20
"""The most bytes in a row without an event. More is no NDJSON, or made to use up memory or time."""
_MOST_UNUSED_LINES: Final = 2_000_000
"""The most lines in a row without an event: empty lines are few bytes, but take as much time as others."""
_PIECE: Final = 1 << 16


class InputLine(NamedTuple):
    """A line with its end, or the start of one that is too long; and the size of the whole line in bytes.

    ``too_long``: the SHA-256 of a line that is too long, in hexadecimal; ``None`` for any other line.
    """

    start: bytes
    size: int
    too_long: bytes | None


def input_lines(stream: IO[bytes] | gzip.GzipFile, longest: int) -> Iterator[InputLine]:
    """Yield the lines; too long are those with more than ``longest`` bytes, without the blanks around them.

    Raises ``ValueError`` if no event comes for long, and what the stream raises.
    """
    unused = lines = 0
    while start := stream.readline(longest + len(b"\r\n")):
        size, too_long = len(start), None
        if size > longest and not (start.endswith(b"\n") and len(start.strip(BLANKS)) <= longest):
            piece, digest = start, sha256(start)
            while not piece.endswith(b"\n") and (piece := stream.readline(_PIECE)):
                digest.update(piece)
                size += len(piece)
                _check(unused + size, lines)
            too_long = digest.hexdigest().encode()
        if too_long is None and start.strip(BLANKS):
            unused = lines = 0
        else:
            unused, lines = unused + size, lines + 1
            _check(unused, lines)
        yield InputLine(start, size, too_long)


def _check(unused: int, lines: int) -> None:
    if unused > _MOST_UNUSED:
        raise ValueError(f"there is no event in {_MOST_UNUSED >> 20} MB")
    if lines > _MOST_UNUSED_LINES:
        raise ValueError(f"there is no event in {_MOST_UNUSED_LINES:,} lines")
