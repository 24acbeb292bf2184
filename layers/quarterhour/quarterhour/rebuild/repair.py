"""Repairs accounts' counters from the sealed ledger, one day at a time, while new events arrive."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial

from quarterhour.aws.entity import Key
from quarterhour.aws.retries import optimistically
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import by_quarter_hour, marker_sets
from quarterhour.counters.keys import account_pk, customers_key, day_key, latest_key, period_key
from quarterhour.counters.plan import Addition, Counter, CounterChange, Retention, counter_keys
from quarterhour.counters.store import CounterStore
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, add_up, differences, total
from quarterhour.rebuild.plan import (
    FINAL_AFTER,
    MarkedSet,
    SealedDay,
    day_expiry,
    day_fix,
    differing,
    final_through,
    lifetime_fix,
    lifetimes,
    period_fix,
    quarter_hour_fix,
    sealed_days,
)


class CounterRepair:
    """Repairs the counters that differ from the sealed ledger.

    Nothing is counted twice: each write is conditional on the versions that were read, and every counted batch changes
    these. The watermark of a repaired quarter-hour is at the end, so none of its records is counted again. An instance
    serves one invocation.
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
        """The first quarter-hour of which no counter can have expired yet."""

    def repair_day(self, day: date, lines: Iterable[Mapping[str, str]], only: Account | None) -> int:
        """Repair the counters of a day: of one account, or (``None``) of all that its sealed lines name.

        Returns the number of repairs. Raises ``UnavailableError`` if an account keeps changing; the repairs made so
        far stay, and the day can be repaired again.
        """
        days = sealed_days(lines, only)
        return sum(self._workers.map(lambda one: self._repair_account(one[0], day, one[1]), days.items()))

    def repair_lifetimes(
        self, runs: Iterable[tuple[datetime, Mapping[Account, PeriodTotals]]], only: Account | None
    ) -> tuple[int, int]:
        """Repair lifetime and periods of one account, or (``None``) of all, from the end and totals of every run.

        Returns the number of accounts compared and of those repaired. Raises as ``repair_day`` does.
        """
        accounts = lifetimes(runs, only, self._final)
        repaired = self._workers.map(
            lambda one: self._repair_lifetime(*one) + self._repair_periods(*one), accounts.items()
        )
        return len(accounts), sum(repaired)

    def _repair_account(self, account: Account, day: date, sealed: SealedDay) -> int:
        kept = self._now < QuarterHour.last_of(day).end + self._retention.day
        young = self._now < QuarterHour.last_of(day).end + FINAL_AFTER
        marked: list[MarkedSet] = []
        for marker_set in marker_sets(account, day, sealed.customers, self._retention):
            if marker_set.counter_expires is None or (kept and young):
                markers = optimistically(partial(self._store.count_new, marker_set), account_pk(account))
                marked.append((marker_set, by_quarter_hour(markers)))
        repaired = self._repair_quarter_hours(account, day, sealed, marked)
        if kept:
            repaired += self._repair_figures(account, day, sealed)
        if kept and QuarterHour.last_of(day) <= self._final:
            repaired += self._repair_customers(account, day, len(sealed.customers))
        return repaired

    def _repair_quarter_hours(self, account: Account, day: date, sealed: SealedDay, marked: Sequence[MarkedSet]) -> int:
        first, last = max(QuarterHour.first_of(day), self.kept_from), min(QuarterHour.last_of(day), self._through)
        if last < first:
            return 0
        expected = {one: totals for one, totals in sealed.quarter_hours.items() if first <= one}
        wrong = differing(expected, self._store.counted(account, first, last))
        return sum(self._repair_quarter_hour(account, one, expected.get(one, {}), marked) for one in wrong)

    def _repair_quarter_hour(
        self, account: Account, quarter_hour: QuarterHour, expected: PeriodTotals, marked: Sequence[MarkedSet]
    ) -> int:
        def plan(stored: Mapping[str, Counter]) -> list[CounterChange | Addition]:
            missing = differences(expected, self._counted(account, quarter_hour, quarter_hour))
            stored = {**stored, **self._store.read([period_key(account, period) for period in missing])}
            return quarter_hour_fix(account, quarter_hour, missing, marked, stored, retention=self._retention)

        return self._repair(account, counter_keys(account, quarter_hour), plan)

    def _repair_figures(self, account: Account, day: date, sealed: SealedDay) -> int:
        last = QuarterHour.last_of(day)

        def plan(stored: Mapping[str, Counter]) -> list[CounterChange | Addition]:
            # Read after the counter: if more is counted in between, its version changes and the write fails.
            unsealed = total(self._counted(account, self._through.next, last).values())
            return day_fix(account, day, sealed.totals + unsealed, stored, self._retention)

        return self._repair(account, (day_key(account, day),), plan)

    def _repair_lifetime(self, account: Account, final: PeriodTotals) -> int:
        def plan(stored: Mapping[str, Counter]) -> list[CounterChange | Addition]:
            expected = total(self._expected(account, final).values())
            return lifetime_fix(account, expected, stored, iso_millis(self._through.start))

        return self._repair(account, (latest_key(account),), plan)

    def _repair_periods(self, account: Account, final: PeriodTotals) -> int:
        wrong = differences(self._expected(account, final), self._store.periods(account))
        return sum(self._repair_period(account, period, final) for period in sorted(wrong))

    def _repair_period(self, account: Account, period: Period, final: PeriodTotals) -> int:
        def plan(stored: Mapping[str, Counter]) -> list[CounterChange | Addition]:
            return period_fix(account, period, self._expected(account, final).get(period, Totals()), stored)

        return self._repair(account, (period_key(account, period),), plan)

    def _expected(self, account: Account, final: PeriodTotals) -> PeriodTotals:
        # Totals that are not final are taken from the counters: the stream moves quarter-hour and lifetime alike. They
        # are read after the counter to repair: if more is counted in between, its version changes and the write fails.
        return add_up(dict(final), self._counted(account, self._final.next, QuarterHour.last_of(date.max)).items())

    def _repair_customers(self, account: Account, day: date, expected: int) -> int:
        """Set the number of customers of a final day; its markers may have expired, and nothing counts them now."""
        counter = customers_key(account, day)
        stored = self._store.read((counter,)).get(counter["sk"], {"customers": 0})
        if stored["customers"] == expected:
            return 0
        expires = day_expiry(day, self._retention)
        optimistically(lambda: self._store.set_customers(counter, expected, expires), account_pk(account))
        return 1

    def _counted(self, account: Account, first: QuarterHour, last: QuarterHour) -> PeriodTotals:
        if last < first:
            return {}
        if first < self.kept_from:
            raise UnavailableError("counters have expired that no report has sealed yet: let the reports catch up")
        sums: PeriodTotals = {}
        for periods in self._store.counted(account, first, last).values():
            add_up(sums, periods.items())
        return sums

    def _repair(
        self,
        account: Account,
        keys: tuple[Key, ...],
        plan: Callable[[Mapping[str, Counter]], list[CounterChange | Addition]],
    ) -> int:
        """Read the counters, plan, write; retry after a conflict. Returns 1 where something was repaired, else 0."""

        def attempt() -> int:
            changes = plan(self._store.read(keys))
            if changes:
                self._store.write(changes)
            return int(bool(changes))

        return optimistically(attempt, account_pk(account))
