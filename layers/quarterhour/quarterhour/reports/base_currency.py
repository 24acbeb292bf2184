"""Accounts in the base currency: each quarter-hour's sums at the rates pinned for it, exact until rounded once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from quarterhour.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.model import money
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.reports.plan import Tally, by_account

Pins = Mapping[str, ExchangeRate | None]
"""The exchange rates of one quarter-hour, by currency; ``None`` where none was in force at its end."""
PinnedRates = Callable[[QuarterHour, str, Sequence[str]], Pins]
"""Returns the rates pinned for a quarter-hour, a base currency and some currencies."""

FIGURES: Final = ("gross", "refunds", "net", "commission")


@dataclass(frozen=True, slots=True)
class InBase:
    """An account's figures in the base currency, exact; and the quarter-hours without a rate for it."""

    figures: tuple[Fraction, ...] = (Fraction(0),) * len(FIGURES)
    missing: tuple[QuarterHour, ...] = ()

    def plus(self, totals: Totals, quarter_hour: QuarterHour, units: Decimal | None) -> "InBase":
        """Return the sum with a quarter-hour's totals, at so many units for one of the base currency."""
        if units is None:
            return InBase(self.figures, (*self.missing, quarter_hour))
        more = (Fraction(getattr(totals, name)) / Fraction(units) for name in FIGURES)
        return InBase(tuple(before + one for before, one in zip(self.figures, more, strict=True)), self.missing)

    def rounded(self, base: str) -> tuple[Decimal, ...] | None:
        """Return the figures, rounded once each, half-even to the base's minor unit; ``None`` if a rate is missing."""
        return None if self.missing else tuple(money.rounded(figure, base) for figure in self.figures)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A run in the base currency: the rates pinned for each of its quarter-hours, and the accounts at these rates."""

    base: str
    pins: tuple[Pins, ...]
    accounts: Mapping[Account, InBase]


def convert(base: str, tallies: Sequence[tuple[QuarterHour, Tally]], pinned: PinnedRates) -> Conversion | None:
    """Return a run's tallies in the base currency; ``None`` where ``base`` is empty."""
    if not base:
        return None
    pins = []
    for quarter_hour, tally in tallies:
        currencies = foreign(tally, base)
        pins.append(pinned(quarter_hour, base, currencies) if currencies else {})
    tallied = [(quarter_hour, tally, one) for (quarter_hour, tally), one in zip(tallies, pins, strict=True)]
    return Conversion(base, tuple(pins), in_base(tallied, base))


def foreign(tally: Tally, base: str) -> list[str]:
    """Return the currencies of a quarter-hour that need a rate: all but the base currency and "no currency"."""
    return sorted({account.currency for account, _ in tally} - {base, money.NO_CURRENCY})


def in_base(tallies: Iterable[tuple[QuarterHour, Tally, Pins]], base: str) -> dict[Account, InBase]:
    """Return each account's sum over the quarter-hours, in the base currency."""
    sums: dict[Account, InBase] = {}
    for quarter_hour, tally, pins in tallies:
        for account, totals in by_account([tally]).items():
            units = _ONE if account.currency in {base, money.NO_CURRENCY} else _units(pins.get(account.currency))
            sums[account] = sums.get(account, InBase()).plus(totals, quarter_hour, units)
    return sums


def as_list(pins: Pins) -> list[dict[str, Any]]:
    """Return pinned rates in plain values, as the table and the manifest hold them; a missing rate has no units."""
    return [_as_dict(currency, rate) for currency, rate in sorted(pins.items())]


def pins_of(values: Sequence[Mapping[str, Any]], base: str) -> dict[str, ExchangeRate | None]:
    """Read what ``as_list`` wrote."""
    return {one["currency"]: _rate(one, base) for one in values}


def _as_dict(currency: str, rate: ExchangeRate | None) -> dict[str, Any]:
    if rate is None:
        return {"currency": currency, "units_per_base": None}
    return {
        "currency": currency,
        "units_per_base": money.plain(rate.units_per_base),
        "source": rate.source,
        "as_of": iso_millis(rate.as_of),
    }


def _rate(values: Mapping[str, Any], base: str) -> ExchangeRate | None:
    if values["units_per_base"] is None:
        return None
    return ExchangeRate(Decimal(values["units_per_base"]), values["source"], base, parse_iso(values["as_of"]))


def _units(rate: ExchangeRate | None) -> Decimal | None:
    return rate.units_per_base if rate else None


_ONE: Final = Decimal(1)
