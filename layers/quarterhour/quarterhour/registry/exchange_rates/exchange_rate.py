"""An exchange rate: the request that enters it, its stored form, and its form in the API."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.aws.entity import Values
from quarterhour.model import fields, money
from quarterhour.model.clock import iso_millis, parse_iso, truncated
from quarterhour.model.fields import Fields
from quarterhour.model.instants import YEARS
from quarterhour.registry.exchange_rates.keys import RATES, currency_of
from quarterhour.snapshots.kind import EntityKind

if TYPE_CHECKING:
    from quarterhour.registry.exchange_rates import api

MAX_SOURCE: Final = 64

_FIELDS: Final = frozenset({"units_per_base", "source", "as_of", "base"})
_UNITS: Final = f"a decimal above 0 of at most {money.MAX_DIGITS} digits, as a string or a number"
_SOURCE: Final = f"1 to {MAX_SOURCE} printable characters: who publishes the rate"
_AS_OF: Final = f"{fields.INSTANT}, of {YEARS[0]} or later, not ahead of now"


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """The units of a currency that one unit of the base currency is worth, from ``as_of`` on, by ``source``.

    ``base`` is empty if the deployment had no base currency when the rate was entered.
    """

    units_per_base: Decimal
    source: str
    base: str
    as_of: datetime

    def is_same(self, other: "ExchangeRate") -> bool:
        """Return whether units, source and base are the same, whatever the instant."""
        return (self.units_per_base, self.source, self.base) == (other.units_per_base, other.source, other.base)

    def values(self, version: int) -> dict[str, Any]:
        """Return the rate's attributes in the Entity table, without keys."""
        return {
            "units_per_base": money.plain(self.units_per_base),
            "source": self.source,
            "base": self.base or None,
            "version": version,
            "last_updated": iso_millis(self.as_of),
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse a rate from what ``values`` returned."""
        units = Decimal(values["units_per_base"])
        return cls(units, values["source"], values.get("base", ""), parse_iso(values["last_updated"]))


@dataclass(frozen=True, slots=True)
class ExchangeRateRequest:
    """A request to enter an exchange rate; ``as_of`` is ``None`` for a rate from now on.

    ``base`` is the base currency that the sender means; empty if the request names none.
    """

    units_per_base: Decimal
    source: str
    as_of: datetime | None
    base: str = ""


def read_request(body: Mapping[str, Any], now: datetime) -> ExchangeRateRequest:
    """Parse the body of a request; raise ``InvalidError`` with every problem in it."""
    sent = Fields(body)
    sent.report_unknown(_FIELDS)
    units = sent.value("units_per_base", _UNITS, _units)
    source = sent.value("source", _SOURCE, _source)
    as_of = sent.value("as_of", _AS_OF, lambda value: _not_ahead(value, now), optional=True)
    base = sent.value("base", fields.CURRENCY, fields.currency, optional=True)
    fields.refuse(sent.problems, "an exchange rate as described")
    return ExchangeRateRequest(units, source, as_of, base or "")


def shown(values: Values) -> "api.ExchangeRateState":
    """Return a rate as the API shows it, under the names of the request."""
    return {
        "units_per_base": values["units_per_base"],
        "source": values["source"],
        "base": values.get("base"),
        "version": int(values["version"]),
        "as_of": values["last_updated"],
    }


def named(values: Values) -> "api.ExchangeRate":
    """Return a rate as the API shows it, with its currency."""
    return {"currency": currency_of(values["pk"]), **shown(values)}


def _snapshot(values: Values, layer: str, window: str | None) -> "api.ExchangeRateSnapshot":
    rate = shown(values)
    snapshot: api.ExchangeRateSnapshot = {
        "layer": layer,
        "units_per_base": rate["units_per_base"],
        "source": rate["source"],
        "base": rate["base"],
        "version": rate["version"],
        "as_of": rate["as_of"],
    }
    if window:
        snapshot["window"] = window
    return snapshot


EXCHANGE_RATE_STATES: Final = EntityKind(
    RATES,
    currency_of,
    shown,
    named,
    _snapshot,
    lambda values: {"units_per_base": Decimal(values["units_per_base"])},
    main="units_per_base",
)
"""The kind of state that exchange rates have: how it is shown, and compared by its units."""


def _units(value: object) -> Decimal | None:
    units = money.parse_decimal(value)
    return units if units is not None and units > 0 else None


def _source(value: object) -> str | None:
    text = fields.label(value)
    return text if text and len(text) <= MAX_SOURCE else None


def _not_ahead(value: object, now: datetime) -> datetime | None:
    """Parse an instant, cut to the millisecond; ``None`` for one ahead of now, which would hide the rate in force."""
    instant = fields.instant(value)
    if instant is None or instant.year < YEARS[0] or instant > now:
        return None
    return truncated(instant)
