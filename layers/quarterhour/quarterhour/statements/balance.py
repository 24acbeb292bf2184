"""Balances and previews, pure: what an account owes now, and what its next statement would be."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from operator import itemgetter
from typing import Any, NamedTuple, Self

from quarterhour.agencies.agency import BY_AGENCY, BY_MARKETPLACE
from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, total
from quarterhour.statements.figures import SOLD, AccountSums, Amounts, Kind, proceeds
from quarterhour.statements.tax import ProfileAt, Taxable, TaxRow, base_and_tax, taxed


class LastDocument(NamedTuple):
    """The last document of an account: a statement, or a document that cancels one."""

    period: Period
    number: str
    bound: QuarterHour
    closing: Decimal


class Billed(NamedTuple):
    """What an account was billed by an instant.

    ``with_statement``: the periods with a statement that is not cancelled. ``charged``: the lines, the net, the exact
    commission and the payments of these statements, as counted.
    """

    last: LastDocument | None = None
    with_statement: frozenset[Period] = frozenset()
    charged: Totals = Totals()

    @property
    def closing(self) -> Decimal:
        """The closing balance of the last document."""
        return self.last.closing if self.last else money.ZERO

    @classmethod
    def of(cls, statements: Iterable[Mapping[str, Any]], last: Mapping[str, Any] | None, at: datetime) -> Self:
        """Return what an account was billed by an instant.

        ``statements``: the items of its statements. ``last``: the item with its last document. A document counts from
        its release on, a statement of 0.2.0 from the end of the last quarter-hour that it was made from.
        """
        items = list(statements)
        released = _released(items, last)
        found: list[tuple[tuple[int, bool, Period], LastDocument]] = []
        with_statement: dict[Period, Totals] = {}
        for values in items:
            period, bound = Period.parse(values["period"]), QuarterHour.parse(values["bound"])
            if "documents" not in values:  # of 0.2.0
                if bound.end <= at:
                    found.append(
                        (
                            (0, False, period),
                            LastDocument(period, values["number"], bound, Decimal(values["closing"])),
                        )
                    )
                    with_statement[period] = charged(values)
                continue
            documents = [
                one
                for one in values["documents"]
                if int(one["release"]) <= released and parse_iso(one["planned_at"]) <= at
            ]
            # A release cancels statements of an account before it makes some.
            found += [
                (
                    (int(one["release"]), not one["cancels"], period),
                    LastDocument(period, one["number"], bound, Decimal(one["closing"])),
                )
                for one in documents
            ]
            if documents and not documents[-1]["cancels"]:
                with_statement[period] = charged(values)
        newest = max(found, key=itemgetter(0), default=None)
        return cls(newest[1] if newest else None, frozenset(with_statement), total(with_statement.values()))


def _released(statements: Iterable[Mapping[str, Any]], last: Mapping[str, Any] | None) -> int:
    """Return the number of the last release whose documents of an account are all in the items; 0 without one.

    The items are written one by one. The item with the last document comes first, and names the others.
    """
    if last is None:
        return 0
    revisions = {values["period"]: len(values.get("documents", ())) for values in statements}
    is_complete = all(revisions.get(period, 0) >= revision for period, revision in last["revisions"].items())
    return int(last["release"]) if is_complete else int(last["release"]) - 1


def charged(values: Mapping[str, Any]) -> Totals:
    """Return what a statement or a draft charges: its lines, its net, its exact commission and its payments."""
    commission = money.add(Decimal(values["commission_exact"]), Decimal(values["brought_forward"]))
    return Totals(int(values["lines"]), Decimal(values["net"]), money.ZERO, commission, Decimal(values["payments"]))


@dataclass(frozen=True, slots=True)
class Balance:
    """What an account owes: the closing balance of its last document, and what is on no statement.

    ``unbilled``: the exact commission, without tax, the net and the payments; its other figures mean nothing.
    ``collects``: who holds the customers' money now.
    """

    last: LastDocument | None
    unbilled: Totals
    collects: str = BY_AGENCY

    @property
    def proceeds(self) -> Decimal:
        """The exact net that the marketplace has collected and that is on no statement."""
        return self.unbilled.net if self.collects == BY_MARKETPLACE else money.ZERO

    @property
    def amount(self) -> Decimal:
        """The balance: what the agency owes, negative if it is owed."""
        closing = self.last.closing if self.last else money.ZERO
        received = money.add(self.proceeds, self.unbilled.payments)
        return money.add(closing, money.add(self.unbilled.commission, money.negated(received)))

    @classmethod
    def of(cls, billed: Billed, counted: Totals, since: Totals) -> Self:
        """Return the balance of an instant.

        ``billed``: by the instant. ``counted``: all that is counted now for the periods that get statements. ``since``:
        the part of it that was recorded after the instant. What is counted and on no statement is unbilled, so each
        line is either in the closing balance or unbilled, whatever period it is of.
        """
        return cls(billed.last, counted - billed.charged - since)


def of_periods(totals: PeriodTotals, first: Period | None) -> Totals:
    """Add up the totals of the periods that get statements: of all, or of those from the first one on."""
    return total(one for period, one in totals.items() if first is None or period >= first)


def not_drafted(counted: Totals, drafted: Totals) -> Totals:
    """Return what is counted for the periods with drafts and is in none of them: lines that came after their bound.

    ``drafted`` knows no refunds, so the net is in one of both figures.
    """
    rest = counted - drafted
    gross, refunds = (rest.net, money.ZERO) if rest.net >= 0 else (money.ZERO, rest.net)
    return Totals(rest.events, gross, refunds, rest.commission, rest.payments)


def totals_of(sums: AccountSums) -> Totals:
    """Return the totals of a draft; the amounts of a kind are sales or refunds by their sum."""
    gross = refunds = money.ZERO
    for kind in SOLD:
        amount = sums.of_kind(kind).amount
        if amount < 0:
            refunds = money.add(refunds, amount)
        else:
            gross = money.add(gross, amount)
    return Totals(sums.lines, gross, refunds, sums.commission, sums.of_kind(Kind.PAYMENTS).amount)


class OpenPeriod(NamedTuple):
    """A period without a draft: the day by which all of it is taxed, its totals, and who collects at its end."""

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
    """Yield the previews of periods that follow the last draft without a gap.

    Each is taxed by one day, as counters know no tax points, kinds or categories.
    ``closing``: the closing balance before them. Each period's closing balance is the next one's opening balance.
    """
    for day, totals, collects in periods:
        taxes = taxed({Taxable(day): totals.commission}, currency, profile_at, rounding)
        commission, tax = base_and_tax(taxes)
        of_net = proceeds(totals.net, collects, currency, rounding)
        amounts = Amounts(closing, money.ZERO, totals.net, totals.commission, commission, tax, totals.payments, of_net)
        closing = amounts.closing
        yield Preview(totals, amounts, taxes)
