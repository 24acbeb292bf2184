"""The statements in an S3 bucket or a folder: the lists of drafts and of releases."""

import io
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.statements.drafts.draft import FIGURES as DRAFT_FIGURES
from quarterhour.statements.drafts.draft import ListedDraft, read_drafts
from quarterhour.statements.keys import draft_list_key, period_of_manifest
from quarterhour.statements.listing import FIGURES, Document, read_release
from quarterhour.statements.releases.keys import release_list_key, release_of_manifest
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError

T = TypeVar("T")


def statement_as_dict(document: Document) -> dict[str, Any]:
    """Return a document in the list of a release as programs get it."""
    return {
        "agency": document.account.agency,
        "currency": document.account.currency,
        "period": str(document.period),
        "number": document.number,
        "document": document.kind,
        "release": document.release,
        "revision": document.revision,
        "cancels": document.cancels or None,
        **{name: money.plain(document.figures[name]) for name in FIGURES},
        "lines": document.lines,
        "prior_period_lines": document.prior_period_lines,
    }


def draft_as_dict(period: Period, draft: ListedDraft) -> dict[str, Any]:
    """Return a draft in the list of a period as programs get it."""
    return {
        "period": str(period),
        "agency": draft.account.agency,
        "currency": draft.account.currency,
        **{name: money.plain(draft.figures[name]) for name in DRAFT_FIGURES},
        "lines": draft.lines,
        "prior_period_lines": draft.prior_period_lines,
    }


def sealed_periods(files: Objects) -> list[Period]:
    """Return the periods that are sealed, in order."""
    return sorted(filter(None, map(period_of_manifest, files.keys())))


def read_statements(files: Objects, periods: Collection[Period] | None = None) -> Iterator[Document]:
    """Yield the statements of some periods, or of all, by period, account and revision.

    Raises ``ToolError`` if a list cannot be read.
    """
    keys = set(files.keys())
    found: dict[Period, list[Document]] = defaultdict(list)
    for number in sorted(filter(None, map(release_of_manifest, keys))):
        for document in _rows(files, release_list_key(number), partial(read_release, release=number)):
            found[document.period].append(document)
    for period in sorted(found):
        if periods is None or period in periods:
            yield from sorted(found[period], key=lambda one: (one.account, one.revision))


def read_drafts_of(files: Objects, period: Period) -> list[ListedDraft]:
    """Return the drafts of a sealed period, by account; raise ``ToolError`` if their list cannot be read."""
    return list(_rows(files, draft_list_key(period), read_drafts))


def without_statement(files: Objects, period: Period) -> list[ListedDraft]:
    """Return the drafts of a period that have no statement, or a cancelled one, by account."""
    released = list(read_statements(files, {period}))
    cancelled = {one.cancels for one in released}
    with_statement = {one.account for one in released if not one.cancels and one.number not in cancelled}
    return [one for one in read_drafts_of(files, period) if one.account not in with_statement]


def _rows(files: Objects, key: str, read: Callable[[Iterable[str]], Iterator[T]]) -> Iterator[T]:
    try:
        with files.open(key) as file:
            text = io.StringIO(file.read().decode(), newline="")
        yield from read(text)
    except (OSError, ValueError, ArithmeticError) as error:
        raise ToolError(f"{key} cannot be read: {error}") from error
