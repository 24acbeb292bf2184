"""Planning of counter repairs, pure: totals of the sealed lines, and the changes that counters need to match them."""

import json
from collections import Counter as Count
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from hashlib import sha256
from typing import Any, Final, Self

from quarterhour.aws.entity import LATEST, Key, window_index
from quarterhour.aws.streams import SEQUENCE_DIGITS
from quarterhour.counters.distinct import MARKER_RETENTION, MarkerSet
from quarterhour.counters.keys import day_key, latest_key, period_key, quarter_hour_key
from quarterhour.counters.plan import (
    Addition,
    Counter,
    CounterChange,
    Retention,
    counter_change,
    epoch,
    quarter_hour_changes,
)
from quarterhour.ledger.event import PAYMENT
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, add_up, differences, total
from quarterhour.reports.lines import period_of

LAST_SEQUENCE: Final = "9" * SEQUENCE_DIGITS
"""The watermark of a repaired quarter-hour: its sealed lines hold all that the stream can still deliver of it."""
FINAL_AFTER: Final = MARKER_RETENTION - timedelta(days=1)
"""How long after its end a day is final: the stream delivers nothing of it any more, and its markers still exist."""

DAYS_OF_AN_INVOCATION: Final = 7
"""The most days that one invocation rebuilds; more are rebuilt side by side."""

MarkedSet = tuple[MarkerSet, Count[QuarterHour]]
"""The markers of a day's customers for one count, and how many of them were set in each quarter-hour."""

_NOTHING: Final = Totals()


@dataclass(frozen=True, slots=True)
class Execution:
    """The execution that rebuilds many days side by side: its name and its input.

    The name is made from the input, so a rebuild that is requested twice runs once.
    """

    name: str
    content: Mapping[str, Any]

    @classmethod
    def of(cls, account: Account | None, days: Sequence[date]) -> Self:
        """Return the execution that rebuilds these days in order, then the days after them and the lifetimes."""
        first, last = days[0], days[-1]
        content = {
            "account": None if account is None else str(account),
            "days": [day.isoformat() for day in days],
            "rest": (last + timedelta(days=1)).isoformat(),
        }
        return cls(f"{first}-{last}-{sha256(json.dumps(content).encode()).hexdigest()[:16]}", content)


@dataclass(slots=True)
class SealedDay:
    """An account's sealed totals, by quarter-hour and period, and customers of a day."""

    quarter_hours: dict[QuarterHour, PeriodTotals] = field(default_factory=dict)
    customers: set[str] = field(default_factory=set)

    @property
    def totals(self) -> Totals:
        """The totals of all quarter-hours."""
        return total(one for periods in self.quarter_hours.values() for one in periods.values())

    def add(self, quarter_hour: QuarterHour, line: Mapping[str, str]) -> None:
        """Add a sealed line."""
        periods, period = self.quarter_hours.setdefault(quarter_hour, {}), period_of(line)
        before = periods.get(period, _NOTHING)
        periods[period] = before.plus(
            Decimal(line["amount"]), Decimal(line["commission"]), is_payment=line["type"] == PAYMENT
        )
        if line["customer"]:
            self.customers.add(line["customer"])


def sealed_days(lines: Iterable[Mapping[str, str]], only: Account | None) -> dict[Account, SealedDay]:
    """Add up the sealed lines of a day by account: of one account, or (``None``) of all."""
    partition = cache(Partition.parse)
    found: dict[Account, SealedDay] = {}
    for line in lines:
        account = Account(line["agency"], line["currency"])
        if only is None or account == only:
            if account not in found:
                found[account] = SealedDay()
            found[account].add(partition(line["quarter_hour"]).quarter_hour, line)
    return found


def final_through(sealed_through: QuarterHour, now: datetime) -> QuarterHour:
    """Return the last quarter-hour that is final: sealed, and of a day that ended long enough ago."""
    last_day = (now - FINAL_AFTER).date() - timedelta(days=1)
    return min(sealed_through, QuarterHour.last_of(last_day))


def lifetimes(
    runs: Iterable[tuple[datetime, Mapping[Account, PeriodTotals]]], only: Account | None, final: QuarterHour
) -> dict[Account, PeriodTotals]:
    """Add up the final totals by period of one account, or (``None``) of all; of each run, the end and the accounts.

    The result also names accounts of which nothing is final yet.
    """
    sums: dict[Account, PeriodTotals] = {} if only is None else {only: {}}
    for end, accounts in runs:
        for account, periods in accounts.items():
            if only is None or account == only:
                add_up(sums.setdefault(account, {}), periods.items() if end <= final.end else ())
    return sums


def differing(
    sealed: Mapping[QuarterHour, PeriodTotals], counted: Mapping[QuarterHour, PeriodTotals]
) -> list[QuarterHour]:
    """Return the quarter-hours whose counted totals of some period differ from the sealed ones."""
    quarter_hours = sorted(sealed.keys() | counted.keys())
    return [one for one in quarter_hours if differences(sealed.get(one, {}), counted.get(one, {}))]


def uncounted_customers(
    account: Account, quarter_hour: QuarterHour, marked: Sequence[MarkedSet], stored: Mapping[str, Counter]
) -> list[Addition]:
    """Return the customers whose markers were set in a quarter-hour, less those that its counter has added."""
    before = stored.get(quarter_hour_key(account, quarter_hour)["sk"], {})
    return [one.addition(int(number[quarter_hour] - before.get(one.tally, 0))) for one, number in marked]


def quarter_hour_fix(  # noqa: PLR0913 - all that the counters hold
    account: Account,
    quarter_hour: QuarterHour,
    missing: PeriodTotals,
    marked: Sequence[MarkedSet],
    stored: Mapping[str, Counter],
    *,
    retention: Retention,
) -> list[CounterChange | Addition]:
    """Return the changes that add what a quarter-hour's counters miss; empty where they miss nothing.

    All its counters move by the difference in one transaction. The watermark of every shard moves to the end, as the
    sealed totals hold all that the stream can still deliver of the quarter-hour. Then nothing else adds the customers
    whose markers were set by postings that the stream has not counted.
    """
    if not missing:
        return []
    customers = uncounted_customers(account, quarter_hour, marked, stored)
    watermark = {"seq": LAST_SEQUENCE}
    return quarter_hour_changes(
        account, quarter_hour, stored, missing, customers, counted=watermark, last_updated="", retention=retention
    )


def lifetime_fix(
    account: Account, expected: Totals, stored: Mapping[str, Counter], last_updated: str
) -> list[CounterChange | Addition]:
    """Return the change that repairs the lifetime counter; empty if it is as expected."""
    key = latest_key(account)
    updated = max(last_updated, stored.get(LATEST, {}).get("last_updated", ""))
    return _fix(key, expected, stored, {"last_updated": updated, **window_index(LATEST, key["pk"])})


def period_fix(
    account: Account, period: Period, expected: Totals, stored: Mapping[str, Counter]
) -> list[CounterChange | Addition]:
    """Return the change that repairs a period's counter; empty if it is as expected."""
    return _fix(period_key(account, period), expected, stored, {})


def day_fix(
    account: Account, day: date, expected: Totals, stored: Mapping[str, Counter], retention: Retention
) -> list[CounterChange | Addition]:
    """Return the change that repairs a day's counter; empty if it is as expected."""
    return _fix(day_key(account, day), expected, stored, {"expires_at": day_expiry(day, retention)})


def day_expiry(day: date, retention: Retention) -> int:
    """Return when a day's counters expire, in epoch seconds."""
    return epoch(QuarterHour.last_of(day).end + retention.day)


def _fix(
    key: Key, expected: Totals, stored: Mapping[str, Counter], more: Mapping[str, object]
) -> list[CounterChange | Addition]:
    before = stored.get(key["sk"])
    counted = Totals.of(before) if before else _NOTHING
    return [] if counted == expected else [counter_change(key, stored, expected - counted, dict(more))]
