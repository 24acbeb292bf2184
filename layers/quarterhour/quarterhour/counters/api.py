"""The responses about accounts, as types."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Count, Currency, Day, From, Instant, Month, Name, QuarterHourName, Totals, one_of
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


class AccountPeriod(Totals):
    """An account's totals in a period."""

    period: Month


class OverviewAccount(TypedDict):
    """An account with its totals in two periods or spans."""

    agency: Name
    currency: Currency
    registered: bool
    """Whether its agency is registered."""
    now: Totals
    """Its totals in the later one."""
    before: Totals
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
