"""Planning of an entered exchange rate, pure: its instant, and its items or the conflict with rates and reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from quarterhour.aws.entity import LATEST, Values
from quarterhour.model.clock import MILLISECOND, iso_millis, iso_seconds, truncated
from quarterhour.model.errors import ConflictError
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate, ExchangeRateRequest
from quarterhour.registry.exchange_rates.keys import history_key, latest_key, used_key
from quarterhour.snapshots.keys import window_index


@dataclass(frozen=True, slots=True)
class RateChange:
    """The item of the rate in force and the item of the history; the history's key must be free.

    ``version`` is the version that the stored rate in force must have; ``None``: there must be none.
    """

    latest: dict[str, Any]
    entered: dict[str, Any]
    version: int | None


@dataclass(frozen=True, slots=True)
class EarlierRate:
    """The item of the history of a rate before the one in force; its key must be free.

    No report may have used the currency's rates in ``quarter_hour``, the one of the rate's instant, or later.
    """

    currency: str
    entered: dict[str, Any]
    quarter_hour: QuarterHour


@dataclass(frozen=True, slots=True)
class LastUse:
    """The last quarter-hour that a report converted at the rates of a currency, and the name of its run."""

    quarter_hour: QuarterHour
    run: str

    def values(self, currency: str) -> dict[str, Any]:
        """Return the use as an item of the Entity table."""
        return {**used_key(currency), "quarter_hour": str(self.quarter_hour), "run": self.run}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``values`` returned."""
        return cls(QuarterHour.parse(values["quarter_hour"]), values["run"])


def effective_at(request: ExchangeRateRequest, base: str, latest: Values | None, now: datetime) -> datetime:
    """Return the instant from which an entered rate is in force: its own, else now, but after the rate in force.

    A rate without an instant that equals the rate in force changes nothing, so it gets the same instant.
    """
    if request.as_of is not None:
        return request.as_of
    at = truncated(now)
    if latest is None:
        return at
    in_force = ExchangeRate.of(latest)
    is_same = in_force.is_same(ExchangeRate(request.units_per_base, request.source, base, at))
    return in_force.as_of if is_same else max(at, in_force.as_of + MILLISECOND)


def require_same(currency: str, rate: ExchangeRate, existing: Values) -> None:
    """Raise ``ConflictError`` unless ``existing``, entered as of the rate's instant, is the same rate."""
    if not ExchangeRate.of(existing).is_same(rate):
        raise ConflictError(
            f"as of {iso_millis(rate.as_of)} {existing['source']} has published {existing['units_per_base']} "
            f"{currency}: enter another rate as of a later instant"
        )


def is_earlier(rate: ExchangeRate, latest: Values | None) -> bool:
    """Return whether a rate is as of an instant before that of the rate in force."""
    return latest is not None and rate.as_of < ExchangeRate.of(latest).as_of


def plan_earlier(currency: str, rate: ExchangeRate, following: Values, last_use: LastUse | None) -> EarlierRate:
    """Return the addition of a rate to the history; it takes the version of ``following``, the rate entered after it.

    Raises ``ConflictError`` if a report has converted a quarter-hour that ends after the rate's instant: the history
    that a sealed report relies on never changes.
    """
    quarter_hour = QuarterHour.at(rate.as_of)
    if last_use is not None and last_use.quarter_hour >= quarter_hour:
        raise ConflictError(
            f"the report {last_use.run} relies on the exchange rates of {currency} until "
            f"{iso_seconds(last_use.quarter_hour.end)}: enter an earlier rate as of then or later, not as of "
            f"{iso_millis(rate.as_of)}"
        )
    entered = {**history_key(currency, rate.as_of), **rate.values(int(following["version"]))}
    return EarlierRate(currency, entered, quarter_hour)


def plan_latest(currency: str, rate: ExchangeRate, latest: Values | None) -> RateChange:
    """Return the change that puts a rate into force."""
    version = int(latest["version"]) if latest else None
    values = rate.values((version or 0) + 1)
    key = latest_key(currency)
    return RateChange(
        {**key, **values, **window_index(LATEST, key["pk"])},
        {**history_key(currency, rate.as_of), **values},
        version,
    )
