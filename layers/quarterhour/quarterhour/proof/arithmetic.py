"""Exact sums, the rounding of a currency, and the bounds of a month, for verification alone."""

from datetime import UTC, date, datetime, time, tzinfo
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from typing import Final, NamedTuple

from quarterhour.model.currencies import MINOR_DIGITS
from quarterhour.model.periods import Period
from quarterhour.proof.compare import Json, short

EXACT: Final = Context(prec=200, traps=[Inexact, InvalidOperation, Overflow])
_ROUNDINGS: Final = {
    name: Context(prec=200, rounding=mode, traps=[InvalidOperation, Overflow])
    for name, mode in (("half-even", ROUND_HALF_EVEN), ("half-up", ROUND_HALF_UP))
}


def exact_sum(*values: Decimal) -> Decimal:
    """Return the exact sum of some values."""
    total = Decimal(0)
    for value in values:
        total = EXACT.add(total, value)
    return total


def text_of(value: Decimal) -> str:
    """Return a decimal as files hold it: without exponent, and without a sign if it is 0."""
    return f"{abs(value) if value == 0 else value:f}"


class Unit(NamedTuple):
    """The minor unit of a currency, and how a statement rounds to it."""

    currency: str
    rounding: str

    def rounded(self, value: Decimal) -> Decimal:
        """Return a decimal, rounded to the unit."""
        return _ROUNDINGS[self.rounding].quantize(value, Decimal(1).scaleb(-self._places))

    def nearest(self, value: Fraction) -> Decimal:
        """Return a fraction, rounded to the unit."""
        units = value * 10**self._places
        up = int(abs(units) + Fraction(1, 2)) * (1 if units > 0 else -1)
        return EXACT.scaleb(Decimal(round(units) if self.rounding == "half-even" else up), -self._places)

    @property
    def _places(self) -> int:
        return MINOR_DIGITS.get(self.currency, 0)


def rounding_of(header: Json) -> str:
    """Return the rounding that a statement shows; raise ``ValueError`` for an unknown one."""
    rounding: str = header["rounding"]
    if rounding not in _ROUNDINGS:
        raise ValueError(f"rounding: expected {' or '.join(_ROUNDINGS)}, found {short(rounding)}")
    return rounding


def bounds_of(period: Period, zone: tzinfo) -> dict[str, str]:
    """Return the instants at which a month begins and ends in a time zone, as a statement shows them."""
    first = datetime.combine(date(period.year, period.month, 1), time(), zone)
    after = datetime.combine(date(period.year + period.month // 12, period.month % 12 + 1, 1), time(), zone)
    texts = (one.astimezone(UTC).isoformat().replace("+00:00", "Z") for one in (first, after))
    return dict(zip(("from", "to"), texts, strict=True))
