"""Agencies from a file, for `quarterhour agencies` and `quarterhour replay --agencies`."""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

from quarterhour.model import instants
from quarterhour.model.fields import printable
from quarterhour.registry.agencies.agency import FIELDS, TAX_FIELDS
from quarterhour.registry.agencies.rows import COLUMNS, AgencyFileError, AgencyRow, BadLine, has_start, read_rows
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_file import open_source
from quarterhour_tools.target.deployment import api, configure_target

NAME: Final = "agencies"
DESCRIPTION: Final = (
    "Register the agencies of a file: those that are new, and those whose latest version differs. If a line is "
    "invalid, nothing is sent. Running it again changes nothing. Exit code 1 if agencies were invalid or "
    "refused."
)

CREATED: Final = "created"
CHANGED: Final = "changed"
UNCHANGED: Final = "unchanged"
REFUSED: Final = "refused"

FILE_HELP: Final = (
    f"NDJSON of objects with agency and any of {', '.join(FIELDS)} (tax: {', '.join(TAX_FIELDS)}); or CSV with "
    f"the columns agency and any of {', '.join(COLUMNS[1:])}; plain or .gz, - for standard input"
)
_FOUND: Final = 200
_MISSING: Final = 404
_WRITTEN: Final = frozenset({200, 201})

Send = Callable[[str, str, Any], tuple[int, Any]]
"""Sends a request of a method and a path with a JSON body, or none; returns the status and the JSON of the response."""


def read(name: str, *, versions: bool = False) -> tuple[list[AgencyRow], list[BadLine]]:
    """Return the agencies of a file, and its bad lines, as ``read_rows`` does.

    Raises ``ToolError`` if the file cannot be read.
    """
    with open_source(name) as source:
        try:
            return read_rows(source.lines, versions=versions)
        except AgencyFileError as error:
            raise ToolError(f"{name} {error}") from error


def read_versions(name: str) -> list[AgencyRow]:
    """Return the versions of the agencies of a file, in the order in which they are to be written.

    Those without ``registered_at`` come first. Of one instant, one that is valid later follows one that is valid
    earlier, as a version replaces those that begin after it. Raises ``ToolError`` with the first problem if one of them
    is invalid.
    """
    rows, bad = read(name, versions=True)
    if bad:
        more = f"; {len(bad) - 1:,} more lines are invalid" if len(bad) > 1 else ""
        raise ToolError(f"{name}: line {bad[0].number}: {bad[0].problem}{more}")
    return sorted(rows, key=lambda row: (row.registered_at or instants.ALWAYS[0], _start(row), row.number))


def _start(row: AgencyRow) -> datetime:
    return instants.parse_rfc_3339(row.content["valid_from"]) if has_start(row) else instants.ALWAYS[0]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour agencies``."""
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    rows, bad = read(args.file)
    for one in bad:
        print(printable(f"line {one.number}: {one.problem}"))
    if bad:
        print(f"{len(bad):,} of {len(rows) + len(bad):,} agencies are invalid; nothing was sent")
        return 1
    remote = api(args)
    found = load(rows, remote.send, lambda line: print(printable(line)))
    print(", ".join(f"{found[result]:,} {result}" for result in (CREATED, CHANGED, UNCHANGED, REFUSED)))
    return 0 if not found[REFUSED] else 1


def load(rows: Iterable[AgencyRow], send: Send, report: Callable[[str], None]) -> Counter[str]:
    """Register the agencies whose latest version differs from their row; return the number of each result.

    ``report`` gets a message for each agency that was created, changed or refused. Raises ``ToolError`` if an agency
    cannot be read.
    """
    found: Counter[str] = Counter()
    for row in rows:
        result, message = _load(row, send)
        found[result] += 1
        if message:
            report(message)
    return found


def _load(row: AgencyRow, send: Send) -> tuple[str, str]:
    """Register an agency if it is new or differs; return the result, and the message about it."""
    status, existing = send("GET", row.path, None)
    if status not in {_FOUND, _MISSING}:
        raise ToolError(f"GET {row.path} failed with {status}: {existing}")
    seen, before = (existing["version"], existing["content"]) if status == _FOUND else (0, {})
    if seen and before == row.content:
        return UNCHANGED, ""
    status, answer = send("PUT", row.path, {"seen": seen, "content": row.content})
    if status not in _WRITTEN:
        return REFUSED, f"line {row.number}: {row.agency}: {REFUSED}: {answer.get('detail', answer)}"
    if not seen:
        return CREATED, f"{row.agency}: {CREATED}"
    changed = (name for name in FIELDS if before.get(name) != row.content.get(name))
    return CHANGED, f"{row.agency}: {CHANGED}: {', '.join(changed)}"
