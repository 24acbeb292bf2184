"""Rewrites lost files of the released documents of a period, and of their releases: with the same bytes, or not."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import Final

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.errors import SealedFileError
from quarterhour.model.periods import Period
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.statement import as_bytes
from quarterhour.statements.drafts.reseal import StatementResealer, StatementResealResult, other_bytes
from quarterhour.statements.drafts.service import RESERVE_SECONDS
from quarterhour.statements.keys import DRAFT, LINES, draft_key, statement_key, statements_of_period
from quarterhour.statements.listing import COLUMNS, Document, ListTotals, documents_of, write_list
from quarterhour.statements.releases.keys import release_key, release_list_key, release_manifest_key
from quarterhour.statements.releases.manifest import manifest
from quarterhour.statements.releases.plan import PlannedDocument, ReleaseEntry, ReleasePlan, next_numbers, replaced
from quarterhour.statements.releases.write import ReleaseWriter, Written
from quarterhour.statements.store import plan_of_period

STATEMENTS_OF_A_PART: Final = 1_000
"""The most statements that are looked at between two looks at the time that is left."""
_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class PeriodResealer:
    """Rewrites the lost files of a period: of its drafts, of their documents, and of the releases of these.

    A document is written again from its draft, after the document before it, whose figures are in the table or in its
    own file. Nothing is read of work objects, which expire.
    """

    drafts: StatementResealer
    writer: ReleaseWriter
    files: SealedFiles

    @property
    def _entities(self) -> EntityReader:
        return self.writer.store.entities

    def reseal(self, period: str, part: int, remaining_seconds: Callable[[], float]) -> StatementResealResult:
        """Rewrite the lost files of a sealed period, from a part on, as many as the time allows.

        The parts are the groups of accounts of the drafts, then the statements by thousands, and then the releases.
        Raises ``NotFoundError`` if the period is not sealed. Raises ``SealedFileError`` at the first file that exists
        with other bytes, or that is written with other bytes than were sealed; that file stays as it is.
        """
        month = Period.parse(period)
        groups = plan_of_period(self._entities, month).groups
        result = StatementResealResult()
        if part < groups:
            result = self.drafts.reseal(period, part, remaining_seconds)
            if result.next is not None:
                return result
            part = groups
        while some := self._part(month, part - groups):
            if result.files and remaining_seconds() < RESERVE_SECONDS:
                result.next = part
                return result
            self._reseal_documents(some, result)
            part += 1
        if result.files and remaining_seconds() < RESERVE_SECONDS:
            result.next = part
            return result
        for release in sorted({one.release for one in self._documents(month)}):
            self._reseal_release(release, result)
        return result

    def _statements(self, period: Period) -> Iterator[Values]:
        items = self._entities.read(statements_of_period(period), _PAGE)
        return (values for values in items if "documents" in values)

    def _part(self, period: Period, number: int) -> list[Values]:
        first = number * STATEMENTS_OF_A_PART
        return list(islice(self._statements(period), first, first + STATEMENTS_OF_A_PART))

    def _documents(self, period: Period) -> Iterator[Document]:
        """Yield the documents of a period."""
        return chain.from_iterable(map(documents_of, self._statements(period)))

    # ------------------------------------------------------------ documents

    def _reseal_documents(self, statements: Sequence[Values], result: StatementResealResult) -> None:
        """Write the lost files of the documents of statements; those of their lines are of the draft."""
        made = [(some, place) for some in map(documents_of, statements) for place in range(len(some))]
        files = list(chain.from_iterable(_own_files(some[place]).items() for some, place in made))
        found = self.writer.store.workers.map(lambda file: self._is_there(*file), files)
        lost = {key for (key, _), is_there in zip(files, found, strict=True) if not is_there}
        result.files += len(files)
        for some, place in made:
            if lost.isdisjoint(_own_files(some[place])):
                continue
            document, contents = self._made(some[: place + 1])
            for name, content in contents.items():
                key = document.prefix + name
                if key in lost and self.files.create(key, content, hexdigest(content)):
                    result.written.append(key)

    def _is_there(self, key: str, sha256: str) -> bool:
        """Return whether a file exists; raise ``SealedFileError`` if it has other bytes than were sealed."""
        if not self.files.exists(key):
            return False
        if stream_digest(self.files.open(key)) != sha256:
            raise SealedFileError(f"{key} has other bytes than were sealed: restore its version")
        return True

    def _made(self, documents: Sequence[Document]) -> Written:
        """Return the last of a draft's documents, written again; raise ``SealedFileError`` if its files differ."""
        *_, one = documents
        (draft,) = self._entities.get_many([draft_key(one.period, one.account)])
        sha256, _ = draft["files"][DRAFT]
        entry = ReleaseEntry(one.account, self._before(one), [_planned(documents, sha256)])
        ((written,),) = self.writer.documents(self._plan(one.release), [entry])
        if written[0].files != one.files:
            raise other_bytes(one.prefix)
        return written

    def _plan(self, release: int) -> ReleasePlan:
        (values,) = self._entities.get_many([release_key(release)])
        return ReleasePlan.of(values)

    def _before(self, one: Document) -> Document | None:
        """Return the account's last document before another."""
        keys = [statement_key(period, one.account) for period in self._drafted]
        documents = chain.from_iterable(map(documents_of, self._entities.get_many(keys)))
        earlier = (found for found in documents if found.place < one.place)
        return max(earlier, key=lambda found: found.place, default=None)

    @property
    def _drafted(self) -> list[Period]:
        return self.drafts.stores.progress.progress().drafted

    # ------------------------------------------------------------ releases

    def _reseal_release(self, number: int, result: StatementResealResult) -> None:
        """Write the list and the manifest of a release, if they are lost."""
        result.files += 2
        (values,) = self._entities.get_many([release_key(number)])
        key, sha256, plan = release_manifest_key(number), values["manifest_sha256"], ReleasePlan.of(values)
        if self._is_there(key, sha256):
            (file_of_list,) = json.loads(self.files.open(key).read())["files"]
            if self._is_there(file_of_list["key"], file_of_list["sha256"]):
                return
        found = chain.from_iterable(map(self._documents, self._drafted))
        documents = sorted((one for one in found if one.release == number), key=lambda one: one.place)
        totals = ListTotals.of_release()
        with TemporaryFile() as file:
            listed = write_list(file, COLUMNS, (one.as_row() for one in totals.counted(documents)))
            series = next_numbers(plan, (one.kind for one in documents))
            content = as_bytes(manifest(plan, totals, series, listed))
            if hexdigest(content) != sha256:
                raise other_bytes(key)
            if self.files.create(release_list_key(number), file, listed.sha256):
                result.written.append(release_list_key(number))
            if self.files.create(key, content, sha256):
                result.written.append(key)


def _own_files(document: Document) -> dict[str, str]:
    """Return the SHA-256 of each file of a document by its key; not of the lines, which are the draft's."""
    return {document.prefix + name: file.sha256 for name, file in document.files.items() if name != LINES}


def _planned(documents: Sequence[Document], draft_sha256: str) -> PlannedDocument:
    """Return what the roster of its release held of the last of a draft's documents.

    The documents of a draft are its statements in turn, each followed by its cancellation.
    """
    *earlier, one = documents
    return PlannedDocument(
        one.period,
        one.number,
        one.kind,
        draft_sha256,
        one.revision,
        one.parties,
        earlier[-1].reversal if one.cancels else None,
        *replaced(earlier[-2] if earlier and not one.cancels else None, one.paid_since),
    )
