"""Writes the documents of a release: each from its draft, for the parties of its period, after the one before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import chain, groupby, islice
from tempfile import TemporaryFile
from typing import Final, NamedTuple

from quarterhour.model import money
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period, start_of, time_zone
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.files import rendered
from quarterhour.statements.document.statement import Parties, PartyVersions, Statement, StatementEntry, as_bytes
from quarterhour.statements.document.tax import Taxable
from quarterhour.statements.drafts.draft import Draft
from quarterhour.statements.drafts.line_files import WRITTEN_AT_A_TIME
from quarterhour.statements.drafts.work_objects import value_writer
from quarterhour.statements.keys import DRAFT, LINES, STATEMENT, statement_prefix
from quarterhour.statements.listing import LastDocument, SealedObject
from quarterhour.statements.previews.unreleased import taxed_lines
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.keys import release_written_key
from quarterhour.statements.releases.listing import ReleasedDocument
from quarterhour.statements.releases.plan import PlannedDocument, ReleaseEntry, ReleasePlan
from quarterhour.statements.releases.released import Released
from quarterhour.statements.releases.roster import read_entries
from quarterhour.statements.releases.store import ReleaseStore

_DAY: Final = timedelta(days=1)


class _Source(NamedTuple):
    """What a document is made of: its account, plan and draft, and the parties to it."""

    account: Account
    planned: PlannedDocument
    draft: Draft
    parties: Parties


@dataclass(frozen=True, slots=True)
class ReleaseWriter:
    """Writes the files of the documents of a release, and returns what is published of them."""

    store: ReleaseStore
    files: SealedFiles
    contexts: DraftContexts

    def write(self, plan: ReleasePlan, group: int) -> bool:
        """Write the documents of a group of accounts, unless that is done already; return whether it was not.

        Their rows come last, so they say that the group is written.
        """
        key = release_written_key(plan.number, group)
        if self.files.exists(key):
            return False
        entries = read_entries(self.files, plan, group)
        with TemporaryFile() as file:
            with value_writer(file) as write:
                while some := list(islice(entries, WRITTEN_AT_A_TIME)):
                    for released in self._write_entries(plan, some):
                        write([one.as_list() for one in released])
            file.seek(0)
            self.files.create(key, file, stream_digest(file))
        return True

    def _write_entries(self, plan: ReleasePlan, entries: Sequence[ReleaseEntry]) -> list[list[Released]]:
        """Write the files of some accounts' documents side by side; return the documents of each account."""
        made = self.documents(plan, entries)
        uploads = [
            (one.document.prefix + name, content, hexdigest(content))
            for one, files in chain.from_iterable(made)
            for name, content in files.items()
        ]
        self.store.workers.map(lambda file: self.files.create(*file), uploads)
        return [[one for one, _ in some] for some in made]

    def documents(
        self, plan: ReleasePlan, entries: Sequence[ReleaseEntry]
    ) -> list[list[tuple[Released, dict[str, bytes]]]]:
        """Return the documents of each account, with their files by name; nothing is written."""
        sources = iter(self._sources(entries))
        made: list[list[tuple[Released, dict[str, bytes]]]] = []
        for entry in entries:
            last = entry.last
            made.append([])
            for _ in entry.documents:
                source = next(sources)
                released, files = self._statement(plan, source, last)
                made[-1].append((released, files))
                last = LastDocument(source.planned.period, released.document.listed, released.issued_on)
        return made

    # ------------------------------------------------------------ what they are made of

    def _sources(self, entries: Iterable[ReleaseEntry]) -> list[_Source]:
        planned = [(entry.account, one) for entry in entries for one in entry.documents]
        drafts = self.store.workers.map(lambda pair: self._draft(*pair), planned)
        parties = self._parties(planned)
        return [
            _Source(account, one, draft, parties[account, one.number])
            for (account, one), draft in zip(planned, drafts, strict=True)
        ]

    def _draft(self, account: Account, planned: PlannedDocument) -> Draft:
        key = statement_prefix(planned.period, account) + DRAFT
        content = self.files.open(key).read()
        if hexdigest(content) != planned.draft_sha256:
            raise SealedFileError(f"{key} is not the draft that was sealed: restore its version")
        return Draft.of(content)

    def _parties(self, planned: Iterable[tuple[Account, PlannedDocument]]) -> dict[tuple[Account, str], Parties]:
        """Return the parties to each document by account and number: those at the end of its period, as then known."""

        def known(pair: tuple[Account, PlannedDocument]) -> tuple[Period, PartyVersions]:
            return pair[1].period, pair[1].parties

        reader = self.contexts.parties
        found: dict[tuple[Account, str], Parties] = {}
        for (period, versions), some in groupby(sorted(planned, key=known), key=known):
            pairs, at = list(some), self.contexts.plan_of(period).parties_at
            parties = reader.parties([account for account, _ in pairs], at, versions)
            found |= {(account, one.number): both for (account, one), both in zip(pairs, parties, strict=True)}
        return found

    # ------------------------------------------------------------ a document

    def _statement(
        self, plan: ReleasePlan, source: _Source, last: LastDocument | None
    ) -> tuple[Released, dict[str, bytes]]:
        """Return a document and its files by name."""
        account, planned, draft, parties = source
        cancels = planned.cancels
        sums = draft.sums if planned.revision == 1 else draft.sums.reissued()
        entry = StatementEntry(
            account,
            planned.number,
            planned.document,
            sums.reversed() if cancels else sums,
            last,
            cancels,
            planned.replaces or None,
            plan.acceptance_days,
        )
        made = replace(
            self.contexts.plan_of(planned.period), planned_at=plan.planned_at, code_version=plan.code_version
        )
        statement = Statement(made, entry, parties)
        if any(statement.names):
            statement = replace(statement, named=self._named(statement, draft))
        content = statement.document([] if cancels else draft.orders, draft.lines)
        files = {STATEMENT: as_bytes(content), **rendered(content)}
        sealed = {name: SealedObject(hexdigest(some), len(some)) for name, some in files.items()}
        listed = statement.listed({**sealed, LINES: draft.lines})
        document = ReleasedDocument(planned.period, planned.revision, cancels["number"] if cancels else "", listed)
        until = content["dispute_until"]
        silence_at = iso_millis(start_of(date.fromisoformat(until) + _DAY, time_zone(made.zone))) if until else None
        return Released(planned, document, content["issued_on"], content["due_on"], silence_at), files

    def _named(self, statement: Statement, draft: Draft) -> dict[Taxable, Decimal]:
        """Return the commissions of a draft's lines by what decides their tax; those of a cancellation are negated."""
        found = taxed_lines(self.files, statement, draft)
        return {key: money.negated(one) for key, one in found.items()} if statement.entry.cancels else found
