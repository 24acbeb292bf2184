"""Money as exact decimals of at most 38 digits; rounded once, on a statement, and nowhere else."""

import re
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from typing import Final

from quarterhour.model.currencies import MINOR_DIGITS

MAX_DIGITS: Final = 38
ZERO: Final = Decimal(0)
NO_CURRENCY: Final = "XXX"
"""ISO 4217's own code for what involves no currency."""

# Wide enough for the sum of any number of 38-digit amounts at any scale; what would not be exact raises.
_EXACT = Context(prec=120, traps=[Inexact, InvalidOperation, Overflow])
_CUT = Context(prec=160, rounding=ROUND_DOWN)
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


def parse_decimal(value: object) -> Decimal | None:
    """Read a decimal string or an exact JSON number; ``None`` where it is none, or beyond 38 digits.

    The scale is kept: ``"1.50"`` stays ``1.50``. Digits are counted as written out, without exponent.
    """
    if isinstance(value, str):
        if len(value) > MAX_DIGITS + 3 or not _DECIMAL.fullmatch(value):
            return None
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite() or not fits(value):
        return None
    # What a number's exponent says is written out: 1E+3 and 1000 are the same event, so they make the same line.
    return _unsigned_zero(value if int(value.as_tuple().exponent) <= 0 else Decimal(plain(value)))


def plain(value: Decimal) -> str:
    """Write a decimal without exponent, in the scale that it has."""
    return f"{value:f}"


def add(left: Decimal, right: Decimal) -> Decimal:
    """Return the exact sum."""
    return _EXACT.add(left, right)


def negated(value: Decimal) -> Decimal:
    """Return the value with the other sign; Python's own minus would round to the digits of its context."""
    return _unsigned_zero(value.copy_negate())


def times(left: Decimal, right: Decimal) -> Decimal | None:
    """Return the exact product, ``None`` where it needs more than 38 digits."""
    product = multiply(left, right)
    return product if fits(product) else None


def multiply(left: Decimal, right: Decimal) -> Decimal:
    """Return the exact product, however long; raise ``ArithmeticError`` beyond 120 digits."""
    return _unsigned_zero(_EXACT.multiply(left, right))


def part(whole: Decimal, share: Decimal, of: Decimal, behind: int) -> Decimal:
    """Return what falls to a share (``share`` of ``of``) of the whole, cut off ``behind`` so many decimal places.

    Nothing falls to a share of nothing.
    """
    if of.is_zero():
        return ZERO
    quotient = _CUT.divide(_EXACT.multiply(whole, share), of)
    return quotient.quantize(Decimal(1).scaleb(-behind), context=_CUT)


def places(value: Decimal) -> int:
    """Return how many decimal places a number has."""
    return max(0, -int(value.as_tuple().exponent))


def fits(value: Decimal) -> bool:
    """Tell whether a number has at most 38 digits as written out."""
    return _digits(value) <= MAX_DIGITS


def is_currency(code: object) -> bool:
    """Tell whether it is the code of a currency in ISO 4217."""
    return isinstance(code, str) and code in MINOR_DIGITS


def on_statement(amount: Decimal, currency: str) -> Decimal:
    """Round to the currency's minor unit, half to even: the one rounding there is."""
    quantum = Decimal(1).scaleb(-MINOR_DIGITS.get(currency, 0))
    return _unsigned_zero(amount.quantize(quantum, rounding=ROUND_HALF_EVEN, context=Context(prec=120)))


def rounded(exact: Fraction, currency: str) -> Decimal:
    """Round an exact fraction as ``on_statement`` rounds: what was converted by a rate is seldom a decimal."""
    digits = MINOR_DIGITS.get(currency, 0)
    return _unsigned_zero(Context(prec=120).scaleb(Decimal(round(exact * 10**digits)), -digits))


def _unsigned_zero(value: Decimal) -> Decimal:
    return value.copy_abs() if value.is_zero() else value


def _digits(value: Decimal) -> int:
    """Count the digits of the number written out: ``0.05`` has three, ``1E+3`` four."""
    _, digits, exponent = value.as_tuple()
    scale = int(exponent)
    if scale >= 0:
        return len(digits) + (scale if any(digits) else 0)
    return max(len(digits), 1 - scale)
