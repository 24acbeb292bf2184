"""Reads the statements that drafts would be, if they were released now."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.statement import Statement
from quarterhour.statements.document.taxed_lines import read_taxed_lines
from quarterhour.statements.drafts.draft import Draft
from quarterhour.statements.keys import DRAFT, statement_prefix
from quarterhour.statements.listing import Document
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.remainders import NOTHING
from quarterhour.statements.store import PartyReader


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
        previous: Document | None = None,
        *,
        is_reissued: bool,
    ) -> tuple[Draft, Statement]:
        """Return a draft and its statement, for the parties as known now. ``previous``: the account's last document.

        ``is_reissued``: whether a document of the draft was released before. Raises ``SealedFileError`` if a file is
        gone.
        """
        draft = Draft.of(self.files.open(statement_prefix(period, account) + DRAFT).read())
        plan = self.plan_of(period)
        (parties,) = PartyReader(self.entities).parties([account], plan.parties_at, now)
        sums = draft.sums.reissued() if is_reissued else draft.sums
        before = previous.remainders if previous else NOTHING
        statement = Statement(plan, account, sums, parties, iso_millis(now), previous, before=before)
        if statement.names.of_lines:
            named = read_taxed_lines(self.files, period, draft, statement.names)
            statement = replace(statement, named=named)
        return draft, statement
