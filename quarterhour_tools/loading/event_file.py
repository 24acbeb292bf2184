"""NDJSON of events as a replay takes it: lines, the instant of each, and the requests that they go out in."""

import gzip
import json
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import IO, Final

from quarterhour.model.clock import parse_iso
from quarterhour_tools.errors import ToolError

STDIN: Final = "-"
ONE: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"

_LARGEST_BODY: Final = 4_000_000
_YEARS: Final = range(1900, 9000)
"""That the clock follows; at the ends of what a date can be, nothing can be reckoned from it."""


@dataclass(frozen=True, slots=True)
class Line:
    """An event as it stands in the file; ``time`` is ``None`` where it says none that can be read."""

    number: int
    text: str
    time: datetime | None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no JSON, and why."""

    number: int
    problem: str


@dataclass(frozen=True, slots=True)
class Group:
    """Lines that one request carries, and the instant at which it is sent."""

    instant: datetime
    lines: tuple[Line, ...]

    @property
    def content_type(self) -> str:
        """The content type of the request."""
        return ONE if len(self.lines) == 1 else BATCH

    @property
    def body(self) -> bytes:
        """The body of the request: the lines as they stand, so that no number is written anew."""
        texts = [line.text for line in self.lines]
        return (texts[0] if len(texts) == 1 else f"[{','.join(texts)}]").encode()


@dataclass(frozen=True, slots=True)
class Source:
    """An open file of events. ``size`` is that of the file on disk, ``None`` where nobody knows."""

    lines: Iterable[bytes]
    size: int | None
    _raw: IO[bytes]

    def position(self) -> int:
        """Return how far the file on disk is read."""
        return self._raw.tell() if self.size is not None else 0


@contextmanager
def open_source(name: str) -> Iterator[Source]:
    """Open a file of events, packed where its name ends in ``.gz``; ``-`` is standard input."""
    if name == STDIN:
        yield Source(sys.stdin.buffer, None, sys.stdin.buffer)
        return
    try:
        size = Path(name).stat().st_size
        raw = Path(name).open("rb")  # noqa: SIM115 - closed by the block below
    except OSError as error:
        raise ToolError(f"{name}: {error.strerror}") from error
    with raw:
        yield Source(_readable(name, gzip.GzipFile(fileobj=raw) if name.endswith(".gz") else raw), size, raw)


def _readable(name: str, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines; raise ``LocalError`` where the file cannot be read on."""
    try:
        yield from lines
    except (OSError, EOFError, zlib.error) as error:
        raise ToolError(f"{name}: {error}") from error


def read_lines(lines: Iterable[bytes]) -> Iterator[Line | BadLine]:
    """Read lines of NDJSON; blank ones are none."""
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            if text:
                yield Line(number, text, _time(json.loads(text, parse_constant=_refuse)))
        except (ValueError, RecursionError) as error:
            yield BadLine(number, f"is no JSON: {error}")


def grouped(
    lines: Iterable[Line | BadLine], now: datetime | None, most: int, leap: timedelta
) -> Iterator[Group | BadLine]:
    """Put consecutive lines of one instant together, at most so many a request.

    The clock stands at ``now`` and follows the lines' times, never backwards; a line without a time, or with one
    further ahead than ``leap``, leaves it where it is. Where it stands nowhere yet, it starts at the first time told.
    """
    start, lines = (now, lines) if now else _start(lines)
    instant = start
    waiting: list[Line] = []
    room = _LARGEST_BODY
    for line in lines:
        if isinstance(line, BadLine):
            yield line
            continue
        ahead = line.time is not None and instant < line.time <= instant + leap
        size = len(line.text)
        if waiting and (ahead or len(waiting) == most or size > room):
            yield Group(instant, tuple(waiting))
            waiting, room = [], _LARGEST_BODY
        if ahead and line.time:
            instant = line.time
        waiting.append(line)
        room -= size
    if waiting:
        yield Group(instant, tuple(waiting))


def _start(lines: Iterable[Line | BadLine]) -> tuple[datetime, Iterable[Line | BadLine]]:
    """Return the first time that the lines tell, else the machine's, and all the lines."""
    coming = iter(lines)
    seen: list[Line | BadLine] = []
    for line in coming:
        seen.append(line)
        if isinstance(line, Line) and line.time:
            return line.time, chain(seen, coming)
    return datetime.now(UTC), seen


def _time(event: object) -> datetime | None:
    time = event.get("time") if isinstance(event, dict) else None
    try:
        instant = parse_iso(time) if isinstance(time, str) else None
    except ValueError:
        return None
    return instant if instant and instant.year in _YEARS else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")
