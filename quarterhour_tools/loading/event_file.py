"""NDJSON of events for a replay: the lines, the instant of each, and the requests that carry them."""

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

from quarterhour.ledger.events.http import BATCH, MAX_BODY, ONE
from quarterhour.model.instants import parse_rfc_3339
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.input_lines import STDIN, input_lines

_YEARS: Final = range(1900, 9000)
"""The years that the clock follows; nearer to a date's limits, adding a span of time can overflow."""


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event of the file; ``time`` is ``None`` if the event has no readable time."""

    number: int
    text: str
    time: datetime | None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not JSON or cannot be read, and the reason."""

    number: int
    problem: str


@dataclass(frozen=True, slots=True)
class Group:
    """The lines of one request, and the instant at which it is sent."""

    instant: datetime
    lines: tuple[EventLine, ...]

    @property
    def content_type(self) -> str:
        """The content type of the request."""
        return ONE if len(self.lines) == 1 else BATCH

    @property
    def body(self) -> bytes:
        """The body of the request: the unchanged lines, so that numbers keep their exact text."""
        texts = [line.text for line in self.lines]
        return (texts[0] if len(texts) == 1 else f"[{','.join(texts)}]").encode()


@dataclass(frozen=True, slots=True)
class Source:
    """An open file of events. ``size`` is the size of the file on disk in bytes, ``None`` if unknown."""

    lines: Iterable[bytes]
    size: int | None
    _raw: IO[bytes]

    def position(self) -> int:
        """Return the number of bytes of the file on disk that have been read."""
        return self._raw.tell() if self.size is not None else 0


@contextmanager
def open_source(name: str) -> Iterator[Source]:
    """Open a file of events, compressed if its name ends in ``.gz``; ``-`` is standard input."""
    if name == STDIN:
        yield Source(_readable(name, sys.stdin.buffer), None, sys.stdin.buffer)
        return
    try:
        size = Path(name).stat().st_size
        raw = Path(name).open("rb")  # noqa: SIM115 - closed by the block below
    except OSError as error:
        raise ToolError(f"{name}: {error.strerror}") from error
    with raw:
        yield Source(_readable(name, gzip.GzipFile(fileobj=raw) if name.endswith(".gz") else raw), size, raw)


def _readable(name: str, stream: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    """Yield lines, cut if they are longer than a request; raise ``ToolError`` if the file cannot be read."""
    try:
        for line in input_lines(stream, MAX_BODY):
            yield line.start
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ToolError(f"{name}: {error}") from error


def read_lines(lines: Iterable[bytes]) -> Iterator[EventLine | BadLine]:
    """Parse lines of NDJSON; blank lines are skipped. If the file cannot be read to its end, the last is bad."""
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            if found := _line(number, line):
                yield found
    except ToolError as error:
        yield BadLine(number + 1, f"cannot be read, nor can what follows: {error}")


def _line(number: int, line: bytes) -> EventLine | BadLine | None:
    if len(line) > MAX_BODY:
        return BadLine(number, f"has more than {MAX_BODY:,} bytes")
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        return EventLine(number, text, _time(json.loads(text, parse_constant=_refuse))) if text else None
    except (ValueError, RecursionError) as error:
        return BadLine(number, f"is not JSON: {error}")


def grouped(
    lines: Iterable[EventLine | BadLine], now: datetime | None, most: int, leap: timedelta
) -> Iterator[Group | BadLine]:
    """Group consecutive lines of one instant into requests of at most ``most`` lines.

    The clock starts at ``now``, or at the first line's time, and follows the lines' times, never backwards. A line
    without a time, or with one more than ``leap`` ahead, does not move it.
    """
    start, lines = (now, lines) if now else _start(lines)
    instant = start
    waiting: list[EventLine] = []
    room = MAX_BODY
    for line in lines:
        if isinstance(line, BadLine):
            yield line
            continue
        ahead = line.time is not None and instant < line.time <= instant + leap
        size = len(line.text)
        if waiting and (ahead or len(waiting) == most or size > room):
            yield Group(instant, tuple(waiting))
            waiting, room = [], MAX_BODY
        if ahead and line.time:
            instant = line.time
        waiting.append(line)
        room -= size
    if waiting:
        yield Group(instant, tuple(waiting))


def _start(lines: Iterable[EventLine | BadLine]) -> tuple[datetime, Iterable[EventLine | BadLine]]:
    """Return the first time of the lines, or else the machine's time, and all the lines."""
    coming = iter(lines)
    seen: list[EventLine | BadLine] = []
    for line in coming:
        seen.append(line)
        if isinstance(line, EventLine) and line.time:
            return line.time, chain(seen, coming)
    return datetime.now(UTC), seen


def _time(event: object) -> datetime | None:
    time = event.get("time") if isinstance(event, dict) else None
    try:
        instant = parse_rfc_3339(time) if isinstance(time, str) else None
    except ValueError:
        return None
    return instant if instant and instant.year in _YEARS else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
