"""Agencies from a file, for `quarterhour agencies` and `quarterhour replay --agencies`."""

import argparse
import csv
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any, Final

from quarterhour.agencies.agency import FIELDS, TAX_FIELDS, Agency, read_agency
from quarterhour.documents.keys import AGENCY_NAME, is_agency
from quarterhour.model import exact_json, fields, instants, money
from quarterhour.model.errors import FieldProblem, in_words
from quarterhour.model.fields import printable
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_file import BadLine, open_source
from quarterhour_tools.operations.deployment import api, configure_target
from quarterhour_tools.operations.remote import segment

CREATED: Final = "created"
CHANGED: Final = "changed"
UNCHANGED: Final = "unchanged"
REFUSED: Final = "refused"

_TAX_COLUMNS: Final = {"tax_scheme": "scheme", "tax_percent": "percent", "vat_id": "vat_id"}
_REGISTERED_AT: Final = "registered_at"
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
    """An agency in a file: the number of its line, its name, and the content of its document.

    ``registered_at``: the instant at which a replay writes it; ``None`` for the first event's.
    """

    number: int
    agency: str
    content: dict[str, Any]
    registered_at: datetime | None = None

    @property
    def path(self) -> str:
        """The path of its request."""
        return f"/agencies/{segment(self.agency)}"


def read(name: str, *, versions: bool = False) -> tuple[list[AgencyRow], list[BadLine]]:
    """Return the agencies of a file, and the bad lines, each with every problem of its fields.

    ``versions``: a line may have ``registered_at``, and an agency several lines, each with ``valid_from``. Raises
    ``ToolError`` if the file cannot be read, or is CSV with an unknown column or without the column ``agency``.
    """
    rows: list[AgencyRow] = []
    bad: list[BadLine] = []
    firsts: dict[str, AgencyRow] = {}
    columns = (*_COLUMNS, _REGISTERED_AT) if versions else _COLUMNS
    with open_source(name) as source:
        for number, values in _objects(name, source.lines, columns):
            row = values if isinstance(values, BadLine) else _row(number, values, versions=versions)
            if isinstance(row, AgencyRow):
                first = firsts.setdefault(row.agency, row)
                if first is not row and not (versions and _has_start(first) and _has_start(row)):
                    which = "; a version needs valid_from" if versions else ""
                    row = BadLine(number, f"agency {row.agency} is in line {first.number} already{which}")
            if isinstance(row, AgencyRow):
                rows.append(row)
            else:
                bad.append(row)
    return rows, bad


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


def _has_start(row: AgencyRow) -> bool:
    return row.content.get("valid_from") is not None


def _start(row: AgencyRow) -> datetime:
    return instants.parse_rfc_3339(row.content["valid_from"]) if _has_start(row) else instants.ALWAYS[0]


def _objects(name: str, lines: Iterable[bytes], columns: Collection[str]) -> Iterator[tuple[int, Any]]:
    """Yield the objects of a file with the numbers of their lines; a ``BadLine`` if there is none."""
    try:
        texts = (line.decode("utf-8-sig" if number == 0 else "utf-8") for number, line in enumerate(lines))
        first = next(texts, "")
        both = chain([first], texts)
        yield from _json(both) if not first.strip() or first.lstrip().startswith("{") else _csv(name, both, columns)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ToolError(f"{name}: {error}") from error


def _json(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, exact_json.parse(line)
            except (ValueError, RecursionError) as error:
                yield number, BadLine(number, f"is not JSON: {error}")


def _csv(name: str, lines: Iterable[str], known: Collection[str]) -> Iterator[tuple[int, Any]]:
    reader = csv.DictReader(lines, strict=True)
    columns = list(reader.fieldnames or ())
    unknown = sorted({*columns} - {*known})
    if unknown or "agency" not in columns:
        problem = f"has the unknown column {unknown[0]!r}" if unknown else "has no column agency"
        raise ToolError(f"{name} {problem}: expected columns are {', '.join(known)}")
    for cells in reader:
        number = reader.line_num
        if None in cells or None in cells.values():
            yield number, BadLine(number, f"has another number of cells than the first line, which has {len(columns)}")
            continue
        given = {column: text for column, text in cells.items() if text}
        tax = {field: given.pop(column) for column, field in _TAX_COLUMNS.items() if column in given}
        yield number, {**given, **({"tax": tax} if tax else {})}


def _row(number: int, values: Any, *, versions: bool) -> AgencyRow | BadLine:  # noqa: ANN401 - a line is any JSON
    if not isinstance(values, Mapping):
        return BadLine(number, "is not an object")
    own = {"agency", _REGISTERED_AT} if versions else {"agency"}
    content = {name: value for name, value in values.items() if name not in own}
    read = fields.Fields(values)
    at = read.value(_REGISTERED_AT, fields.INSTANT, fields.instant, optional=True) if versions else None
    agency, problems = values.get("agency"), read.problems
    if not isinstance(agency, str) or not is_agency(agency):
        found = "is missing" if agency is None else f"is {fields.shown(agency)}"
        problems.append(FieldProblem("agency", found, AGENCY_NAME))
    valid = read_agency(content, "")
    if not isinstance(valid, Agency):
        problems.extend(valid)
    if problems:
        return BadLine(number, in_words(problems))
    return AgencyRow(number, str(agency), _plain(content), at)


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
