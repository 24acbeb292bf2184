"""What the later rows of a file need to know of the earlier ones: their ids, and how many rows each counter has seen.

Both are kept in SQLite, so memory does not grow with the file.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Final

_CACHE: Final = 16_000
"""KiB of memory for pages."""
TEMPORARY: Final = ""
"""The path of a database that SQLite keeps in memory while it is small, and deletes when it is closed."""


class SeenRows:
    """The ids of the rows so far, each with its first line, and the counts of rows with equal cells.

    An id and a set of cells are kept as 64 bits of their hash. Two ids of ten million have one hash with a probability
    of 3 in a million: then a good row is called bad.
    """

    def __init__(self, path: str = TEMPORARY) -> None:
        import sqlite3  # noqa: PLC0415 - only requests that convert a file need it

        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript(
            f"PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA cache_size = -{_CACHE};"
            "CREATE TABLE IF NOT EXISTS seen(id INTEGER PRIMARY KEY, line INTEGER);"
            "CREATE TABLE IF NOT EXISTS counted(cells INTEGER PRIMARY KEY, rows INTEGER, latest INTEGER); BEGIN"
        )

    def first_line(self, text: str) -> int | None:
        """Return the first line whose row has an id; `None` if there is none."""
        found = self._connection.execute("SELECT line FROM seen WHERE id = ?", (_digest(text),)).fetchone()
        return found[0] if found else None

    def add(self, texts: Iterable[str], line: int) -> None:
        """Keep the ids of a row."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO seen(id, line) VALUES (?, ?)", [(_digest(text), line) for text in texts]
        )

    def count(self, cells: Sequence[str], row: int) -> int:
        """Return the number of a row among those with equal cells, the first is 1; `row` is its ordinal in the file."""
        key = _digest("\0".join(cells))
        found = self._connection.execute("SELECT rows FROM counted WHERE cells = ?", (key,)).fetchone()
        number: int = found[0] + 1 if found else 1
        self.restore([(key, number)], row)
        return number

    def counts(self, most: int) -> list[tuple[int, int]]:
        """Return the latest counts, the oldest first: the hash of the cells, and the number of rows."""
        query = "SELECT cells, rows FROM counted ORDER BY latest DESC LIMIT ?"
        return self._connection.execute(query, (most,)).fetchall()[::-1]

    def restore(self, counts: Iterable[tuple[int, int]], row: int = 0) -> None:
        """Set counts, as `counts` returns them."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO counted(cells, rows, latest) VALUES (?, ?, ?)",
            [(key, number, row) for key, number in counts],
        )

    def commit(self) -> None:
        """Keep what was added since the last `commit`, also if the process ends."""
        self._connection.execute("COMMIT")
        self._connection.execute("BEGIN")

    def rollback(self) -> None:
        """Forget what was added since the last `commit`."""
        self._connection.execute("ROLLBACK")
        self._connection.execute("BEGIN")

    def close(self) -> None:
        """Close the database without what was added since the last `commit`."""
        self._connection.close()


@contextmanager
def seen_rows(path: str = TEMPORARY) -> Iterator[SeenRows]:
    """Yield what is known of the rows of a file: nothing, or what a database at `path` holds."""
    seen = SeenRows(path)
    try:
        yield seen
    finally:
        seen.close()


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)
