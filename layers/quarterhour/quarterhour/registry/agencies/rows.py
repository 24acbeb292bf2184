"""Agencies in a file: NDJSON or CSV, every problem of a line reported. `docs/operations.md` describes the file."""

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from quarterhour.model import exact_json, fields, money, texts
from quarterhour.model.errors import FieldProblem, in_words
from quarterhour.registry.agencies.agency import FIELDS, LISTS, PROVIDERS, Agency, in_one_form, read_agency
from quarterhour.registry.documents.keys import AGENCY_NAME, is_agency

_TAX_COLUMNS: Final = {
    "tax_scheme": "scheme",
    "tax_percent": "percent",
    "tax_reason": "reason",
    "tax_reason_code": "reason_code",
    "vat_id": "vat_id",
}
_ID_COLUMNS: Final = {f"{provider}_ids": provider for provider in PROVIDERS}
_NOT_COLUMNS: Final = ("tax", "external_ids")
_REGISTERED_AT: Final = "registered_at"
COLUMNS: Final = ("agency", *(name for name in FIELDS if name not in _NOT_COLUMNS), *_TAX_COLUMNS, *_ID_COLUMNS)


class AgencyFileError(Exception):
    """The file is no text, or is CSV with an unknown column or without the column ``agency``."""


class BadLine(NamedTuple):
    """A line without an agency, and every problem of it."""

    number: int
    problem: str


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
        """The path of its request: the name is encoded twice, because API Gateway decodes the path once."""
        return f"/agencies/{quote(quote(self.agency, safe=''), safe='')}"


def read_rows(lines: Iterable[bytes], *, versions: bool = False) -> tuple[list[AgencyRow], list[BadLine]]:
    """Return the agencies in the lines of a file, and the bad lines, each with every problem of its fields.

    ``versions``: a line may have ``registered_at``, and an agency several lines, each with ``valid_from``. Raises
    ``AgencyFileError``.
    """
    rows: list[AgencyRow] = []
    bad: list[BadLine] = []
    firsts: dict[str, AgencyRow] = {}
    columns = (*COLUMNS, _REGISTERED_AT) if versions else COLUMNS
    for number, values in _objects(lines, columns):
        row = values if isinstance(values, BadLine) else _row(number, values, versions=versions)
        if isinstance(row, AgencyRow):
            first = firsts.setdefault(row.agency, row)
            if first is not row and not (versions and has_start(first) and has_start(row)):
                which = "; a version needs valid_from" if versions else ""
                row = BadLine(number, f"agency {row.agency} is in line {first.number} already{which}")
        if isinstance(row, AgencyRow):
            rows.append(row)
        else:
            bad.append(row)
    return rows, bad


def has_start(row: AgencyRow) -> bool:
    """Return whether an agency's row says from when on it is valid."""
    return row.content.get("valid_from") is not None


def _objects(lines: Iterable[bytes], columns: Collection[str]) -> Iterator[tuple[int, Any]]:
    """Yield the objects of a file with the numbers of their lines; a ``BadLine`` if there is none."""
    try:
        texts = (line.decode("utf-8-sig" if number == 0 else "utf-8") for number, line in enumerate(lines))
        first = next(texts, "")
        both = chain([first], texts)
        yield from _json(both) if not first.strip() or first.lstrip().startswith("{") else _csv(both, columns)
    except (UnicodeDecodeError, csv.Error) as error:
        raise AgencyFileError(f"cannot be read: {error}") from error


def _json(lines: Iterable[str]) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, exact_json.parse(line)
            except (ValueError, RecursionError) as error:
                yield number, BadLine(number, f"is not JSON: {error}")


def _csv(lines: Iterable[str], known: Collection[str]) -> Iterator[tuple[int, Any]]:
    reader = csv.DictReader(lines, strict=True)
    columns = list(reader.fieldnames or ())
    unknown = sorted({*columns} - {*known})
    if unknown or "agency" not in columns:
        problem = f"has the unknown column {unknown[0]!r}" if unknown else "has no column agency"
        raise AgencyFileError(f"{problem}: expected columns are {', '.join(known)}")
    for cells in reader:
        number = reader.line_num
        if None in cells or None in cells.values():
            yield number, BadLine(number, f"has another number of cells than the first line, which has {len(columns)}")
            continue
        given: dict[str, Any] = {column: texts.one_form(text) for column, text in cells.items() if text}
        lists = (*LISTS, *_ID_COLUMNS)
        given |= {name: [one.strip() for one in given[name].split(";")] for name in lists if name in given}
        tax = {field: given.pop(column) for column, field in _TAX_COLUMNS.items() if column in given}
        ids = {provider: given.pop(column) for column, provider in _ID_COLUMNS.items() if column in given}
        yield number, {**given, **({"tax": tax} if tax else {}), **({"external_ids": ids} if ids else {})}


def _row(number: int, values: Any, *, versions: bool) -> AgencyRow | BadLine:  # noqa: ANN401 - a line is any JSON
    if not isinstance(values, Mapping):
        return BadLine(number, "is not an object")
    own = {"agency", _REGISTERED_AT} if versions else {"agency"}
    content = {name: value for name, value in values.items() if name not in own}
    read = fields.Fields(values)
    at = read.value(_REGISTERED_AT, fields.INSTANT, fields.instant, optional=True) if versions else None
    agency, problems = fields.name(values.get("agency")), read.problems
    if agency is None or not is_agency(agency):
        found = "is missing" if values.get("agency") is None else f"is {fields.shown(values['agency'])}"
        problems.append(FieldProblem("agency", found, AGENCY_NAME))
    valid = read_agency(content, "")
    if not isinstance(valid, Agency):
        problems.extend(valid)
    if problems:
        return BadLine(number, in_words(problems))
    stored = in_one_form(content, valid) if isinstance(valid, Agency) else content
    return AgencyRow(number, str(agency), _plain(stored), at)


def _plain(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content with its only number, the percentage of the tax, as text."""
    tax = content.get("tax")
    if not isinstance(tax, Mapping) or not isinstance(tax.get("percent"), Decimal):
        return content
    return {**content, "tax": {**tax, "percent": money.plain(tax["percent"])}}
