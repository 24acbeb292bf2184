"""Publishes a release whose documents are written: list, manifest, and the items of statements and drafts."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import IO

from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.statement import as_bytes
from quarterhour.statements.drafts.draft_items import DraftItem
from quarterhour.statements.drafts.line_files import WRITTEN_AT_A_TIME
from quarterhour.statements.drafts.work_objects import read_values
from quarterhour.statements.listing import ListTotals, ListWriter, SealedObject
from quarterhour.statements.releases.keys import (
    release_key,
    release_list_key,
    release_manifest_key,
    release_written_key,
)
from quarterhour.statements.releases.listing import COLUMNS, ReleasedDocument
from quarterhour.statements.releases.manifest import manifest
from quarterhour.statements.releases.plan import ReleasePlan
from quarterhour.statements.releases.released import (
    Released,
    decided_by,
    last_document_item,
    number_item,
    released_draft,
    statement_item,
)
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
        groups = range(numbered.groups)
        with TemporaryFile() as file:
            written = chain.from_iterable(self._written(plan, group) for group in groups)
            totals, listed = write_list(file, (one.document for one in chain.from_iterable(written)))
            content = as_bytes(manifest(plan, totals, numbered.series, listed))
            sha256 = hexdigest(content)
            self.files.create(release_list_key(plan.number), file, listed.sha256)
            self.files.create(release_manifest_key(plan.number), content, sha256)
        for group in groups:
            accounts = self._written(plan, group)
            while some := list(islice(accounts, WRITTEN_AT_A_TIME)):
                self._record(plan, some)
        item = {**release_key(plan.number), **plan.as_dict(), **totals.as_dict(), "manifest_sha256": sha256}
        self.store.put(item)
        self.store.finish(plan, sha256, dict(numbered.series))
        return totals.statements + totals.credit_notes

    def _written(self, plan: ReleasePlan, group: int) -> Iterator[list[Released]]:
        """Yield the documents of each account of a group."""
        with self.files.copied(release_written_key(plan.number, group)) as file:
            for values in read_values(file):
                yield list(map(Released.of, values))

    def _record(self, plan: ReleasePlan, accounts: Sequence[Sequence[Released]]) -> None:
        """Write the items of some documents: last documents, statements, numbers, statuses, and then the drafts."""
        self.store.write_later([last_document_item(plan, documents) for documents in accounts])
        released = list(chain.from_iterable(accounts))
        keys = [(one.planned.period, one.document.listed.account) for one in released]
        existing = self.store.statements(keys)
        drafts = {(one.period, one.account): one for one in self.store.drafts(keys)}
        self.store.write_later(
            [statement_item(plan, one, drafts[key], existing.get(key)) for key, one in zip(keys, released, strict=True)]
        )
        self.store.write_later([number_item(plan, one) for one in released])
        for key, one in zip(keys, released, strict=True):
            self._record_status(plan, one, drafts[key])
        self.store.decide_all(
            [
                released_draft(plan, one, drafts[key])
                for key, one in zip(keys, released, strict=True)
                # Somebody may have decided about the draft since an interrupted run released it.
                if drafts[key].revision < one.planned.revision
            ]
        )

    def _record_status(self, plan: ReleasePlan, released: Released, draft: DraftItem) -> None:
        """Add a cancellation, or a new statement after one, to the changes of the statement's status."""
        planned = released.planned
        if planned.revision == 1:
            return
        name = StatementName(planned.period, draft.account)
        decided = decided_by(planned, draft)
        decision = StatementDecision(decided.by, Party.MARKETPLACE, plan.planned_at, decided.reason or planned.number)
        self.statuses.add(name, StatementChange(Status.CANCELLED if planned.cancels else Status.ISSUED, decision))


def write_list(file: IO[bytes], documents: Iterable[ReleasedDocument]) -> tuple[ListTotals, SealedObject]:
    """Write the list of a release; return its totals and its hash. ``file`` is then at its beginning."""
    totals = ListTotals()
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = ListWriter(text, COLUMNS)
    for one in documents:
        writer.write(one.as_row())
        totals.add(one.listed)
    text.detach()
    size = file.tell()
    file.seek(0)
    listed = SealedObject(stream_digest(file), size)
    file.seek(0)
    return totals, listed
