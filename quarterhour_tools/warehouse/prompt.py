"""The prompt of `quarterhour sql`: reads queries and commands line by line, and prints tables."""

import sys
from contextlib import suppress
from typing import Final

from quarterhour.model.fields import printable
from quarterhour.model.texts import one_form
from quarterhour_tools.errors import INTERRUPTED_MESSAGE, ToolError
from quarterhour_tools.warehouse.database import Database
from quarterhour_tools.warehouse.results import Result, write_table
from quarterhour_tools.warehouse.tables import Declared

_END: Final = ";"
_COMMAND: Final = "."
_QUIT: Final = ".quit"
_HELP: Final = """\
.tables     list what can be queried
.queries    list the named queries
.run NAME   run a named query
.show NAME  print the SQL of a named query
.quit       leave, as Ctrl-D does
A query ends with a semicolon. Ctrl-C ends a query that runs."""


class Prompt:
    """Answers queries until the input ends."""

    def __init__(self, database: Database, declared: Declared) -> None:
        self._database = database
        self._declared = declared
        self._visible = sys.stdin.isatty()

    def run(self) -> None:
        """Answer what is typed; an error or Ctrl-C ends a query, not the prompt."""
        if self._visible:
            with suppress(ImportError):
                import readline  # noqa: F401, PLC0415 - it gives the prompt a history; some systems have none
            print("A query ends with a semicolon. .help lists the commands, Ctrl-D leaves.")
        while True:
            try:
                text = self._typed()
                if text is None:
                    return
                self._answer(text)
            except ToolError as error:
                print(f"quarterhour: {printable(error)}", file=sys.stderr)
            except KeyboardInterrupt:
                print(INTERRUPTED_MESSAGE, file=sys.stderr)

    def _typed(self) -> str | None:
        """Return a command, or the lines of a query; ``None`` at the end of the input."""
        lines: list[str] = []
        while True:
            try:
                line = one_form(input(("...> " if lines else "sql> ") if self._visible else "")).strip()
            except EOFError:
                return "\n".join(lines) or None
            if line == _QUIT and not lines:
                return None
            if line or lines:
                lines.append(line)
            if line.endswith(_END) or (len(lines) == 1 and line.startswith(_COMMAND)):
                return "\n".join(lines)

    def _answer(self, text: str) -> None:
        command, _, name = text.partition(" ")
        match command:
            case ".tables":
                self._print("SELECT table_name FROM information_schema.tables ORDER BY table_name")
            case ".queries":
                print(self._declared.listed())
            case ".run":
                self._print(self._declared.query(name.strip()).sql)
            case ".show":
                print(self._declared.query(name.strip()).sql)
            case _ if command.startswith(_COMMAND):
                print(_HELP)
            case _:
                self._print(text)

    def _print(self, sql: str) -> None:
        write_table(Result(self._database.run(sql)), sys.stdout)
