"""Planning of a stated exchange rate, pure: its instant, and its items or the conflict with existing rates."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from quarterhour.aws.entity import LATEST, Values, window_index
from quarterhour.exchange_rates.exchange_rate import ExchangeRate, Statement
from quarterhour.exchange_rates.keys import latest_key, stated_key
from quarterhour.model.clock import MILLISECOND, iso_millis, truncated
from quarterhour.model.errors import ConflictError


@dataclass(frozen=True, slots=True)
class RateChange:
    """The item of the rate in force and the item of the history; the history's key must be free.

    ``version`` is the version that the stored rate in force must have; ``None``: there must be none.
    """

    latest: dict[str, Any]
    stated: dict[str, Any]
    version: int | None


def effective_at(statement: Statement, base: str, latest: Values | None, now: datetime) -> datetime:
    """Return the instant from which a stated rate is in force: its own, else now, but after that of the rate in force.

    A rate without an instant that equals the rate in force changes nothing, so it gets the same instant.
    """
    if statement.as_of is not None:
        return statement.as_of
    at = truncated(now)
    if latest is None:
        return at
    in_force = ExchangeRate.of(latest)
    is_same = in_force.is_same(ExchangeRate(statement.units_per_base, statement.source, base, at))
    return in_force.as_of if is_same else max(at, in_force.as_of + MILLISECOND)


def plan_change(
    currency: str, rate: ExchangeRate, latest: Values | None, existing: Values | None
) -> RateChange | Values:
    """Return the change that puts a rate into force, or ``existing`` where it was stated already.

    ``existing`` is the rate stated as of the same instant. Raises ``ConflictError`` if that is another rate, or
    where a later one is in force: the past never changes, as reports may have used it.
    """
    if existing is not None:
        if ExchangeRate.of(existing).is_same(rate):
            return existing
        raise ConflictError(
            f"as of {iso_millis(rate.as_of)} {existing['source']} has stated {existing['units_per_base']} {currency}: "
            "state another rate as of a later instant"
        )
    if latest is not None and rate.as_of <= ExchangeRate.of(latest).as_of:
        raise ConflictError(
            f"the exchange rate of {currency} in force is as of {latest['last_updated']}, later than "
            f"{iso_millis(rate.as_of)}: rates are stated in the order of time"
        )
    version = int(latest["version"]) if latest else None
    values = rate.values((version or 0) + 1)
    key = latest_key(currency)
    return RateChange(
        {**key, **values, **window_index(LATEST, key["pk"])},
        {**stated_key(currency, rate.as_of), **values},
        version,
    )
