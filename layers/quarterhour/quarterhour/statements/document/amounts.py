"""The amounts of a statement, pure: what is owed for the sums of an account's lines."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.statements.document.tax import TaxRow, base_and_tax
from quarterhour.statements.drafts.figures import AccountSums
from quarterhour.statements.remainders import rounded_with


class Proceeds(NamedTuple):
    """What the marketplace owes an agency for sales, rounded once; ``rest``: what the rounding leaves."""

    amount: Decimal = money.ZERO
    rest: Decimal = money.ZERO


NO_PROCEEDS: Final = Proceeds()


@dataclass(frozen=True, slots=True)
class Amounts:
    """The amounts of a statement: commission and tax are sums of rounded ones, proceeds are rounded, all else is exact.

    ``proceeds``: the net of the lines whose money the marketplace has collected and owes the agency. Sales may have
    more decimals than the currency, and a balance may not.
    """

    opening: Decimal
    brought_forward: Decimal
    net: Decimal
    commission_exact: Decimal
    commission: Decimal
    tax: Decimal
    payments: Decimal
    proceeds: Decimal = money.ZERO

    @property
    def payable(self) -> Decimal:
        """Commission and tax."""
        return money.add(self.commission, self.tax)

    @property
    def closing(self) -> Decimal:
        """The closing balance: what the agency owes, negative if it is owed."""
        received = money.add(self.proceeds, self.payments)
        return money.add(money.add(self.opening, self.payable), money.negated(received))

    @classmethod
    def of(
        cls,
        sums: AccountSums,
        previous_closing: Decimal,
        taxes: Iterable[TaxRow],
        collected: Proceeds = NO_PROCEEDS,
    ) -> Self:
        """Return the amounts of an account's sums after a closing balance.

        ``taxes``: on what the sums charge. ``collected``: the proceeds of their lines.
        """
        commission, tax = base_and_tax(taxes)
        return cls(
            money.add(previous_closing, sums.brought_forward),
            sums.brought_forward,
            sums.net,
            sums.commission,
            commission,
            tax,
            sums.payments,
            collected.amount,
        )


def proceeds(net: Decimal, currency: str, rounding: money.Rounding, carried: Decimal = money.ZERO) -> Proceeds:
    """Return the proceeds of a net that the marketplace has collected. ``carried``: what rounding left before."""
    amount = rounded_with(net, carried, currency, rounding)
    return Proceeds(amount, money.subtract(net, amount))
