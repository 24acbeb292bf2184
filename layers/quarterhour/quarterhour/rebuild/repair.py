"""Rebuilding accounts' counters from the sealed ledger, a day at a time, while new events keep coming."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import partial

from quarterhour.aws.entity import Key
from quarterhour.aws.retries import optimistically
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import sightings
from quarterhour.counters.keys import account_pk, customers_key, day_key, latest_key
from quarterhour.counters.plan import Change, Counter, Retention, counter_keys
from quarterhour.counters.store import CounterStore
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.rebuild.plan import (
    FINAL_AFTER,
    Truth,
    day_expires,
    day_fix,
    differing,
    final_through,
    lifetime_fix,
    lifetimes,
    partition_fix,
    total,
    truths,
)


class CounterRepair:
    """Repairs counters by what the sealed ledger says.

    Nothing is counted twice: each write is conditional on the versions read with it, which every counted batch moves,
    and a repaired partition's watermark says that all of it is counted. Lives for one invocation.
    """

    def __init__(
        self, store: CounterStore, retention: Retention, sealed_through: QuarterHour, workers: Workers
    ) -> None:
        self._store = store
        self._retention = retention
        self._through = sealed_through
        self._workers = workers
        self._now = clock.now()
        self._final = final_through(sealed_through, self._now)
        self.kept_from = QuarterHour.at(self._now - retention.quarter_hour + timedelta(days=1))
        """The first quarter-hour whose counters are surely kept still."""

    def repair_day(self, day: date, lines: Iterable[Mapping[str, str]], only: Account | None) -> int:
        """Repair what is counted of a day, of one account or (``None``) of all that its sealed lines name.

        Returns how much was repaired. Raises ``UnavailableError`` where an account keeps changing: what was repaired
        stays so, and it can run again.
        """
        found = truths(lines, only)
        return sum(self._workers.map(lambda one: self._repair_account(one[0], day, one[1]), found.items()))

    def repair_lifetimes(
        self, runs: Iterable[tuple[datetime, Mapping[Account, Totals]]], only: Account | None
    ) -> tuple[int, int]:
        """Hold the lifetime of one account, or (``None``) of all, to all runs: the end of each, and its sums.

        Returns how many were looked at, and how many were repaired. Raises as ``repair_day`` does.
        """
        found = lifetimes(runs, only, self._final)
        return len(found), sum(self._workers.map(lambda one: self._repair_lifetime(*one), found.items()))

    def _repair_account(self, account: Account, day: date, truth: Truth) -> int:
        repaired = self._repair_partitions(account, day, truth)
        kept = self._now < QuarterHour.last_of(day).end + self._retention.day
        young = self._now < QuarterHour.last_of(day).end + FINAL_AFTER
        for sighting in sightings(account, day, truth.customers, self._retention):
            if sighting.counter_expires is None or (kept and young):
                optimistically(partial(self._store.count_missing, sighting), account_pk(account))
        if kept:
            repaired += self._repair_figures(account, day, truth)
        if kept and QuarterHour.last_of(day) <= self._final:
            repaired += self._repair_customers(account, day, len(truth.customers))
        return repaired

    def _repair_partitions(self, account: Account, day: date, truth: Truth) -> int:
        first, last = max(QuarterHour.first_of(day), self.kept_from), min(QuarterHour.last_of(day), self._through)
        if last < first:
            return 0
        right = {one: totals for one, totals in truth.partitions.items() if first <= one.quarter_hour}
        wrong = differing(right, self._store.counted(account, first, last))
        return sum(self._repair_partition(account, one, right.get(one, Totals())) for one in wrong)

    def _repair_partition(self, account: Account, partition: Partition, right: Totals) -> int:
        keys = counter_keys(account, partition)
        return self._repair(
            account, keys, lambda stored: partition_fix(account, partition, right, stored, self._retention)
        )

    def _repair_figures(self, account: Account, day: date, truth: Truth) -> int:
        sealed, last = truth.totals, QuarterHour.last_of(day)

        def plan(stored: Mapping[str, Counter]) -> list[Change]:
            # Read after the counter: were more counted in between, its version would have moved.
            unsealed = self._counted(account, self._through.next, last)
            return day_fix(account, day, sealed + unsealed, stored, self._retention)

        return self._repair(account, (day_key(account, day),), plan)

    def _repair_lifetime(self, account: Account, final: Totals) -> int:
        def plan(stored: Mapping[str, Counter]) -> list[Change]:
            # What the stream may still bring is taken as it was counted: it moves its partition and the lifetime alike.
            not_final = self._counted(account, self._final.next, QuarterHour.last_of(date.max))
            return lifetime_fix(account, final + not_final, stored, iso_millis(self._through.start))

        return self._repair(account, (latest_key(account),), plan)

    def _repair_customers(self, account: Account, day: date, right: int) -> int:
        """Set the customers of a final day, whose markers may be gone; nothing counts them any more."""
        counter = customers_key(account, day)
        stored = self._store.read((counter,)).get(counter["sk"], {"customers": 0})
        if stored["customers"] == right:
            return 0
        expires = day_expires(day, self._retention)
        optimistically(lambda: self._store.set_customers(counter, right, expires), account_pk(account))
        return 1

    def _counted(self, account: Account, first: QuarterHour, last: QuarterHour) -> Totals:
        if last < first:
            return Totals()
        if first < self.kept_from:
            raise UnavailableError("counters have expired that no report has sealed yet: let the reports catch up")
        return total(self._store.counted(account, first, last).values())

    def _repair(
        self, account: Account, keys: tuple[Key, ...], plan: Callable[[Mapping[str, Counter]], list[Change]]
    ) -> int:
        """Gather the counters, plan, apply; again where one has moved. Returns 1 where something was repaired."""

        def attempt() -> int:
            changes = plan(self._store.read(keys))
            if changes:
                self._store.write(changes)
            return int(bool(changes))

        return optimistically(attempt, account_pk(account))
