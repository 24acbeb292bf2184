"""Publishes a release whose documents are written: list, manifest, and the items of statements and drafts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from tempfile import TemporaryFile

from quarterhour.reports.digests import hexdigest
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.statement import as_bytes
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.drafts.line_files import WRITTEN_AT_A_TIME
from quarterhour.statements.drafts.work_objects import read_values
from quarterhour.statements.listing import COLUMNS, Document, ListTotals, write_list
from quarterhour.statements.releases.items import (
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
from quarterhour.statements.releases.plan import ReleasePlan
from quarterhour.statements.releases.roster import Numbered
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.status.plan import Party, StatementChange, StatementDecision, StatementName, Status
from quarterhour.statements.status.store import StatementStatusStore


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
