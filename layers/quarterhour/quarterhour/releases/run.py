"""Runs the releases: decide about new drafts, store the plan, number the documents, write and publish them."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby, islice
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple, Self, cast

from quarterhour.aws.items import chunks
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period, day_in, time_zone
from quarterhour.releases.checks import failed
from quarterhour.releases.context import DraftContexts
from quarterhour.releases.keys import (
    balance_key,
    release_key,
    release_list_key,
    release_manifest_key,
    release_roster_key,
    release_written_key,
)
from quarterhour.releases.listing import COLUMNS, ReleasedDocument
from quarterhour.releases.manifest import manifest
from quarterhour.releases.plan import (
    DOCUMENTS_OF_A_GROUP,
    Action,
    LastDocument,
    PlannedDocument,
    ReleaseEntry,
    ReleasePlan,
    in_order,
    next_numbers,
    next_plan,
    numbered,
)
from quarterhour.releases.store import ReleaseStore
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statement_status.plan import (
    Party,
    StatementChange,
    StatementDecision,
    StatementName,
    Status,
)
from quarterhour.statement_status.store import StatementStatusStore
from quarterhour.statements.document import Parties, Statement, StatementEntry, as_bytes
from quarterhour.statements.draft_items import DraftDecision, DraftItem, DraftState
from quarterhour.statements.drafts import Draft
from quarterhour.statements.keys import DRAFT, LINES, PAGE, STATEMENT, statement_prefix
from quarterhour.statements.line_files import WRITTEN_AT_A_TIME
from quarterhour.statements.listing import ListTotals, ListWriter, SealedObject
from quarterhour.statements.page import statement_page
from quarterhour.statements.plan import StatementPlan, StatementSettings
from quarterhour.statements.service import in_time
from quarterhour.statements.store import PartyReader, ProgressStore
from quarterhour.statements.work_objects import last_value, read_values, value_writer

BY: Final = "release"
"""Who made the decisions that a release itself makes."""


@dataclass(slots=True)
class ReleaseResult:
    """The numbers of the releases of an invocation, and of their documents.

    ``complete`` is false if the time ran short: then another invocation must continue.
    """

    releases: list[int] = field(default_factory=list)
    documents: int = 0
    complete: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        return {"releases": self.releases, "documents": self.documents}


class _Released(NamedTuple):
    """A document of a release, and what its statement's item keeps of it."""

    planned: PlannedDocument
    document: ReleasedDocument
    shown: Mapping[str, Any]

    def as_list(self) -> list[Any]:
        """Return the document as plain values."""
        return [self.planned.as_list(), self.document.as_row(), self.shown]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Parse what ``as_list`` returned."""
        planned, row, shown = values
        return cls(PlannedDocument.of(planned), ReleasedDocument.of_row(row), shown)


@dataclass(frozen=True)
class ReleaseRunner:
    """Releases what was decided, each draft once, whatever interrupts it."""

    store: ReleaseStore
    files: SealedFiles
    statements: ProgressStore
    statuses: StatementStatusStore
    contexts: DraftContexts
    settings: StatementSettings

    def run(self, remaining_seconds: Callable[[], float]) -> ReleaseResult:
        """Release all drafts that are decided, or as many as the time allows.

        Raises ``SealedFileError`` if a file exists with other bytes or is gone, ``OvertakenError`` if another run has
        taken over, ``UnavailableError`` if AWS keeps failing. The next invocation continues where this one stopped.
        """
        result = ReleaseResult()
        self._decide()
        while plan := self._plan():
            if not in_time(self._steps(plan), remaining_seconds):
                result.complete = False
                return result
            result.documents += self._publish(plan)
            result.releases.append(plan.number)
        return result

    # ------------------------------------------------------------ which drafts

    def _decide(self) -> None:
        """Decide about new drafts: release those without a failed check, and leave the others to a person."""
        new = sorted(
            (one for one in self.store.due() if one.state is DraftState.NEW), key=lambda one: (one.period, one.account)
        )
        for _, of_period in groupby(new, key=lambda one: one.period):
            for some in chunks(list(of_period), WRITTEN_AT_A_TIME):
                now = clock.now()
                contexts = self.contexts.gather(some, now, counted=False)
                self.store.decide_all(
                    [
                        draft.decided(_decision(DraftState.OPEN if failed(draft, context) else DraftState.RELEASING))
                        for draft, context in zip(some, contexts, strict=True)
                    ]
                )

    def _releasable(self) -> list[DraftItem]:
        """Return the drafts that a release can take now."""
        due = [one for one in self.store.due() if one.state is not DraftState.NEW]
        accounts = {one.account for one in due if one.state is DraftState.RELEASING}
        waiting = {(one.period, one.account) for one in self.store.without_statement() if one.account in accounts}
        waiting |= {(one.period, one.account) for one in due if one.state is DraftState.RELEASING}
        current = self.store.drafts(waiting)
        cancelling = [one for one in due if one.state is DraftState.CANCELLING]
        return [*cancelling, *in_order(one for one in current if one.state is not DraftState.RELEASED)]

    def _plan(self) -> ReleasePlan | None:
        """Return the plan under way, or a new one; ``None`` if there is nothing to release."""
        while True:
            progress = self.store.progress()
            if progress.plan:
                return progress.plan
            if not self._releasable():
                return None
            plan = next_plan(progress, self.statements.progress().numbers, clock.now(), self.settings)
            self.store.save_plan(progress, plan)  # another run may have stored its plan first

    # ------------------------------------------------------------ numbering

    def _steps(self, plan: ReleasePlan) -> Iterator[Callable[[], bool]]:
        """Yield the steps before publishing, in their order; each returns whether it had anything to do."""
        yield partial(self._number, plan)
        for group in range(self._groups(plan)):
            yield partial(self._write, plan, group)

    def _number(self, plan: ReleasePlan) -> bool:
        """Number the documents, unless that is done already; return whether it was not."""
        key = release_roster_key(plan.number)
        if self.files.exists(key):
            return False
        drafts = self._releasable()
        statements = self.store.statements((one.period, one.account) for one in drafts if one.revision)
        accounts = sorted({one.account for one in drafts})
        last = self.store.last_documents(accounts, self.statements.progress().last_of_0_2)
        entries = list(numbered(plan, drafts, statements, last))
        with TemporaryFile() as file:
            with value_writer(file) as write:
                for one in entries:
                    write(one.as_list())
                write({"accounts": len(entries), "series": next_numbers(plan, entries)})
            file.seek(0)
            self.files.create(key, file, stream_digest(file))
        return True

    def _groups(self, plan: ReleasePlan) -> int:
        return -(-int(self._numbered(plan)["accounts"]) // DOCUMENTS_OF_A_GROUP)

    def _numbered(self, plan: ReleasePlan) -> dict[str, Any]:
        with self.files.copied(release_roster_key(plan.number)) as file:
            return dict(last_value(file))

    def _entries(self, plan: ReleasePlan, group: int) -> Iterator[ReleaseEntry]:
        first = group * DOCUMENTS_OF_A_GROUP
        with self.files.copied(release_roster_key(plan.number)) as file:
            entries = (values for values in read_values(file) if isinstance(values, list))
            yield from map(ReleaseEntry.of, islice(entries, first, first + DOCUMENTS_OF_A_GROUP))

    # ------------------------------------------------------------ writing

    def _write(self, plan: ReleasePlan, group: int) -> bool:
        """Write the documents of a group of accounts, unless that is done already; return whether it was not.

        Their rows come last, so they say that the group is written.
        """
        key = release_written_key(plan.number, group)
        if self.files.exists(key):
            return False
        entries = self._entries(plan, group)
        with TemporaryFile() as file:
            with value_writer(file) as write:
                while some := list(islice(entries, WRITTEN_AT_A_TIME)):
                    for released in self._write_entries(plan, some):
                        write([one.as_list() for one in released])
            file.seek(0)
            self.files.create(key, file, stream_digest(file))
        return True

    def _write_entries(self, plan: ReleasePlan, entries: Sequence[ReleaseEntry]) -> list[list[_Released]]:
        """Write the files of some accounts' documents side by side; return the documents of each account."""
        planned = [(entry.account, one) for entry in entries for one in entry.documents]
        drafts = iter(self.store.workers.map(lambda pair: self._draft(*pair), planned))
        parties = self._parties(plan, planned)
        released: list[list[_Released]] = []
        uploads: list[tuple[str, bytes, str]] = []
        for entry in entries:
            last = entry.last
            released.append([])
            for one in entry.documents:
                document, files = self._statement(plan, entry.account, one, next(drafts), last, parties)
                released[-1].append(_Released(one, document, self._shown(plan, one)))
                uploads += [(document.prefix + name, content, hexdigest(content)) for name, content in files.items()]
                last = LastDocument(one.period, document.listed)
        self.store.workers.map(lambda file: self.files.create(*file), uploads)
        return released

    def _draft(self, account: Account, planned: PlannedDocument) -> Draft:
        key = statement_prefix(planned.period, account) + DRAFT
        content = self.files.open(key).read()
        if hexdigest(content) != planned.draft_sha256:
            raise SealedFileError(f"{key} is not the draft that was sealed: restore its version")
        return Draft.of(content)

    def _parties(
        self, plan: ReleasePlan, planned: Iterable[tuple[Account, PlannedDocument]]
    ) -> dict[tuple[Account, str], Parties]:
        """Return the parties to each document by account and number.

        They are those at the end of its period, as known at the release; to a cancellation, as known when the cancelled
        statement was released.
        """

        def known(pair: tuple[Account, PlannedDocument]) -> tuple[Period, str]:
            one = pair[1]
            return one.period, one.cancels["planned_at"] if one.cancels else plan.planned_at

        reader, found = PartyReader(self.store.entities), {}
        for (period, at), some in groupby(sorted(planned, key=known), key=known):
            pairs, of_period = list(some), self.contexts.plan_of(period)
            instants = of_period.parties_at, parse_iso(at)
            parties = reader.parties(reader.owner(*instants), [account for account, _ in pairs], *instants)
            found |= {(account, one.number): some for (account, one), some in zip(pairs, parties, strict=True)}
        return found

    def _statement(
        self,
        plan: ReleasePlan,
        account: Account,
        planned: PlannedDocument,
        draft: Draft,
        last: LastDocument | None,
        parties: Mapping[tuple[Account, str], Parties],
    ) -> tuple[ReleasedDocument, dict[str, bytes]]:
        """Return a document and its files by name."""
        cancels = planned.cancels
        shown = {name: cancels[name] for name in ("number", "document", "issued_on")} if cancels else None
        entry = StatementEntry(
            account,
            planned.number,
            planned.document,
            draft.sums.reversed() if cancels else draft.sums,
            last.listed if last else None,
            last.period if last else None,
            shown,
            planned.replaces or None,
        )
        stated = replace(self.contexts.plan_of(planned.period), planned_at=plan.planned_at, code_version=plan.code_version)
        statement = Statement(stated, entry, parties[account, planned.number])
        content = statement.document([] if cancels else draft.orders, draft.lines)
        files = {STATEMENT: as_bytes(content), PAGE: statement_page(content)}
        sealed = {name: SealedObject(hexdigest(some), len(some)) for name, some in files.items()}
        listed = statement.listed({**sealed, LINES: draft.lines})
        return ReleasedDocument(planned.period, planned.revision, cancels["number"] if cancels else "", listed), files

    def _shown(self, plan: ReleasePlan, planned: PlannedDocument) -> dict[str, Any]:
        zone = time_zone(self.contexts.plan_of(planned.period).zone)
        return {"issued_on": day_in(zone, parse_iso(plan.planned_at)).isoformat(), "planned_at": plan.planned_at}

    # ------------------------------------------------------------ publishing

    def _publish(self, plan: ReleasePlan) -> int:
        """Publish a release whose documents are written; return their number."""
        totals = ListTotals()
        groups = range(self._groups(plan))
        with TemporaryFile() as file:
            text = io.TextIOWrapper(cast("IO[bytes]", file), encoding="utf-8", newline="", write_through=True)
            writer = ListWriter(text, COLUMNS)
            for group in groups:
                for one in chain.from_iterable(self._written(plan, group)):
                    writer.write(one.document.as_row())
                    totals.add(one.document.listed)
            text.flush()
            size = file.tell()
            file.seek(0)
            listed = SealedObject(stream_digest(file), size)
            series = self._numbered(plan)["series"]
            content = as_bytes(manifest(plan, totals, series, listed))
            sha256 = hexdigest(content)
            self.files.create(release_list_key(plan.number), file, listed.sha256)
            self.files.create(release_manifest_key(plan.number), content, sha256)
        for group in groups:
            accounts = self._written(plan, group)
            while some := list(islice(accounts, WRITTEN_AT_A_TIME)):
                self._record(plan, some)
        item = {**release_key(plan.number), **plan.as_dict(), **totals.as_dict(), "manifest_sha256": sha256}
        self.store.put(item)
        self.store.finish(plan, sha256, series)
        return totals.statements + totals.credit_notes

    def _written(self, plan: ReleasePlan, group: int) -> Iterator[list[_Released]]:
        """Yield the documents of each account of a group."""
        with self.files.copied(release_written_key(plan.number, group)) as file:
            for values in read_values(file):
                yield list(map(_Released.of, values))

    def _record(self, plan: ReleasePlan, accounts: Sequence[Sequence[_Released]]) -> None:
        """Write the items of some accounts' documents: last documents, statements, statuses, and then the drafts."""
        self.store.write_later([_balance_item(plan, documents[-1]) for documents in accounts])
        released = list(chain.from_iterable(accounts))
        keys = [(one.planned.period, one.document.listed.account) for one in released]
        existing = self.store.statements(keys)
        drafts = {(one.period, one.account): one for one in self.store.drafts(keys)}
        self.store.write_later(
            [
                _statement_item(plan, one, drafts[key], existing.get(key))
                for key, one in zip(keys, released, strict=True)
            ]
        )
        for key, one in zip(keys, released, strict=True):
            self._record_status(plan, one, drafts[key])
        self.store.decide_all(
            [
                _decided(plan, one, drafts[key])
                for key, one in zip(keys, released, strict=True)
                if drafts[key].state in {DraftState.RELEASING, DraftState.CANCELLING}
            ]
        )

    def _record_status(self, plan: ReleasePlan, released: _Released, draft: DraftItem) -> None:
        """Add a cancellation, or a new statement after one, to the changes of the statement's status."""
        planned = released.planned
        if planned.revision == 1:
            return
        name = StatementName(planned.period, draft.account)
        decided = _decided_by(planned, draft)
        reason = decided.reason or planned.number
        decision = StatementDecision(decided.by, Party.MARKETPLACE, plan.planned_at, reason)
        change = StatementChange(Status.CANCELLED if planned.cancels else Status.ISSUED, decision)
        self.statuses.add(name, change)


def _decision(state: DraftState, reason: str = "") -> DraftDecision:
    return DraftDecision(state, BY, iso_millis(clock.now()), reason)


def _decided(plan: ReleasePlan, released: _Released, draft: DraftItem) -> DraftItem:
    """Return a draft after its release, or after the cancellation of its statement: then it is held."""
    planned = released.planned
    if planned.action is Action.CANCEL:
        state, reason, number = DraftState.HELD, f"cancelled: {_decided_by(planned, draft).reason}", ""
    else:
        state, reason, number = DraftState.RELEASED, planned.number, planned.number
    decision = DraftDecision(state, BY, plan.planned_at, reason)
    return replace(draft.decided(decision), revision=planned.revision, number=number)


def _decided_by(planned: PlannedDocument, draft: DraftItem) -> DraftDecision:
    """Return the decision that a document carries out."""
    state = DraftState.CANCELLING if planned.action is Action.CANCEL else DraftState.RELEASING
    return next(one for one in reversed(draft.decisions) if one.state is state)


def _balance_item(plan: ReleasePlan, released: _Released) -> dict[str, Any]:
    listed = released.document.listed
    item = listed.as_item(released.planned.period)
    return {
        **{name: value for name, value in item.items() if name not in {"gsi1pk", "gsi1sk"}},
        **balance_key(listed.account),
        "release": plan.number,
    }


def _statement_item(
    plan: ReleasePlan, released: _Released, draft: DraftItem, existing: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the item of a statement with all its documents; a cancellation is noted in that of its statement."""
    planned, document = released.planned, released.document
    before = [one for one in (existing or {}).get("documents", ()) if one["release"] != plan.number]
    documents = [
        *before,
        {
            "number": planned.number,
            "document": planned.document,
            "revision": planned.revision,
            "release": plan.number,
            "cancels": document.cancels,
            "closing": str(document.listed.closing),
            **released.shown,
            "files": {name: list(file) for name, file in document.listed.files.items()},
        },
    ]
    cancelled = {"number": planned.number, "issued_on": released.shown["issued_on"]}
    if planned.cancels and existing:
        return {**existing, "documents": documents, "cancelled": cancelled, "release": plan.number}
    return {
        **document.listed.as_item(planned.period),
        **released.shown,
        "bound": str(draft.bound),
        "revision": planned.revision,
        "documents": documents,
        "release": plan.number,
    }
