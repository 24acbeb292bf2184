"""What was sold of a product: totals, and the lowest, the highest and the latest amount of a sale.

Both can be added up in any order and grouping, so the figures of runs give those of days, of categories and of all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Self

from quarterhour.model import money
from quarterhour.model.totals import Totals

Product = tuple[str, str, str, str]
"""Agency, currency, category and product; the last two are empty for events that name none."""

MOST_PRODUCTS: Final = 20_000
"""The most products that a part or a run names. Events of any further one count in the ``others`` of their account."""
OTHERS: Final = "\U0010ffff"
"""Category and product of what is beyond the bound. It is not printable, so no event names it; it sorts last."""
_NOTHING: Final = Totals()
_INSTANT: Final = len("2026-10-23T01:30:12.345Z")


@dataclass(frozen=True, slots=True)
class SaleAmounts:
    """The lowest and the highest amount of some sales, and that of the sale with the last position in the ledger."""

    lowest: Decimal
    highest: Decimal
    position: str
    latest: Decimal

    def __add__(self, other: "SaleAmounts") -> "SaleAmounts":
        """Return the amounts of the sales of both."""
        last = max((self.position, self.latest), (other.position, other.latest))
        return SaleAmounts(money.least(self.lowest, other.lowest), money.greatest(self.highest, other.highest), *last)

    @property
    def latest_at(self) -> str:
        """When the latest sale was recorded."""
        return self.position[:_INSTANT]


@dataclass(frozen=True, slots=True)
class ProductFigures:
    """The totals of some events, without payments, and the amounts of the sales among them; ``None`` if none is one."""

    totals: Totals = _NOTHING
    amounts: SaleAmounts | None = None

    def __add__(self, other: "ProductFigures") -> "ProductFigures":
        """Return what both sold."""
        amounts = self.amounts + other.amounts if self.amounts and other.amounts else self.amounts or other.amounts
        return ProductFigures(self.totals + other.totals, amounts)

    def as_list(self) -> list[Any]:
        """Return the figures as plain values, to be stored."""
        one, amounts = self.totals, self.amounts
        sums = [one.events, *map(money.plain, (one.gross, one.refunds, one.commission))]
        if amounts is None:
            return sums
        return [*sums, *map(money.plain, (amounts.lowest, amounts.highest, amounts.latest)), amounts.position]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Parse what ``as_list`` returned."""
        events, gross, refunds, commission, *amounts = values
        totals = Totals(int(events), Decimal(gross), Decimal(refunds), Decimal(commission))
        if not amounts:
            return cls(totals)
        lowest, highest, latest, position = amounts
        return cls(totals, SaleAmounts(Decimal(lowest), Decimal(highest), position, Decimal(latest)))


class RunningFigures:
    """Totals with the lowest, the highest and the latest amount, to which events are added, one after the other."""

    __slots__ = ("_commission", "_events", "_gross", "_highest", "_latest", "_lowest", "_position", "_refunds")

    def __init__(self) -> None:
        self._events = 0
        self._gross = self._refunds = self._commission = money.ZERO
        self._position = ""

    def add(self, amount: Decimal, commission: Decimal, position: str) -> None:
        """Add an event at a position of the ledger."""
        self._commission = money.add(self._commission, commission)
        if amount < money.ZERO:
            self._refunds = money.add(self._refunds, amount)
        else:
            self._gross = money.add(self._gross, amount)
        if not self._events:
            self._lowest = self._highest = amount
        elif amount <= self._lowest:
            self._lowest = money.least(self._lowest, amount)
        elif amount >= self._highest:
            self._highest = money.greatest(self._highest, amount)
        self._events += 1
        if position > self._position:
            self._position, self._latest = position, amount

    def totals(self, *, is_payment: bool) -> Totals:
        """Return the totals of the events added so far, which are all payments or none of them."""
        if is_payment:
            payments = money.add(self._gross, self._refunds)
            return Totals(self._events, commission=self._commission, payments=payments)
        return Totals(self._events, self._gross, self._refunds, self._commission)

    def amounts(self) -> SaleAmounts:
        """Return the lowest, the highest and the latest amount of the events added so far."""
        return SaleAmounts(self._lowest, self._highest, self._position, self._latest)


ProductTotals = dict[Product, ProductFigures]


def others_of(product: Product) -> Product:
    """Return the name under which a product counts that is beyond the bound: that of all others of its account."""
    agency, currency, _, _ = product
    return agency, currency, OTHERS, OTHERS


def add_products(sums: ProductTotals, more: Iterable[tuple[Product, ProductFigures]]) -> None:
    """Add what was sold of products to sums that name a bounded number of them; the order decides which are named."""
    for product, sold in more:
        named = product if product in sums or len(sums) < MOST_PRODUCTS else others_of(product)
        sums[named] = sums[named] + sold if named in sums else sold
