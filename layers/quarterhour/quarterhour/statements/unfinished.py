"""What the statements of a month still need: lines in drafts, drafts to be released, disputes to be resolved."""

from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.resources import Resources
from quarterhour.model.identifiers import SEPARATOR, Account
from quarterhour.model.money import NO_CURRENCY
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.statements.keys import open_drafts
from quarterhour.statements.status.keys import LOWEST, disputes_by_age
from quarterhour.statements.status.plan import DisputeStatus
from quarterhour.statements.store import ProgressStore

_A_PAGE: Final = 100


class Unfinished(NamedTuple):
    """What is unfinished.

    ``drafted_through``: the last quarter-hour whose lines are all in drafts, ``None`` before the first draft.
    ``open_draft`` and ``open_dispute``: the period of the oldest one, if there is one.
    """

    drafted_through: QuarterHour | None
    open_draft: Period | None
    open_dispute: Period | None

    def of_month(self, month: Period) -> str | None:
        """Return why the statements of a month are unfinished; ``None`` if they are not.

        A line that is recorded in a month in UTC is in a draft of the next month at the latest, whatever the time zone
        of the business.
        """
        if self.drafted_through is None or self.drafted_through < QuarterHour.last_of(month.last_day):
            return f"the lines of {month} are not all in drafts"
        if self.open_draft and self.open_draft <= month.next:
            return f"a draft of {self.open_draft} is not released"
        if self.open_dispute and self.open_dispute <= month.next:
            return f"a dispute of {self.open_dispute} is open"
        return None


@dataclass(frozen=True, slots=True)
class UnfinishedQueries:
    """Reads what is unfinished."""

    entities: EntityReader
    progress: ProgressStore

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the queries of a function."""
        return cls(resources.entities, ProgressStore(resources.dynamodb, resources.entity_table))

    def of_month(self, month: Period) -> str | None:
        """Return why the statements of a month are unfinished; ``None`` if they are not."""
        found = Unfinished(self.progress.progress().bound, self._oldest_draft(), self._oldest_dispute())
        return found.of_month(month)

    def _oldest_draft(self) -> Period | None:
        """Return the period of the oldest draft without a statement; those of views owe nothing, and never have one."""
        found = self.entities.read_index(open_drafts(), _A_PAGE)
        return next((period for period, account in map(_draft, found) if account.currency != NO_CURRENCY), None)

    def _oldest_dispute(self) -> Period | None:
        """Return the earliest period of an open dispute."""
        found = self.entities.read_index(disputes_by_age(DisputeStatus.OPEN, None, LOWEST), _A_PAGE)
        return min((Period.parse(one["period"]) for one in found), default=None)


def _draft(entry: Values) -> tuple[Period, Account]:
    period, account = entry["gsi1sk"].split(SEPARATOR, 1)
    return Period.parse(period), Account.parse(account)
