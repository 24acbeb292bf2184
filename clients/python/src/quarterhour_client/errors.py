"""The errors of the library. Each message says what happened, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class QuarterhourError(Exception):
    """The base of all errors of the library."""


class EventError(QuarterhourError, ValueError):
    """A value cannot be in an event; nothing was stored."""

    def __init__(self, field: str, problem: str, expected: str) -> None:
        super().__init__(f"{field} {problem}; expected {expected}")
        self.field = field
        self.problem = problem
        self.expected = expected


class ClosedError(QuarterhourError):
    """The client is closed, or belongs to the process that this one was forked from."""


class RefusedError(QuarterhourError):
    """The server refuses all requests of this sender: no access, another address, or a request that it cannot read."""


class UnansweredError(QuarterhourError):
    """A request outside the spool had no usable answer until its deadline. Sending it again is safe."""


class SpoolError(QuarterhourError):
    """The spool cannot be used. ``path`` is its file."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


class SpoolFullError(SpoolError):
    """The spool has reached a bound; nothing of this call was stored, and nothing stored before is lost."""

    def __init__(self, path: Path, *, events: int, size: int, max_events: int, max_bytes: int) -> None:
        super().__init__(
            path,
            f"the spool is full: with this it would hold {events:,} of at most {max_events:,} events and {size:,} of "
            f"at most {max_bytes:,} bytes. Nothing of this call was stored. Find out why events are not sent "
            "(client.trouble, client.parked()), or raise the bound",
        )
        self.events = events
        self.size = size


class SpoolWriteError(SpoolError):
    """The disk is full or fails, or another process held the spool too long; nothing of this call was stored."""


class SpoolCorruptError(SpoolError):
    """The file is no intact spool. It is never repaired or replaced by itself."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            path,
            f"{problem}. The file was left as it is: it may hold events that were not sent. Stop every process that "
            f"uses it, and move {path.name}, {path.name}-wal and {path.name}-shm away together. Save what can be read "
            f"with `sqlite3 {path.name} .recover`, and record those events again: what was sent is a duplicate. A new "
            "spool is made at the next start",
        )


class EventConflictError(SpoolError):
    """Other content is in the spool under the event's source and id; nothing of this call was stored."""

    def __init__(self, path: Path, source: str, id_: str, *, parked: bool) -> None:
        where = "is parked" if parked else "waits to be sent"
        advice = "resend(parked, event) sends corrected content" if parked else "give new content a new id"
        super().__init__(path, f"other content of the event {id_!r} of {source!r} {where}; {advice}")
        self.source = source
        self.id = id_
