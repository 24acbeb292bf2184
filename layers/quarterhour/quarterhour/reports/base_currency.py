"""Conversion of a summary's rows to the base currency, at the exchange rates pinned for each quarter-hour.

Sums stay exact; each is rounded once, at the end.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from quarterhour.model import money
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.reports.plan import SummaryRow, SummaryTotals

if TYPE_CHECKING:
    from quarterhour.reports import api

Pins = Mapping[str, ExchangeRate | None]
"""The exchange rates of one quarter-hour, by currency; ``None`` if none was in force at its end."""
PinnedRates = Callable[[QuarterHour, str, Sequence[str]], Pins]
"""Returns the exchange rates pinned for a quarter-hour, by base currency and foreign currencies."""

FIGURES: Final = ("gross", "refunds", "net", "commission", "payments")
"""The figures that are converted."""


@dataclass(frozen=True, slots=True)
class ConvertedTotals:
    """A row's exact figures in the base currency, and the quarter-hours that lack an exchange rate for it."""

    figures: tuple[Fraction, ...] = (Fraction(0),) * len(FIGURES)
    missing: tuple[QuarterHour, ...] = ()

    def plus(self, totals: Totals, quarter_hour: QuarterHour, units: Decimal | None) -> "ConvertedTotals":
        """Return these totals plus those of a quarter-hour.

        ``units`` is what one unit of the base currency is worth; ``None`` if the exchange rate is missing.
        """
        if units is None:
            return ConvertedTotals(self.figures, (*self.missing, quarter_hour))
        converted = (Fraction(getattr(totals, name)) / Fraction(units) for name in FIGURES)
        figures = tuple(before + added for before, added in zip(self.figures, converted, strict=True))
        return ConvertedTotals(figures, self.missing)

    def rounded(self, base: str) -> tuple[Decimal, ...] | None:
        """Return the figures, each rounded half-even to the base currency's minor unit.

        ``None`` if an exchange rate is missing.
        """
        return None if self.missing else tuple(money.rounded(figure, base) for figure in self.figures)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A run in the base currency: the exchange rates pinned for each quarter-hour, and the converted rows."""

    base: str
    pins: tuple[Pins, ...]
    rows: Mapping[SummaryRow, ConvertedTotals]


def convert(base: str, quarter_hours: Mapping[QuarterHour, SummaryTotals], pinned: PinnedRates) -> Conversion | None:
    """Convert a run's rows in each quarter-hour to the base currency; return ``None`` if ``base`` is empty."""
    if not base:
        return None
    pins = []
    for quarter_hour, rows in quarter_hours.items():
        currencies = foreign_currencies(rows, base)
        pins.append(pinned(quarter_hour, base, currencies) if currencies else {})
    with_pins = zip(quarter_hours, quarter_hours.values(), pins, strict=True)
    return Conversion(base, tuple(pins), converted_rows(with_pins, base))


def foreign_currencies(rows: Iterable[SummaryRow], base: str) -> list[str]:
    """Return the currencies of rows that need an exchange rate: all but the base currency and "no currency"."""
    return sorted({account.currency for account, _ in rows} - {base, money.NO_CURRENCY})


def converted_rows(
    quarter_hours: Iterable[tuple[QuarterHour, SummaryTotals, Pins]], base: str
) -> dict[SummaryRow, ConvertedTotals]:
    """Return each row's totals over the quarter-hours, in the base currency."""
    sums: dict[SummaryRow, ConvertedTotals] = {}
    for quarter_hour, rows, pins in quarter_hours:
        for row, totals in rows.items():
            account, _ = row
            units = _ONE if account.currency in {base, money.NO_CURRENCY} else _units(pins.get(account.currency))
            sums[row] = sums.get(row, ConvertedTotals()).plus(totals, quarter_hour, units)
    return sums


def pins_as_list(pins: Pins) -> "list[api.PinnedExchangeRate]":
    """Return pinned exchange rates as the table and the manifest hold them; a missing rate has no units."""
    return [_as_dict(currency, rate) for currency, rate in sorted(pins.items())]


def pins_of(values: Sequence[Mapping[str, Any]], base: str) -> dict[str, ExchangeRate | None]:
    """Parse pinned exchange rates from what ``pins_as_list`` returned."""
    return {pin["currency"]: _rate(pin, base) for pin in values}


def _as_dict(currency: str, rate: ExchangeRate | None) -> "api.PinnedExchangeRate":
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
