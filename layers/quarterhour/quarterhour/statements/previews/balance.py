"""Balances and previews, pure: what an account owes now, and what its next statement would be."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, total
from quarterhour.statements.document.amounts import Amounts, proceeds
from quarterhour.statements.document.tax import ProfileAt, Taxable, TaxRow, base_and_tax, taxed
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.drafts.figures import SOLD, AccountSums
from quarterhour.statements.listing import Document, documents_of
from quarterhour.statements.remainders import NOTHING, Remainders


class Carried(NamedTuple):
    """What a document carries to the next one of its account: its closing balance, and what rounding has left."""

    closing: Decimal = money.ZERO
    remainders: Remainders = NOTHING


class Billed(NamedTuple):
    """What an account was billed by an instant.

    ``last``: its last document, and ``bound`` the last quarter-hour whose lines that may have. ``with_statement``: the
    periods with a statement that is not cancelled. ``charged``: the lines, the net and the exact commission of these
    statements, as counted, and the payments of all documents.
    """

    last: Document | None = None
    bound: QuarterHour | None = None
    with_statement: frozenset[Period] = frozenset()
    charged: Totals = Totals()

    @property
    def closing(self) -> Decimal:
        """The closing balance of the last document."""
        return self.last.closing if self.last else money.ZERO

    @property
    def ends(self) -> "Carried":
        """What the last document carries to the next one."""
        return Carried(self.closing, self.last.remainders if self.last else NOTHING)

    @classmethod
    def of(cls, statements: Iterable[Mapping[str, Any]], last: Mapping[str, Any] | None, at: datetime) -> Self:
        """Return what an account was billed by an instant; a document counts from its release on.

        ``statements``: the items of its statements. ``last``: the item with its last document.
        """
        items = list(statements)
        released = _released(items, last)
        bounds: dict[Period, QuarterHour] = {}
        found: list[Document] = []
        with_statement: set[Period] = set()
        sums: list[Totals] = []
        for values in items:
            documents = [
                one for one in documents_of(values) if one.release <= released and parse_iso(one.planned_at) <= at
            ]
            found += documents
            sums += (Totals(payments=one.figures["payments"]) for one in documents)
            if documents and not documents[-1].cancels:
                one = documents[-1]
                with_statement.add(one.period)
                sums.append(charged(one.lines, {**one.figures, "payments": money.ZERO}, one.of_period))
            bounds[Period.parse(values["period"])] = QuarterHour.parse(values["bound"])
        newest = max(found, key=lambda one: one.place, default=None)
        return cls(newest, bounds[newest.period] if newest else None, frozenset(with_statement), total(sums))


def _released(statements: Iterable[Mapping[str, Any]], last: Mapping[str, Any] | None) -> int:
    """Return the number of the last release whose documents of an account are all in the items; 0 without one.

    The items are written one by one. The item with the last document comes first, and names the others.
    """
    if last is None:
        return 0
    revisions = {values["period"]: len(values["documents"]) for values in statements}
    is_complete = all(revisions.get(period, 0) >= revision for period, revision in last["revisions"].items())
    return int(last["release"]) if is_complete else int(last["release"]) - 1


def charged_by_draft(draft: DraftItem) -> Totals:
    """Return what a draft charges; its payments are on the first document that was released of it."""
    figures = draft.listed.figures
    figures = {**figures, "payments": money.ZERO} if draft.revision else figures
    return charged(draft.listed.lines, figures, draft.of_period)


def charged(lines: int, figures: Mapping[str, Decimal], of_period: Decimal) -> Totals:
    """Return what a statement or a draft charges, as counted: its lines, net, exact commission and payments.

    ``of_period``: what it charges for no line.
    """
    commission = money.subtract(money.add(figures["commission_exact"], figures["brought_forward"]), of_period)
    return Totals(lines, figures["net"], money.ZERO, commission, figures["payments"])


class Balance(NamedTuple):
    """What an account owes, as if its open periods ended now: the last document, and what is on none yet.

    ``closing``: that document's closing balance. All amounts are rounded as statements round them.
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
            amounts = one.amounts
            # What a draft brings forward is in its opening balance, and untaxed.
            charged_ = {"commission": money.add(amounts.commission, amounts.brought_forward)}
            for name in sums:
                sums[name] = money.add(sums[name], charged_.get(name, getattr(amounts, name)))
        return cls(closing, **sums)


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
    return Totals(sums.lines, gross, refunds, sums.commission, sums.payments)


class OpenPeriod(NamedTuple):
    """A period without a draft: the day by which all of it is taxed, its totals, and what the marketplace collected.

    ``collected``: of the net.
    """

    day: date
    totals: Totals
    collected: Decimal = money.ZERO


class Preview(NamedTuple):
    """What a statement would be if its period ended now.

    ``totals``: those of the period so far. ``remainders``: what rounding leaves for the next statement.
    """

    totals: Totals
    amounts: Amounts
    taxes: list[TaxRow]
    remainders: Remainders = NOTHING

    @property
    def ends(self) -> Carried:
        """What it carries to the next statement."""
        return Carried(self.amounts.closing, self.remainders)


def previews(
    periods: Iterable[OpenPeriod],
    carried: Carried,
    currency: str,
    profile_at: ProfileAt,
    rounding: money.Rounding = money.Rounding.HALF_EVEN,
) -> Iterator[Preview]:
    """Yield the previews of periods that follow the last draft without a gap.

    Each is taxed by one day, as counters know no tax points, kinds or categories. ``carried``: from what is before
    them. Each period's closing balance is the next one's opening balance.
    """
    for day, totals, collected in periods:
        (closing, before), net = carried, totals.net
        taxes = taxed({Taxable(day): totals.commission}, currency, profile_at, rounding, before)
        commission, tax = base_and_tax(taxes)
        got = proceeds(collected, currency, rounding, before.proceeds)
        amounts = Amounts(closing, money.ZERO, net, totals.commission, commission, tax, totals.payments, got.amount)
        remainders = before.after((rest for row in taxes for rest in row.rests), got.rest)
        found = Preview(totals, amounts, taxes, remainders)
        carried = found.ends
        yield found
