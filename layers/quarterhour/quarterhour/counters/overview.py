"""The overview of the marketplace: accounts in a period or span and the one before, and the sums of their days."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, cast

from quarterhour.aws.entity import Values
from quarterhour.aws.workers import Workers
from quarterhour.counters.keys import (
    day_of,
    day_sk,
    quarter_hour_sk_bounds,
)
from quarterhour.counters.plan import Retention
from quarterhour.counters.queries import CounterQueries, Registered, with_registrations
from quarterhour.counters.spans import MAX_DAYS, ComparedSpan, Spans
from quarterhour.counters.windows import AccountState
from quarterhour.model import clock
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals, add_up, figures, total
from quarterhour.web.paging import Page, Paging

if TYPE_CHECKING:
    from quarterhour.counters import api

_DAYS_OF_TWO_MONTHS: Final = 62
_DAYS_OF_TWO_YEARS: Final = 2 * MAX_DAYS
_QUARTER_HOURS_OF_A_DAY: Final = 96

DayTotals = dict[tuple[str, date], Totals]
"""Totals by currency and day."""


def listed_account(
    account: "api.ListedAccount", now: "api.ChargedTotals", before: "api.ChargedTotals"
) -> "api.OverviewAccount":
    """Return a listed account as the overview shows it: its names, and its totals in both periods."""
    return {
        "agency": account["agency"],
        "currency": account["currency"],
        "registered": account["registered"],
        "now": now,
        "before": before,
    }


def listed_days(days: DayTotals) -> "list[api.OverviewDay]":
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


def _figures_in(span: ComparedSpan, days: Mapping[date, Totals]) -> "api.ChargedTotals":
    found = total(totals for day, totals in days.items() if span.holds(day))
    return cast("api.ChargedTotals", figures(found))


@dataclass(frozen=True, slots=True)
class OverviewQueries:
    """Queries of the overview. The days of many accounts are read side by side."""

    counters: CounterQueries
    workers: Workers
    retention: Retention
    registered: Registered

    def page(
        self, period: Period, agency: str | None, paging: Paging, remaining_seconds: Callable[[], float]
    ) -> "api.Overview":
        """Return a page of the accounts with their totals in a period and the one before, and the sums of their days.

        The days are those of UTC, of both months. ``agency`` selects its accounts, ``None`` all.
        """
        page, states = self.counters.with_money(agency, paging, remaining_seconds)
        accounts = [state.account for state in states]
        listed = with_registrations(page, self.registered).items
        both = (period, period.previous)
        totals = self.counters.totals_in(states, lambda _: both)
        named = [(account, month) for account in accounts for month in both]
        shown = self.counters.charged(states, [(*one, totals.get(one, Totals())) for one in named])
        first, last = period.previous.first_day, period.last_day
        days = self.workers.map(lambda state: self._days(state, first, last), states)
        items = [
            listed_account(one, now, before) for one, now, before in zip(listed, shown[::2], shown[1::2], strict=True)
        ]
        return {
            "period": str(period),
            "before": str(period.previous),
            **paging.body(Page(items, page.after)),
            "days": listed_days(sums_by_day(zip(accounts, days, strict=True))),
        }

    def compared(
        self, spans: Spans, agency: str | None, paging: Paging, remaining_seconds: Callable[[], float]
    ) -> "api.OverviewOfSpans":
        """Return a page of the accounts with their totals in two spans, and the sums of the days of both.

        Totals are of the time of recording. ``agency`` selects its accounts, ``None`` all.
        """
        kept = spans.kept(self.retention, clock.now())
        page, states = self.counters.with_money(agency, paging, remaining_seconds)
        accounts = [state.account for state in states]
        listed = with_registrations(page, self.registered).items
        found = self.workers.map(lambda state: self._days_of(state, kept), states)
        items = [
            listed_account(one, *(_figures_in(span, days) for span in (kept.now, kept.before)))
            for one, days in zip(listed, found, strict=True)
        ]
        by_day = (
            ((account.currency, day), totals)
            for account, days in zip(accounts, found, strict=True)
            for day, totals in days.items()
        )
        return {**kept.body(), **paging.body(Page(items, page.after)), "days": listed_days(add_up({}, by_day))}

    def _days_of(self, state: AccountState, spans: Spans) -> dict[date, Totals]:
        """Return the totals of an account's days of both spans; of a day in which the earlier one ends, of that part.

        No event is recorded after now, so the counter of the day in which the later span ends is that of its part.
        """
        part = spans.before.part_day
        counted = self.counters.counted(
            state, day_sk(spans.before.start.date()), day_sk(spans.now.last_day), _DAYS_OF_TWO_YEARS
        )
        days = {day_of(values["sk"]): Totals.of(values) for values in counted}
        found = {day: totals for day, totals in days.items() if spans.now.holds(day) or spans.before.holds(day)}
        if part and part in days:
            last = QuarterHour.at(spans.before.end).previous
            bounds = quarter_hour_sk_bounds(QuarterHour.first_of(part), last)
            found[part] = total(map(Totals.of, self.counters.counted(state, *bounds, _QUARTER_HOURS_OF_A_DAY)))
        return found

    def _days(self, state: AccountState, first: date, last: date) -> list[Values]:
        return list(self.counters.counted(state, day_sk(first), day_sk(last), _DAYS_OF_TWO_MONTHS))
