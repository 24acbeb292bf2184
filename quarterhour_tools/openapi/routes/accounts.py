"""The routes of accounts, of their states and of windows."""

from typing import Final, Literal

from quarterhour.counters.api import (
    Account,
    AccountDay,
    AccountInWindow,
    AccountPeriod,
    AccountQuarterHour,
    AccountSnapshot,
    AccountTrend,
    ListedAccount,
    Overview,
    OverviewOfSpans,
)
from quarterhour.model.api import Day, Month
from quarterhour.registry.exchange_rates.api import ExchangeRate
from quarterhour.snapshots.api import Window
from quarterhour.statements.api import AccountBalance
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import Group, RouteDescription, read
from quarterhour_tools.openapi.parameters import DAYS, LAYER, MONTHS, PATH, QUERY, SPAN, Parameter

_CURRENCY: Final = Parameter("Only those in this currency (`XXX`: views).", PATH["currency"].shape, "GBP")
_OVERVIEW: Final = {
    "period": Parameter("The later of two periods.", Month, "2026-10"),
    "range": Parameter(
        "What the later of two spans is, up to now.", Literal["week", "month", "quarter", "year"], "month"
    ),
    "from": Parameter("The first day of the later of two spans, in UTC.", Day, "2026-10-01"),
    "to": Parameter("The day after its last, at most 366 days later.", Day, "2026-11-01"),
}
_AS_OF: Final = Parameter(
    "The balance as of the start of this instant's quarter-hour; without it, the balance now.", QUERY["at"].shape
)
_NO_ACCOUNT: Final = "There is no such account."

ACCOUNTS: Final = Group(
    "Accounts",
    {
        "GET /accounts": read(
            "accounts_list",
            Page[ListedAccount],
            """
            The list is in the order of names. The totals are those of
            [one account](#get-accountsagencycurrency) without `customers`. `registered` says whether the agency is
            [registered](#put-agenciesagency); accounts of views lack it. A new account is in the list within seconds.
            """,
            parameters={"currency": _CURRENCY},
        ),
        "GET /overview": read(
            "overview_get",
            Overview | OverviewOfSpans,
            """
            What the marketplace earns: each account in the order of names, with its totals `now` and `before`.
            Accounts of views have no money, and are left out. Send one of:

            | parameters | `now` | `before` |
            |---|---|---|
            | `period` | that month | the month before it |
            | `range` | this `week` (from Monday), `month`, `quarter` or `year` | the last, to the same point |
            | `from`, `to` | those days | as many days before them, to the same point |

            A period has the events that [count in it](data-model.md#the-period-of-an-event). Other spans last until
            now, at most, and have the events that were recorded in them, by UTC.

            `days` are the sums of this page's accounts, by currency and UTC day of both, each with at least one event.
            To get those of all accounts, add up the pages. With `period`, days begin at midnight UTC and periods in
            the marketplace's time zone, so the days of a month need not add up to its period.

            Spans are from `from` to before `to`, and from `before_from` to before `before_to`. The same point is the
            end of the present quarter-hour, as long after the beginning; a shorter month before ends with its last
            day. If the quarter-hours of that day are kept no longer (35 days), both spans end at the
            midnight before. `before_complete` is false if days of the earlier span are kept no longer
            (800 days).

            A page makes at most two calls to the database for each account, and one for `period`. An account with
            events on every day costs 4 read units for two months and 26 for two years, and up to 6 for the
            quarter-hours of a day.
            """,
            parameters=_OVERVIEW,
        ),
        "GET /accounts/{agency}/{currency}": read(
            "accounts_get",
            Account,
            """
            `version` counts the changes. `last_updated` is when the newest of its events was recorded. `customers` is
            the number of different customers in the events.
            """,
            missing=_NO_ACCOUNT,
        ),
        "GET /accounts/{agency}/{currency}/quarter-hours": read(
            "accounts_list_quarter_hours",
            Page[AccountQuarterHour],
            """
            The quarter-hours of a span with at least one event, in the order of time. They are kept for
            35 days.
            """,
            missing=_NO_ACCOUNT,
            parameters=SPAN,
        ),
        "GET /accounts/{agency}/{currency}/days": read(
            "accounts_list_days",
            Page[AccountDay],
            "The UTC days of a span with at least one event. They are kept for 800 days.",
            missing=_NO_ACCOUNT,
            parameters=DAYS,
        ),
        "GET /accounts/{agency}/{currency}/periods": read(
            "accounts_list_periods",
            Page[AccountPeriod],
            """
            The months with at least one event, by [the period of each event](data-model.md#the-period-of-an-event).
            They are kept for ever. The periods of an account add up to its lifetime totals.
            """,
            missing=_NO_ACCOUNT,
            parameters=MONTHS,
        ),
        "GET /accounts/{agency}/{currency}/snapshots": read(
            "accounts_list_snapshots",
            Page[AccountSnapshot] | AccountSnapshot,
            """
            A layer has the account's totals at the end of each of its windows. The layers are `5m` and `1h`, windows of
            that length, which are kept for 24 hours and 31 days, and `change`, each single change, kept for an hour.
            The state of a window is the last one in it; a window without a change has none. For some seconds after the
            account has left a window, it is missing. Send `layer` with one of:

            | parameters | response |
            |---|---|
            | `from`, `to` | the windows (or changes) of a span, in the order of time, in pages |
            | `date` | those of a UTC day |
            | `last` | this many of the newest, the newest first; `next` continues with older ones |
            | `at` | one: the newest window that holds the instant or is before it, or the newest change up to it |
            """,
            missing="There is no such account, or no state up to `at`.",
            parameters={"layer": LAYER},
        ),
        "GET /accounts/{agency}/{currency}/trend": read(
            "accounts_get_trend",
            AccountTrend,
            """
            The earlier state is that of the newest window before that of `last_updated` (in the layer `change`: the
            change before). Each figure is `up`, `stable` or `down`; `trend` is that of `net`. If there is no earlier
            state, because the account is new or its states have expired, `before` and the trends are `null`. The
            default of `layer` is the layer of the shortest windows.
            """,
            missing=_NO_ACCOUNT,
        ),
        "GET /accounts/{agency}/{currency}/changes": read(
            "accounts_list_changes",
            Page[AccountSnapshot],
            """
            The account's totals after each change, as the layer `change` keeps them for an hour.
            """,
            missing="There is no such account.",
        ),
        "GET /accounts/{agency}/{currency}/balance": RouteDescription(
            "accounts_get_balance",
            {200: AccountBalance},
            (404, 410),
            """
            The balance is what the agency owes in this currency. It is negative if the agency is owed.

            - `balance` = `closing` + `unbilled.commission` + `unbilled.tax` - `unbilled.proceeds` -
              `unbilled.payments`. What is unbilled is rounded and taxed as its statement will be.
            - Without `at`, the balance is the closing balance of the
              [preview](#get-statementsagencycurrencyperiod) of the current period.
            - With `at`, what was unbilled then is rounded and taxed as one sum, by the profile of that day.
            - `statement` is the last one that holds nothing recorded at or after `as_of`. It is `null` before the
              account's first statement; then everything is unbilled.
            - Events of periods before `first_period` are in no balance.
            - A past balance needs the counters of each day since, and of the quarter-hours of that day. An instant at
              midnight UTC needs days only. If the account has events from before `first_period`, quarter-hours are
              needed throughout.
            """,
            {
                404: _NO_ACCOUNT,
                410: "The counters are kept no longer: days for 800 days, quarter-hours for 35; `detail` says which "
                "instants remain.",
            },
            parameters={"at": _AS_OF},
        ),
        "GET /windows/{layer}/{start}": read(
            "windows_get",
            Window[AccountInWindow | ExchangeRate],
            """
            The items are in no particular order. A page can be short though another follows. With
            `kind=exchange-rates`: all exchange rates that were entered for an instant in the window, with their values
            at its end. The layer `change` has no windows.
            """,
            missing="Nothing changed in the window, or its states have expired.",
        ),
    },
)
