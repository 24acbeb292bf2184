"""What each account is charged for a month, in total: computed from its lines, by no code of the product.

``computation.py`` says what each line adds; this adds tiers, monthly charges, tax, rounding and balances.
"""

from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from tests.invariants.computation import (
    NONE,
    PAYMENT,
    Account,
    Computation,
    Content,
    Line,
    applicable,
    charges_of,
    rounded,
)

SPANS: Final = {"month": 1, "quarter": 3, "year": 12}
DIGITS: Final = {"JPY": 0, "BHD": 3}
"""The digits of the minor unit, where they are not two."""
OPENING: Final = "opening"
Steps = Sequence[tuple[Fraction, Fraction]]
Stack = tuple[str, str, str, str]
"""What lies on each other: the name of a charge, its span, the account or its group, and the currency."""
Rate = tuple[str, Fraction]
"""A scheme of tax and its percentage."""


@dataclass
class Month:
    """What an account is charged for a month: exact, by tax point and name.

    ``collected``: what the marketplace has collected for it. ``opened``: balances that were brought forward.
    """

    charges: dict[tuple[date, str], Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    lines: list[Line] = field(default_factory=list)
    collected: Fraction = NONE
    paid: Fraction = NONE
    opened: Fraction = NONE

    @property
    def commission(self) -> Fraction:
        """What it comes to."""
        return sum(self.charges.values(), NONE)


def charge_up_to(turnover: Fraction, steps: Steps) -> Fraction:
    """Return what graduated steps charge of the turnover from 0; a negative one pays the first percentage."""
    if turnover <= 0:
        return turnover * steps[0][1]
    ends = [*(start for start, _ in steps[1:]), turnover]
    parts = (
        (max(min(turnover, end) - start, NONE), percent) for (start, percent), end in zip(steps, ends, strict=True)
    )
    return sum((part * percent for part, percent in parts), NONE)


def steps_of(text: Sequence[str]) -> Steps:
    """Return the steps of a scheme."""
    return [(Fraction(start), Fraction(percent) / 100) for start, _, percent in (one.partition("=") for one in text)]


class Months:
    """The months of a computation. ``lines``: in the order of the ledger."""

    def __init__(self, computation: Computation, lines: Iterable[Line], agencies: Sequence[str]) -> None:
        self._computation = computation
        self._lines = list(lines)
        self._agencies = agencies

    def of(self, period: str) -> dict[Account, Month]:
        """Return what each account is charged for a month; an account that has nothing in it is left out."""
        found: defaultdict[Account, Month] = defaultdict(Month)
        for line in self._lines:
            if line.period == period:
                self._add(found[line.account], line)
        last = last_day(period)
        for (account, (name, *_)), amount in self._tiers(period).items():
            if amount or account in found:
                found[account].charges[last, name] += amount
        for account, charges in self._monthly(period).items():
            due = list(monthly(charges, found[account].commission if account in found else NONE))
            for name, amount in due:
                found[account].charges[last, name] += amount
        return dict(found)

    def _add(self, month: Month, line: Line) -> None:
        month.lines.append(line)
        if line.type == PAYMENT:
            month.paid += line.amount
        elif line.kind == OPENING:
            month.opened += sum(line.charged.amounts.values())
        else:
            month.charges[line.tax_point, "commission"] += NONE
            for name, amount in line.charged.amounts.items():
                month.charges[line.tax_point, name] += amount
            if self.registered(line.account[0], line.tax_point).get("collects") == "marketplace":
                month.collected += line.amount

    def registered(self, agency: str, day: date) -> Content:
        """Return the registration of an agency at the beginning of a day."""
        return self._computation.documents[f"agency:{agency}"].at(self.starts(day)) or {}

    def starts(self, day: date) -> datetime:
        """Return when a day begins."""
        return datetime(day.year, day.month, day.day, tzinfo=self._computation.zone)

    # ------------------------------------------------------------ tiers

    def _tiers(self, period: str) -> dict[tuple[Account, Stack], Fraction]:
        """Return what tiers charge in a month: of the span so far, less what was charged of it before."""
        found: defaultdict[tuple[Account, Stack], Fraction] = defaultdict(Fraction)
        for key, amount in self._tiers_so_far(period, period):
            found[key] += amount
        if period[5:] != "01":
            for key, amount in self._tiers_so_far(f"{period[:5]}{int(period[5:]) - 1:02d}", period):
                found[key] -= amount
        return found

    def live_tiers(self, period: str, account: Account) -> Fraction:
        """Return what tiers charge an account in a month, as live totals and the statement say."""
        return sum((amount for (of, _), amount in self._tiers(period).items() if of == account), NONE)

    def _tiers_so_far(self, until: str, period: str) -> Iterator[tuple[tuple[Account, Stack], Fraction]]:
        """Yield what tiers have charged in each span of a month, up to it or an earlier one."""
        stacks: defaultdict[Stack, list[tuple[Line, str, Fraction]]] = defaultdict(list)
        for line in self._lines:
            for key, turnover in sorted(line.charged.turnover.items()):
                if first_of(key[1].split("/")[0], period) <= line.period <= until:
                    stacks[_stack(line, key)].append((line, key[1], turnover))
        for stack, lines in stacks.items():
            for account, amount in stacked(lines):
                yield (account, stack), amount

    # ------------------------------------------------------------ by the month

    def _monthly(self, period: str) -> dict[Account, list[tuple[Content, int, int]]]:
        """Return the monthly charges of each account, with the days for which each is agreed, of all days."""
        found = {}
        first, last = date.fromisoformat(f"{period}-01"), last_day(period)
        currencies = {
            rule["currency"]
            for versions in list(self._computation.documents.values())
            for content in versions.all
            for rule in content.get("rules", ())
            if "currency" in rule
        }
        for agency in self._agencies:
            for currency in currencies:
                days = [self._charges_on(agency, currency, first + timedelta(number)) for number in range(last.day)]
                if terms := terms_of(days):
                    found[agency, currency] = terms
        return found

    def _charges_on(self, agency: str, currency: str, day: date) -> list[Content]:
        """Return the monthly charges of an agency at the end of a day: of the first rate card for all that it sells."""
        at = self.starts(day + timedelta(1)) - timedelta(microseconds=1)
        registered = self._computation.documents[f"agency:{agency}"].at(at)
        if not registered or registered.get("status", "active") != "active":
            return []
        for document in applicable(agency, registered.get("group") or ""):
            rules = (self._computation.documents[document].at(at) or {}).get("rules", ())
            own = [rule for rule in rules if rule.get("currency", currency) == currency]
            found = [one for rule in own for one in rule.get("charges", ()) if "per" in one]
            if found or any(charges_of(rule) and not rule.keys() & CONDITIONS for rule in own):
                return found
        return []


CONDITIONS: Final = {"category", "location", "product"}


def _stack(line: Line, key: tuple[str, str]) -> Stack:
    name, (per, of, *_) = key[0], key[1].split("/")
    return name, per, of if of.startswith("group=") else line.account[0], line.account[1]


def stacked(stack: Sequence[tuple[Line, str, Fraction]]) -> Iterator[tuple[Account, Fraction]]:
    """Yield what each account is charged of turnovers that lie on each other, in the order of their first lines.

    Those of one line, a re-rating, lie in the order of their texts.
    """
    total, start = sum((one[2] for one in stack), NONE), NONE
    for text in dict.fromkeys(text for _, text, _ in stack):
        _, _, mode, *rest = text.split("/")
        steps = steps_of(rest)
        own = [(line.account, turnover) for line, scheme, turnover in stack if scheme == text]
        whole = sum((turnover for _, turnover in own), NONE)
        reached = total if mode == "volume" else start
        percent = [of for at, of in steps if at <= reached or not at][-1]
        charge = charge_up_to(start + whole, steps) - charge_up_to(start, steps)
        for account, turnover in own:
            yield account, turnover * percent if mode == "volume" or not whole else charge * turnover / whole
        start += whole


def terms_of(days: Sequence[Iterable[Content]]) -> list[tuple[Content, int, int]]:
    """Return the charges of a month: of those that change, the last one is charged whole, and each by its days."""
    found: dict[tuple[str, str], tuple[Content, int]] = {}
    for charges in days:
        for one in charges:
            key = one["name"], str(sorted(one.items())) if one.get("part_months") == "by_days" else ""
            found[key] = one, found.get(key, (one, 0))[1] + 1
    return [(one, number, len(days)) for one, number in found.values()]


def monthly(terms: Iterable[tuple[Content, int, int]], commission: Fraction) -> Iterator[tuple[str, Fraction]]:
    """Yield what is charged by the month, by name; a minimum adds what is missing to it."""
    for one, days, of in terms:
        if "minimum" in one:
            amount = max(Fraction(one["minimum"]) - commission, NONE)
        else:
            amount = Fraction(one["amount"]) * (Fraction(days, of) if one.get("part_months") == "by_days" else 1)
        if amount:
            yield one["name"], amount


def first_of(per: str, period: str) -> str:
    """Return the first month of a span."""
    year, month = map(int, period.split("-"))
    return f"{year}-{(month - 1) // SPANS[per] * SPANS[per] + 1:02d}"


def last_day(period: str) -> date:
    """Return the last day of a month."""
    year, month = map(int, period.split("-"))
    return date(year, month, monthrange(year, month)[1])


# ---------------------------------------------------------------- documents


@dataclass
class Document:
    """The figures of a statement: by rate and name of the charge, the exact amount and what is shown; and its tax."""

    bases: dict[tuple[Rate, str], tuple[Fraction, Fraction]] = field(default_factory=dict)
    taxes: dict[Rate, tuple[Fraction, Fraction]] = field(default_factory=dict)
    proceeds: tuple[Fraction, Fraction] = (NONE, NONE)
    opening: Fraction = NONE
    opened: Fraction = NONE
    paid: Fraction = NONE

    @property
    def commission(self) -> Fraction:
        """The sum of the charges that it shows."""
        return sum((shown for _, shown in self.bases.values()), NONE)

    @property
    def tax(self) -> Fraction:
        """The sum of the taxes that it shows."""
        return sum((shown for _, shown in self.taxes.values()), NONE)

    @property
    def closing(self) -> Fraction:
        """What is owed then."""
        return self.opening + self.commission + self.tax - self.proceeds[1] - self.paid


class Ledger:
    """The documents of an account, each of which takes up what the rounding of those before has left."""

    def __init__(self, currency: str, rounding: str) -> None:
        self._currency = currency
        self._rounding = rounding
        self._rests: defaultdict[Any, Fraction] = defaultdict(Fraction)
        self._closing = NONE

    def statement(self, month: Month, months: Months, account: Account, *, again: bool = False) -> Document:
        """Return the statement of a month; ``again``: after a cancellation, which has not given payments back."""
        found = Document(opening=self._closing + month.opened, opened=month.opened, paid=NONE if again else month.paid)
        exact: dict[Rate, dict[str, Fraction]] = {}
        for (day, name), amount in sorted(month.charges.items()):
            of_rate = exact.setdefault(rate_of(months.registered(account[0], day), name), {})
            of_rate[name] = of_rate.get(name, NONE) + amount
        if not exact:
            exact[rate_of(months.registered(account[0], last_day(month.lines[0].period)), "commission")] = {}
        for rate, amounts in exact.items():
            charged = {name: amount for name, amount in amounts.items() if amount} or {"commission": NONE}
            for name, amount in charged.items():
                found.bases[rate, name] = amount, self._round((rate, name), amount)
            base = sum((found.bases[rate, name][1] for name in charged), NONE)
            tax = base * rate[1] / 100
            found.taxes[rate] = tax, self._round((rate, None), tax)
        found.proceeds = month.collected, self._round("proceeds", month.collected)
        self._closing = found.closing
        return found

    def cancel(self, document: Document) -> Document:
        """Return the credit note that reverses a statement."""
        found = Document(opening=self._closing - document.opened, opened=-document.opened)
        for of, (exact, shown) in document.bases.items():
            found.bases[of] = -exact, -shown
            self._rests[of] += shown - exact
        for rate, (exact, shown) in document.taxes.items():
            found.taxes[rate] = -exact, -shown
            self._rests[rate, None] += shown - exact
        exact, shown = document.proceeds
        found.proceeds = -exact, -shown
        self._rests["proceeds"] += shown - exact
        self._closing = found.closing
        return found

    def _round(self, of: Any, exact: Fraction) -> Fraction:
        """Return an exact figure with the rest before it, rounded; of 0 it is 0."""
        digits = DIGITS.get(self._currency, 2)
        shown = rounded(exact + self._rests[of], digits, self._rounding) if exact else NONE
        if of[1] is None and not digits:
            shown = near(exact, shown)
        self._rests[of] += exact - shown
        return shown


def near(exact: Fraction, shown: Fraction) -> Fraction:
    """Return a tax that is less than one unit away from its percentage in cents, as EN 16931 has it."""
    cents, size = rounded(abs(exact), 2, "half-up"), abs(shown)
    if abs(size - cents) < 1:
        return shown
    nearer = -(-cents // 1) if size > cents else cents // 1
    return Fraction(nearer) * (-1 if exact < 0 else 1)


def rate_of(registered: Content, name: str) -> Rate:
    """Return how a charge is taxed."""
    tax: Content = registered["tax"]
    tax = tax.get("by_charge", {}).get(name, tax)
    return tax["scheme"], Fraction(tax.get("percent") or 0)
