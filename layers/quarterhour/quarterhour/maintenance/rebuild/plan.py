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

from quarterhour.aws.streams import SEQUENCE_DIGITS
from quarterhour.counters.distinct import MARKER_RETENTION, MarkerSet
from quarterhour.counters.keys import day_sk, period_sk, quarter_hour_sk
from quarterhour.counters.plan import NewCustomers, with_difference
from quarterhour.counters.windows import AccountState, Window
from quarterhour.ledger.events.event import PAYMENT
from quarterhour.ledger.postings.posting import PaidStatement, charges_of
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, add_up, differences, total

LAST_SEQUENCE: Final = "9" * SEQUENCE_DIGITS
"""The watermark of a repaired quarter-hour: its sealed lines hold all that the stream can still deliver of it."""
FINAL_AFTER: Final = MARKER_RETENTION - timedelta(days=1)
"""How long after its end a day is final: the stream delivers nothing of it any more, and its markers still exist."""

DAYS_OF_AN_INVOCATION: Final = 7
"""The most days that one invocation rebuilds; more are rebuilt side by side."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair: the state of an account after it, and the sort keys of the windows that leave with it."""

    after: AccountState
    leaving: Sequence[str]


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
    """An account's sealed totals, by quarter-hour and period, and customers of a day.

    ``payments``: those that name a statement, with their amounts.
    """

    quarter_hours: dict[QuarterHour, PeriodTotals] = field(default_factory=dict)
    customers: set[str] = field(default_factory=set)
    payments: list[tuple[PaidStatement, Decimal]] = field(default_factory=list)

    @property
    def totals(self) -> Totals:
        """The totals of all quarter-hours."""
        return total(one for periods in self.quarter_hours.values() for one in periods.values())

    def add(self, quarter_hour: QuarterHour, line: Mapping[str, str]) -> None:
        """Add a sealed line."""
        periods, period = self.quarter_hours.setdefault(quarter_hour, {}), Period.parse(line["period"])
        before = periods.get(period, _NOTHING)
        periods[period] = before.plus(
            Decimal(line["amount"]),
            Decimal(line["commission"]),
            is_payment=line["type"] == PAYMENT,
            charges=charges_of(line),
        )
        if line["customer"]:
            self.customers.add(line["customer"])
        if paid := PaidStatement.of(line):
            self.payments.append((paid, Decimal(line["amount"])))


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
    quarter_hour: QuarterHour, marked: Sequence[MarkedSet], counter: Mapping[str, Any]
) -> list[NewCustomers]:
    """Return the customers whose markers were set in a quarter-hour, less those that its counter has added."""
    return [one.new(int(number[quarter_hour] - counter.get(one.tally, 0))) for one, number in marked]


def quarter_hour_fix(
    state: AccountState,
    quarter_hour: QuarterHour,
    missing: PeriodTotals,
    marked: Sequence[MarkedSet],
    counter: Mapping[str, Any],
) -> Fix:
    """Return the repair of a quarter-hour of which its counters miss something.

    ``counter``: the quarter-hour's own item together with its window. All counters move by the difference in one
    transaction. The watermark of every shard moves to the end, as the sealed totals hold all that the stream can still
    deliver of the quarter-hour. Then nothing else adds the customers whose markers were set by postings that the stream
    has not counted.
    """
    customers = uncounted_customers(quarter_hour, marked, counter)
    at_the_end = Window(seq=LAST_SEQUENCE)
    after = with_difference(
        state,
        quarter_hour,
        missing,
        customers=customers,
        watermarks=at_the_end,
        last_updated=iso_millis(quarter_hour.start),
    )
    sks = quarter_hour_sk(quarter_hour), day_sk(quarter_hour.day), *map(period_sk, missing)
    counts = (one.counter["sk"] for one in customers)
    return Fix(after, [sk for sk in (*sks, *counts) if sk in after.windows])


def lifetime_fix(state: AccountState, expected: Totals, last_updated: str) -> Fix | None:
    """Return the repair of the lifetime; ``None`` if it is as expected."""
    difference = expected - state.totals
    return None if difference == _NOTHING else Fix(state.plus(difference, {}, last_updated), [])


def window_fix(state: AccountState, sk: str, expected: Totals, counter: Mapping[str, Any] | None) -> Fix | None:
    """Return the repair of a day or a period; ``None`` if it is as expected.

    ``counter``: the window's own item together with its window in the account item; ``None`` if there is neither.
    """
    difference = expected - (Totals.of(counter) if counter else _NOTHING)
    return None if difference == _NOTHING else Fix(state.plus(_NOTHING, {sk: Window(difference)}, ""), [sk])


def customers_fix(state: AccountState, sk: str, expected: int, counter: Mapping[str, Any] | None) -> Fix | None:
    """Return the repair of a final day's number of customers, of which nothing more is counted."""
    difference = expected - int(counter["customers"] if counter else 0)
    window = Window(tallies={"customers": difference})
    return Fix(state.plus(_NOTHING, {sk: window}, ""), [sk]) if difference else None
