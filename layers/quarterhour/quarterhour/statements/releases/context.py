"""Gathers what drafts are checked against."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cache, partial
from itertools import groupby, islice
from typing import Final, Self

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.resources import Resources
from quarterhour.ledger.held.store import merged
from quarterhour.ledger.keys import HIGHEST, HeldStatus, agency_of_partition, held_partitions
from quarterhour.ledger.keys import LOWEST as LOWEST_HELD
from quarterhour.model.errors import NotFoundError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period, start_of, time_zone
from quarterhour.registry.agencies.agency import Agency
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.keys import draft_key, draft_place, open_drafts
from quarterhour.statements.parties import Parties
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.releases.checks import DraftContext
from quarterhour.statements.status.keys import LOWEST, disputes_by_age
from quarterhour.statements.status.plan import DisputeStatus
from quarterhour.statements.store import PartyReader, plan_of_period

_PAGE: Final = 500
MOST_COUNTED: Final = 2_000
"""The most open disputes, and held events, that are counted by agency."""


@dataclass(frozen=True, slots=True)
class DraftContexts:
    """Reads the contexts of drafts; ``plan_of`` returns the plan of the run that made a period's drafts."""

    entities: EntityReader
    plan_of: Callable[[Period], StatementPlan]

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the contexts of a function, which reads the plan of each period once."""
        return cls(resources.entities, cache(partial(plan_of_period, resources.entities)))

    @property
    def parties(self) -> PartyReader:
        """The reader of the parties to a document."""
        return PartyReader(self.entities)

    def is_published(self, period: Period) -> bool:
        """Return whether a period is published; until then, its drafts are still being written."""
        try:
            self.plan_of(period)
        except NotFoundError:
            return False
        return True

    def gather(self, drafts: Sequence[DraftItem], known: datetime, *, counted: bool = True) -> list[DraftContext]:
        """Return the context of each draft, whose order is by period, as known at an instant.

        Without ``counted``, disputes and held events are not counted, and the period before is not read.
        """
        parties: dict[tuple[Period, Account], Parties] = {}
        for period, of_period in groupby(drafts, lambda one: one.period):
            plan, reader = self.plan_of(period), self.parties
            accounts = [one.account for one in of_period]
            found = reader.parties(accounts, plan.parties_at, known)
            parties |= {(period, account): one for account, one in zip(accounts, found, strict=True)}
        earlier = self._earlier(drafts)
        before = self._before(drafts) if counted else {}
        disputes = self._disputes() if counted else Counter()
        held = self._held() if counted else Counter()
        return [
            DraftContext(
                (some := parties[one.period, one.account]).owner,
                some.agency,
                _agency_on(some, self.plan_of(one.period)),
                before.get((one.period, one.account)),
                earlier.get((one.period, one.account)),
                disputes[one.account.agency],
                held[one.account.agency],
                some.versions,
            )
            for one in drafts
        ]

    def _earlier(self, drafts: Iterable[DraftItem]) -> dict[tuple[Period, Account], Period]:
        """Return, for each draft, the first earlier period of its account that it waits for, if any."""
        last = max((draft_place(one.period, one.account) for one in drafts), default="")
        latest: dict[Account, Period] = {}
        for one in drafts:
            latest[one.account] = max(one.period, latest.get(one.account, one.period))
        candidates = []
        for values in self.entities.read_index(open_drafts(), _PAGE):
            if values["gsi1sk"] > last:
                break
            account, period = Account(values["agency"], values["currency"]), Period.parse(values["period"])
            if account in latest and period < latest[account]:
                candidates.append(draft_key(period, account))
        first: dict[Account, Period] = {}
        # The index may lag behind.
        for one in map(DraftItem.of, self.entities.get_many(candidates)):
            if one.comes_first:
                first[one.account] = min(one.period, first.get(one.account, one.period))
        return {
            (one.period, one.account): first[one.account]
            for one in drafts
            if one.account in first and first[one.account] < one.period
        }

    def _before(self, drafts: Iterable[DraftItem]) -> dict[tuple[Period, Account], Decimal]:
        """Return the exact commission of each draft's account in the period before."""
        keys = [draft_key(one.period.previous, one.account) for one in drafts]
        return {
            (Period.parse(values["period"]).next, Account(values["agency"], values["currency"])): Decimal(
                values["commission_exact"]
            )
            for values in self.entities.get_many(keys)
        }

    def _disputes(self) -> Counter[str]:
        entries = self.entities.read_index(disputes_by_age(DisputeStatus.OPEN, None, LOWEST), _PAGE)
        return Counter(values["agency"] for values in islice(entries, MOST_COUNTED))

    def _held(self) -> Counter[str]:
        entries = merged(self.entities, held_partitions(HeldStatus.HELD), LOWEST_HELD, HIGHEST, _PAGE)
        return Counter(
            agency_of_partition(values["gsi2pk"], HeldStatus.HELD) for values in islice(entries, MOST_COUNTED)
        )


def _agency_on(parties: Parties, plan: StatementPlan) -> Callable[[date], Agency | None]:
    zone = time_zone(plan.zone)
    return lambda day: parties.agency_at(start_of(day, zone))
