"""Rewrites lost files of the released documents of a period, and of their releases: with the same bytes, or not."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import Any, Final, NamedTuple

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.statement import PartyVersions, as_bytes
from quarterhour.statements.drafts.reseal import StatementResealer, StatementResealResult, other_bytes
from quarterhour.statements.drafts.service import RESERVE_SECONDS
from quarterhour.statements.keys import (
    DRAFT,
    LINES,
    STATEMENT,
    draft_key,
    statement_key,
    statement_prefix,
    statements_of_period,
)
from quarterhour.statements.listing import LastDocument, Listed, SealedObject
from quarterhour.statements.plan import Progress
from quarterhour.statements.releases.keys import release_key, release_list_key, release_manifest_key
from quarterhour.statements.releases.listing import ReleasedDocument
from quarterhour.statements.releases.manifest import manifest
from quarterhour.statements.releases.plan import (
    CANCELLED,
    Action,
    PlannedDocument,
    ReleaseEntry,
    ReleasePlan,
    next_numbers,
)
from quarterhour.statements.releases.publish import write_list
from quarterhour.statements.releases.released import Released
from quarterhour.statements.releases.write import ReleaseWriter
from quarterhour.statements.store import plan_of_period

STATEMENTS_OF_A_PART: Final = 1_000
"""The most statements that are looked at between two looks at the time that is left."""
_PAGE: Final = 500


class SealedDocument(NamedTuple):
    """A document of a statement's item: the item, and the document's place among those of the item."""

    values: Mapping[str, Any]
    position: int

    @property
    def document(self) -> Mapping[str, Any]:
        """What the item holds of the document."""
        found: Mapping[str, Any] = self.values["documents"][self.position]
        return found

    @property
    def period(self) -> Period:
        """The period."""
        return Period.parse(self.values["period"])

    @property
    def account(self) -> Account:
        """The account."""
        return Account(self.values["agency"], self.values["currency"])

    @property
    def release(self) -> int:
        """The number of its release."""
        return int(self.document["release"])

    @property
    def files(self) -> dict[str, SealedObject]:
        """Its files by name."""
        return SealedObject.by_name(self.document["files"])

    @property
    def own_files(self) -> dict[str, str]:
        """The SHA-256 of each file by its key; not of the lines, which are the draft's."""
        prefix = statement_prefix(self.period, self.account, int(self.document["revision"]))
        return {prefix + name: file.sha256 for name, file in self.files.items() if name != LINES}

    @property
    def place(self) -> tuple[int, Account, bool, Period]:
        """Its place among all documents: a release cancels statements of an account before it makes some."""
        return self.release, self.account, not self.document["cancels"], self.period

    def planned(self, draft_sha256: str) -> PlannedDocument:
        """Return what the roster of its release held of it.

        The documents of a draft are its statements in turn, each followed by its cancellation.
        """
        document, earlier = self.document, self.values["documents"][: self.position]
        cancels = {name: earlier[-1][name] for name in CANCELLED} if document["cancels"] else None
        return PlannedDocument(
            Action.CANCEL if cancels else Action.STATE,
            self.period,
            document["number"],
            document["document"],
            draft_sha256,
            int(document["revision"]),
            PartyVersions.of(document["parties"]),
            cancels,
            earlier[-2]["number"] if earlier and not cancels else "",
        )

    def released(self, listed: Listed) -> ReleasedDocument:
        """Return its entry in the list of its release."""
        return ReleasedDocument(self.period, int(self.document["revision"]), self.document["cancels"], listed)


def documents_of(statements: Iterable[Values]) -> Iterator[SealedDocument]:
    """Yield the documents of statements; those of 0.2.0 have none, nor have the changes of their statuses."""
    for values in statements:
        for position in range(len(values.get("documents", ()))):
            yield SealedDocument(values, position)


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
            self._reseal_documents(list(documents_of(some)), result)
            part += 1
        if result.files and remaining_seconds() < RESERVE_SECONDS:
            result.next = part
            return result
        for release in sorted({one.release for one in documents_of(self._statements(month))}):
            self._reseal_release(release, result)
        return result

    def _statements(self, period: Period) -> Iterator[Values]:
        items = self._entities.read(statements_of_period(period), _PAGE)
        return (values for values in items if "documents" in values)

    def _part(self, period: Period, number: int) -> list[Values]:
        first = number * STATEMENTS_OF_A_PART
        return list(islice(self._statements(period), first, first + STATEMENTS_OF_A_PART))

    # ------------------------------------------------------------ documents

    def _reseal_documents(self, documents: Sequence[SealedDocument], result: StatementResealResult) -> None:
        """Write the lost files of documents; those of their lines are of the draft."""
        files = list(chain.from_iterable(one.own_files.items() for one in documents))
        found = self.writer.store.workers.map(lambda file: self._is_there(*file), files)
        lost = {key for (key, _), is_there in zip(files, found, strict=True) if not is_there}
        result.files += len(files)
        for one in documents:
            if lost.isdisjoint(one.own_files):
                continue
            released, contents = self._made(one)
            for name, content in contents.items():
                key = released.document.prefix + name
                if key in lost and self.files.create(key, content, hexdigest(content)):
                    result.written.append(key)

    def _is_there(self, key: str, sha256: str) -> bool:
        """Return whether a file exists; raise ``SealedFileError`` if it has other bytes than were sealed."""
        if not self.files.exists(key):
            return False
        if stream_digest(self.files.open(key)) != sha256:
            raise SealedFileError(f"{key} has other bytes than were sealed: restore its version")
        return True

    def _made(self, one: SealedDocument) -> tuple[Released, dict[str, bytes]]:
        """Return a document and its files, written again; raise ``SealedFileError`` if they differ."""
        (draft,) = self._entities.get_many([draft_key(one.period, one.account)])
        sha256, _ = draft["files"][DRAFT]
        entry = ReleaseEntry(one.account, self._before(one), [one.planned(sha256)])
        (((released, files),),) = self.writer.documents(self._plan(one.release), [entry])
        if released.document.listed.files != one.files:
            raise other_bytes(released.document.prefix)
        return released, files

    def _plan(self, release: int) -> ReleasePlan:
        (values,) = self._entities.get_many([release_key(release)])
        return ReleasePlan.of(values)

    def _before(self, one: SealedDocument) -> LastDocument | None:
        """Return the account's last document before another."""
        progress, account = self.drafts.stores.progress.progress(), one.account
        keys = [statement_key(period, account) for period in _drafted(progress)]
        earlier = [found for found in documents_of(self._entities.get_many(keys)) if found.place < one.place]
        if earlier:
            last = max(earlier, key=lambda found: found.place)
            return LastDocument(last.period, self._listed(last), last.document["issued_on"])
        if progress.last_of_0_2 is None:
            return None
        found = self._entities.get_many([statement_key(progress.last_of_0_2, account)])
        return LastDocument.of_item(found[0]) if found else None

    def _listed(self, one: SealedDocument) -> Listed:
        """Return a document as its list has it: from the table, from its file, or from its draft."""
        if one.document["number"] == one.values["number"]:
            return Listed.of_item(one.values)
        ((key, sha256),) = ((key, sha256) for key, sha256 in one.own_files.items() if key.endswith(STATEMENT))
        if self._is_there(key, sha256):
            return Listed.of_document(json.loads(self.files.open(key).read()), one.files)
        return self._made(one)[0].document.listed

    # ------------------------------------------------------------ releases

    def _reseal_release(self, number: int, result: StatementResealResult) -> None:
        """Write the list and the manifest of a release, if they are lost."""
        result.files += 2
        key, sha256 = release_manifest_key(number), self._sha256(number)
        if self._is_there(key, sha256):
            (listed,) = json.loads(self.files.open(key).read())["files"]
            if self._is_there(listed["key"], listed["sha256"]):
                return
        plan, periods = self._plan(number), _drafted(self.drafts.stores.progress.progress())
        statements = chain.from_iterable(map(self._statements, periods))
        documents = sorted(
            (one for one in documents_of(statements) if one.release == number), key=lambda one: one.place
        )
        with TemporaryFile() as file:
            rows = self.writer.store.workers.map(lambda one: one.released(self._listed(one)), documents)
            totals, list_file = write_list(file, rows)
            series = next_numbers(plan, (one.document["document"] for one in documents))
            content = as_bytes(manifest(plan, totals, series, list_file))
            if hexdigest(content) != sha256:
                raise other_bytes(key)
            if self.files.create(release_list_key(number), file, list_file.sha256):
                result.written.append(release_list_key(number))
            if self.files.create(key, content, sha256):
                result.written.append(key)

    def _sha256(self, release: int) -> str:
        (values,) = self._entities.get_many([release_key(release)])
        return str(values["manifest_sha256"])


def _drafted(progress: Progress) -> list[Period]:
    """Return the periods that have drafts."""
    periods: list[Period] = []
    period = progress.drafted_from
    while period and progress.sealed and period <= progress.sealed:
        periods.append(period)
        period = period.next
    return periods
