"""Payments in parts, pure: in the issuer's currency, and by the VAT of what they clear. Parts add up exactly."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Final, NamedTuple

from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import shown
from quarterhour_tools.accounting.document import IssuerFigures, PaidAmount, StatementDocument, TaxedBase

CORRECTING: Final = frozenset({"bad_debt", "cash_discount"})
"""The kinds of payments that correct the taxable amount of what they clear (Article 90 of Directive 2006/112/EC)."""
NO_DOCUMENTS: Final[Mapping[str, StatementDocument]] = MappingProxyType({})


class Share(NamedTuple):
    """A part of a payment: without its VAT, and the VAT.

    ``row``: what the statement that it clears charges, and it corrects; ``None`` if it corrects nothing.
    """

    base: Decimal
    tax: Decimal
    issuer: IssuerFigures | None
    row: TaxedBase | None = None


def cleared_by(documents: Iterable[StatementDocument]) -> set[str]:
    """Return the numbers of the statements whose VAT the payments on documents correct."""
    return {paid.statement for one in documents for paid in one.paid if paid.kind in CORRECTING}


def payment_shares(
    document: StatementDocument, named: Mapping[str, StatementDocument]
) -> Iterator[tuple[PaidAmount, tuple[Share, ...] | None]]:
    """Yield each payment on a document with its parts: one, or one for each row of tax that it corrects.

    ``named``: the statements that payments clear, by number. The parts are ``None`` if a payment corrects the VAT of a
    statement that is not among them. Those in the issuer's currency add up to what the document states of them all.
    """
    for paid, issuer in zip(document.paid, _in_issuer_currency(document), strict=True):
        whole = Share(paid.amount, money.ZERO, issuer)
        cleared = named.get(paid.statement)
        if paid.kind not in CORRECTING:
            yield paid, (whole,)
        elif cleared is None or cleared.account != document.account:
            yield paid, None
        else:
            yield paid, tuple(_taxed_shares(whole, cleared))


def unknown_vat(document: StatementDocument, paid: PaidAmount) -> FieldProblem:
    """Return the problem of a payment that corrects the VAT of no statement that is known."""
    problem = f"has the payment {shown(paid.id)} of the kind {paid.kind}, whose VAT is not known"
    return FieldProblem(document.number, problem, "data.statement, the number of what it clears")


def _in_issuer_currency(document: StatementDocument) -> Iterator[IssuerFigures | None]:
    """Yield each payment in the issuer's currency, ``None`` if it is not known in that."""
    issued = document.tax_in
    if issued is None:
        own = document.account.currency
        for one in document.paid:
            yield IssuerFigures(own, one.amount, money.ZERO) if own == document.issuer_currency else None
        return
    rate = Fraction(issued.exchange_rate)
    exact = [Fraction(one.amount) / rate for one in document.paid]
    for part in _parts(exact, issued.payments, issued.currency):
        yield IssuerFigures(issued.currency, part, money.ZERO)


def _taxed_shares(whole: Share, cleared: StatementDocument) -> Iterator[Share]:
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
        yield Share(money.subtract(part, tax), tax, figures, row)


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
