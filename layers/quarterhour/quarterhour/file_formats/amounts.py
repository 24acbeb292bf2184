"""The one text of an amount, whether it comes from an export file or from a webhook."""

from decimal import Decimal

from quarterhour.model import money


def in_minor_units(amount: Decimal, currency: str) -> Decimal:
    """Return the same amount with the decimal places of its currency, or with more if it needs them."""
    trimmed, digits = money.trimmed(amount), money.minor_digits(currency)
    return trimmed if money.places(trimmed) > digits else money.add(trimmed, Decimal(0).scaleb(-digits))
