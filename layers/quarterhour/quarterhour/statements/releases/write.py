"""Writes the documents of a release: each from its draft, for the parties of its period, after the one before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from itertools import chain, groupby, islice
from tempfile import TemporaryFile
from typing import Final

from quarterhour.model import money
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period, start_of, time_zone
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.files import rendered
from quarterhour.statements.document.statement import Statement, as_bytes
from quarterhour.statements.document.taxed_lines import read_taxed_lines
from quarterhour.statements.drafts.draft import Draft
from quarterhour.statements.drafts.line_files import WRITTEN_AT_A_TIME
from quarterhour.statements.drafts.work_objects import value_writer
from quarterhour.statements.keys import DRAFT, LINES, STATEMENT, statement_prefix
from quarterhour.statements.listing import FIGURES, Document, SealedObject
from quarterhour.statements.parties import Parties, PartyVersions
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.keys import release_written_key
from quarterhour.statements.releases.plan import PlannedDocument, ReleaseEntry, ReleasePlan
from quarterhour.statements.releases.roster import read_entries
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.remainders import NOTHING

_DAY: Final = timedelta(days=1)
Written = tuple[Document, dict[str, bytes]]
"""A document, and its files by name."""


@dataclass(frozen=True, slots=True)
class ReleaseWriter:
    """Writes the files of the documents of a release, and returns what is published of them."""

    store: ReleaseStore
    files: SealedFiles
    contexts: DraftContexts

    def write(self, plan: ReleasePlan, group: int) -> bool:
        """Write the documents of a group of accounts, unless that is done already; return whether it was not.

        Their values come last, so they say that the group is written.
        """
        key = release_written_key(plan.number, group)
        if self.files.exists(key):
            return False
        entries = read_entries(self.files, plan, group)
        with TemporaryFile() as file:
            with value_writer(file) as write:
                while some := list(islice(entries, WRITTEN_AT_A_TIME)):
                    for documents in self._write_entries(plan, some):
                        write([one.as_dict() for one in documents])
            file.seek(0)
            self.files.create(key, file, stream_digest(file))
        return True

    def _write_entries(self, plan: ReleasePlan, entries: Sequence[ReleaseEntry]) -> list[list[Document]]:
        """Write the files of some accounts' documents side by side; return the documents of each account."""
        made = self.documents(plan, entries)
        uploads = [
            (one.prefix + name, content, hexdigest(content))
            for one, files in chain.from_iterable(made)
            for name, content in files.items()
        ]
        self.store.workers.map(lambda file: self.files.create(*file), uploads)
        return [[one for one, _ in some] for some in made]

    def documents(self, plan: ReleasePlan, entries: Sequence[ReleaseEntry]) -> list[list[Written]]:
        """Return the documents of each account, with their files by name; nothing is written."""
        planned = [(entry.account, one) for entry in entries for one in entry.documents]
        drafts = iter(self.store.workers.map(lambda pair: self._draft(*pair), planned))
        parties = self._parties(planned)
        made: list[list[Written]] = []
        for entry in entries:
            last = entry.last
            made.append([])
            for one in entry.documents:
                document, files = self._document(plan, one, next(drafts), parties[entry.account, one.number], last)
                made[-1].append((document, files))
                last = document
        return made

    # ------------------------------------------------------------ what they are made of

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

    def _document(
        self, plan: ReleasePlan, planned: PlannedDocument, draft: Draft, parties: Parties, last: Document | None
    ) -> Written:
        """Return a document and its files; ``last``: the account's document before."""
        statement = self._statement(plan, planned, draft, parties, last)
        content = statement.content([] if planned.cancels else draft.orders, draft.lines)
        files = {STATEMENT: as_bytes(content), **rendered(content)}
        sealed = {name: SealedObject(hexdigest(some), len(some)) for name, some in files.items()}
        until, zone = statement.dispute_until, time_zone(statement.plan.zone)
        document = Document(
            planned.period,
            draft.account,
            planned.revision,
            planned.number,
            planned.kind,
            planned.cancels["number"] if planned.cancels else "",
            {name: statement.shown_amounts[name] for name in FIGURES},
            statement.sums.lines,
            statement.sums.prior_period_lines,
            {**sealed, LINES: draft.lines},
            plan.number,
            plan.planned_at,
            statement.issued_on,
            statement.due_on,
            until,
            iso_millis(start_of(until + _DAY, zone)) if until else None,
            planned.parties,
            statement.carried,
            statement.remainders,
            statement.sums.charges.whole,
            statement.paid_since,
        )
        return document, files

    def _statement(
        self, plan: ReleasePlan, planned: PlannedDocument, draft: Draft, parties: Parties, last: Document | None
    ) -> Statement:
        """Return what a document states."""
        sums = draft.sums if planned.revision == 1 else draft.sums.reissued()
        statement = Statement(
            self.contexts.plan_of(planned.period),
            draft.account,
            sums.reversed() if planned.cancels else sums,
            parties,
            plan.planned_at,
            last,
            planned.number,
            planned.kind,
            planned.cancels,
            planned.replaces or None,
            plan.acceptance_days,
            before=last.remainders if last else NOTHING,
            replaced_on=planned.replaced_on or None,
            paid=Decimal(planned.paid),
        )
        if not statement.names.of_lines:
            return statement
        named = read_taxed_lines(self.files, planned.period, draft, statement.names)
        if planned.cancels:
            named = {key: money.negated(one) for key, one in named.items()}
        return replace(statement, named=named)
