"""Balances and previews, pure: what an account owes now, and what its next statement would be."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple, Self

from quarterhour.agencies.agency import BY_AGENCY
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
class Unbilled:
    """What an account has on no statement yet: the totals of each period without a statement, the oldest first.

    ``last``: the last statement, ``None`` before the first.
    """

    last: StatementSummary | None
    periods: PeriodTotals

    @property
    def closing(self) -> Decimal:
        """The closing balance of the last statement."""
        return self.last.closing if self.last else money.ZERO

    @classmethod
    def of(cls, statements: Iterable[StatementSummary], counted: PeriodTotals, first: Period) -> Self:
        """Return what is unbilled now.

        ``counted``: all that is counted for the periods that get statements. ``first``: the first period without
        statements; its statement holds the late lines of the periods before it, too. What is counted and on no
        statement is unbilled, so each line is either in the closing balance or unbilled, whatever period it is of.
        """
        sealed = sorted(statements)
        later = {period: one for period, one in sorted(counted.items()) if period > first}
        rest = total(counted.values()) - total(one.charged for one in sealed) - total(later.values())
        return cls(sealed[-1] if sealed else None, {first: rest, **later})

    @classmethod
    def as_of(cls, statements: Iterable[StatementSummary], counted: Totals, period: Period) -> Self:
        """Return what was unbilled in a period, as one sum: counters of the past do not know periods.

        ``statements``: those whose bound is not after the instant. ``counted``: what was counted by then.
        """
        sealed = sorted(statements)
        return cls(sealed[-1] if sealed else None, {period: counted - total(one.charged for one in sealed)})


class Balance(NamedTuple):
    """What an account owes, as if its open periods ended now: the last statement, and what is on none yet.

    ``closing``: that statement's closing balance. All amounts are rounded as statements round them.
    """

    closing: Decimal
    commission: Decimal
    tax: Decimal
    proceeds: Decimal
    payments: Decimal

    @property
    def amount(self) -> Decimal:
        """The balance: what the agency owes, negative if it is owed."""
        received = money.add(self.proceeds, self.payments)
        owed = money.add(self.closing, money.add(self.commission, self.tax))
        return money.add(owed, money.negated(received))

    @classmethod
    def of(cls, closing: Decimal, found: Iterable["Preview"]) -> Self:
        """Return the balance after the previews of all open periods; it is the closing balance of the last one."""
        sums = dict.fromkeys(("commission", "tax", "proceeds", "payments"), money.ZERO)
        for one in found:
            for name in sums:
                sums[name] = money.add(sums[name], getattr(one.amounts, name))
        return cls(closing, **sums)


def of_periods(totals: PeriodTotals, first: Period | None) -> PeriodTotals:
    """Return the totals of the periods that get statements: of all, or of those from the first one on."""
    return {period: one for period, one in totals.items() if first is None or period >= first}


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
