"""What is left of a sale, pure: its amount and parts after refunds and voids, and the charges that go with them.

What all linked events of a sale give back together depends on what is left alone, not on their order or their parts.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from quarterhour.ledger.recording.pricing import BY_RERATING, BY_SALE, CommissionTerms
from quarterhour.model import money
from quarterhour.model.charges import Charges, total
from quarterhour.registry.rate_cards import arithmetic
from quarterhour.registry.rate_cards.arithmetic import (
    FEWEST_PLACES,
    NET,
    Charge,
    ChargePart,
    Difference,
    OfSale,
    OrderFee,
    Turnover,
)

_Units = tuple[Decimal, Decimal, Decimal]


class Parts(NamedTuple):
    """An amount, and the tax and shipping in it; 0 if nothing is known of them."""

    amount: Decimal
    tax: Decimal = money.ZERO
    shipping: Decimal = money.ZERO

    @classmethod
    def of(cls, facts: Mapping[str, str]) -> "Parts":
        """Return the parts of a recorded event."""
        return cls(Decimal(facts["amount"]), Decimal(facts.get("tax") or 0), Decimal(facts.get("shipping") or 0))

    def basis(self, part: str | None) -> Decimal:
        """Return the part of the amount that a charge is of."""
        if part is None:
            return self.amount
        net = money.subtract(self.amount, self.tax)
        return net if part == NET else money.subtract(net, self.shipping)


class Left(NamedTuple):
    """What is left of a sale's amount; its ``tax`` and ``shipping``, ``None`` as long as they are in proportion.

    ``is_void``: whether a void has given back what refunds keep.
    """

    amount: Decimal
    tax: Decimal | None = None
    shipping: Decimal | None = None
    is_void: bool = False

    @property
    def is_in_proportion(self) -> bool:
        """Whether the parts of what is left are those of the sale in proportion."""
        return self.tax is None or self.shipping is None

    @property
    def parts(self) -> Parts:
        """The amount with its tax and shipping, if they are known."""
        return Parts(self.amount, self.tax or money.ZERO, self.shipping or money.ZERO)


class OrderChange(NamedTuple):
    """What becomes of the fees of an order when one of its lines is voided.

    ``keeps``: other lines stand, so that what the line bears of them stays with the order. ``given_back``: what was
    left with the order, by name, as the last line is void.
    """

    keeps: bool = False
    given_back: Mapping[str, Decimal] = {}


class OwnParts(NamedTuple):
    """The parts that a refund says itself, with its sign; ``None`` if it leaves one to proportion."""

    tax: Decimal | None = None
    shipping: Decimal | None = None

    @classmethod
    def of(cls, facts: Mapping[str, str]) -> "OwnParts":
        """Return what the facts of a refund say."""
        return cls(*(Decimal(text) if (text := facts.get(name)) else None for name in ("tax", "shipping")))

    @property
    def negated(self) -> "OwnParts":
        """The parts that take these back."""
        return OwnParts(*(None if one is None else money.negated(one) for one in self))


def left_after(sale: Parts, left: Left, amount: Decimal, own: OwnParts = OwnParts()) -> Left:  # noqa: B008 - immutable
    """Return what is left of a sale after an amount was taken off it (below 0) or is left of it again (above 0).

    What a refund says of its parts counts as far as that much is left of the sale; the rest is in proportion.
    """
    after = money.add(left.amount, amount)
    if (sale.tax.is_zero() and sale.shipping.is_zero()) or (
        left.is_in_proportion and _is_in_proportion(sale, amount, own)
    ):
        return left._replace(amount=after)
    tax, shipping = (
        money.add(_left_of(whole, now, sale, left), _taken(whole, now, said, (sale, left), amount))
        for whole, now, said in ((sale.tax, left.tax, own.tax), (sale.shipping, left.shipping, own.shipping))
    )
    goods = sale.basis(arithmetic.GOODS)
    least = money.subtract(money.subtract(after, sale.shipping), goods)
    tax = _within(tax, least, min(sale.tax, after))
    rest = money.subtract(after, tax)
    shipping = _within(shipping, money.subtract(rest, goods), min(sale.shipping, rest))
    return left._replace(amount=after, tax=tax, shipping=shipping)


def _is_in_proportion(sale: Parts, amount: Decimal, own: OwnParts) -> bool:
    return all(
        said is None or money.multiply(said, sale.amount) == money.multiply(whole, amount)
        for said, whole in ((own.tax, sale.tax), (own.shipping, sale.shipping))
    )


def _left_of(whole: Decimal, now: Decimal | None, sale: Parts, left: Left) -> Decimal:
    return _proportion(whole, left.amount, sale.amount) if now is None else now


def _taken(
    whole: Decimal, now: Decimal | None, said: Decimal | None, of: tuple[Parts, Left], amount: Decimal
) -> Decimal:
    """Return what an event takes off a part, below 0: what it says, or its share of what is left."""
    if said is not None:
        return said
    sale, left = of
    if amount > 0 or now is None:
        return _proportion(whole, amount, sale.amount)
    return _proportion(now, amount, left.amount)


def _proportion(whole: Decimal, share: Decimal, of: Decimal) -> Decimal:
    return money.part(whole, share, of, max(FEWEST_PLACES, money.places(whole)))


def _within(value: Decimal, least: Decimal, most: Decimal) -> Decimal:
    return min(max(value, least, money.ZERO), max(most, money.ZERO))


def _units(how: OfSale, sale: Parts, before: Left, after: Left) -> _Units:
    """Return the amount that a charge is of, and how much of it was given back before and after an event."""
    part, whole, of = how.part, how.of, how.of if how.part is None else sale.amount
    amounts = money.subtract(of, before.amount), money.subtract(of, after.amount)
    if part is None or whole.is_zero() or after.is_in_proportion:
        return of, *amounts
    given = money.subtract(whole, after.parts.basis(part))
    if not before.is_in_proportion:
        return whole, money.subtract(whole, before.parts.basis(part)), given
    # In one unit, so that nothing is cut off between what is in proportion and what is not.
    return money.multiply(whole, of), money.multiply(amounts[0], whole), money.multiply(given, of)


def linked_terms(  # noqa: PLR0913, PLR0917 - a sale before and after, and what becomes of its order
    terms: CommissionTerms,
    sale: Parts,
    before: Left,
    after: Left,
    origin: str = BY_SALE,
    order: OrderChange = OrderChange(),  # noqa: B008 - immutable
) -> CommissionTerms:
    """Return the terms of an event that changes what is left of a sale, which has ``terms``.

    A refund leaves what the sale's terms keep; the void after which nothing stands gives it back.
    """
    if not (terms.arithmetic or order.given_back):
        return CommissionTerms(terms.commission_rate, origin)
    entries = [
        ChargePart(name, arithmetic.share_of(how, units, is_void=after.is_void and not before.is_void))
        for name, how, units in _of_sale(terms, sale, before, after)
        # A void decides once what becomes of an order's fee: with the line, or with the order.
        if not (isinstance(how, OrderFee) and (before.is_void or order.keeps))
    ]
    entries += [
        ChargePart(name, OrderFee(money.negated(fee), money.ZERO)) for name, fee in order.given_back.items() if fee
    ]
    return CommissionTerms(terms.commission_rate, origin, arithmetic.write(entries))


def fees_left(terms: CommissionTerms, sale: Parts, left: Left) -> dict[str, Decimal]:
    """Return what is left of the fees of its order that a sale bears, by name."""
    entries = arithmetic.read(terms.arithmetic) if terms.arithmetic else []
    found: dict[str, Decimal] = {}
    for name, how in entries:
        if isinstance(how, OrderFee):
            back = arithmetic.share_of(how, _units(how, sale, Left(sale.amount), left), is_void=False)
            found[name] = money.add(how.order, arithmetic.result(back))
    return found


def charges_left(terms: CommissionTerms, sale: Parts, left: Left) -> Charges | None:
    """Return what a sale is charged on some terms for what is left; ``None`` if it needs more than 38 digits."""
    charged = terms.charges(sale.amount)
    whole = Left(sale.amount)
    if charged is None or left == whole:
        return charged
    back = linked_terms(terms, sale, whole, left).charges(money.subtract(left.amount, sale.amount))
    both = back and total((charged, back))
    return both if both and all(map(money.fits, (*both.amounts.values(), both.commission))) else None


def _of_sale(terms: CommissionTerms, sale: Parts, before: Left, after: Left) -> list[tuple[str, OfSale, _Units]]:
    found: list[tuple[str, OfSale, _Units]] = []
    for name, how in terms.entries(sale.amount):
        if not isinstance(how, Charge | OrderFee | Turnover):
            raise ValueError(f"{terms.arithmetic!r} is no arithmetic of a sale")  # noqa: TRY004 - a value of the ledger
        found.append((name, how, _units(how, sale, before, after)))
    return found


def rerating_terms(due: Charges, paid: Charges, commission_rate: Decimal) -> CommissionTerms:
    """Return the terms of a re-rating: what is due for what is left of a sale, less what was paid for it."""
    differences = [
        (name, Difference(due.amounts.get(name, money.ZERO), paid.amounts.get(name, money.ZERO)))
        for name in dict.fromkeys((*due.amounts, *paid.amounts))
    ] + [
        (name, Difference(due.turnover.get(key, money.ZERO), paid.turnover.get(key, money.ZERO), key[1]))
        for key in dict.fromkeys((*due.turnover, *paid.turnover))
        for name in key[:1]
    ]
    changed = [ChargePart(name, how) for name, how in differences if how.due != how.paid]
    return CommissionTerms(commission_rate, BY_RERATING, arithmetic.write(changed))


def is_equal(one: Charges, other: Charges) -> bool:
    """Return whether two charges are the same; a charge of 0 is none."""
    return _without_zeros(one) == _without_zeros(other)


def _without_zeros(charges: Charges) -> Charges:
    return Charges(
        {name: amount for name, amount in charges.amounts.items() if amount},
        {key: counted for key, counted in charges.turnover.items() if counted},
    )
