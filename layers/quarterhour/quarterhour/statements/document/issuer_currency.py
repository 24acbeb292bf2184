"""The amounts of a statement in the issuer's currency, pure: converted and rounded once, for all that books them."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from quarterhour.model import money
from quarterhour.statements.document.amounts import Amounts
from quarterhour.statements.document.tax import TaxRow
from quarterhour.statements.drafts.figures import LastRate


def in_issuer_currency(
    amounts: Amounts, taxes: Sequence[TaxRow], rate: LastRate, currency: str, rounding: money.Rounding
) -> dict[str, Any]:
    """Return the member ``tax_in``: the totals, the rows of tax in their order, and the other amounts that are booked.

    The rows add up to the totals: the largest takes what rounding leaves. ``currency``: that of the issuer.
    """

    def converted(amount: Decimal) -> Decimal:
        return money.rounded(Fraction(amount) / Fraction(rate.units), currency, rounding)

    base, tax = converted(amounts.commission), converted(amounts.tax)
    bases = _shared(base, [row.base for row in taxes], converted)
    shares = zip(bases, _shared(tax, [row.tax for row in taxes], converted), strict=True)
    return {
        "currency": currency,
        "exchange_rate": money.plain(rate.units),
        "exchange_rate_source": rate.source,
        "exchange_rate_as_of": rate.as_of,
        "base": money.plain(base),
        "tax": money.plain(tax),
        "rows": [{"base": money.plain(of_base), "tax": money.plain(of_tax)} for of_base, of_tax in shares],
        "brought_forward": money.plain(converted(amounts.brought_forward)),
        "proceeds": money.plain(converted(amounts.proceeds)),
        "payments": money.plain(converted(amounts.payments)),
    }


def _shared(whole: Decimal, amounts: list[Decimal], converted: Callable[[Decimal], Decimal]) -> list[Decimal]:
    """Return the amounts converted, with that of the largest changed so that they add up to the whole."""
    parts = [converted(amount) for amount in amounts]
    # By the amounts: of parts that are all rounded to 0, the first may be of a row over nothing.
    largest = max(range(len(parts)), key=lambda one: abs(amounts[one]))
    rest = money.add(whole, money.negated(money.total(parts)))
    return [money.add(part, rest) if number == largest else part for number, part in enumerate(parts)]
