"""The result of a reconciliation: the schema of the documents `reconciliation:<period>:<provider>`."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from quarterhour.model import fields
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import Fields
from quarterhour.model.periods import PERIOD, Period
from quarterhour.registry.documents.plan import DocumentKind, Valid

PREFIX: Final = "reconciliation:"
"""The prefix of the names of results."""
MAX_DIFFERENCES: Final = 200
"""The most differences in a result; `difference_count` has the number of all."""
MAX_PROBLEMS: Final = 50
MAX_TEXT: Final = 1000
"""Characters of a text in a result."""
MAX_SUMS: Final = 500
"""The most sums in a result: by measure, currency and label."""
MAX_ROW_SUMS: Final = 200
"""The most kinds of rows of the file in a result: lines, rows that are excluded by each rule, bad rows, all rows."""
ROW_KINDS: Final = ("lines", "excluded", "bad", "file")
_NAMES: Final = f"{PREFIX}<period>:<provider>, such as {PREFIX}2026-11:stripe"
_TEXT: Final = f"text of at most {MAX_TEXT} characters"
_COUNT: Final = "a whole number of 0 or more"

Reader = Callable[[Any], Any]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= MAX_TEXT else None


def _amounts(value: object) -> Mapping[str, Any] | None:
    if not isinstance(value, Mapping) or len(value) > MAX_SUMS:
        return None
    return value if all(fields.currency(name) and fields.decimal_text(one) for name, one in value.items()) else None


_TEXTS: Final[Mapping[str, tuple[str, Reader]]] = {"provider": ("the provider", fields.name), "file": (_TEXT, _text)}
_COUNTS: Final = ("rows", "outside", "difference_count", "problem_count", "proposals")
_TOTAL: Final[Mapping[str, tuple[str, Reader]]] = {
    "measure": ("amount or fee", lambda value: value if value in {"amount", "fee"} else None),
    "currency": (fields.CURRENCY, fields.currency),
    **dict.fromkeys(("provider", "ledger", "difference"), ("a decimal as text", fields.decimal_text)),
}
_SUM: Final = {**_TOTAL, "label": (_TEXT, _text), "findings": (_COUNT, fields.whole)}
_DIFFERENCE: Final = {
    **dict.fromkeys(("line", "name", "kind", "label", "agency", "events", "note"), (_TEXT, _text)),
    "currency": (fields.CURRENCY, fields.currency),
    **dict.fromkeys(("provider", "ledger", "difference"), ("a decimal as text", fields.decimal_text)),
}
_ROW_SUM: Final[Mapping[str, tuple[str, Reader]]] = {
    "kind": (f"one of {', '.join(ROW_KINDS)}", lambda value: value if value in ROW_KINDS else None),
    "rule": (_TEXT, _text),
    "rows": (_COUNT, fields.whole),
    "unread": (_COUNT, fields.whole),
    "amounts": ("an object with a decimal as text for each currency", _amounts),
}
_LISTS: Final[Mapping[str, tuple[int, Mapping[str, tuple[str, Reader]]]]] = {
    "row_sums": (MAX_ROW_SUMS, _ROW_SUM),
    "totals": (MAX_SUMS, _TOTAL),
    "sums": (MAX_SUMS, _SUM),
    "differences": (MAX_DIFFERENCES, _DIFFERENCE),
}
FIELDS: Final = frozenset({"period", "made_at", "sealed_until", "problems", *_TEXTS, *_COUNTS, *_LISTS})


def document_of(period: Period, provider: str) -> str:
    """Return the name of the document with the result of a provider's period."""
    return f"{PREFIX}{period}:{provider}"


def _is_name(rest: str) -> bool:
    period, colon, provider = rest.partition(":")
    return bool(colon) and _period(period) is not None and fields.is_name(provider)


def _period(value: object) -> Period | None:
    if not isinstance(value, str):
        return None
    try:
        return Period.parse(value)
    except ValueError:
        return None


def _valid(content: object) -> Valid | tuple[FieldProblem, ...]:
    """Return the instant of a result, or every problem in it."""
    if not isinstance(content, Mapping):
        return (FieldProblem("content", "is not an object", f"an object with {', '.join(sorted(FIELDS))}"),)
    read = Fields(content, "content.")
    read.report_unknown(FIELDS)
    read.value("period", PERIOD, _period)
    made_at = read.value("made_at", fields.INSTANT, fields.instant)
    read.value("sealed_until", fields.INSTANT, fields.instant, optional=True)
    for name, (expected, reader) in _TEXTS.items():
        read.value(name, expected, reader)
    for name in _COUNTS:
        read.value(name, _COUNT, fields.whole)
    read.value("problems", f"a list of at most {MAX_PROBLEMS} texts", _problems)
    for name, (most, members) in _LISTS.items():
        rows = read.value(name, f"a list of at most {most} objects", partial(_rows, most))
        for place, row in enumerate(rows or ()):
            _check_row(read.within(f"{name}[{place}]", row), members)
    if read.problems:
        return fields.bounded(read.problems, "a result as described")
    return Valid(made_at)


def _check_row(read: Fields, members: Mapping[str, tuple[str, Reader]]) -> None:
    read.report_unknown(frozenset(members))
    for name, (expected, reader) in members.items():
        read.value(name, expected, reader)


def _rows(most: int, value: object) -> list[Mapping[str, Any]] | None:
    is_list = isinstance(value, list) and len(value) <= most and all(isinstance(row, Mapping) for row in value)
    return value if is_list else None  # type: ignore[return-value] # each is a mapping


def _problems(value: object) -> list[str] | None:
    is_list = isinstance(value, list) and len(value) <= MAX_PROBLEMS and all(_text(one) is not None for one in value)
    return value if is_list else None  # type: ignore[return-value] # each is a text


RESULTS: Final = DocumentKind(PREFIX, _is_name, _NAMES, _valid)
"""Results of reconciliations as a kind of document."""
