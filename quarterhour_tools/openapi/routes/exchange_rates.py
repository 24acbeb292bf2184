"""The routes of exchange rates."""

from typing import Final

from quarterhour.registry.exchange_rates.api import (
    ExchangeRate,
    ExchangeRateSnapshot,
    ExchangeRateState,
    ExchangeRateStatement,
    ExchangeRateTrend,
)
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, RouteDescription, json_body, read
from quarterhour_tools.openapi.parameters import LAYER, PATH, Parameter

_CURRENCY: Final = Parameter("The currency; a former currency is valid, too.", PATH["currency"].shape, "GBP")
_NONE: Final = "No exchange rate of the currency was entered."

EXCHANGE_RATES: Final = Group(
    "Exchange rates",
    {
        "PUT /exchange-rates/{currency}": RouteDescription(
            "exchange_rates_enter",
            {201: ExchangeRate, 200: ExchangeRate},
            (409, *BODY_PROBLEMS),
            """
            The currency is any three capital letters, so rates of a former currency can be entered, too. A rate for an
            instant never changes.

            Rates can be entered in any order. A rate before the one in force is added to the history, until a report
            relies on a later one. A report relies on a currency's rates up to the end of the last quarter-hour that it
            converted from this currency. A report that found no rate relies on none. A rate after the one in force can
            be entered late, too: a report that is sealed keeps the rates that it pinned.

            A rate belongs to the base currency of its time: after a change of `base_currency`, the summaries use the
            rates entered since.
            """,
            {
                200: "The same rate was entered before; nothing is changed.",
                409: "Another rate was entered for that instant, or a report relies on a later one; `detail` names it, "
                "and the earliest instant that is left.",
            },
            bodies=json_body(ExchangeRateStatement),
            retries="The same exchange rate with the same `as_of` changes nothing. Without `as_of`, the exchange rate "
            "in force changes nothing. Another exchange rate with that `as_of` returns 409, and an earlier one if a "
            "report relies on a later one.",
            parameters={"currency": _CURRENCY},
        ),
        "GET /exchange-rates": read("exchange_rates_list", Page[ExchangeRate], "They are in no particular order."),
        "GET /exchange-rates/{currency}": read(
            "exchange_rates_get",
            ExchangeRate,
            """
            With `at`, it is the rate that was in force at that instant, exactly and however long ago. `as_of` is since
            when.
            """,
            missing="None was entered by then.",
            parameters={"currency": _CURRENCY},
        ),
        "GET /exchange-rates/{currency}/history": read(
            "exchange_rates_list_history",
            Page[ExchangeRateState],
            """
            All rates of the currency that were ever entered, by the instants that they were entered for: `from` and
            `to`, `date`, or `last`, as for [an account's states](#get-accountsagencycurrencysnapshots). They are kept
            for ever, while windows expire. Use it for a history that was loaded later, or is entered once a day or a
            week.
            """,
            missing=_NONE,
            parameters={"currency": _CURRENCY},
        ),
        "GET /exchange-rates/{currency}/snapshots": read(
            "exchange_rates_list_snapshots",
            Page[ExchangeRateSnapshot] | ExchangeRateSnapshot,
            """
            The exchange rate at the end of each window of a `layer`, with the parameters of
            [an account's](#get-accountsagencycurrencysnapshots): `from` and `to`, `date`, `last`, or `at`.
            """,
            missing="No exchange rate of the currency was entered, or none up to `at`.",
            parameters={"layer": LAYER, "currency": _CURRENCY},
        ),
        "GET /exchange-rates/{currency}/trend": read(
            "exchange_rates_get_trend",
            ExchangeRateTrend,
            """
            Like [an account's trend](#get-accountsagencycurrencytrend); in the layer `change`, with the rate entered
            before. The earlier rate is read from the history, so it may be of any age. Only the first rate of a
            currency has none before it.
            """,
            missing=_NONE,
            parameters={"currency": _CURRENCY},
        ),
    },
)
