"""DuckDB over sealed files, read only: the declared tables and views, and nothing else of the machine.

DuckDB is imported here alone, and only by `quarterhour sql`.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

import duckdb

from quarterhour_tools.errors import ToolError
from quarterhour_tools.warehouse.tables import PATH, SEALED_LINES, Declared, SealedTable

_MOST_THREADS: Final = 4
_LONGEST_LINE: Final = 4_000_000
"""Bytes of a line: those of a sealed line of a million characters."""
_IN_NO_CELL: Final = "\ufdd0"
"""What would be NULL as a cell, in place of an empty one: that is an empty text, as on Athena."""
_READING: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_REFUSED: Final = "is not possible, because sealed files are only read: use SELECT"
_PIVOT: Final = re.compile(r"\bPIVOT\b", re.IGNORECASE)
_SIZE: Final = re.compile(r"(?=[^A-Z]*[1-9])\d+(\.\d+)? ?[KMGT]i?B", re.ASCII | re.IGNORECASE)
"""A bound of memory; of other texts, DuckDB takes some for no bound."""
_AGAIN_AFTER: Final = 0.05
"""Seconds after which an interrupt is repeated."""
T = TypeVar("T")


class SqlError(ToolError):
    """A query that cannot be run; the message says what is wrong with it."""


class Calls:
    """Makes DuckDB's calls in a thread, one after the other, so that Ctrl-C can end each of them."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._thread = ThreadPoolExecutor(1)

    def make(self, call: Callable[[], T]) -> T:
        """Make a call and return its result; raise ``SqlError`` if it fails.

        A ``KeyboardInterrupt`` ends the call, and the next one can be made.
        """
        future = self._thread.submit(call)
        try:
            with _as_sql_errors():
                return future.result()
        except KeyboardInterrupt:
            while not wait([future], _AGAIN_AFTER).done:  # the call may not have begun yet
                self._connection.interrupt()
            raise

    def end(self) -> None:
        """End the thread."""
        self._thread.shutdown()


class Rows:
    """The rows of a query, computed while they are fetched, with the names and types of the columns."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, calls: Calls) -> None:
        self._cursor = cursor
        self._calls = calls
        described = cursor.description or ()
        self.columns: tuple[str, ...] = tuple(one[0] for one in described)
        self.types: tuple[str, ...] = tuple(str(one[1]) for one in described)

    def fetch(self, most: int) -> list[tuple[Any, ...]]:
        """Return the next rows, up to ``most``, none at the end; raise ``SqlError`` if they cannot be computed."""
        return self._calls.make(lambda: self._cursor.fetchmany(most))


class Database:
    """An open database, which answers one query at a time."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, calls: Calls) -> None:
        self._connection = connection
        self._calls = calls

    def run(self, sql: str) -> Rows:
        """Run a query and return its rows; raise ``SqlError`` if it fails."""
        cursor = self._calls.make(lambda: self._connection.execute(_checked(self._connection, sql)))
        return Rows(cursor, self._calls)

    def write_parquet(self, sql: str, file: Path) -> int:
        """Write the rows of a query to the file that the database was opened with; return their number.

        Raises ``SqlError`` if the query fails.
        """

        def write() -> int:
            (query,) = self._connection.extract_statements(_checked(self._connection, sql))
            name = str(file).replace("'", "''")
            copied = f"COPY ({query.query.strip().rstrip(';')}\n) TO '{name}' (FORMAT parquet, COMPRESSION zstd)"
            written = self._connection.execute(copied).fetchone()
            return int(written[0]) if written else 0

        return self._calls.make(write)


@contextmanager
def _as_sql_errors() -> Iterator[None]:
    """Turn DuckDB's errors into ``SqlError``."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise SqlError(f"the query needs more memory than it may use: raise --memory ({_first_line(error)})") from error
    except duckdb.Error as error:
        raise SqlError(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    """Return what an error of DuckDB says, without the copy of the query below it."""
    return str(error).strip().partition("\n\n")[0].replace("\n", " ")


def _checked(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return the SQL if it is one query that only reads; raise ``SqlError`` otherwise."""
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        found = f"{len(statements)}: run them one by one" if statements else "none"
        raise SqlError(f"expected one query, found {found}")
    if statements[0].type is duckdb.StatementType.MULTI and _PIVOT.search(sql):
        raise SqlError("PIVOT creates a type for values that it must look up: name them, as in PIVOT … ON x IN (…)")
    if statements[0].type is not duckdb.StatementType.SELECT:
        raise SqlError(f"{statements[0].type.name} {_REFUSED}")
    # Of DuckDB, WITH may also hold COPY, INSERT, UPDATE and DELETE, and the whole is still a SELECT.
    (parsed,) = connection.execute("SELECT json_serialize_sql(CAST(? AS varchar))", [sql]).fetchone() or ("{}",)
    if written := {*_nodes(json.loads(parsed))} - _READING:
        raise SqlError(f"{min(written).partition('_')[0]} {_REFUSED}")
    return sql


def _nodes(parsed: Any) -> Iterator[str]:  # noqa: ANN401 - JSON is any value
    """Yield the kinds of a parsed query and of those within it."""
    if isinstance(parsed, dict):
        kind = parsed.get("type")
        if isinstance(kind, str) and kind.endswith("_NODE"):
            yield kind
    if isinstance(parsed, dict | list):
        for one in parsed.values() if isinstance(parsed, dict) else parsed:
            yield from _nodes(one)


@contextmanager
def opened(folder: Path, declared: Declared, memory: str, output: Path | None = None) -> Iterator[Database]:
    """Open the sealed files of a folder as a database that reads nothing else, and writes nothing but ``output``.

    ``memory``: the most that a query may use, such as ``1GB``; what does not fit is in temporary files. Raises
    ``ToolError`` for another form of it, for an ``output`` within the folder, and for a link that leads out of it.
    """
    root = folder.resolve()
    if _SIZE.fullmatch(memory) is None:
        raise _not_a_size(memory)
    if output and output.is_relative_to(root):
        raise ToolError(f"{output} is among the sealed files, which are only read: name a file elsewhere")
    _refuse_links(root)
    with TemporaryDirectory(prefix="quarterhour-sql-") as spill:
        settings = {
            "memory_limit": memory,
            "temp_directory": spill,
            "threads": str(min(_MOST_THREADS, os.cpu_count() or 1)),
            "preserve_insertion_order": "false",
            "python_enable_replacements": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        try:
            connection = duckdb.connect(":memory:", config=dict(settings))
        except duckdb.Error as error:
            raise _not_a_size(memory) from error
        with connection:
            for table in declared.tables:
                if joined := table.name == SEALED_LINES:
                    _join(table, root, Path(spill))
                connection.execute(_view_of(table, Path(spill) if joined else root, joined=joined))
            for view in declared.views:
                connection.execute(view.statement)
            connection.execute("SET allowed_directories = ?", [[str(root), spill]])
            if output:
                # DuckDB writes the new content of a file that exists beside it first.
                connection.execute(
                    "SET allowed_paths = ?", [[str(output), str(output.with_name(f"tmp_{output.name}"))]]
                )
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            calls = Calls(connection)
            try:
                yield Database(connection, calls)
            finally:
                calls.end()


def _not_a_size(memory: str) -> ToolError:
    return ToolError(f"--memory is {memory!r}: expected a size such as 512MB or 2GB")


def _refuse_links(root: Path) -> None:
    """Raise ``ToolError`` for a link in the folder that leads to a file elsewhere."""
    for parent, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(parent, name)
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                raise ToolError(f"{path} is a link to a file outside the folder: remove it")


def _join(table: SealedTable, root: Path, place: Path) -> None:
    """Write the files of each day as one, with all their headers, to another place.

    DuckDB takes a millisecond to open a file: those of half a year would take far longer than their lines.
    """
    for file in root.glob(f"{table.pattern}**/*.csv.gz"):
        joined = place / file.relative_to(root).parents[-3] / "lines.csv.gz"
        joined.parent.mkdir(parents=True, exist_ok=True)
        with joined.open("ab") as output, file.open("rb") as part:
            copyfileobj(part, output)


def _view_of(table: SealedTable, root: Path, *, joined: bool) -> str:
    """Return the statement that creates the view of a table over files, or over joined ones."""
    names = ", ".join(f'"{name}"' for name in table.columns)
    if not any(one.is_file() for one in root.glob(f"{table.pattern}**/{table.file}")):
        nothing = ", ".join(
            f'NULL::VARCHAR AS "{name}"' for name in (*table.columns, *(one.name for one in table.partitions), PATH)
        )
        return f'CREATE VIEW "{table.name}" AS SELECT {nothing} WHERE false'
    partitions = "".join(
        f""", regexp_extract(filename, '{table.value_in_path(one.name)}', 1) AS "{one.name}\""""
        for one in table.partitions
    )
    types = ", ".join(f"'{name}': 'VARCHAR'" for name in table.columns)
    cells = (
        f"""delim=',', quote='"', escape='"', nullstr='{_IN_NO_CELL}', null_padding=true"""
        if table.is_csv
        else r"delim='\x01', quote='', escape=''"
    )
    # Without a name, DuckDB takes ** for all files below.
    files = f"{root}/{table.pattern}**{'' if table.file == '*' else f'/{table.file}'}".replace("'", "''")
    first = table.columns[0]
    no_headers = f""" WHERE "{first}" IS DISTINCT FROM '{first}'""" if joined else ""
    return (  # names and patterns are the template's; the folder is quoted
        f'CREATE VIEW "{table.name}" AS SELECT {names}{partitions}, filename AS "{PATH}" '  # noqa: S608 # nosec B608
        f"FROM read_csv('{files}', {cells}, auto_detect=false, header=false, skip={int(table.header and not joined)}, "
        f"columns={{{types}}}, filename=true, hive_partitioning=false, parallel=false, max_line_size={_LONGEST_LINE})"
        f"{no_headers}"
    )
