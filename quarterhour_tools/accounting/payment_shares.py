"""Payments in parts, pure: in the issuer's currency, and by the VAT of what they clear. Parts add up exactly."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from quarterhour.model import money
from quarterhour_tools.accounting.document import IssuerFigures, StatementDocument


class Share(NamedTuple):
    """A part of a payment: without its VAT, and the VAT, of one percentage."""

    percent: Decimal
    base: Decimal
    tax: Decimal
    issuer: IssuerFigures | None


def issuer_shares(document: StatementDocument) -> Iterator[Decimal | None]:
    """Yield each payment of a document in the issuer's currency, ``None`` if it is not known in that.

    They add up to what the document states of them all.
    """
    issued = document.tax_in
    if issued is None:
        yield from (None for _ in document.paid)
        return
    rate = Fraction(issued.exchange_rate)
    exact = [Fraction(one.amount) / rate for one in document.paid]
    yield from _parts(exact, issued.payments, issued.currency)


def taxed_shares(whole: Share, cleared: StatementDocument) -> Iterator[Share]:
    """Yield the parts of a payment by the rows of tax of the statement that it clears, in proportion."""
    gross = [Fraction(money.add(row.base, row.tax)) for row in cleared.taxes]
    if not (total := sum(gross)):
        yield whole
        return
    currency = cleared.account.currency
    parts = list(_parts([Fraction(whole.base) * one / total for one in gross], whole.base, currency))
    issuer, issued = whole.issuer, parts
    if issuer:
        exact = [Fraction(issuer.base) * one / total for one in gross]
        issued = list(_parts(exact, issuer.base, issuer.currency))
    for row, one, part, abroad in zip(cleared.taxes, gross, parts, issued, strict=True):
        share = Fraction(row.tax) / one if one else Fraction(0)
        tax = money.rounded(Fraction(part) * share, currency)
        figures = None
        if issuer:
            their_tax = money.rounded(Fraction(abroad) * share, issuer.currency)
            figures = IssuerFigures(issuer.currency, money.subtract(abroad, their_tax), their_tax)
        yield Share(row.percent, money.subtract(part, tax), tax, figures)


def _parts(exact: Iterable[Fraction], total: Decimal, currency: str) -> Iterator[Decimal]:
    """Round parts so that they add up to a total: each is what the rounded sum up to it adds."""
    sums, running = list[Decimal](), Fraction(0)
    for one in exact:
        running += one
        sums.append(money.rounded(running, currency))
    before = money.ZERO
    for upto in (*sums[:-1], *([total] if sums else [])):
        yield money.subtract(upto, before)
        before = upto
