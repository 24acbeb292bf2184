"""What a period charges of its turnover, added to its roster; and the turnover that it passes on to the next period."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from heapq import merge
from typing import IO, TYPE_CHECKING

from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.reports.digests import stream_digest
from quarterhour.statements.drafts.figures import AccountSums, BaseFigures
from quarterhour.statements.drafts.monthly import MonthlyTerms, monthly_charges
from quarterhour.statements.drafts.period_charges import (
    NOTHING_PASSED,
    GroupTurnovers,
    PassedOn,
    PassedRow,
    so_far,
    tier_charges,
)
from quarterhour.statements.drafts.work_objects import read_values, value_writer
from quarterhour.statements.keys import turnover_key
from quarterhour.statements.listing import SealedObject
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import StatementStores, sealed_period

if TYPE_CHECKING:
    from quarterhour.statements.drafts.charge_sums import Definition
    from quarterhour.statements.drafts.period_charges import (
        Passed,
    )

RosterEntry = tuple[Account, AccountSums]
Entries = Callable[[], Iterable[RosterEntry]]
"""Returns the accounts of a roster with their sums, in their order, each time from the first one on."""


def read_passed(stores: StatementStores, plan: StatementPlan) -> Mapping[Account, PassedOn]:
    """Return the turnover that the previous period has passed on; raise ``SealedFileError`` if its file is lost."""
    before = plan.previous_period
    sealed = sealed_period(stores.entities, before).get("turnover") if before else None
    if before is None or sealed is None:
        return {}
    key, found = turnover_key(before), SealedObject(*sealed)
    passed: dict[Account, dict[Definition, Passed]] = {}
    with stores.files.copied(key) as file:
        if stream_digest(file) != found.sha256:
            raise SealedFileError(f"{key} is not the file that was sealed: restore its version")
        file.seek(0)
        for row in map(PassedRow.of, read_values(file)):
            passed.setdefault(row.account, {})[row.definition] = row.passed
    return passed


class RosterCharges:
    """Adds what the whole period charges to the accounts of a roster. ``has_any``: whether it charges any of them."""

    def __init__(self, plan: StatementPlan, passed: Mapping[Account, PassedOn], terms: MonthlyTerms) -> None:
        self._plan = plan
        self._passed = passed
        self._terms = terms
        self.has_any = bool(passed or terms)

    def seen(self, entries: Iterable[RosterEntry]) -> Iterator[RosterEntry]:
        """Yield the accounts, and note whether one has a turnover that counts."""
        for account, sums in entries:
            self.has_any |= bool(sums.charges.turnover)
            yield account, sums

    def charged(self, entries: Entries, turnover: IO[bytes]) -> Iterator[RosterEntry]:
        """Yield the accounts with what they are charged; write to ``turnover`` what they pass on.

        An account without lines is on the roster only if it is charged.
        """
        groups = GroupTurnovers()
        for account, sums in self._all(entries()):
            groups.add(account, so_far(sums.charges.turnover, self._passed_to(account)))
        with value_writer(turnover) as write:
            for account, sums in self._all(entries()):
                for row in self._charge(account, sums, groups):
                    write(row.as_list())
                if sums.lines or sums.charges.of_period:
                    yield account, sums

    def _all(self, entries: Iterable[RosterEntry]) -> Iterator[RosterEntry]:
        """Yield the accounts of a roster, and those without lines that may be charged, in their order."""
        last: Account | None = None
        others = ((account, None) for account in sorted({*self._passed, *self._terms}))
        for account, sums in merge(entries, others, key=lambda entry: (entry[0], entry[1] is None)):
            if account != last:
                yield account, sums or AccountSums(base=BaseFigures() if self._plan.base else None)
            last = account

    def _passed_to(self, account: Account) -> PassedOn:
        return self._passed.get(account, NOTHING_PASSED)

    def _charge(self, account: Account, sums: AccountSums, groups: GroupTurnovers) -> Iterator[PassedRow]:
        """Add to the sums of an account what it is charged; yield what it passes on."""
        counted, found = sums.charges.turnover, []
        for charge, passed in tier_charges(account, counted, self._passed_to(account), groups):
            definition = charge.name, charge.definition
            if charge.amount or definition in counted:
                found.append(charge)
            row = PassedRow(account, definition, passed)
            if row.goes_on(self._plan.period):
                yield row
        sums.charges.of_period = tuple(found)
        if terms := self._terms.get(account):
            monthly = monthly_charges(terms, sums.commission)
            sums.charges.of_period += tuple(one for one in monthly if one.amount)
        if sums.base and sums.base.rate:
            sums.base.commission += Fraction(sums.charges.whole) / Fraction(sums.base.rate.units)
