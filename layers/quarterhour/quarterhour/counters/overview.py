"""The overview of the marketplace: accounts in a period and the one before, and the sums of their days."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from quarterhour.aws.entity import Range, Values
from quarterhour.aws.workers import Workers
from quarterhour.counters.keys import account_of, account_pk, day_key, day_of, period_key, period_of
from quarterhour.counters.queries import CounterQueries
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals, add_up, figures
from quarterhour.web.paging import Page, Paging

_DAY: Final = timedelta(days=1)
_DAYS_OF_TWO_MONTHS: Final = 62

DayTotals = dict[tuple[str, date], Totals]
"""Totals by currency and day."""


def listed_account(account: Mapping[str, Any], now: Totals, before: Totals) -> dict[str, Any]:
    """Return a listed account as the overview shows it: its names, and its totals in both periods."""
    names = {name: account[name] for name in ("agency", "currency", "registered")}
    return {**names, "now": figures(now), "before": figures(before)}


def listed_days(days: DayTotals) -> list[dict[str, Any]]:
    """Return the sums by currency and day as the overview shows them, in this order."""
    return [
        {"currency": currency, "day": day.isoformat(), **figures(totals)}
        for (currency, day), totals in sorted(days.items())
    ]


def sums_by_day(counters: Iterable[tuple[Account, Iterable[Values]]]) -> DayTotals:
    """Add up the day counters of accounts, exactly, by currency and day."""
    return add_up(
        {},
        (
            ((account.currency, day_of(values["sk"])), Totals.of(values))
            for account, days in counters
            for values in days
        ),
    )


@dataclass(frozen=True, slots=True)
class OverviewQueries:
    """Queries of the overview. The days of many accounts are read side by side."""

    counters: CounterQueries
    workers: Workers

    def page(
        self, period: Period, agency: str | None, paging: Paging, remaining_seconds: Callable[[], float]
    ) -> dict[str, Any]:
        """Return a page of the accounts with their totals in a period and the one before, and the sums of their days.

        The days are those of UTC, of both months. ``agency`` selects its accounts, ``None`` all.
        """
        page = self.counters.sellers(agency, paging, remaining_seconds)
        accounts = [Account(one["agency"], one["currency"]) for one in page.items]
        totals = self._totals(accounts, (period, period.previous))
        first, last = period.previous.first_day, period.next.first_day - _DAY
        days = self.workers.map(lambda account: self._days(account, first, last), accounts)
        items = [
            listed_account(one, *(totals.get((account, month), Totals()) for month in (period, period.previous)))
            for one, account in zip(page.items, accounts, strict=True)
        ]
        return {
            "period": str(period),
            "before": str(period.previous),
            **paging.body(Page(items, page.after)),
            "days": listed_days(sums_by_day(zip(accounts, days, strict=True))),
        }

    def _totals(self, accounts: Sequence[Account], periods: Iterable[Period]) -> dict[tuple[Account, Period], Totals]:
        """Return the totals of accounts in those of the periods in which they have events."""
        keys = [period_key(account, period) for period in periods for account in accounts]
        found = self.counters.entities.get_many(keys)
        return {(account_of(values["pk"]), period_of(values["sk"])): Totals.of(values) for values in found}

    def _days(self, account: Account, first: date, last: date) -> list[Values]:
        low, high = (day_key(account, day)["sk"] for day in (first, last))
        return list(self.counters.entities.read(Range(account_pk(account), low, high), _DAYS_OF_TWO_MONTHS))
