"""Runs the releases: decide about the drafts that are due, number their documents, write and publish them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import chain, groupby, islice
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from quarterhour.aws.items import chunks
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.statement import as_bytes
from quarterhour.statements.drafts.draft import DUE, DraftDecision, DraftItem, DraftState
from quarterhour.statements.drafts.line_files import WRITTEN_AT_A_TIME
from quarterhour.statements.drafts.service import in_time
from quarterhour.statements.drafts.work_objects import read_values
from quarterhour.statements.listing import COLUMNS, Document, ListTotals, statement_of, write_list
from quarterhour.statements.plan import StatementSettings
from quarterhour.statements.releases.checks import failed, unconfirmed
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.decisions import refused
from quarterhour.statements.releases.items import (
    BY,
    decided_by,
    last_document_item,
    number_item,
    released_draft,
    statement_item,
)
from quarterhour.statements.releases.keys import (
    release_key,
    release_list_key,
    release_manifest_key,
    release_written_key,
)
from quarterhour.statements.releases.manifest import manifest
from quarterhour.statements.releases.plan import Releasable, ReleasePlan, next_plan, numbered
from quarterhour.statements.releases.roster import Numbered, is_numbered, read_numbered, write_roster
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.releases.write import ReleaseWriter
from quarterhour.statements.status.plan import Party, StatementChange, StatementDecision, StatementName, Status
from quarterhour.statements.status.store import StatementStatusStore

if TYPE_CHECKING:
    from quarterhour.model.identifiers import Account
    from quarterhour.model.periods import Period
    from quarterhour.statements.parties import PartyVersions


@dataclass(frozen=True, slots=True)
class ReleasePublisher:
    """Publishes releases: first the files, then the items, and last the progress."""

    store: ReleaseStore
    files: SealedFiles
    statuses: StatementStatusStore

    def publish(self, plan: ReleasePlan, numbered: Numbered) -> int:
        """Publish a release; return the number of its documents."""
        groups, totals = range(numbered.groups), ListTotals.of_release()
        with TemporaryFile() as file:
            documents = chain.from_iterable(chain.from_iterable(self._written(plan, group) for group in groups))
            listed = write_list(file, COLUMNS, (one.as_row() for one in totals.counted(documents)))
            content = as_bytes(manifest(plan, totals, numbered.series, listed))
            sha256 = hexdigest(content)
            self.files.create(release_list_key(plan.number), file, listed.sha256)
            self.files.create(release_manifest_key(plan.number), content, sha256)
        for group in groups:
            accounts = self._written(plan, group)
            while some := list(islice(accounts, WRITTEN_AT_A_TIME)):
                self._record(some)
        item = {**release_key(plan.number), **plan.as_dict(), **totals.as_dict(), "manifest_sha256": sha256}
        self.store.put(item)
        self.store.finish(plan, sha256, dict(numbered.series))
        return totals.entries

    def _written(self, plan: ReleasePlan, group: int) -> Iterator[list[Document]]:
        """Yield the documents of each account of a group."""
        with self.files.copied(release_written_key(plan.number, group)) as file:
            for values in read_values(file):
                yield list(map(Document.of, values))

    def _record(self, accounts: Sequence[Sequence[Document]]) -> None:
        """Write the items of some documents: last documents, statements, numbers, statuses, and then the drafts."""
        self.store.write_later([last_document_item(documents) for documents in accounts])
        documents = list(chain.from_iterable(accounts))
        keys = [(one.period, one.account) for one in documents]
        existing = self.store.statements(keys)
        found = {(one.period, one.account): one for one in self.store.drafts(keys)}
        drafts = [found[key] for key in keys]
        pairs = list(zip(documents, drafts, strict=True))
        self.store.write_later([statement_item(one, draft.bound, existing.get(draft.key)) for one, draft in pairs])
        self.store.write_later([number_item(one) for one in documents])
        for one, draft in pairs:
            self._record_status(one, draft)
        # Somebody may have decided about a draft since an interrupted run released it.
        self.store.decide_all([released_draft(one, draft) for one, draft in pairs if draft.revision < one.revision])

    def _record_status(self, document: Document, draft: DraftItem) -> None:
        """Add a cancellation, or a new statement after one, to the changes of the statement's status."""
        if document.revision == 1:
            return
        decided = decided_by(document, draft)
        reason = decided.reason or document.number
        decision = StatementDecision(decided.by, Party.MARKETPLACE, document.planned_at, reason)
        status = Status.CANCELLED if document.cancels else Status.ISSUED
        self.statuses.add(StatementName(*draft.key), StatementChange(status, decision))


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


class ReleaseRunner:
    """Releases what was decided, each draft once, whatever interrupts it."""

    def __init__(  # noqa: PLR0913 - what a test replaces
        self,
        store: ReleaseStore,
        files: SealedFiles,
        statuses: StatementStatusStore,
        contexts: DraftContexts,
        settings: StatementSettings,
        *,
        paid_since: Callable[["Account"], Decimal],
    ) -> None:
        """``paid_since``: returns the payments of an account that are on no document yet."""
        self._store = store
        self._files = files
        self._contexts = contexts
        self._settings = settings
        self._paid_since = paid_since
        self.writer = ReleaseWriter(store, files, contexts)
        self._publisher = ReleasePublisher(store, files, statuses)

    def run(self, remaining_seconds: Callable[[], float]) -> ReleaseResult:
        """Release all drafts that are decided, or as many as the time allows.

        Raises ``SealedFileError`` if a file exists with other bytes or is gone, ``OvertakenError`` if another run has
        taken over, ``UnavailableError`` if AWS keeps failing. The next invocation continues where this one stopped.
        """
        result = ReleaseResult()
        while planned := self._plan():
            plan, releasable = planned
            if not in_time(self._steps(plan, releasable), remaining_seconds):
                result.complete = False
                return result
            result.documents += self._publisher.publish(plan, read_numbered(self._files, plan))
            result.releases.append(plan.number)
        return result

    def _plan(self) -> tuple[ReleasePlan, Releasable | None] | None:
        """Return the plan under way, or a new one with what it releases; ``None`` if there is nothing to release."""
        ours: ReleasePlan | None = None
        releasable: Releasable | None = None
        while True:
            progress = self._store.progress()
            if progress.plan:
                # What was read before another run stored its plan may be released by now.
                return progress.plan, releasable if progress.plan == ours else None
            releasable = self._releasable()
            if not releasable.drafts:
                return None
            ours = next_plan(progress, clock.now(), self._settings)
            self._store.save_plan(progress, ours)  # another run may have stored its plan first

    def _steps(self, plan: ReleasePlan, releasable: Releasable | None) -> Iterator[Callable[[], bool]]:
        """Yield the steps before publishing, in their order; each returns whether it had anything to do."""
        yield partial(self._number, plan, releasable)
        for group in range(read_numbered(self._files, plan).groups):
            yield partial(self.writer.write, plan, group)

    def _number(self, plan: ReleasePlan, releasable: Releasable | None) -> bool:
        """Number the documents, unless that is done already; return whether it was not."""
        if is_numbered(self._files, plan):
            return False
        found = releasable or self._releasable()
        reissued = [one.key for one in found.drafts if one.revision]
        statements = {key: statement_of(item) for key, item in self._store.statements(reissued).items()}
        last = self._store.last_documents(sorted({one.account for one in found.drafts}))
        entries = numbered(plan, found, statements, last, lambda period: self._contexts.plan_of(period).rounding)
        write_roster(self._files, plan, list(entries))
        return True

    # ------------------------------------------------------------ which drafts

    def _due(self) -> list[DraftItem]:
        """Return the drafts that the release changes, and those of their accounts that the index does not list yet."""
        due = self._store.due()
        known = {one.key for one in due}
        accounts = {one.account for one in due if one.state is not DraftState.CANCELLING}
        waiting = (one.key for one in self._store.without_statement() if one.account in accounts)
        further = self._store.drafts(set(waiting) - known) if accounts else []
        return [*due, *(one for one in further if one.state in DUE)]

    def _releasable(self) -> Releasable:
        """Decide about the drafts that are due; return those that a release can take now."""
        while True:
            releasable = self._decided(self._due())
            if releasable:
                return releasable

    def _decided(self, due: Sequence[DraftItem]) -> Releasable | None:
        """Release each draft that passes its checks; return what to release, ``None`` if others decided meanwhile.

        A new draft that fails a check is left to a person. So is one that a person has released: parties can have
        changed since. If an earlier draft is refused, the later ones of its account are, too.
        """
        releasing: list[DraftItem] = []
        parties: dict[tuple[Period, Account], PartyVersions] = {}
        in_periods = sorted((one for one in due if one.state is not DraftState.CANCELLING), key=lambda one: one.key)
        for period, of_period in groupby(in_periods, key=lambda one: one.period):
            if not self._contexts.is_published(period):
                continue
            for some in chunks(list(of_period), WRITTEN_AT_A_TIME):
                now, changed = clock.now(), []
                for draft, context in zip(some, self._contexts.gather(some, now, counted=False), strict=True):
                    if found := unconfirmed(failed(draft, context), _reason(draft)):
                        changed.append(refused(draft, found, BY, iso_millis(now)))
                        continue
                    if draft.state is DraftState.NEW:
                        changed.append(draft.decided(DraftDecision(DraftState.RELEASING, BY, iso_millis(now), "")))
                    releasing.append(draft)
                    parties[draft.key] = context.versions
                if not self._store.decide_all(changed):
                    return None
        cancelling = [one for one in due if one.state is DraftState.CANCELLING]
        reissued = sorted({one.account for one in releasing if one.revision})
        return Releasable([*cancelling, *releasing], parties, {one: self._paid_since(one) for one in reissued})


def _reason(draft: DraftItem) -> str:
    """Return why a person releases a draft; empty if nobody has said why."""
    return draft.decisions[-1].reason if draft.state is DraftState.RELEASING else ""
