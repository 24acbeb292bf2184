"""Accounts in the base currency: each quarter-hour's sums at the rates pinned for it, exact until rounded once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from quarterhour import money
from quarterhour.clock import iso_millis, parse_iso
from quarterhour.ledger.keys import Account
from quarterhour.quarters import Quarter
from quarterhour.rates.rate import Rate
from quarterhour.reports.plan import Tally, by_account
from quarterhour.totals import Totals

Pins = Mapping[str, Rate | None]
"""The rates that one quarter-hour is converted at, by currency; ``None`` where none was in force at its end."""

FIGURES: Final = ("gross", "refunds", "net", "commission")


@dataclass(frozen=True, slots=True)
class InBase:
    """An account's figures in the base currency, exact; and the quarter-hours of which it has no rate."""

    figures: tuple[Fraction, ...] = (Fraction(0),) * len(FIGURES)
    missing: tuple[Quarter, ...] = ()

    def plus(self, totals: Totals, quarter: Quarter, units: Decimal | None) -> "InBase":
        """Return them with what a quarter-hour has come to, so many units being worth one of the base currency."""
        if units is None:
            return InBase(self.figures, (*self.missing, quarter))
        more = (Fraction(getattr(totals, name)) / Fraction(units) for name in FIGURES)
        return InBase(tuple(before + one for before, one in zip(self.figures, more, strict=True)), self.missing)

    def rounded(self, base: str) -> tuple[Decimal, ...] | None:
        """Return the figures, rounded once each, half-even to the base currency's minor unit; ``None`` without rate."""
        return None if self.missing else tuple(money.rounded(figure, base) for figure in self.figures)


def foreign(tally: Tally, base: str) -> list[str]:
    """Return the currencies of a quarter-hour that need a rate: all but the base currency, and none at all."""
    return sorted({account.currency for account, _ in tally} - {base, money.NO_CURRENCY})


def in_base(tallies: Iterable[tuple[Quarter, Tally, Pins]], base: str) -> dict[Account, InBase]:
    """Convert what each account has come to in each quarter-hour, and add it up."""
    sums: dict[Account, InBase] = {}
    for quarter, tally, pins in tallies:
        for account, totals in by_account([tally]).items():
            units = _ONE if account.currency in {base, money.NO_CURRENCY} else _units(pins.get(account.currency))
            sums[account] = sums.get(account, InBase()).plus(totals, quarter, units)
    return sums


def as_list(pins: Pins) -> list[dict[str, Any]]:
    """Return pinned rates in plain values, as they are stored and stand in a manifest; a missing one says so."""
    return [_as_dict(currency, rate) for currency, rate in sorted(pins.items())]


def pins_of(values: Sequence[Mapping[str, Any]], base: str) -> dict[str, Rate | None]:
    """Read what ``as_list`` wrote."""
    return {one["currency"]: _rate(one, base) for one in values}


def _as_dict(currency: str, rate: Rate | None) -> dict[str, Any]:
    if rate is None:
        return {"currency": currency, "units_per_base": None}
    return {
        "currency": currency,
        "units_per_base": money.plain(rate.units_per_base),
        "source": rate.source,
        "as_of": iso_millis(rate.as_of),
    }


def _rate(values: Mapping[str, Any], base: str) -> Rate | None:
    if values["units_per_base"] is None:
        return None
    return Rate(Decimal(values["units_per_base"]), values["source"], base, parse_iso(values["as_of"]))


def _units(rate: Rate | None) -> Decimal | None:
    return rate.units_per_base if rate else None


_ONE: Final = Decimal(1)
