"""Counts batches of ledger records: read the account items, plan their next states, write them.

Accounts of which only the item changes are written first, together, in one attempt. Then the others are counted side by
side, each alone: those that need a transaction, have lost a race, or are throttled.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from quarterhour.aws.parking import Parking
from quarterhour.aws.retries import is_cancelled, is_failed_condition, optimistically
from quarterhour.aws.streams import Poison, Record, failures, sequence
from quarterhour.aws.telemetry import logger
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import first_places, marker_sets, new_customers
from quarterhour.counters.keys import account_of, account_pk, quarter_hour_key
from quarterhour.counters.plan import (
    MOST_LEAVING,
    CountingPlan,
    Group,
    NewCustomers,
    Retention,
    by_account,
    changes,
    counted,
    each_alone,
    group,
    lacks_watermark,
    over,
    paid_statement,
    payments_in,
    uncounted,
)
from quarterhour.counters.store import CounterStore
from quarterhour.counters.windows import AccountState
from quarterhour.model.errors import AccountItemError, UnavailableError
from quarterhour.model.identifiers import Account


class _Left(NamedTuple):
    """The groups that are left of an account to be counted alone, and the plan of the first if it has one."""

    groups: Sequence[Group]
    plan: CountingPlan | None


MOST_CACHED: Final = 2_000
"""The most accounts of which a function remembers something between invocations: some 10 MB."""
READ_WRITES: Final = 100
"""The writes of an account that are preceded by a read, after another function has counted it."""


class AccountCache:
    """The account items that this function wrote last, so that the next write of an account needs no read.

    A stale entry is harmless: the conditional write fails. Then another function counts the account too, and its item
    is read before the next ``READ_WRITES`` writes, because a failed write costs more than a read.
    """

    def __init__(self, most: int = MOST_CACHED) -> None:
        self._most = most
        self._states: OrderedDict[Account, AccountState | int] = OrderedDict()
        self._read: dict[Account, AccountState] = {}
        self._lock = Lock()

    def lacking(self, accounts: Iterable[Account]) -> list[Account]:
        """Return the accounts whose items must be read."""
        with self._lock:
            return [account for account in accounts if not isinstance(self._states.get(account), AccountState)]

    def add(self, read: Mapping[Account, AccountState]) -> None:
        """Add the items that were read for a batch; each is returned once."""
        with self._lock:
            self._read = dict(read)

    def get(self, account: Account) -> AccountState | None:
        """Return an account's item; ``None`` if it must be read."""
        with self._lock:
            found = self._read.pop(account, None) or self._states.get(account)
            return found if isinstance(found, AccountState) else None

    def put(self, state: AccountState) -> None:
        """Cache an account's item, unless it must be read before some more writes."""
        with self._lock:
            left = self._states.get(state.account, 0)
            self._put(state.account, left - 1 if isinstance(left, int) and left > 1 else state)

    def disable(self, account: Account) -> None:
        """Do not cache an account's item for some writes, because another function counts the account too."""
        with self._lock:
            self._put(account, READ_WRITES)

    def _put(self, account: Account, state: AccountState | int) -> None:
        self._states[account] = state
        self._states.move_to_end(account)
        if len(self._states) > self._most:
            self._states.popitem(last=False)


class CounterUpdater:
    """Counts each ledger record exactly once, however often and in whatever batches it is delivered."""

    def __init__(self, store: CounterStore, parking: Parking, retention: Retention, workers: Workers) -> None:
        """Take what the counters read and write with."""
        self._store = store
        self._parking = parking
        self._retention = retention
        self._workers = workers
        self._cache = AccountCache()

    def apply(self, records: Sequence[Record]) -> dict[str, list[dict[str, str]]]:
        """Count a batch; return the records from which on Lambda must deliver again.

        An account that fails, or must wait, delays no other. Its watermarks make a repeated delivery harmless. Poison
        is parked at the end, so that a queue that does not answer delays only the response.
        """
        groups, poison = group(records)
        accounts = by_account(groups)
        with suppress(UnavailableError):  # then each account is read by itself
            self._cache.add(self._store.accounts(self._cache.lacking(accounts), self._workers))
        left = self._count_together(accounts.values())
        failed = [seq for some in self._workers.map(partial(self._count_alone, poison=poison), left) for seq in some]
        self._parking.park(poison)
        if failed:
            logger.warning("to be delivered again", groups=len(failed))
        return failures(records, failed)

    def _count_together(self, accounts: Iterable[Sequence[Group]]) -> list[_Left]:
        """Count the groups of accounts as long as only their items change; return what is left to be counted alone.

        Each write is tried once, so that no account waits for another.
        """
        left: list[_Left] = []
        pending = list(accounts)
        while pending:
            plans = self._workers.map(lambda groups: self._plan_or_none(groups[0]), pending)
            lost = self._write_together([plan for plan in plans if plan and plan.of_item_alone])
            rest = []
            for groups, plan in zip(pending, plans, strict=True):
                if groups[0].account in lost:
                    left.append(_Left(groups, None))
                elif plan is None or (plan.writes and not plan.of_item_alone):
                    left.append(_Left(groups, plan))
                elif len(groups) > 1:
                    rest.append(groups[1:])
            pending = rest
        return left

    def _write_together(self, plans: Sequence[CountingPlan]) -> set[Account]:
        """Write the items of accounts of which nothing else changes, 25 with one call; return those not written."""
        changes_ = [change for plan in plans if (change := plan.of_item_alone)]
        unwritten = {account_of(one.values["pk"]) for one in self._store.update(changes_, self._workers)}
        for plan in plans:
            if plan.stored.account in unwritten:
                self._cache.disable(plan.stored.account)
            else:
                self._cache.put(plan.stored)
        return unwritten

    def _count_alone(self, left: _Left, poison: list[Poison]) -> list[str]:
        """Count the groups that are left of an account; return the first sequence number of each that failed.

        ``poison`` takes the postings of an account whose item cannot be used. After a failure nothing more of the
        account is counted: later records would move the watermark past it. Nor is anything after poison, which is not
        parked yet.
        """
        groups, plans = left.groups, [left.plan]
        for number, one in enumerate(groups):

            def attempt(one: Group = one) -> None:
                self._write((plans.pop() if plans else None) or self._plan(one))

            try:
                optimistically(attempt, account_pk(one.account))
            except AccountItemError as error:
                records = [record for rest in groups[number:] for record in each_alone(rest.postings)]
                poison.extend([Poison(record, str(error)) for record in records])
                logger.error("account not counted, its records are parked", reason=type(error).__name__)
                return []
            except UnavailableError:
                logger.warning("account not counted, to be delivered again", groups=len(groups) - number)
                return [sequence(failed.postings[0].record) for failed in groups[number:]]
        return []

    def _write(self, plan: CountingPlan) -> None:
        if not plan.writes:
            return
        try:
            self._store.write(plan.writes)
        except ClientError as error:
            if is_failed_condition(error) or is_cancelled(error):
                self._cache.disable(plan.stored.account)
            raise
        self._cache.put(plan.stored)

    def _plan_or_none(self, group: Group) -> CountingPlan | None:
        with suppress(AccountItemError, UnavailableError):  # it is raised again where the account is counted alone
            return self._plan(group)
        return None

    def _plan(self, group: Group) -> CountingPlan:
        """Return the writes that count a group, and set the markers of its customers."""
        account = group.account
        # The account item is read first. If what is read after it changes meanwhile, its version does, too.
        state = self._cache.get(account) or self._store.account(account)
        own: Mapping[str, Any] = {}
        if lacks_watermark(group, state):
            key = quarter_hour_key(account, group.quarter_hour)
            own = self._store.read([key]).get(key["sk"], {})
        new = uncounted(group, state, own)
        if new is None:
            return CountingPlan(state, ())
        after = counted(state, new, self._mark_customers(new))
        payments = payments_in(new)
        leaving = over(after, MOST_LEAVING - len(payments))
        found = self._store.read([{"pk": account_pk(account), "sk": sk} for sk in leaving]) if leaving else {}
        stored, writes = changes(state, after, leaving, found, self._retention)
        return CountingPlan(stored, writes + [paid_statement(account, *one, stored.version) for one in payments])

    def _mark_customers(self, new: Group) -> list[NewCustomers]:
        """Set the markers of customers that have none, and return the new customers that the group brings."""
        places = first_places(new)
        sets = marker_sets(new.account, new.quarter_hour.day, places, self._retention)
        return new_customers(new, sets, self._store.mark(sets, places)) if sets else []
