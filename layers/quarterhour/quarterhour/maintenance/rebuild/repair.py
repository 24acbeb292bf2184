"""Repairs accounts' counters from the sealed ledger, one day at a time, while new events arrive."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial

from quarterhour.aws.retries import optimistically
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import marker_sets, markers_by_quarter_hour
from quarterhour.counters.keys import account_pk, customers_sk, day_sk, period_sk, quarter_hour_sk
from quarterhour.counters.plan import Retention, changes, paid_statement
from quarterhour.counters.store import CounterStore
from quarterhour.counters.windows import AccountState, Counter
from quarterhour.maintenance.rebuild.plan import (
    FINAL_AFTER,
    Fix,
    MarkedSet,
    SealedDay,
    customers_fix,
    differing,
    final_through,
    lifetime_fix,
    lifetimes,
    quarter_hour_fix,
    sealed_days,
    window_fix,
)
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, add_up, differences, total


class CounterRepair:
    """Repairs the counters that differ from the sealed ledger, and the list of payments that name a statement.

    Nothing is counted twice: each write is conditional on the versions that were read, and every counted batch changes
    these. The watermark of a repaired quarter-hour is at the end, so none of its records is counted again. An instance
    serves one invocation.
    """

    def __init__(
        self, store: CounterStore, retention: Retention, sealed_through: QuarterHour, workers: Workers
    ) -> None:
        """Take what the repair reads and writes with."""
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
                marked.append((marker_set, markers_by_quarter_hour(markers)))
        # First, as a payment that is counted and not listed would pay another statement.
        repaired = self._repair_payments(account, sealed) + self._repair_quarter_hours(account, day, sealed, marked)
        if kept:
            repaired += self._repair_figures(account, day, sealed)
        if kept and QuarterHour.last_of(day) <= self._final:
            repaired += self._repair_customers(account, day, len(sealed.customers))
        return repaired

    def _repair_payments(self, account: Account, sealed: SealedDay) -> int:
        """Write the payments that name a statement and are not listed as they are sealed."""
        expected = [paid_statement(account, paid, amount, 0) for paid, amount in sealed.payments]
        listed = self._own(account, [one.values["sk"] for one in expected])
        wrong = [one for one in expected if {**listed.get(one.values["sk"], {}), "counted_at": 0} != one.values]
        self._store.list_items(wrong)
        return len(wrong)

    def _repair_quarter_hours(self, account: Account, day: date, sealed: SealedDay, marked: Sequence[MarkedSet]) -> int:
        first, last = max(QuarterHour.first_of(day), self.kept_from), min(QuarterHour.last_of(day), self._through)
        if last < first:
            return 0
        expected = {one: totals for one, totals in sealed.quarter_hours.items() if first <= one}
        wrong = differing(expected, self._store.counted(self._store.account(account), first, last))
        return sum(self._repair_quarter_hour(account, one, expected.get(one, {}), marked) for one in wrong)

    def _repair_quarter_hour(
        self, account: Account, quarter_hour: QuarterHour, expected: PeriodTotals, marked: Sequence[MarkedSet]
    ) -> int:
        def plan(state: AccountState) -> Fix | None:
            missing = differences(expected, self._counted(state, quarter_hour, quarter_hour))
            counter = self._counter(state, quarter_hour_sk(quarter_hour))
            return quarter_hour_fix(state, quarter_hour, missing, marked, counter or {}) if missing else None

        return self._repair(account, plan)

    def _repair_figures(self, account: Account, day: date, sealed: SealedDay) -> int:
        def plan(state: AccountState) -> Fix | None:
            unsealed = total(self._counted(state, self._through.next, QuarterHour.last_of(day)).values())
            return window_fix(state, day_sk(day), sealed.totals + unsealed, self._counter(state, day_sk(day)))

        return self._repair(account, plan)

    def _repair_lifetime(self, account: Account, final: PeriodTotals) -> int:
        def plan(state: AccountState) -> Fix | None:
            return lifetime_fix(state, total(self._expected(state, final).values()), iso_millis(self._through.start))

        return self._repair(account, plan)

    def _repair_periods(self, account: Account, final: PeriodTotals) -> int:
        state = self._store.account(account)
        wrong = differences(self._expected(state, final), self._store.periods(state))
        return sum(self._repair_period(account, period, final) for period in sorted(wrong))

    def _repair_period(self, account: Account, period: Period, final: PeriodTotals) -> int:
        def plan(state: AccountState) -> Fix | None:
            expected = self._expected(state, final).get(period, Totals())
            return window_fix(state, period_sk(period), expected, self._counter(state, period_sk(period)))

        return self._repair(account, plan)

    def _expected(self, state: AccountState, final: PeriodTotals) -> PeriodTotals:
        # Totals that are not final are taken from the counters: the stream moves quarter-hour and lifetime alike.
        return add_up(dict(final), self._counted(state, self._final.next, QuarterHour.last_of(date.max)).items())

    def _repair_customers(self, account: Account, day: date, expected: int) -> int:
        """Repair the number of customers of a final day; its markers may have expired, and nothing counts them now."""

        def plan(state: AccountState) -> Fix | None:
            return customers_fix(state, customers_sk(day), expected, self._counter(state, customers_sk(day)))

        return self._repair(account, plan)

    def _counter(self, state: AccountState, sk: str) -> Counter | None:
        """Return what is counted of a window: its own item together with its window in the account item."""
        return state.counter_for_writers(sk, self._own(state.account, [sk]).get(sk))

    def _own(self, account: Account, sks: Sequence[str]) -> Mapping[str, Counter]:
        return self._store.read([{"pk": account_pk(account), "sk": sk} for sk in sks])

    def _counted(self, state: AccountState, first: QuarterHour, last: QuarterHour) -> PeriodTotals:
        if last < first:
            return {}
        if first < self.kept_from:
            raise UnavailableError("counters have expired that no report has sealed yet: let the reports catch up")
        sums: PeriodTotals = {}
        for periods in self._store.counted(state, first, last).values():
            add_up(sums, periods.items())
        return sums

    def _repair(self, account: Account, plan: Callable[[AccountState], Fix | None]) -> int:
        """Read the account item, plan, write; retry after a conflict. Returns 1 where something was repaired, else 0.

        What a plan reads is read after the account item: if more is counted in between, the item's version changes, and
        the write fails.
        """

        def attempt() -> int:
            state = self._store.account(account)
            fix = plan(state)
            if fix:
                own = self._own(account, fix.leaving)
                self._store.write(changes(state, fix.after, fix.leaving, own, self._retention)[1])
            return int(fix is not None)

        return optimistically(attempt, account_pk(account))
