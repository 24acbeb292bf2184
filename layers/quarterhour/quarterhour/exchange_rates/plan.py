"""Stating a rate, the pure part: what follows from a statement and what stands."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from quarterhour.aws.entity import LATEST, Values, window_index
from quarterhour.exchange_rates.exchange_rate import ExchangeRate, Statement
from quarterhour.exchange_rates.keys import latest_key, stated_key
from quarterhour.model.clock import MILLISECOND, iso_millis
from quarterhour.model.errors import ConflictError


@dataclass(frozen=True, slots=True)
class Move:
    """The rate in force as it is to be written, with its own place in the history, which must be free.

    ``version`` is the one that the rate in force must still have; ``None``: there must be none yet.
    """

    latest: dict[str, Any]
    stated: dict[str, Any]
    version: int | None


def place_of(statement: Statement, base: str, latest: Values | None, now: datetime) -> datetime:
    """Return the instant that a statement is about: its own, else now, but behind that of the rate in force.

    Where that says the same already, a statement without an instant of its own says nothing new: it is about the same.
    """
    if statement.as_of is not None:
        return statement.as_of
    at = now.replace(microsecond=now.microsecond // 1000 * 1000)
    if latest is None:
        return at
    in_force = ExchangeRate.of(latest)
    same = in_force.same(ExchangeRate(statement.units_per_base, statement.source, base, at))
    return in_force.as_of if same else max(at, in_force.as_of + MILLISECOND)


def decide(currency: str, rate: ExchangeRate, latest: Values | None, standing: Values | None) -> Move | Values:
    """Return how a rate comes into force, or what stands where it was stated already.

    ``standing`` is what was stated as of the same instant. Raises ``ConflictError`` where that is another rate, or
    where a later one is in force: what a rate was is never said anew, as reports may have relied on it.
    """
    if standing is not None:
        if ExchangeRate.of(standing).same(rate):
            return standing
        raise ConflictError(
            f"as of {iso_millis(rate.as_of)} {standing['source']} has stated {standing['units_per_base']} {currency}: "
            "state another rate as of a later instant"
        )
    if latest is not None and rate.as_of <= ExchangeRate.of(latest).as_of:
        raise ConflictError(
            f"the rate of {currency} in force is as of {latest['last_updated']}, later than "
            f"{iso_millis(rate.as_of)}: rates are stated in the order of time"
        )
    version = int(latest["version"]) if latest else None
    values = rate.values((version or 0) + 1)
    key = latest_key(currency)
    return Move(
        {**key, **values, **window_index(LATEST, key["pk"])},
        {**stated_key(currency, rate.as_of), **values},
        version,
    )
