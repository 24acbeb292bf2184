"""The amounts of a statement, pure: what is owed for the sums of an account's lines."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from quarterhour.model import money
from quarterhour.registry.agencies.agency import BY_MARKETPLACE
from quarterhour.statements.document.tax import TaxRow, base_and_tax
from quarterhour.statements.drafts.figures import AccountSums


@dataclass(frozen=True, slots=True)
class Amounts:
    """The amounts of a statement: commission and tax are sums of rounded ones, proceeds are rounded, all else is exact.

    ``proceeds``: the net that the marketplace has collected and owes the agency; 0 if the agency collects it. Sales may
    have more decimals than the currency, and a balance may not.
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
        proceeds_of: Callable[[Decimal], Decimal] = lambda _: money.ZERO,
    ) -> Self:
        """Return the amounts of an account's sums after a closing balance.

        ``taxes``: on what the sums charge. ``proceeds_of`` returns the proceeds of a net.
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
            proceeds_of(sums.net),
        )


def proceeds(net: Decimal, collects: str, currency: str, rounding: money.Rounding) -> Decimal:
    """Return what the marketplace owes an agency for its net, rounded once; 0 if the agency collects it itself."""
    return money.on_statement(net if collects == BY_MARKETPLACE else money.ZERO, currency, rounding)
