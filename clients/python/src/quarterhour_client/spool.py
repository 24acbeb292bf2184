"""The spool: a file of SQLite with the events that have no final verdict yet.

An identity is in the spool once, in the table of events that wait or in that of parked ones. What is recorded is on
the disk before the call returns (WAL, ``synchronous=FULL``). The removal of what was sent is not synchronized: if the
machine loses it, the event is sent again, and is a duplicate.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, Any

from quarterhour_client.errors import (
    ClosedError,
    EventConflictError,
    SpoolCorruptError,
    SpoolError,
    SpoolFullError,
    SpoolWriteError,
)
from quarterhour_client.plan import Waiting, batches
from quarterhour_client.verdicts import Problem, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from quarterhour_client.events import Event
    from quarterhour_client.verdicts import Result

MAX_EVENTS = 1_000_000
MAX_BYTES = 1_000_000_000

_APPLICATION = 0x51484F53
"""What marks a file of SQLite as a spool."""
_VERSION = 1
_BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL,
    UNIQUE (source, id)
);
CREATE TABLE parked (
    seq INTEGER PRIMARY KEY, source TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL,
    verdict TEXT NOT NULL, problems TEXT NOT NULL, parked_at REAL NOT NULL, UNIQUE (source, id)
);
CREATE TABLE totals (events INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0);
"""
_ROWS = 300
"""Events of one statement. SQLite 3.31 and older take 999 values in one."""
_INSERT = "INSERT OR IGNORE INTO events (source, id, body) VALUES "
_LAST = "SELECT COALESCE(MAX(seq), 0) FROM events"
_NEW = "SELECT COUNT(*), COALESCE(SUM(LENGTH(body)), 0) FROM events WHERE seq > ?"
_ADD_TOTALS = "UPDATE totals SET events = events + ?, bytes = bytes + ?"
_TOTALS = "SELECT events, bytes FROM totals"
_WAITING = "SELECT body FROM events WHERE source = ? AND id = ?"
_PARKED_AS = "SELECT body FROM parked WHERE source = ? AND id = ?"
_HAS_PARKED = "SELECT EXISTS (SELECT 1 FROM parked)"
_TAKE = "SELECT seq, source, id, body FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
_LEFT = "SELECT COUNT(*) FROM events WHERE seq <= ?"
_SOME_LEFT = "SELECT EXISTS (SELECT 1 FROM events WHERE seq <= ?)"
_DONE = "DELETE FROM events WHERE seq IN "
_SIZE = "SELECT COUNT(*), COALESCE(SUM(LENGTH(body)), 0) FROM events WHERE seq IN "
_PARK = """
INSERT INTO parked (seq, source, id, body, verdict, problems, parked_at)
SELECT seq, source, id, body, ?, ?, ? FROM events WHERE seq = ?
"""
_PARKED = """
SELECT seq, source, id, body, verdict, problems, parked_at FROM parked WHERE seq > ? ORDER BY seq LIMIT 500
"""
_UNPARK = "DELETE FROM parked WHERE seq = ?"
_FOR_EVER = 2**62


@dataclass(frozen=True)
class Parked:
    """An event that the server did not take, with its verdict and the reasons.

    ``body`` is its JSON. ``parked_at`` is in seconds since 1970.
    """

    seq: int
    source: str
    id: str
    body: bytes
    verdict: Verdict
    problems: tuple[Problem, ...]
    parked_at: float


def connect(path: str) -> sqlite3.Connection:
    """Open a file of SQLite. Transactions begin and end by statements."""
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


class Spool:
    """A spool, which several processes and threads may open. All methods raise ``SpoolError``."""

    def __init__(self, path: Path, *, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        """Open the spool, or make it if there is no file. Raises ``SpoolCorruptError`` if the file is no spool."""
        self.path = path
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._closed = False
        with _errors(path):
            if not path.exists():
                log = path.with_name(f"{path.name}-wal")
                if log.exists():
                    raise SpoolCorruptError(path, f"is missing, though {log.name} is there")
                _make(path)
            self._db = connect(str(path))
            try:
                self._check()
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA fullfsync = ON")  # macOS: to the disk, not only to its cache
            except BaseException:
                self._db.close()
                raise

    def _check(self) -> None:
        application = self._value("PRAGMA application_id")
        version = self._value("PRAGMA user_version")
        if application != _APPLICATION:
            raise SpoolCorruptError(self.path, "is no spool of quarterhour-client, or an empty file")
        if version != _VERSION:
            raise SpoolError(
                self.path, f"is a spool of format {version}, and this version reads {_VERSION}: update the library"
            )
        found = self._value("PRAGMA quick_check(1)")
        if found != "ok":
            raise SpoolCorruptError(self.path, f"is damaged: {found}")

    def add(self, events: Sequence[Event]) -> int:
        """Store events in one transaction, all or none; return how many are new.

        An event with the same content as one in the spool is not new. Raises ``SpoolFullError``,
        ``EventConflictError`` or ``SpoolWriteError``.
        """
        with self._transaction() as db:
            return self._add(db, events)

    def _add(self, db: sqlite3.Connection, events: Sequence[Event | Parked]) -> int:
        before = db.execute(_LAST).fetchone()[0]
        parked = self._parked_among(db, events)
        fresh = [one for one in events if (one.source, one.id) not in parked]
        # One statement for many events: between two of them, other threads may take Python's global lock.
        for at in range(0, len(fresh), _ROWS):
            part = fresh[at : at + _ROWS]
            values = [value for one in part for value in (one.source, one.id, one.body)]
            db.execute(_INSERT + ", ".join(["(?, ?, ?)"] * len(part)), values)
        new, size = map(int, db.execute(_NEW, (before,)).fetchone())
        if new < len(fresh):
            for one in fresh:
                if db.execute(_WAITING, (one.source, one.id)).fetchone()[0] != one.body:
                    raise EventConflictError(self.path, one.source, one.id, parked=False)
        db.execute(_ADD_TOTALS, (new, size))
        count, total = db.execute(_TOTALS).fetchone()
        if new and (count > self._max_events or total > self._max_bytes):
            raise SpoolFullError(
                self.path, events=count, size=total, max_events=self._max_events, max_bytes=self._max_bytes
            )
        return new

    def _parked_among(self, db: sqlite3.Connection, events: Sequence[Event | Parked]) -> set[tuple[str, str]]:
        """Return which events are parked; raise ``EventConflictError`` if one is with other content."""
        found: set[tuple[str, str]] = set()
        if not db.execute(_HAS_PARKED).fetchone()[0]:
            return found
        for one in events:
            row = db.execute(_PARKED_AS, (one.source, one.id)).fetchone()
            if row and row[0] != one.body:
                raise EventConflictError(self.path, one.source, one.id, parked=True)
            if row:
                found.add((one.source, one.id))
        return found

    def take(self, after: int, most: int) -> list[Waiting]:
        """Return the next events that wait, behind the number ``after``, as many as fit in a request."""
        with self._reading() as db:
            cursor = db.execute(_TAKE, (after, most))
            try:
                return next(batches((Waiting(*row) for row in cursor), most), [])
            finally:
                cursor.close()

    def finish(self, done: Sequence[Waiting], parked: Sequence[tuple[Waiting, Result]]) -> None:
        """Remove events that the server has, and park those that it did not take, in one transaction."""
        now = time()
        with self._transaction("NORMAL") as db:
            for one, result in parked:
                db.execute(_PARK, (result.verdict.value, json.dumps(result.problems), now, one.seq))
            count, size = self._removed(db, [one.seq for one in done])
            db.execute(_ADD_TOTALS, (-count, -size))
            self._removed(db, [one.seq for one, _ in parked])

    @staticmethod
    def _removed(db: sqlite3.Connection, numbers: Sequence[int]) -> tuple[int, int]:
        """Remove events that wait; return how many there were, and their bytes."""
        found = f"({', '.join(map(str, numbers))})"  # whole numbers
        count, size = db.execute(_SIZE + found).fetchone()
        db.execute(_DONE + found)
        return count, size

    def last(self) -> int:
        """Return the number of the last event that waits, 0 if none does."""
        with self._reading():
            return int(self._value(_LAST))

    def left(self, through: int = _FOR_EVER) -> int:
        """Return how many events wait, of those up to the number ``through``."""
        with self._reading():
            return int(self._value(_LEFT, (through,)))

    def is_waiting(self, through: int = _FOR_EVER) -> bool:
        """Return whether an event up to the number ``through`` waits."""
        with self._reading():
            return bool(self._value(_SOME_LEFT, (through,)))

    def parked(self) -> Iterator[Parked]:
        """Yield the parked events, the oldest first."""
        after = 0
        while True:
            with self._reading() as db:
                rows = db.execute(_PARKED, (after,)).fetchall()
            if not rows:
                return
            for seq, source, id_, body, verdict, problems, at in rows:
                reasons = tuple(Problem(*one) for one in json.loads(problems))
                yield Parked(seq, source, id_, body, Verdict(verdict), reasons, at)
            after = rows[-1][0]

    def resend(self, parked: Parked, event: Event | None = None) -> bool:
        """Let a parked event wait to be sent again, or a corrected event in its place; return whether it was parked."""
        with self._transaction() as db:
            return self._unpark(db, parked) and self._add(db, [event or parked]) >= 0

    def discard(self, parked: Parked) -> bool:
        """Remove a parked event for ever; return whether it was parked."""
        with self._transaction() as db:
            return self._unpark(db, parked)

    @staticmethod
    def _unpark(db: sqlite3.Connection, parked: Parked) -> bool:
        if not db.execute(_UNPARK, (parked.seq,)).rowcount:
            return False
        db.execute(_ADD_TOTALS, (-1, -len(parked.body)))
        return True

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._closed = True
            if self._process == os.getpid():
                self._db.close()

    @contextmanager
    def _transaction(self, synchronous: str = "FULL") -> Iterator[sqlite3.Connection]:
        with self._reading() as db:
            db.execute(f"PRAGMA synchronous = {synchronous}")
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled it back already
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if self._process != os.getpid():
            raise ClosedError(
                "the client belongs to the process that this one was forked from: make one after the fork"
            )
        with self._lock:
            if self._closed:
                raise ClosedError("the client is closed")
            with _errors(self.path):
                yield self._db

    def _value(self, statement: str, values: tuple[int, ...] = ()) -> Any:  # noqa: ANN401 - any column
        return self._db.execute(statement, values).fetchone()[0]


class SenderLock:
    """Lets one process, and one client in it, send the events of a spool.

    It is an exclusive transaction on an empty file of SQLite beside the spool. The operating system ends it with the
    process, even after ``kill -9``. So there is no lease that must expire, and no clock that must be right.
    """

    def __init__(self, spool: Path) -> None:
        self._path = spool.with_name(f"{spool.name}-sender")
        self._db: sqlite3.Connection | None = None

    def acquire(self) -> bool:
        """Return whether this client sends the events."""
        if self._db is not None:
            return True
        with _errors(self._path):
            db = sqlite3.connect(self._path, timeout=0, isolation_level=None, check_same_thread=False)
            try:
                db.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                db.close()
                if "locked" in str(error):
                    return False
                raise
        self._db = db
        return True

    def release(self) -> None:
        """Let another client send."""
        if self._db is not None:
            self._db.close()
            self._db = None


def _make(path: Path) -> None:
    """Make an empty spool under another name, then link it: so a file of this name is always a whole spool."""
    new = path.with_name(f"{path.name}-new-{os.getpid()}-{threading.get_ident()}")
    new.unlink(missing_ok=True)
    try:
        db = connect(str(new))
        try:
            db.execute("PRAGMA synchronous = FULL")
            db.executescript(_SCHEMA)
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(f"PRAGMA user_version = {_VERSION}")
        finally:
            db.close()
        with suppress(FileExistsError):  # another process was faster
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Raise the errors of SQLite and of files as those of the spool."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if "malformed" in text or "not a database" in text or "no such table" in text:
            raise SpoolCorruptError(path, f"is damaged: {text}") from error
        if "full" in text or "disk I/O" in text or "readonly" in text:
            raise SpoolWriteError(path, f"cannot be written: {text}. Nothing of this call was stored") from error
        if "locked" in text:
            raise SpoolWriteError(
                path, f"another process held it for {_BUSY_SECONDS:.0f} seconds. Nothing of this call was stored"
            ) from error
        raise SpoolError(path, text) from error
    except OSError as error:
        raise SpoolWriteError(path, f"cannot be made: {error}. The spool needs a folder on a local disk") from error
