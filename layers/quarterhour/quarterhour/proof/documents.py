"""Verifies the files of a released document: each figure follows from the draft, the documents before and its taxes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from tempfile import SpooledTemporaryFile
from typing import Any, Final

from quarterhour.model import exact_json
from quarterhour.model.clock import iso_seconds
from quarterhour.proof.arithmetic import bounds_of
from quarterhour.proof.compare import Json, differences
from quarterhour.proof.files import IN_MEMORY, UNREADABLE, CheckedFiles
from quarterhour.proof.line_sums import LineSums, Signs
from quarterhour.proof.period import SealedPeriod, Sources
from quarterhour.proof.remainders import NOTHING
from quarterhour.proof.statement import in_base, period_charges, shown_problems, statement_of
from quarterhour.reports.lines import read_lines
from quarterhour.statements.document.tax import PROFILE_FACTS
from quarterhour.statements.keys import DRAFT, LINES, PAGE, STATEMENT, XML, statement_prefix
from quarterhour.statements.listing import Document, SealedObject

MADE: Final = (PAGE, XML)
"""The files that follow from ``statement.json`` alone. A document that makes no invoice has no XML."""
_SAME: Final = ("owner", "customer", "language", "collects", "payment_days")
"""What a cancellation has of the document that it cancels."""


@dataclass(slots=True)
class ReleasedDraft:
    """What is released of a draft.

    ``revision``: the number of its documents. ``number`` and ``document``: of the statement that is not cancelled,
    empty without one. ``issued_on``: of it, or of the one that was cancelled last. ``carried``: the remainders that it
    was rounded with, ``None`` if it cannot be read. ``cancelled``: the number of the one that was cancelled last.
    """

    revision: int = 0
    number: str = ""
    document: str = ""
    issued_on: str = ""
    carried: Json | None = None
    cancelled: str = ""

    def after(self, row: Document, issued_on: str, right: Json | None) -> "ReleasedDraft":
        """Return what is released after one more document; ``right``: what that must hold, if it can be read."""
        if row.cancels:
            return ReleasedDraft(row.revision, issued_on=self.issued_on, cancelled=row.cancels)
        carried = (right["previous"]["remainders"] if right["previous"] else NOTHING) if right else None
        return ReleasedDraft(row.revision, row.number, row.kind, issued_on, carried)


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document of a release: its row, the sealed lines and the period of its draft, and what must be right.

    ``released``: of the draft before. ``number`` and ``issued_on``: those that it must have. ``acceptance_days``: of
    its release. ``previous``: the last document of the account, as this one must show it.
    """

    row: Document
    lines: SealedObject
    sealed: SealedPeriod
    released: ReleasedDraft
    number: str
    issued_on: str
    acceptance_days: int
    previous: Json | None

    @property
    def draft_prefix(self) -> str:
        """The prefix of the keys of the draft and of its lines."""
        return statement_prefix(self.row.period, self.row.account)

    @property
    def cancelled_key(self) -> str:
        """The key of the document that it cancels."""
        return statement_prefix(self.row.period, self.row.account, self.row.revision - 1) + STATEMENT

    def header(self, document: Json) -> dict[str, Any]:
        """Return the members that follow from the manifests, the list, and the documents before.

        ``document``: what it holds. What is not known of a document before, which cannot be read, is taken from there.
        """
        sealed, row, released = self.sealed, self.row, self.released
        is_replacing = bool(released.cancelled) and not row.cancels
        return {
            "schema": sealed.manifest["schema"],
            "number": self.number,
            "issued_on": self.issued_on,
            "dispute_until": None if row.cancels else self._dispute_until(),
            "period": str(sealed.period),
            **bounds_of(sealed.period, sealed.zone),
            "time_zone": sealed.manifest["time_zone"],
            "cut_off": sealed.manifest["cut_off"],
            "recorded_until": iso_seconds(sealed.bound.end),
            "agency": row.account.agency,
            "currency": row.account.currency,
            "rounding": sealed.manifest["rounding"],
            "cancels": self._cancels_of(document) if row.cancels else None,
            "replaces": released.cancelled if is_replacing else None,
            "replaced_on": released.issued_on if is_replacing else None,
            "paid_since": document["paid_since"] if is_replacing else "0",
            "previous": self._previous_of(document),
        }

    def _cancels_of(self, document: Json) -> dict[str, Any]:
        released = self.released
        named = {"number": released.number, "document": released.document, "issued_on": released.issued_on}
        return {**named, "carried": released.carried or document["cancels"]["carried"]}

    def _dispute_until(self) -> str | None:
        days = timedelta(days=self.acceptance_days)
        return (date.fromisoformat(self.issued_on) + days).isoformat() if days else None

    def _previous_of(self, document: Json) -> dict[str, Any] | None:
        if self.previous is None:
            return None
        shown = document["previous"] or {}
        unknown = {"issued_on": shown.get("issued_on"), "remainders": shown.get("remainders", NOTHING)}
        return {**unknown, **self.previous}


class DocumentVerifier:
    """Verifies the files of one document after the other."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._files = sources.files

    def verify(self, found: FoundDocument) -> Json | None:
        """Verify the files of a document; return what its JSON must hold, ``None`` if a file cannot be read."""
        files, row = self._files, found.row
        key = row.prefix + STATEMENT
        content = files.content(key, row.files[STATEMENT])
        listed = row.files
        made = {name: files.content(row.prefix + name, listed[name]) for name in MADE if name in listed}
        if row.files[LINES] != found.lines:
            files.problem(found.draft_prefix + LINES, f"is not the file that {row.number} names")
        if content is None:
            return None
        try:
            document = exact_json.parse_sealed(content)
            expected = self._expected(found, document)
            if expected is None:
                return None
            files.report(key, differences(document, expected))
            files.report(key, shown_problems(document))
            files.report(key, self._cancelled_problems(found, document))
            files.check_rendered(row.prefix, document, made)
        except UNREADABLE as error:
            files.unreadable(key, error)
            return None
        return expected

    def _expected(self, found: FoundDocument, document: Json) -> Json | None:
        """Return what the JSON must hold; ``None`` if the draft or its lines cannot be read.

        The problems of both files were found with their period.
        """
        sealed = found.sealed
        before = CheckedFiles(self._sources.open)
        draft = before.content(found.draft_prefix + DRAFT)
        header = {**document, **found.header(document)}
        signs = Signs.of(header)
        recomputed = LineSums(str(sealed.period), sealed.zone, taxes=document["taxes"], signs=signs)
        with SpooledTemporaryFile(IN_MEMORY) as file:
            if draft is None or before.copy(found.draft_prefix + LINES, file) is None:
                return None
            for line in read_lines(file):
                recomputed.add(line)
        sums = exact_json.parse_sealed(draft)["sums"]
        base, tax_in = in_base(sums, header, sealed.base, signs)
        header |= {"base": base, "tax_in": tax_in, "period_charges": period_charges(sums, signs)}
        return statement_of(recomputed, header, "", {"name": LINES, **found.lines._asdict()})

    def _cancelled_problems(self, found: FoundDocument, document: Json) -> Iterator[str]:
        """Yield what a cancellation does not have in common with the document that it cancels."""
        if not found.row.cancels:
            return
        content = CheckedFiles(self._sources.open).content(found.cancelled_key)
        if content is None:  # a problem of that document
            return
        right, shown = (_in_common(one) for one in (exact_json.parse_sealed(content), document))
        yield from differences(shown, right)


def _in_common(document: Json) -> dict[str, Any]:
    """Return what a document and its cancellation have in common."""
    names = ("scheme", "percent", *PROFILE_FACTS, "note", "tax_points")
    taxes = [{name: row[name] for name in names} for row in document["taxes"]]
    collected = [{name: row[name] for name in ("by", "tax_points")} for row in document["collected"]]
    return {**{name: document[name] for name in _SAME}, "taxes": taxes, "collected": collected}
