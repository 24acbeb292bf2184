"""The responses about accounts, as types."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import (
    Count,
    Currency,
    Day,
    Decimal,
    From,
    Instant,
    Month,
    Name,
    QuarterHourName,
    Text,
    Totals,
    one_of,
)
from quarterhour.model.tiers import Mode, Per
from quarterhour.snapshots.api import Trend
from quarterhour.web.api import Page


class AccountState(Totals):
    """The totals of an account at an instant."""

    version: Count
    """The number of changes of the account."""
    last_updated: Instant
    """The instant at which its newest event was recorded."""


class Account(AccountState):
    """An account's lifetime totals."""

    agency: Name
    currency: Currency
    customers: Count
    """The number of different customers in its events."""


class AccountQuarterHour(Totals):
    """An account's totals in a quarter-hour."""

    quarter_hour: QuarterHourName
    start: Instant


class TotalsOfDay(Totals):
    """Totals on a day."""

    day: Day


class AccountDay(TotalsOfDay):
    """An account's totals on a day."""

    customers: Count


TierBounds = TypedDict("TierBounds", {"from": Decimal, "to": Decimal | None, "percent": Decimal})
"""A tier: from which turnover to which one a percentage holds; the last one has no end."""


class TierSoFar(TierBounds):
    """A tier with its part of the turnover so far, and the commission of that."""

    turnover: Decimal
    commission: Decimal


class TiersSoFar(TierBounds):
    """A charge with tiers so far, with the tier that is reached."""

    name: Text
    per: Annotated[str, one_of(Per)]
    """The span whose turnover counts: it may have begun before the period."""
    group: Text | None
    """The group whose turnover counts; null for that of the account alone."""
    mode: Annotated[str, one_of(Mode)]
    turnover: Decimal
    """What counts in the span so far."""
    missing: Decimal | None
    """What is missing to the next tier; null in the last one."""
    commission: Decimal
    """What the account is charged so far of this period; no part of the totals."""
    steps: list[TierSoFar]
    """The tiers of the turnover so far."""


class ChargedTotals(Totals):
    """Totals of a period."""

    tiers: NotRequired[list[TiersSoFar]]
    """The charges with tiers, if there are any."""
    charged: NotRequired[Decimal]
    """The commission with what tiers charge so far, if there are any."""


class AccountPeriod(ChargedTotals):
    """An account's totals in a period."""

    period: Month


class OverviewAccount(TypedDict):
    """An account with its totals in two periods or spans."""

    agency: Name
    currency: Currency
    registered: bool
    """Whether its agency is registered."""
    now: ChargedTotals
    """Its totals in the later one."""
    before: ChargedTotals
    """Its totals in the earlier one."""


class OverviewDay(TotalsOfDay):
    """The sums of the page's accounts of a currency on a day."""

    currency: Currency


class Overview(Page[OverviewAccount]):
    """A page of accounts in a period and the one before, with the sums of their days."""

    period: Month
    before: Month
    days: list[OverviewDay]
    """The sums of this page's accounts by currency and day, each with at least one event."""


class ComparedSpans(From):
    """A span up to now and the one before."""

    to: Instant
    """The end of the present quarter-hour, unless the span ended before."""
    before_from: Instant
    before_to: Instant
    """As long after `before_from` as `to` is after `from`."""
    before_complete: bool
    """Whether the counters of all days of the earlier span are kept."""


class OverviewOfSpans(ComparedSpans, Page[OverviewAccount]):
    """A page of accounts in a span up to now and the one before, with the sums of their days."""

    days: list[OverviewDay]
    """The sums of this page's accounts by currency and day of either span, each with at least one event."""


class AccountSnapshot(AccountState):
    """An account's state at the end of a window or after a change."""

    layer: str
    window: NotRequired[Instant]
    """The start of the window; a single change has none."""


class ListedAccount(AccountState):
    """An account with its lifetime totals."""

    agency: Name
    currency: Currency
    registered: NotRequired[bool]
    """Whether its agency is registered; an account of views has no agency."""


class AccountInWindow(AccountState):
    """An account's state at the end of the window."""

    agency: Name
    currency: Currency


class AccountTrend(
    Trend[
        AccountState,
        AccountSnapshot,
        Annotated[str, one_of(["events", "gross", "refunds", "commission", "payments", "net"])],
    ]
):
    """An account's latest state, compared with that of the previous window or change."""


class FoundAccount(TypedDict):
    """The name of an account."""

    agency: Name
    currency: Currency


class FoundAccounts(TypedDict):
    """The accounts that a text names."""

    accounts: list[FoundAccount]
