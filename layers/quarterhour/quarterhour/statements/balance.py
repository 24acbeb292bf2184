"""Balances and previews, pure: what an account owes now, and what its next statement would be."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, total
from quarterhour.statements.figures import Amounts
from quarterhour.statements.tax import ProfileAt, Taxable, TaxRow, base_and_tax, taxed


class StatementSummary(NamedTuple):
    """The figures of a statement that balances need. ``charged``: its exact commission and payments, as counted."""

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
            Totals(commission=commission, payments=Decimal(values["payments"])),
        )


@dataclass(frozen=True, slots=True)
class Balance:
    """What an account owes: the closing balance of its last statement, and what is on no statement yet.

    ``unbilled``: the exact commission, without tax, and the payments; its other figures mean nothing.
    """

    last: StatementSummary | None
    unbilled: Totals

    @property
    def amount(self) -> Decimal:
        """The balance: what the agency owes, negative if it is owed."""
        closing = self.last.closing if self.last else money.ZERO
        return money.add(closing, money.add(self.unbilled.commission, money.negated(self.unbilled.payments)))

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


class Preview(NamedTuple):
    """What a statement would be if its period ended now. ``totals``: those of the period so far."""

    totals: Totals
    amounts: Amounts
    taxes: list[TaxRow]


def previews(
    periods: Iterable[tuple[date, Totals]],
    closing: Decimal,
    currency: str,
    profile_at: ProfileAt,
    rounding: money.Rounding = money.Rounding.HALF_EVEN,
) -> Iterator[Preview]:
    """Yield the previews of periods that follow the last statement without a gap.

    ``periods``: the date by which all of a period is taxed, as counters know no tax points, kinds or categories, and
    its totals.
    ``closing``: that statement's closing balance. Each period's closing balance is the next one's opening balance.
    """
    for day, totals in periods:
        taxes = taxed({Taxable(day): totals.commission}, currency, profile_at, rounding)
        commission, tax = base_and_tax(taxes)
        amounts = Amounts(closing, money.ZERO, totals.net, totals.commission, commission, tax, totals.payments)
        closing = amounts.closing
        yield Preview(totals, amounts, taxes)
