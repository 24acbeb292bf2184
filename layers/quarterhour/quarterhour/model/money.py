"""Money as exact decimals of at most 38 digits.

It is rounded once, in the summary of a report and on a statement, unless a charge of a rate card says ``decimals``.
"""

import math
import re
from collections.abc import Iterable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation, Overflow
from enum import StrEnum
from fractions import Fraction
from functools import reduce
from typing import Final

from quarterhour.model.currencies import MINOR_DIGITS

MAX_DIGITS: Final = 38
_MOST_WRITTEN: Final = 1000
"""Far more digits than the sum of any amounts has."""
ZERO: Final = Decimal(0)
NO_CURRENCY: Final = "XXX"
"""The code of ISO 4217 for transactions without a currency."""


class Rounding(StrEnum):
    """How an amount halfway between two minor units is rounded."""

    HALF_EVEN = "half-even"
    """To the even one: 1.025 to 1.02, and 1.035 to 1.04."""
    HALF_UP = "half-up"
    """Away from 0: 1.025 to 1.03, and -1.025 to -1.03, so that a void gives back what its sale was charged."""


_MODES: Final = {Rounding.HALF_EVEN: ROUND_HALF_EVEN, Rounding.HALF_UP: ROUND_HALF_UP}
# Holds the sum of any number of 38-digit amounts at any scale. An inexact result raises an error.
_EXACT = Context(prec=120, traps=[Inexact, InvalidOperation, Overflow])
_TRUNCATING = Context(prec=160, rounding=ROUND_DOWN)
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


def parse_decimal(value: object) -> Decimal | None:
    """Parse a decimal string or an exact JSON number; return ``None`` if it is neither, or has more than 38 digits.

    The scale stays: ``"1.50"`` is ``1.50``. Digits are counted without exponent: ``1E+3`` has four.
    """
    if isinstance(value, str):
        if len(value) > MAX_DIGITS + 3 or not _DECIMAL.fullmatch(value):
            return None
        decimal = Decimal(value)
        return _unsigned_zero(decimal) if fits(decimal) else None
    if not isinstance(value, Decimal) or not value.is_finite() or not fits(value):
        return None
    # An event that is sent again with 1000 instead of 1E+3 is the same event, so both must give the same line.
    return _unsigned_zero(value if int(value.as_tuple().exponent) <= 0 else Decimal(plain(value)))


def plain(value: Decimal) -> str:
    """Format a decimal without exponent, with its scale.

    Raises ``ValueError`` for an exponent that no amount has: the text of ``1E+999999999`` would fill the memory.
    """
    text = str(value)
    if "E" not in text:  # the usual case, in a third of the time
        return text
    if abs(value.adjusted()) > _MOST_WRITTEN and (value or value.adjusted() < 0):  # 0E+2000 is written as 0
        raise ValueError(f"{value} has too many digits without exponent")
    return f"{value:f}"


add, subtract = _EXACT.add, _EXACT.subtract
"""Return the exact sum, the exact difference of two decimals."""
least, greatest = _EXACT.min, _EXACT.max
"""Return the lower, the higher of two decimals; of equal ones always the same, in either order: 1.0 is above 1.00."""


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Return the exact sum of decimals; 0 of none."""
    return reduce(add, amounts, ZERO)


def negated(value: Decimal) -> Decimal:
    """Return the exact negative; Python's minus would round to the precision of its context."""
    return _unsigned_zero(value.copy_negate())


def times(left: Decimal, right: Decimal) -> Decimal | None:
    """Return the exact product; ``None`` if it has more than 38 digits."""
    product = multiply(left, right)
    return product if fits(product) else None


def multiply(left: Decimal, right: Decimal) -> Decimal:
    """Return the exact product; raise ``ArithmeticError`` if it has more than 120 digits."""
    return _unsigned_zero(_EXACT.multiply(left, right))


def part(whole: Decimal, share: Decimal, of: Decimal, decimal_places: int) -> Decimal:
    """Return ``whole * share / of``, truncated to so many decimal places; 0 if ``of`` is 0."""
    if of.is_zero():
        return ZERO
    quotient = _TRUNCATING.divide(_EXACT.multiply(whole, share), of)
    return quotient.quantize(Decimal(1).scaleb(-decimal_places), context=_TRUNCATING)


def rounded_part(whole: Decimal, share: Decimal, of: Decimal, decimal_places: int, rounding: Rounding) -> Decimal:
    """Return ``whole * share / of``, rounded to so many decimal places; 0 if ``of`` is 0."""
    if of.is_zero():
        return ZERO
    exact = Fraction(whole) * Fraction(share) / Fraction(of)
    return rounded_to(exact, decimal_places, rounding)


def trimmed(value: Decimal) -> Decimal:
    """Return the same number without zeros at the end of its decimal places."""
    return _unsigned_zero(value.normalize(_EXACT))


def places(value: Decimal) -> int:
    """Return how many decimal places a number has."""
    return max(0, -int(value.as_tuple().exponent))


def fits(value: Decimal) -> bool:
    """Return whether a number has at most 38 digits, without exponent."""
    text = str(value)
    return (len(text) <= MAX_DIGITS and "E" not in text) or _digits(value) <= MAX_DIGITS


def is_currency(code: object) -> bool:
    """Return whether a value is the ISO 4217 code of a currency."""
    return isinstance(code, str) and code in MINOR_DIGITS


def minor_digits(currency: str) -> int:
    """Return how many decimal places a currency has: 2 for EUR, 0 for JPY and for "no currency"."""
    return MINOR_DIGITS.get(currency, 0)


def on_statement(amount: Decimal, currency: str, rounding: Rounding = Rounding.HALF_EVEN) -> Decimal:
    """Round an amount to the currency's minor unit."""
    return to_places(amount, minor_digits(currency), rounding)


def to_places(amount: Decimal, decimal_places: int, rounding: Rounding) -> Decimal:
    """Round an amount to so many decimal places; with zeros if it has fewer."""
    quantum = Decimal(1).scaleb(-decimal_places)
    return _unsigned_zero(amount.quantize(quantum, rounding=_MODES[rounding], context=Context(prec=120)))


def rounded(exact: Fraction, currency: str, rounding: Rounding = Rounding.HALF_EVEN) -> Decimal:
    """Round an exact fraction as ``on_statement`` does: an amount divided by an exchange rate is seldom a decimal."""
    return rounded_to(exact, minor_digits(currency), rounding)


def rounded_to(exact: Fraction, digits: int, rounding: Rounding) -> Decimal:
    """Round an exact fraction to so many decimal places."""
    units = exact * 10**digits
    nearest = round(units)
    if rounding is Rounding.HALF_UP and abs(units - nearest) * 2 == 1:
        nearest = math.ceil(units) if units > 0 else math.floor(units)
    return _unsigned_zero(Context(prec=120).scaleb(Decimal(nearest), -digits))


def _unsigned_zero(value: Decimal) -> Decimal:
    return value.copy_abs() if value.is_zero() else value


def _digits(value: Decimal) -> int:
    """Return the number of digits without exponent: 3 for ``0.05``, 4 for ``1E+3``."""
    _, digits, exponent = value.as_tuple()
    scale = int(exponent)
    if scale >= 0:
        return len(digits) + (scale if any(digits) else 0)
    return max(len(digits), 1 - scale)
