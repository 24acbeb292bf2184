"""Counts batches of ledger records: read the account items, plan their next states, write them.

Accounts of which only the item changes are written together, the others one by one. One that loses a race
is counted again by itself.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, Final

from botocore.exceptions import ClientError

from quarterhour.aws.parking import Parking
from quarterhour.aws.retries import is_cancelled, is_failed_condition, optimistically
from quarterhour.aws.streams import Poison, Record, failures, sequence
from quarterhour.aws.telemetry import Metric, count, logger
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import first_places, marker_sets, new_customers
from quarterhour.counters.keys import account_pk, quarter_hour_key
from quarterhour.counters.plan import (
    CounterChange,
    CounterWrite,
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
    paid_statements,
    uncounted,
)
from quarterhour.counters.store import CounterStore
from quarterhour.counters.windows import AccountState
from quarterhour.model.errors import AccountItemError, UnavailableError
from quarterhour.model.identifiers import Account

Update = tuple[AccountState, CounterChange]
"""The next state of an account of which only the item changes, and the change of the item."""
Defer = Callable[[Update], None]
"""Takes an update that is to be made later."""

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

        An account that fails does not stop the others. Its watermarks make a repeated delivery harmless. Poison is
        parked at the end, so that a queue that does not answer delays only the response.
        """
        groups, poison = group(records)
        accounts = by_account(groups)
        with suppress(UnavailableError):  # then each account is read by itself
            self._cache.add(self._store.accounts(self._cache.lacking(accounts), self._workers))
        updates: list[Update] = []
        failed = self._count_all(accounts.values(), poison, updates.append)
        failed += self._count_all([accounts[account] for account in self._write_together(updates)], poison)
        self._parking.park(poison)
        count(Metric.GROUPS_FAILED, len(failed))
        return failures(records, failed)

    def _write_together(self, updates: Sequence[Update]) -> list[Account]:
        """Write the items of accounts of which nothing else changes, 25 with one call; return those of lost races."""
        lost = {one.values["pk"] for one in self._store.update([change for _, change in updates], self._workers)}
        for state, change in updates:
            if change.values["pk"] in lost:
                self._cache.disable(state.account)
            else:
                self._cache.put(state)
        return [state.account for state, change in updates if change.values["pk"] in lost]

    def _count_all(
        self, accounts: Iterable[Sequence[Group]], poison: list[Poison], defer: Defer | None = None
    ) -> list[str]:
        """Count accounts, each by itself; return the first sequence number of each group that failed."""
        count_account = partial(self._count_account, poison=poison, defer=defer)
        return [seq for some in self._workers.map(count_account, accounts) for seq in some]

    def _count_account(self, groups: Sequence[Group], poison: list[Poison], defer: Defer | None) -> list[str]:
        """Count the groups of an account, usually one; return the first sequence number of each that failed.

        ``poison`` takes the postings of an account whose item cannot be used. ``defer`` takes the last write if only
        the item changes. After a failure nothing more of the account is counted: later records would move the watermark
        past it. Nor is anything after poison, which is not parked yet.
        """
        last = len(groups) - 1
        for number, one in enumerate(groups):
            try:
                optimistically(partial(self._count, one, defer if number == last else None), account_pk(one.account))
            except AccountItemError as error:
                records = [record for rest in groups[number:] for record in each_alone(rest.postings)]
                poison.extend([Poison(record, str(error)) for record in records])
                logger.error("account not counted, its records are parked", reason=type(error).__name__)
                return []
            except UnavailableError:
                logger.warning("account not counted, to be delivered again", groups=len(groups) - number)
                return [sequence(failed.postings[0].record) for failed in groups[number:]]
        return []

    def _count(self, group: Group, defer: Defer | None) -> None:
        # Before anything can fail for good, so that no payment is counted and not listed, not even by a rebuild. Each
        # delivery writes the same items.
        self._store.list_items(paid_statements(group))
        before, after = self._planned(group)
        if after is before:
            return
        leaving = over(after)
        own = self._store.read([{"pk": account_pk(after.account), "sk": sk} for sk in leaving]) if leaving else {}
        stored, planned = changes(before, after, leaving, own, self._retention)
        match planned:
            case [CounterChange() as change] if defer:
                defer((stored, change))
            case _:
                self._write(stored, planned)

    def _write(self, stored: AccountState, planned: Sequence[CounterWrite]) -> None:
        try:
            self._store.write(planned)
        except ClientError as error:
            if is_failed_condition(error) or is_cancelled(error):
                self._cache.disable(stored.account)
            raise
        self._cache.put(stored)

    def _planned(self, group: Group) -> tuple[AccountState, AccountState]:
        """Return the state of an account before and after a group; the same one twice if all of it is counted."""
        account = group.account
        # The account item is read first. If what is read after it changes meanwhile, its version does, too.
        state = self._cache.get(account) or self._store.account(account)
        own: Mapping[str, Any] = {}
        if lacks_watermark(group, state):
            key = quarter_hour_key(account, group.quarter_hour)
            own = self._store.read([key]).get(key["sk"], {})
        new = uncounted(group, state, own)
        return state, counted(state, new, self._mark_customers(new)) if new else state

    def _mark_customers(self, new: Group) -> list[NewCustomers]:
        """Set the markers of customers that have none, and return the new customers that the group brings."""
        places = first_places(new)
        sets = marker_sets(new.account, new.quarter_hour.day, places, self._retention)
        return new_customers(new, sets, self._store.mark(sets, places)) if sets else []
