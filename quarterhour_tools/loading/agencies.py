"""Agencies from a file, for `quarterhour agencies` and `quarterhour replay --agencies`."""

import argparse
import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any, Final

from quarterhour.agencies.agency import FIELDS, TAX_FIELDS, Agency, read_agency
from quarterhour.documents.keys import AGENCY_NAME, is_agency
from quarterhour.model import exact_json, fields, money
from quarterhour.model.errors import FieldProblem, in_words
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_file import BadLine, open_source
from quarterhour_tools.operations.deployment import api, configure_target
from quarterhour_tools.operations.remote import segment
from quarterhour_tools.output import printable

CREATED: Final = "created"
CHANGED: Final = "changed"
UNCHANGED: Final = "unchanged"
REFUSED: Final = "refused"

_TAX_COLUMNS: Final = {"tax_scheme": "scheme", "tax_percent": "percent", "vat_id": "vat_id"}
_COLUMNS: Final = ("agency", *(name for name in FIELDS if name != "tax"), *_TAX_COLUMNS)
HELP: Final = (
    f"NDJSON of objects with agency and any of {', '.join(FIELDS)} (tax: {', '.join(TAX_FIELDS)}); or CSV with "
    f"the columns agency and any of {', '.join(_COLUMNS[1:])}; plain or .gz, - for standard input"
)
_FOUND: Final = 200
_MISSING: Final = 404
_WRITTEN: Final = frozenset({200, 201})

Send = Callable[[str, str, Any], tuple[int, Any]]
"""Sends a request of a method and a path with a JSON body, or none; returns the status and the JSON of the response."""


@dataclass(frozen=True, slots=True)
class AgencyRow:
    """An agency in a file: the number of its line, its name, and the content of its document."""

    number: int
    agency: str
    content: dict[str, Any]

    @property
    def path(self) -> str:
        """The path of its request."""
        return f"/agencies/{segment(self.agency)}"


def read(name: str) -> tuple[list[AgencyRow], list[BadLine]]:
    """Return the agencies of a file, and the bad lines, each with every problem of its fields.

    Raises ``ToolError`` if the file cannot be read, or is CSV with an unknown column or without the column ``agency``.
    """
    rows: dict[str, AgencyRow] = {}
    bad: list[BadLine] = []
    with open_source(name) as source:
        for number, values in _objects(name, source.lines):
            row = values if isinstance(values, BadLine) else _row(number, values)
            if isinstance(row, AgencyRow) and row.agency in rows:
                row = BadLine(number, f"agency {row.agency} is in line {rows[row.agency].number} already")
            if isinstance(row, AgencyRow):
                rows[row.agency] = row
            else:
                bad.append(row)
    return list(rows.values()), bad


def read_valid(name: str) -> list[AgencyRow]:
    """Return the agencies of a file; raise ``ToolError`` with the first problem if one of them is invalid."""
    rows, bad = read(name)
    if bad:
        more = f"; {len(bad) - 1:,} more lines are invalid" if len(bad) > 1 else ""
        raise ToolError(f"{name}: line {bad[0].number}: {bad[0].problem}{more}")
    return rows


def _objects(name: str, lines: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
    """Yield the objects of a file with the numbers of their lines; a ``BadLine`` if there is none."""
    try:
        texts = (line.decode("utf-8-sig" if number == 0 else "utf-8") for number, line in enumerate(lines))
        first = next(texts, "")
        both = chain([first], texts)
        yield from _json(both) if not first.strip() or first.lstrip().startswith("{") else _csv(name, both)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ToolError(f"{name}: {error}") from error


def _json(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, exact_json.parse(line)
            except (ValueError, RecursionError) as error:
                yield number, BadLine(number, f"is not JSON: {error}")


def _csv(name: str, lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    reader = csv.DictReader(lines, strict=True)
    columns = list(reader.fieldnames or ())
    unknown = sorted({*columns} - {*_COLUMNS})
    if unknown or "agency" not in columns:
        problem = f"has the unknown column {unknown[0]!r}" if unknown else "has no column agency"
        raise ToolError(f"{name} {problem}: expected columns are {', '.join(_COLUMNS)}")
    for cells in reader:
        number = reader.line_num
        if None in cells or None in cells.values():
            yield number, BadLine(number, f"has another number of cells than the first line, which has {len(columns)}")
            continue
        given = {column: text for column, text in cells.items() if text}
        tax = {field: given.pop(column) for column, field in _TAX_COLUMNS.items() if column in given}
        yield number, {**given, **({"tax": tax} if tax else {})}


def _row(number: int, values: Any) -> AgencyRow | BadLine:  # noqa: ANN401 - a line is any JSON
    if not isinstance(values, Mapping):
        return BadLine(number, "is not an object")
    content = {name: value for name, value in values.items() if name != "agency"}
    agency, problems = values.get("agency"), []
    if not isinstance(agency, str) or not is_agency(agency):
        found = "is missing" if agency is None else f"is {fields.shown(agency)}"
        problems.append(FieldProblem("agency", found, AGENCY_NAME))
    valid = read_agency(content, "")
    if not isinstance(valid, Agency):
        problems.extend(valid)
    if problems:
        return BadLine(number, in_words(problems))
    return AgencyRow(number, str(agency), _plain(content))


def _plain(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content with its only number, the percentage of the tax, as text."""
    tax = content.get("tax")
    if not isinstance(tax, Mapping) or not isinstance(tax.get("percent"), Decimal):
        return content
    return {**content, "tax": {**tax, "percent": money.plain(tax["percent"])}}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour agencies``."""
    parser.add_argument("file", metavar="FILE", help=HELP)
    configure_target(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
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
