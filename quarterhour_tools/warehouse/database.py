"""DuckDB over sealed files, read only: the declared tables and views, and nothing else of the machine.

DuckDB is imported here alone, and only by `quarterhour sql`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb

from quarterhour_tools.errors import ToolError
from quarterhour_tools.warehouse.tables import PATH, Declared, SealedTable

_MOST_THREADS: Final = 4
_LONGEST_LINE: Final = 4_000_000
"""Bytes of a line: those of a sealed line of a million characters."""
_INTERRUPTED: Final = "Query interrupted"
Cursor = duckdb.DuckDBPyConnection


class SqlError(ToolError):
    """A query that cannot be run; the message says what is wrong with it."""


class Database:
    """An open database: its queries, and what they may do."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def run(self, sql: str) -> Cursor:
        """Run a query and return its rows, which are computed while they are fetched; raise ``SqlError`` if it fails.

        A ``KeyboardInterrupt`` ends the query; the next one can run.
        """
        with _in_words():
            return self._connection.execute(_checked(self._connection, sql))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query; raise ``SqlError`` if it fails."""
        with _in_words():
            return self.run(sql).fetchall()

    def write_parquet(self, sql: str, file: Path) -> int:
        """Write the rows of a query to a file that the database was opened with; return their number."""
        with _in_words():
            (query,) = self._connection.extract_statements(_checked(self._connection, sql))
            name = str(file).replace("'", "''")
            written = self._connection.execute(
                f"COPY ({query.query.strip().rstrip(';')}\n) TO '{name}' (FORMAT parquet, COMPRESSION zstd)"
            ).fetchone()
            return int(written[0]) if written else 0


@contextmanager
def _in_words() -> Iterator[None]:
    """Turn DuckDB's errors into ``SqlError``, and an interrupt into ``KeyboardInterrupt``."""
    try:
        yield
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except duckdb.OutOfMemoryException as error:
        raise SqlError(f"the query needs more memory than it may use: raise --memory ({_first_line(error)})") from error
    except duckdb.Error as error:
        raise SqlError(_first_line(error)) from error
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


def _first_line(error: Exception) -> str:
    """Return what an error of DuckDB says, without the copy of the query below it."""
    return str(error).strip().partition("\n\n")[0].replace("\n", " ")


def _checked(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Return the SQL if it is one query that only reads; raise ``SqlError`` otherwise."""
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise SqlError(f"expected one query, found {len(statements)}: run them one by one")
    if statements[0].type is not duckdb.StatementType.SELECT:
        raise SqlError(f"{statements[0].type.name} is not possible, because sealed files are only read: use SELECT")
    return sql


@contextmanager
def opened(folder: Path, declared: Declared, memory: str, output: Path | None = None) -> Iterator[Database]:
    """Open the sealed files of a folder as a database that reads nothing else, and writes nothing but ``output``.

    ``memory``: the most that a query may use, such as ``1GB``; what does not fit is in temporary files.
    """
    root = folder.resolve()
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
            raise ToolError(f"--memory is {memory!r}: expected a size such as 512MB or 2GB") from error
        with connection:
            for table in declared.tables:
                connection.execute(_view_of(table, root))
            for view in declared.views:
                connection.execute(view.statement)
            connection.execute("SET allowed_directories = ?", [[str(root)]])
            if output:
                connection.execute("SET allowed_paths = ?", [[str(output)]])
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield Database(connection)


def _refuse_links(root: Path) -> None:
    """Raise ``ToolError`` for a link in the folder that leads to a file elsewhere."""
    for parent, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(parent, name)
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                raise ToolError(f"{path} is a link to a file outside the folder: remove it")


def _view_of(table: SealedTable, root: Path) -> str:
    """Return the statement that creates the view of a table over files."""
    names = ", ".join(f'"{name}"' for name in table.columns)
    if not next(root.glob(f"{table.pattern}**/*"), None):
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
        """delim=',', quote='"', escape='"', null_padding=true"""
        if table.is_csv
        else r"delim='\x01', quote='', escape=''"
    )
    files = f"{root}/{table.pattern}**".replace("'", "''")
    return (  # names and patterns are the template's; the folder is quoted
        f'CREATE VIEW "{table.name}" AS SELECT {names}{partitions}, filename AS "{PATH}" '  # noqa: S608
        f"FROM read_csv('{files}', {cells}, auto_detect=false, header=false, skip={int(table.header)}, "
        f"columns={{{types}}}, filename=true, hive_partitioning=false, parallel=false, max_line_size={_LONGEST_LINE})"
    )
