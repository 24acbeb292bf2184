"""Planning of a release, pure: its documents, their order and their numbers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period, day_in, time_zone
from quarterhour.model.schema import SCHEMA, check_schema
from quarterhour.statements.drafts.draft import DraftItem, DraftState
from quarterhour.statements.keys import DRAFT
from quarterhour.statements.listing import CREDIT_NOTE, STATEMENT_DOCUMENT, Document
from quarterhour.statements.parties import PartyVersions
from quarterhour.statements.plan import StatementSettings

LAST: Final = "last"
"""The attribute of the control item with the number of the last release."""
DOCUMENTS_OF_A_GROUP: Final = 1_000
"""The most documents that are written between two looks at the time that is left."""
YEAR: Final = "{year}"
"""What stands for the year of issue in a prefix."""
_DIGITS: Final = 6


class SeriesNumbers(NamedTuple):
    """The next number of each series, by the prefix of the series."""

    next: dict[str, int]

    def take(self, prefix: str) -> str:
        """Return the next number of a series, such as ``S-000001``, and count it."""
        number = self.next.setdefault(prefix, 1)
        self.next[prefix] = number + 1
        return f"{prefix}{number:0{_DIGITS}d}"


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """The bounds and the settings of a release. They are stored before it begins; no crash changes them.

    ``prefixes``: of the numbers of statements and of credit notes. ``series``: the next numbers before the release, by
    prefix. ``previous_sha256``: of the manifest of the release before, empty for the first. ``acceptance_days``: after
    which silence accepts a statement; 0 for never.
    """

    number: int
    planned_at: str
    code_version: str
    prefixes: tuple[str, str]
    series: Mapping[str, int]
    previous_sha256: str
    acceptance_days: int = 0

    @property
    def prefix_by_document(self) -> dict[str, str]:
        """The prefix of the numbers of statements, and that of credit notes."""
        return dict(zip((STATEMENT_DOCUMENT, CREDIT_NOTE), self.prefixes, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, to be stored."""
        return {
            "number": self.number,
            "planned_at": self.planned_at,
            "code_version": self.code_version,
            "prefixes": list(self.prefixes),
            "series": dict(self.series),
            "previous_sha256": self.previous_sha256,
            "acceptance_days": self.acceptance_days,
            "schema": SCHEMA,
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returned; raise ``UnknownSchemaError`` for another schema."""
        check_schema(values["schema"])
        statements, credit_notes = values["prefixes"]
        return cls(
            int(values["number"]),
            values["planned_at"],
            values["code_version"],
            (statements, credit_notes),
            {prefix: int(number) for prefix, number in values["series"].items()},
            values["previous_sha256"],
            int(values["acceptance_days"]),
        )


@dataclass(frozen=True, slots=True)
class ReleaseProgress:
    """The progress of the releases: the number and the manifest of the last one, the series, the plan under way."""

    last: int = 0
    manifest_sha256: str = ""
    series: Mapping[str, int] = field(default_factory=dict)
    plan: ReleasePlan | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse the progress from its control item."""
        plan = values.get("plan")
        return cls(
            int(values.get(LAST, 0)),
            values.get("manifest_sha256", ""),
            {prefix: int(number) for prefix, number in values.get("series", {}).items()},
            ReleasePlan.of(plan) if plan else None,
        )


def next_plan(progress: ReleaseProgress, now: datetime, settings: StatementSettings) -> ReleasePlan:
    """Plan a release. With the year of issue in its prefix, a series begins with 1 each year."""
    year = f"{day_in(time_zone(settings.zone), now).year}"
    prefixes = tuple(prefix.replace(YEAR, year) for prefix in settings.prefixes)
    return ReleasePlan(
        progress.last + 1,
        iso_millis(now),
        settings.code_version,
        (prefixes[0], prefixes[1]),
        dict(progress.series),
        progress.manifest_sha256,
        settings.acceptance_days,
    )


class PlannedDocument(NamedTuple):
    """A document of a release, before it is written.

    ``kind``: ``statement`` or ``credit_note``. ``draft_sha256``: of ``draft.json``. ``revision``: its number among the
    documents of the draft. ``parties``: the versions that it shows. ``cancels``: what a cancellation shows of the
    statement that it reverses whole, ``None`` for a statement. ``replaces``: the number of the cancelled statement of
    the same draft, empty without one, and ``replaced_on`` its date of issue. ``paid``: what of such a statement's
    account was paid since, and is on no document.
    """

    period: Period
    number: str
    kind: str
    draft_sha256: str
    revision: int
    parties: PartyVersions
    cancels: Mapping[str, Any] | None = None
    replaces: str = ""
    replaced_on: str = ""
    paid: str = "0"

    def as_list(self) -> list[Any]:
        """Return the document as plain values."""
        return [str(self.period), *self[1:]]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Parse what ``as_list`` returned."""
        period, number, kind, draft_sha256, revision, parties, cancels, *replaced = values
        versions = PartyVersions.of(parties)
        return cls(Period.parse(period), number, kind, draft_sha256, int(revision), versions, cancels, *replaced)


class ReleaseEntry(NamedTuple):
    """The documents of an account in a release, in their order, and its last document before."""

    account: Account
    last: Document | None
    documents: Sequence[PlannedDocument]

    def as_list(self) -> list[Any]:
        """Return the entry as plain values."""
        last = self.last.as_dict() if self.last else None
        return [self.account.agency, self.account.currency, last, [one.as_list() for one in self.documents]]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Parse what ``as_list`` returned."""
        agency, currency, last, documents = values
        return cls(
            Account(agency, currency),
            Document.of(last) if last else None,
            list(map(PlannedDocument.of, documents)),
        )


class Releasable(NamedTuple):
    """The drafts of a release, and the versions of the parties to their new statements by period and account.

    ``paid``: by account, the payments that are on no document yet, of those that get a statement again.
    """

    drafts: Sequence[DraftItem]
    parties: Mapping[tuple[Period, Account], PartyVersions]
    paid: Mapping[Account, Decimal] = MappingProxyType({})


def document_kind(commission: Decimal, currency: str, rounding: money.Rounding) -> str:
    """Return whether an exact commission makes a statement, or a credit note: rounded, it is negative.

    Tax does not decide: the number of a document does not depend on a tax profile.
    """
    return CREDIT_NOTE if money.on_statement(commission, currency, rounding) < 0 else STATEMENT_DOCUMENT


def numbered(
    plan: ReleasePlan,
    releasable: Releasable,
    statements: Mapping[tuple[Period, Account], Document],
    last: Mapping[Account, Document],
    rounding_of: Callable[[Period], money.Rounding],
) -> Iterator[ReleaseEntry]:
    """Yield the documents of a release by account: its cancellations first, then its statements by period.

    ``statements``: those that are cancelled or replaced. ``last``: the last documents. ``rounding_of``: returns the
    rounding of a period. A cancellation shows the parties of its statement.
    """
    numbers = SeriesNumbers(dict(plan.series))
    prefixes = plan.prefix_by_document

    def planned(one: DraftItem) -> PlannedDocument:
        statement = statements.get(one.key)
        cancelled = statement if one.state is DraftState.CANCELLING else None
        if cancelled:
            # What reverses a statement over nothing is a credit note, too.
            kind = CREDIT_NOTE if cancelled.kind == STATEMENT_DOCUMENT else STATEMENT_DOCUMENT
        else:
            commission = one.listed.figures["commission_exact"]
            kind = document_kind(commission, one.account.currency, rounding_of(one.period))
        return PlannedDocument(
            one.period,
            numbers.take(prefixes[kind]),
            kind,
            one.listed.files[DRAFT].sha256,
            one.revision + 1,
            cancelled.parties if cancelled else releasable.parties[one.key],
            cancelled.reversal if cancelled else None,
            *replaced(None if cancelled else statement, releasable.paid.get(one.account, money.ZERO)),
        )

    ordered = sorted(
        releasable.drafts, key=lambda one: (one.account, one.state is not DraftState.CANCELLING, one.period)
    )
    for account, some in groupby(ordered, key=lambda one: one.account):
        yield ReleaseEntry(account, last.get(account), list(map(planned, some)))


def replaced(statement: Document | None, paid: Decimal) -> tuple[str, str, str]:
    """Return number and date of the statement that another one replaces, and what was paid since."""
    return (statement.number, statement.issued_on.isoformat(), money.plain(paid)) if statement else ("", "", "0")


def next_numbers(plan: ReleasePlan, kinds: Iterable[str]) -> dict[str, int]:
    """Return the next numbers after a release, by prefix. ``kinds``: whether each is a statement or a credit note."""
    series = dict(plan.series)
    prefixes = plan.prefix_by_document
    for one in kinds:
        prefix = prefixes[one]
        series[prefix] = series.get(prefix, 1) + 1
    return series
