"""Sorts lines on disk, so that memory does not grow with their number: SQLite in a temporary folder."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from quarterhour_tools.errors import ToolError
from quarterhour_tools.reconciliation.lines import (
    ComparedLine,
    LedgerLine,
    ProviderLine,
    ledger_line,
    packed,
    provider_line,
)

MOST_IN_GROUP: Final = 10_000
"""The most lines with one key: they are compared in memory."""
_AT_ONCE: Final = 5_000
"""The rows that are inserted together."""
_CACHE: Final = 32_000
"""KiB of memory for pages and for sorting."""
_PROVIDER, _LEDGER = 0, 1

GroupLines = tuple[list[ProviderLine], list[LedgerLine]]


class Disk:
    """Lines by group, and rows of results by place."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lines: list[tuple[bytes, int, str]] = []
        self._rows: list[tuple[int, str]] = []

    def add(self, line: ComparedLine) -> None:
        """Keep a line."""
        side = _PROVIDER if isinstance(line, ProviderLine) else _LEDGER
        self._lines.append((_digest(line.group), side, packed(line)))
        if len(self._lines) >= _AT_ONCE:
            self._write()

    def index(self) -> None:
        """Prepare ``first_of``; no line is added afterwards."""
        self._write()
        self._connection.execute(f"CREATE INDEX by_group ON line(grp) WHERE side = {_LEDGER}")

    def first_of(self, group: str) -> LedgerLine | None:
        """Return the first line of the ledger in a group that no reconciliation proposed."""
        found = self._connection.execute(
            f"SELECT body FROM line WHERE grp = ? AND side = {_LEDGER} ORDER BY n LIMIT ?",  # noqa: S608 # nosec B608
            (_digest(group), MOST_IN_GROUP),
        )
        return next((one for (body,) in found if not (one := ledger_line(body)).corrects), None)

    def groups(self) -> Iterator[GroupLines]:
        """Yield the lines of each group; raise ``ToolError`` if a group has too many."""
        self._write()
        found = self._connection.execute("SELECT grp, side, body FROM line ORDER BY grp, n")
        for _, rows in groupby(found, key=itemgetter(0)):
            provider: list[ProviderLine] = []
            ledger: list[LedgerLine] = []
            for _, side, body in rows:
                if side == _PROVIDER:
                    provider.append(provider_line(body))
                else:
                    ledger.append(ledger_line(body))
                if len(provider) + len(ledger) > MOST_IN_GROUP:
                    group = (provider or ledger)[0].group
                    raise ToolError(
                        f"more than {MOST_IN_GROUP:,} lines have the key {group}: "
                        "match by a field that tells them apart"
                    )
            yield provider, ledger

    def keep(self, place: int, text: str) -> None:
        """Keep a row of the result."""
        self._rows.append((place, text))
        if len(self._rows) >= _AT_ONCE:
            self._write_rows()

    def rows(self) -> Iterator[str]:
        """Yield the rows of the result by place."""
        self._write_rows()
        for (text,) in self._connection.execute("SELECT body FROM result ORDER BY place, n"):
            yield text

    def _write(self) -> None:
        self._connection.executemany("INSERT INTO line(grp, side, body) VALUES (?, ?, ?)", self._lines)
        self._lines.clear()

    def _write_rows(self) -> None:
        self._connection.executemany("INSERT INTO result(place, body) VALUES (?, ?)", self._rows)
        self._rows.clear()


@contextmanager
def on_disk() -> Iterator[Disk]:
    """Yield an empty store in a temporary folder, which is removed afterwards."""
    with TemporaryDirectory(prefix="quarterhour-") as folder:
        connection = sqlite3.connect(Path(folder) / "lines.sqlite", isolation_level=None)
        try:
            connection.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -{_CACHE};"
                "CREATE TABLE line(n INTEGER PRIMARY KEY, grp BLOB, side INTEGER, body TEXT);"
                "CREATE TABLE result(n INTEGER PRIMARY KEY, place INTEGER, body TEXT); BEGIN"
            )
            yield Disk(connection)
        except sqlite3.Error as error:
            raise ToolError(f"the lines cannot be sorted in {folder}: {error}") from error
        finally:
            connection.close()


def _digest(group: str) -> bytes:
    return blake2b(group.encode("utf-8", "surrogatepass"), digest_size=16).digest()
