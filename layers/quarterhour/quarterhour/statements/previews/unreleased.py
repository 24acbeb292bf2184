"""Reads the statements that drafts would be, if they were released now."""

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period, time_zone
from quarterhour.reports.digests import stream_digest
from quarterhour.reports.packing import unpacked
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.statement import Statement, StatementEntry
from quarterhour.statements.document.tax import Taxable
from quarterhour.statements.drafts.day_lines import TaxedLines
from quarterhour.statements.drafts.draft import Draft
from quarterhour.statements.keys import DRAFT, LINES, statement_prefix
from quarterhour.statements.listing import LastDocument
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import PartyReader


class Unreleased(NamedTuple):
    """A draft, and the statement that it would be, without a number."""

    draft: Draft
    statement: Statement


@dataclass(frozen=True, slots=True)
class UnreleasedStatements:
    """Reads the statements of drafts; ``plan_of`` returns the plan of the run that made a period's drafts."""

    entities: EntityReader
    files: SealedFiles
    plan_of: Callable[[Period], StatementPlan]

    def read(
        self,
        period: Period,
        account: Account,
        now: datetime,
        previous: LastDocument | None = None,
        *,
        is_reissued: bool,
    ) -> Unreleased:
        """Return a draft and its statement, for the parties as known now. ``previous``: the account's last document.

        ``is_reissued``: whether a document of the draft was released before. Raises ``SealedFileError`` if a file is
        gone.
        """
        draft = Draft.of(self.files.open(statement_prefix(period, account) + DRAFT).read())
        plan = replace(self.plan_of(period), planned_at=iso_millis(now))
        reader = PartyReader(self.entities)
        (parties,) = reader.parties([account], plan.parties_at, now)
        sums = draft.sums.reissued() if is_reissued else draft.sums
        statement = Statement(plan, StatementEntry(account, "", "", sums, previous), parties)
        if any(statement.names):
            statement = replace(statement, named=taxed_lines(self.files, statement, draft))
        return Unreleased(draft, statement)


def taxed_lines(files: SealedFiles, statement: Statement, draft: Draft) -> dict[Taxable, Decimal]:
    """Return the commissions of a draft's lines by what decides their tax, of a statement of it."""
    plan, key = statement.plan, statement_prefix(statement.plan.period, draft.account) + LINES
    taxed = TaxedLines(statement.names, time_zone(plan.zone))
    with files.copied(key) as file:
        if stream_digest(file) != draft.lines.sha256:
            raise SealedFileError(f"{key} is not the file that was sealed: restore its version")
        file.seek(0)
        with unpacked(file) as content, io.TextIOWrapper(content, encoding="utf-8", newline="") as text:
            next(text)  # the names of the columns
            taxed.add(text)
    return taxed.commissions
