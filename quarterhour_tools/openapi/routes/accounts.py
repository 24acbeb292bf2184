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
        "GET /accounts": read("accounts_list", Page[ListedAccount], parameters={"currency": _CURRENCY}),
        "GET /overview": read("overview_get", Overview | OverviewOfSpans, parameters=_OVERVIEW),
        "GET /accounts/{agency}/{currency}": read("accounts_get", Account, missing=_NO_ACCOUNT),
        "GET /accounts/{agency}/{currency}/quarter-hours": read(
            "accounts_list_quarter_hours", Page[AccountQuarterHour], missing=_NO_ACCOUNT, parameters=SPAN
        ),
        "GET /accounts/{agency}/{currency}/days": read(
            "accounts_list_days", Page[AccountDay], missing=_NO_ACCOUNT, parameters=DAYS
        ),
        "GET /accounts/{agency}/{currency}/periods": read(
            "accounts_list_periods", Page[AccountPeriod], missing=_NO_ACCOUNT, parameters=MONTHS
        ),
        "GET /accounts/{agency}/{currency}/snapshots": read(
            "accounts_list_snapshots",
            Page[AccountSnapshot] | AccountSnapshot,
            missing="There is no such account, or no state up to `at`.",
            parameters={"layer": LAYER},
        ),
        "GET /accounts/{agency}/{currency}/trend": read("accounts_get_trend", AccountTrend, missing=_NO_ACCOUNT),
        "GET /accounts/{agency}/{currency}/changes": read(
            "accounts_list_changes", Page[AccountSnapshot], missing="There is no such account."
        ),
        "GET /accounts/{agency}/{currency}/balance": RouteDescription(
            "accounts_get_balance",
            {200: AccountBalance},
            (404, 410),
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
            missing="Nothing changed in the window, or its states have expired.",
        ),
    },
)
