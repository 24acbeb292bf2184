"""The requests and responses about exchange rates, as types."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Count, Currency, Decimal, Instant, SentDecimal, SentInstant, Text, constrained
from quarterhour.registry.exchange_rates.exchange_rate import MAX_SOURCE
from quarterhour.snapshots.api import Trend


class ExchangeRateState(TypedDict):
    """An entered exchange rate: units of a currency per unit of the base currency."""

    units_per_base: Decimal
    source: Text
    """The origin of the exchange rate."""
    base: Currency | None
    version: Count
    """The number of rates entered up to this one. An earlier one that was added has the number of the one after it."""
    as_of: Instant
    """The start of its validity."""


class ExchangeRate(ExchangeRateState):
    """A currency's exchange rate."""

    currency: Currency


class ExchangeRateSnapshot(ExchangeRateState):
    """An exchange rate at the end of a window or after a change."""

    layer: str
    window: NotRequired[Instant]
    """The start of the window; a single change has none."""


class ExchangeRateTrend(
    Trend[ExchangeRateState, ExchangeRateSnapshot, Annotated[str, constrained(const="units_per_base")]]
):
    """The exchange rate in force, compared with that of the previous window or change."""


class ExchangeRateStatement(TypedDict):
    """An exchange rate to enter."""

    units_per_base: SentDecimal
    """How many units of the currency are worth one unit of the base currency (`base_currency`): above 0."""
    source: Annotated[Text, constrained(maxLength=MAX_SOURCE)]
    """Who says so."""
    as_of: NotRequired[SentInstant | None]
    """Since when: from 1970 on, and not in the future. Without it, from now on."""
    base: NotRequired[Currency | None]
    """The base currency that you mean. If the deployment has another `base_currency` or none, 400 is returned."""
