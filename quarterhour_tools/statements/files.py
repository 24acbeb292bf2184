"""The statements in an S3 bucket or a folder: the lists of drafts, of releases, and of the periods of 0.2.0."""

import io
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.statements.drafts.draft import FIGURES as DRAFT_FIGURES
from quarterhour.statements.drafts.draft import ListedDraft, read_drafts
from quarterhour.statements.keys import draft_list_key, list_key, period_of_manifest
from quarterhour.statements.listing import COLUMNS_OF_0_2, FIGURES, Listed, read_rows
from quarterhour.statements.releases.keys import release_list_key, release_of_manifest
from quarterhour.statements.releases.listing import ReleasedDocument, read_release
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListedStatement:
    """A statement, a credit note or a cancellation in a list.

    ``release``: the number of its release; 0 for a statement of 0.2.0, which was sealed with its period.
    """

    document: ReleasedDocument
    release: int = 0

    @property
    def period(self) -> Period:
        """The period."""
        return self.document.period

    @property
    def listed(self) -> Listed:
        """Its row without the members of a release."""
        return self.document.listed

    @property
    def prefix(self) -> str:
        """The prefix of the keys of its files."""
        return self.document.prefix

    def as_dict(self) -> dict[str, Any]:
        """Return the statement as programs get it."""
        return {
            "agency": self.listed.account.agency,
            "currency": self.listed.account.currency,
            "period": str(self.period),
            "number": self.listed.number,
            "document": self.listed.document,
            "issued": self.listed.issued,
            "release": self.release or None,
            "revision": self.document.revision,
            "cancels": self.document.cancels or None,
            **{name: money.plain(self.listed.figures[name]) for name in FIGURES},
            "lines": self.listed.lines,
            "prior_period_lines": self.listed.prior_period_lines,
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


def read_statements(files: Objects, periods: Collection[Period] | None = None) -> Iterator[ListedStatement]:
    """Yield the statements of some periods, or of all, by period, account and revision.

    Raises ``ToolError`` if a list cannot be read.
    """
    keys = set(files.keys())
    found: dict[Period, list[ListedStatement]] = defaultdict(list)
    for number in sorted(filter(None, map(release_of_manifest, keys))):
        for document in _rows(files, release_list_key(number), read_release):
            found[document.period].append(ListedStatement(document, number))
    of_0_2 = {period for period in filter(None, map(period_of_manifest, keys)) if list_key(period) in keys}
    for period in sorted({*found, *of_0_2}):
        if periods is not None and period not in periods:
            continue
        some = found[period]
        if period in of_0_2:
            listed = _rows(files, list_key(period), _read_list_of_0_2)
            some += [ListedStatement(ReleasedDocument(period, 1, "", one)) for one in listed]
        yield from sorted(some, key=lambda one: (one.listed.account, one.document.revision))


def read_drafts_of(files: Objects, period: Period) -> list[ListedDraft]:
    """Return the drafts of a sealed period, by account; one of 0.2.0 has none.

    Raises ``ToolError`` if their list cannot be read.
    """
    key = draft_list_key(period)
    return list(_rows(files, key, read_drafts)) if key in files.keys() else []  # noqa: SIM118 - keys() of a bucket


def without_statement(files: Objects, period: Period) -> list[ListedDraft]:
    """Return the drafts of a period that have no statement, or a cancelled one, by account."""
    released = list(read_statements(files, {period}))
    cancelled = {one.document.cancels for one in released}
    with_statement = {
        one.listed.account for one in released if not one.document.cancels and one.listed.number not in cancelled
    }
    return [one for one in read_drafts_of(files, period) if one.account not in with_statement]


def _read_list_of_0_2(file: Iterable[str]) -> Iterator[Listed]:
    return map(Listed.of_row_of_0_2, read_rows(file, COLUMNS_OF_0_2))


def _rows(files: Objects, key: str, read: Callable[[Iterable[str]], Iterator[T]]) -> Iterator[T]:
    try:
        with files.open(key) as file:
            text = io.StringIO(file.read().decode(), newline="")
        yield from read(text)
    except (OSError, ValueError, ArithmeticError) as error:
        raise ToolError(f"{key} cannot be read: {error}") from error
