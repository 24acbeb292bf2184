"""The spool: a file of SQLite with the events that have no final verdict yet.

One table holds events that wait and events that are parked, so that an identity is in the spool once, and parking is
one update. Every commit is on the disk before it returns (WAL, ``synchronous=FULL``).
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
    verdict TEXT, problems TEXT, parked_at REAL, UNIQUE (source, id)
);
CREATE INDEX waiting ON events (seq) WHERE verdict IS NULL;
CREATE INDEX parked ON events (seq) WHERE verdict IS NOT NULL;
CREATE TABLE totals (events INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0);
CREATE TRIGGER added AFTER INSERT ON events BEGIN
    UPDATE totals SET events = events + 1, bytes = bytes + length(new.body);
END;
CREATE TRIGGER removed AFTER DELETE ON events BEGIN
    UPDATE totals SET events = events - 1, bytes = bytes - length(old.body);
END;
"""
_INSERT = "INSERT INTO events (source, id, body) VALUES (?, ?, ?) ON CONFLICT (source, id) DO NOTHING"
_SAME = "SELECT body, verdict FROM events WHERE source = ? AND id = ?"
_TAKE = "SELECT seq, source, id, body FROM events WHERE verdict IS NULL AND seq > ? ORDER BY seq LIMIT ?"
_LEFT = "SELECT COUNT(*) FROM events WHERE verdict IS NULL AND seq <= ?"
_LAST = "SELECT MAX(seq) FROM events WHERE verdict IS NULL"
_DONE = "DELETE FROM events WHERE seq = ?"
_PARK = "UPDATE events SET verdict = ?, problems = ?, parked_at = ? WHERE seq = ?"
_PARKED = """
SELECT seq, source, id, body, verdict, problems, parked_at FROM events WHERE verdict IS NOT NULL AND seq > ?
ORDER BY seq LIMIT 500
"""
_UNPARK = "DELETE FROM events WHERE seq = ? AND verdict IS NOT NULL"


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
                self._db.execute("PRAGMA synchronous = FULL")
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
        new = 0
        for one in events:
            if db.execute(_INSERT, (one.source, one.id, one.body)).rowcount:
                new += 1
                continue
            body, verdict = db.execute(_SAME, (one.source, one.id)).fetchone()
            if body != one.body:
                raise EventConflictError(self.path, one.source, one.id, parked=verdict is not None)
        count, size = db.execute("SELECT events, bytes FROM totals").fetchone()
        if new and (count > self._max_events or size > self._max_bytes):
            raise SpoolFullError(
                self.path, events=count, size=size, max_events=self._max_events, max_bytes=self._max_bytes
            )
        return new

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
        with self._transaction() as db:
            db.executemany(_DONE, [(one.seq,) for one in done])
            db.executemany(
                _PARK, [(result.verdict.value, json.dumps(result.problems), now, one.seq) for one, result in parked]
            )

    def last(self) -> int:
        """Return the number of the last event that waits, 0 if none does."""
        with self._reading():
            return self._value(_LAST) or 0

    def left(self, through: int | None = None) -> int:
        """Return how many events wait, of those up to the number ``through``."""
        with self._reading():
            return int(self._value(_LEFT, (2**62 if through is None else through,)))

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
            if not db.execute(_UNPARK, (parked.seq,)).rowcount:
                return False
            self._add(db, [event or parked])
            return True

    def discard(self, parked: Parked) -> bool:
        """Remove a parked event for ever; return whether it was parked."""
        with self._transaction() as db:
            return bool(db.execute(_UNPARK, (parked.seq,)).rowcount)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._closed = True
            if self._process == os.getpid():
                self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as db:
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
