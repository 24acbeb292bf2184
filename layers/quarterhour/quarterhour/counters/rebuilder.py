"""Rebuilding accounts' counters from the sealed ledger, a day at a time, while new events keep coming."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import partial
from typing import TypeVar

from botocore.exceptions import ClientError

from quarterhour import aws, clock
from quarterhour.clock import iso_millis
from quarterhour.counters.distinct import sightings
from quarterhour.counters.keys import account_pk, customers_key, day_key, latest_key
from quarterhour.counters.plan import Change, Counter, Retention, counter_keys
from quarterhour.counters.rebuild import (
    SETTLING,
    Truth,
    day_expires,
    day_fix,
    differing,
    lifetime_fix,
    lifetimes,
    partition_fix,
    settled_through,
    total,
    truths,
)
from quarterhour.counters.store import CounterStore
from quarterhour.entity import Key
from quarterhour.errors import UnavailableError
from quarterhour.ledger.keys import Account, Partition
from quarterhour.quarters import Quarter
from quarterhour.totals import Totals

T = TypeVar("T")


class Rebuilder:
    """Mends counters by what the sealed ledger says.

    Nothing is counted twice: each write is conditional on the versions read with it, which every counted batch moves,
    and a mended partition's watermark says that all of it is counted. Lives for one invocation.
    """

    def __init__(
        self, store: CounterStore, retention: Retention, sealed_through: Quarter, workers: aws.Workers
    ) -> None:
        self._store = store
        self._retention = retention
        self._through = sealed_through
        self._workers = workers
        self._now = clock.now()
        self._settled = settled_through(sealed_through, self._now)
        self.kept_from = Quarter.at(self._now - retention.quarter + timedelta(days=1))
        """The first quarter-hour whose counters are surely kept still."""

    def mend_day(self, day: date, lines: Iterable[Mapping[str, str]], only: Account | None) -> int:
        """Mend what is counted of a day, of one account or (``None``) of all that its sealed lines name.

        Returns how much was mended. Raises ``UnavailableError`` where an account keeps changing: what was mended stays
        so, and it can run again.
        """
        found = truths(lines, only)
        return sum(self._workers.map(lambda one: self._mend_account(one[0], day, one[1]), found.items()))

    def mend_lifetimes(
        self, runs: Iterable[tuple[datetime, Mapping[Account, Totals]]], only: Account | None
    ) -> tuple[int, int]:
        """Hold the lifetime of one account, or (``None``) of all, to all runs: the end of each, and its sums.

        Returns how many were looked at, and how many were mended. Raises as ``mend_day`` does.
        """
        found = lifetimes(runs, only, self._settled)
        return len(found), sum(self._workers.map(lambda one: self._mend_lifetime(*one), found.items()))

    def _mend_account(self, account: Account, day: date, truth: Truth) -> int:
        mended = self._mend_partitions(account, day, truth)
        kept = self._now < Quarter.last_of(day).end + self._retention.day
        young = self._now < Quarter.last_of(day).end + SETTLING
        for sighting in sightings(account, day, truth.customers, self._retention):
            if sighting.counter_expires is None or (kept and young):
                self._until_done(account, partial(self._store.count_missing, sighting))
        if kept:
            mended += self._mend_figures(account, day, truth)
        if kept and Quarter.last_of(day) <= self._settled:
            mended += self._mend_customers(account, day, len(truth.customers))
        return mended

    def _mend_partitions(self, account: Account, day: date, truth: Truth) -> int:
        first, last = max(Quarter.first_of(day), self.kept_from), min(Quarter.last_of(day), self._through)
        if last < first:
            return 0
        right = {one: totals for one, totals in truth.partitions.items() if first <= one.quarter}
        wrong = differing(right, self._store.counted(account, first, last))
        return sum(self._mend_partition(account, one, right.get(one, Totals())) for one in wrong)

    def _mend_partition(self, account: Account, partition: Partition, right: Totals) -> int:
        keys = counter_keys(account, partition)
        return self._mend(
            account, keys, lambda stored: partition_fix(account, partition, right, stored, self._retention)
        )

    def _mend_figures(self, account: Account, day: date, truth: Truth) -> int:
        sealed, last = truth.totals, Quarter.last_of(day)

        def plan(stored: Mapping[str, Counter]) -> list[Change]:
            # Read after the counter: were more counted in between, its version would have moved.
            unsealed = self._counted(account, self._through.next, last)
            return day_fix(account, day, sealed + unsealed, stored, self._retention)

        return self._mend(account, (day_key(account, day),), plan)

    def _mend_lifetime(self, account: Account, settled: Totals) -> int:
        def plan(stored: Mapping[str, Counter]) -> list[Change]:
            # What the stream may still bring is taken as it was counted: it moves its partition and the lifetime alike.
            unsettled = self._counted(account, self._settled.next, Quarter.last_of(date.max))
            return lifetime_fix(account, settled + unsettled, stored, iso_millis(self._through.start))

        return self._mend(account, (latest_key(account),), plan)

    def _mend_customers(self, account: Account, day: date, right: int) -> int:
        """Set the customers of a settled day, whose markers may be gone; nothing counts them any more."""
        counter = customers_key(account, day)
        stored = self._store.read((counter,)).get(counter["sk"], {"customers": 0})
        if stored["customers"] == right:
            return 0
        expires = day_expires(day, self._retention)
        self._until_done(account, lambda: self._store.set_customers(counter, right, expires))
        return 1

    def _counted(self, account: Account, first: Quarter, last: Quarter) -> Totals:
        if last < first:
            return Totals()
        if first < self.kept_from:
            raise UnavailableError("counters have expired that no report has sealed yet: let the reports catch up")
        return total(self._store.counted(account, first, last).values())

    def _mend(
        self, account: Account, keys: tuple[Key, ...], plan: Callable[[Mapping[str, Counter]], list[Change]]
    ) -> int:
        """Gather the counters, plan, apply; again where one has moved. Returns 1 where something was mended."""

        def once() -> int:
            changes = plan(self._store.read(keys))
            if changes:
                self._store.write(changes)
            return int(bool(changes))

        return self._until_done(account, once)

    @staticmethod
    def _until_done(account: Account, once: Callable[[], T]) -> T:
        for attempt in range(aws.ATTEMPTS):
            try:
                return once()
            except (ClientError, *aws.NETWORK_ERRORS) as error:
                if not (aws.is_cancelled(error) or aws.is_transient(error)):
                    raise
            aws.pause(attempt)
        raise UnavailableError(f"{account_pk(account)} kept changing: run it again")
