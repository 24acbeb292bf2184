"""Balances and previews, pure: what an account owes now, and what its next statement would be."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple, Self

from quarterhour.agencies.agency import BY_AGENCY, BY_MARKETPLACE
from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, total
from quarterhour.statements.figures import Amounts, proceeds
from quarterhour.statements.tax import ProfileAt, Taxable, TaxRow, base_and_tax, taxed


class StatementSummary(NamedTuple):
    """The figures of a statement that balances need.

    ``charged``: its net, its exact commission and its payments, as counted.
    """

    period: Period
    number: str
    bound: QuarterHour
    closing: Decimal
    charged: Totals

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse the item of a statement."""
        commission = money.add(Decimal(values["commission_exact"]), Decimal(values["brought_forward"]))
        return cls(
            Period.parse(values["period"]),
            values["number"],
            QuarterHour.parse(values["bound"]),
            Decimal(values["closing"]),
            Totals(gross=Decimal(values["net"]), commission=commission, payments=Decimal(values["payments"])),
        )


@dataclass(frozen=True, slots=True)
class Balance:
    """What an account owes: the closing balance of its last statement, and what is on no statement yet.

    ``unbilled``: the exact commission, without tax, the net and the payments; its other figures mean nothing.
    ``collects``: who holds the customers' money now.
    """

    last: StatementSummary | None
    unbilled: Totals
    collects: str = BY_AGENCY

    @property
    def proceeds(self) -> Decimal:
        """The exact net that the marketplace has collected and that is on no statement yet."""
        return self.unbilled.net if self.collects == BY_MARKETPLACE else money.ZERO

    @property
    def amount(self) -> Decimal:
        """The balance: what the agency owes, negative if it is owed."""
        closing = self.last.closing if self.last else money.ZERO
        received = money.add(self.proceeds, self.unbilled.payments)
        return money.add(closing, money.add(self.unbilled.commission, money.negated(received)))

    @classmethod
    def of(cls, statements: Iterable[StatementSummary], counted: Totals, since: Totals) -> Self:
        """Return the balance of an instant.

        ``statements``: those whose bound is not after the instant. ``counted``: all that is counted now for the periods
        that get statements. ``since``: the part of it that was recorded after the instant. What is counted and on no
        statement is unbilled, so each line is either in the closing balance or unbilled, whatever period it is of.
        """
        sealed = sorted(statements)
        return cls(sealed[-1] if sealed else None, counted - total(one.charged for one in sealed) - since)


def of_periods(totals: PeriodTotals, first: Period | None) -> Totals:
    """Add up the totals of the periods that get statements: of all, or of those from the first one on."""
    return total(one for period, one in totals.items() if first is None or period >= first)


class OpenPeriod(NamedTuple):
    """A period without a statement: the day by which all of it is taxed, its totals, and who collects at its end."""

    day: date
    totals: Totals
    collects: str = BY_AGENCY


class Preview(NamedTuple):
    """What a statement would be if its period ended now. ``totals``: those of the period so far."""

    totals: Totals
    amounts: Amounts
    taxes: list[TaxRow]


def previews(
    periods: Iterable[OpenPeriod],
    closing: Decimal,
    currency: str,
    profile_at: ProfileAt,
    rounding: money.Rounding = money.Rounding.HALF_EVEN,
) -> Iterator[Preview]:
    """Yield the previews of periods that follow the last statement without a gap.

    Each is taxed by one day, as counters know no tax points, kinds or categories.
    ``closing``: that statement's closing balance. Each period's closing balance is the next one's opening balance.
    """
    for day, totals, collects in periods:
        taxes = taxed({Taxable(day): totals.commission}, currency, profile_at, rounding)
        commission, tax = base_and_tax(taxes)
        of_net = proceeds(totals.net, collects, currency, rounding)
        amounts = Amounts(closing, money.ZERO, totals.net, totals.commission, commission, tax, totals.payments, of_net)
        closing = amounts.closing
        yield Preview(totals, amounts, taxes)
