"""The charges of a rate card's rule: what is charged for a line, by name, and what is charged for a month."""

from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from quarterhour.model import money
from quarterhour.model.charges import COMMISSION
from quarterhour.model.money import Rounding
from quarterhour.model.tiers import Scheme
from quarterhour.registry.rate_cards.arithmetic import GOODS, NET, Charge, ChargePart, OrderFee, Turnover, result

if TYPE_CHECKING:
    from quarterhour.registry.rate_cards import api

FixedPer = Literal["item", "order"]
AmountPart = Literal["amount", "net", "goods"]
AMOUNT: Final = "amount"
PARTS: Final[tuple[AmountPart, ...]] = (AMOUNT, NET, GOODS)
"""What a charge can be of: the amount of an event, without tax, or without tax and shipping."""
ITEM: Final = "item"
ORDER: Final = "order"
GROUP: Final = "group"
ACCOUNT: Final = "account"
_NEEDS: Final = {AMOUNT: (), NET: ("tax",), GOODS: ("tax", "shipping")}


class Refund(StrEnum):
    """What a linked refund gives back of a charge; a void gives back all."""

    SHARE = "share"
    """Its share."""
    KEEP = "keep"
    """Nothing."""
    KEEP_FIXED = "keep_fixed"
    """Its share of all but the fixed fee."""


class PartMonths(StrEnum):
    """What is charged for the first and the last month, of which an agency is registered for a part."""

    WHOLE = "whole"
    BY_DAYS = "by_days"


class Sold(NamedTuple):
    """The part of an event that a rate card prices: an amount and its parts, the number of items, and what they are.

    The charges have the sign of the amount. ``items`` is ``None`` if no item is sold or given back; then only the
    percentage is charged. ``tax`` and ``shipping`` are ``None`` if the event lacks them. ``in_order``: whether it is a
    line of an order.
    """

    amount: Decimal
    currency: str
    items: Decimal | None
    category: str = ""
    location: str = ""
    product: str = ""
    tax: Decimal | None = None
    shipping: Decimal | None = None
    in_order: bool = False

    def basis(self, part: str) -> Decimal:
        """Return a part of the amount; what the event lacks is 0."""
        left = self.amount
        for name in _NEEDS[part]:
            left = money.subtract(left, getattr(self, name) or money.ZERO)
        return left

    def lacks(self, part: str) -> frozenset[str]:
        """Return what the event would have to say for a part of its amount, and does not."""
        return frozenset(name for name in _NEEDS[part] if getattr(self, name) is None)


class Pricing(NamedTuple):
    """What a charge depends on beside the event: how the owner rounds, and the group of the agency."""

    rounding: Rounding = Rounding.HALF_EVEN
    group: str = ""


class LineCharge(NamedTuple):
    """A charge for each line: a percentage and a fixed fee within bounds, or tiers.

    The fee and the bounds are amounts in the rule's currency. ``scheme``: the tiers, of the account alone; with
    ``of_group``, of the agency's group. ``decimals``: to how many it is rounded on each line.
    """

    name: str = COMMISSION
    percent: Decimal = money.ZERO
    of: AmountPart = AMOUNT
    fixed: Decimal | None = None
    fixed_per: FixedPer = ITEM
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    refund: Refund = Refund.SHARE
    decimals: int | None = None
    scheme: Scheme | None = None
    of_group: bool = False

    @property
    def is_once(self) -> bool:
        """Whether it has a fee that an order pays once."""
        return self.fixed is not None and self.fixed_per == ORDER

    @property
    def has_fees(self) -> bool:
        """Whether it has a fee or bounds, which apply to items alone."""
        return not (self.fixed is self.minimum is self.maximum is None)

    @property
    def is_short(self) -> bool:
        """Whether a rule may name its percentage alone."""
        return self == LineCharge(percent=self.percent)

    def entries(self, sold: Sold, pricing: Pricing) -> list[ChargePart]:
        """Return how the charge is computed for an event; the fee of an order, if it has one, is an entry of its own.

        That fee is what it adds to the charge, within the bounds.
        """
        part = None if self.of == AMOUNT else self.of
        if self.scheme:
            return [ChargePart(self.name, self._turnover(sold, part, pricing.group))]
        if sold.items is None:
            return [ChargePart(self.name, self._rounded(Charge(self.percent, sold.basis(self.of), part=part), pricing))]
        once = self.is_once and sold.in_order
        charge = self._charge(sold, part, pricing, None if once else self.fixed)
        if not once or sold.amount < 0:
            return [ChargePart(self.name, charge)]
        whole = self._charge(sold, part, pricing, self.fixed)
        fee = money.subtract(result(whole), result(charge))
        kept = None if self.refund is Refund.SHARE else fee
        order = OrderFee(fee, charge.of, kept, part, charge.half_up, charge.half_even)
        return [ChargePart(self.name, charge), ChargePart(self.name, order)]

    def _charge(self, sold: Sold, part: str | None, pricing: Pricing, fixed: Decimal | None) -> Charge:
        items = money.ZERO if sold.items is None else sold.items
        if self.fixed_per == ORDER:
            items = Decimal(1)
        basis = sold.basis(self.of)
        charge = Charge(self.percent, basis, fixed, least=self.minimum, most=self.maximum, part=part)
        if basis.is_zero() and sold.amount < 0:  # the sign is that of the items
            charge = charge._replace(items=money.negated(items))
        elif fixed is not None:
            charge = charge._replace(items=items)
        charge = self._rounded(charge, pricing)
        if self.refund is Refund.KEEP:
            return charge._replace(kept=result(charge).copy_abs())
        if self.refund is Refund.KEEP_FIXED and fixed is not None:
            return charge._replace(kept=money.multiply(fixed, items))
        return charge

    def _rounded(self, charge: Charge, pricing: Pricing) -> Charge:
        if self.decimals is None:
            return charge
        digits = Decimal(self.decimals)
        if pricing.rounding is Rounding.HALF_UP:
            return charge._replace(half_up=digits)
        return charge._replace(half_even=digits)

    def _turnover(self, sold: Sold, part: str | None, group: str) -> Turnover:
        basis = sold.basis(self.of)
        scheme = str(self.scheme_of(group))
        is_kept = self.refund is Refund.KEEP and sold.items is not None
        return Turnover(basis, basis.copy_abs() if is_kept else None, part, scheme)

    def scheme_of(self, group: str) -> Scheme | None:
        """Return the tiers for an agency of a group; those of the account alone if it is in none."""
        if self.scheme is None or not (self.of_group and group):
            return self.scheme
        return Scheme(self.scheme.per, group, self.scheme.mode, self.scheme.steps)

    def as_dict(self) -> "api.Charge":
        """Return the charge as the API shows it."""
        shown: api.Charge = {"name": self.name}
        if self.scheme:
            shown["tiers"] = {
                "per": self.scheme.per.value,
                "of": GROUP if self.of_group else ACCOUNT,
                "mode": self.scheme.mode.value,
                "steps": [
                    {"from": money.plain(step.start), "percent": money.plain(step.percent)}
                    for step in self.scheme.steps
                ],
            }
        else:
            shown["percent"] = money.plain(self.percent)
        if self.of != AMOUNT:
            shown["of"] = self.of
        if self.fixed is not None:
            shown["fixed"] = money.plain(self.fixed)
            if self.fixed_per != ITEM:
                shown["fixed_per"] = self.fixed_per
        if self.minimum is not None:
            shown["minimum"] = money.plain(self.minimum)
        if self.maximum is not None:
            shown["maximum"] = money.plain(self.maximum)
        if self.refund is not Refund.SHARE:
            shown["refund"] = cast("api.GivenBack", self.refund.value)
        if self.decimals is not None:
            shown["decimals"] = self.decimals
        return shown


class MonthlyCharge(NamedTuple):
    """A charge for each month, whatever is sold: an ``amount``, or the ``minimum`` of the commission; not both."""

    name: str
    amount: Decimal | None = None
    minimum: Decimal | None = None
    part_months: PartMonths = PartMonths.WHOLE

    def as_dict(self) -> "api.Charge":
        """Return the charge as the API shows it."""
        shown: api.Charge = {"name": self.name, "per": "month"}
        if self.amount is not None:
            shown["amount"] = money.plain(self.amount)
            shown["part_months"] = self.part_months.value
        if self.minimum is not None:
            shown["minimum"] = money.plain(self.minimum)
        return shown
