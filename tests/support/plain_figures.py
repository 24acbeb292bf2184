"""What the documents of `plain_year` must state, computed in plain decimals: nothing of the product is used.

Each figure is derived from events and registrations alone; of the product's documents only the numbers are taken.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from tests.support.plain_year import AGENCIES, DEFAULT_RATES, EXCHANGE_RATES, GROUP, GROUP_CHARGES, Body

BERLIN = ZoneInfo("Europe/Berlin")
CENT = Decimal("0.01")
Account = tuple[str, str]
"""Agency and currency."""


def cents(exact: Fraction | Decimal) -> Decimal:
    """Round half away from zero to cents."""
    whole = Fraction(exact) * 100
    up = int(abs(whole) + Fraction(1, 2))
    return (Decimal(up) / 100 if whole >= 0 else -Decimal(up) / 100).quantize(CENT, ROUND_HALF_UP)


def cents_even(exact: Fraction) -> Decimal:
    """Round half to even to cents."""
    return (Decimal(round(exact * 100)) / 100).quantize(CENT)


def day_of(body: Body) -> date:
    """Return the day of an event in Berlin."""
    return datetime.fromisoformat(body["time"]).astimezone(BERLIN).date()


def registered(name: str, day: date) -> Mapping[str, Any]:
    """Return the registration that holds on a day."""
    return [one for since, one in AGENCIES[name] if since <= day.isoformat()][-1]


class RowKey(NamedTuple):
    """What a row of tax is of."""

    scheme: str
    percent: Decimal
    country: str
    vat_id: str
    reason: str


class Row(NamedTuple):
    """A row of tax: parts of the base by charge and kind of adjustment, base and tax, and both in euros."""

    key: RowKey
    parts: Mapping[tuple[str, str], Fraction]
    charges: Mapping[str, Decimal]
    base: Decimal
    tax: Decimal
    euro_base: Decimal
    euro_tax: Decimal


class Payment(NamedTuple):
    """Money of the agency, or what stands in its place: day, amount, kind, and the statement that it names."""

    day: date
    amount: Decimal
    kind: str
    statement: str


@dataclass(slots=True)
class Expected:
    """A document: its figures in the account's currency."""

    number: str
    account: Account
    month: int
    issued_on: date
    rows: list[Row]
    proceeds: Decimal
    payments: tuple[Payment, ...]
    opening: Decimal
    cancels: str = ""

    @property
    def commission(self) -> Decimal:
        return sum((one.base for one in self.rows), Decimal(0))

    @property
    def tax(self) -> Decimal:
        return sum((one.tax for one in self.rows), Decimal(0))

    @property
    def amount(self) -> Decimal:
        """What it adds to the balance, without payments."""
        return self.commission + self.tax - self.proceeds

    @property
    def paid(self) -> Decimal:
        return sum((one.amount for one in self.payments), Decimal(0))

    @property
    def closing(self) -> Decimal:
        return self.opening + self.amount - self.paid


class _Line(NamedTuple):
    tax_point: date
    amount: Decimal
    charges: Mapping[str, Fraction]
    kind: str = ""


@dataclass(slots=True)
class ExpectedBooks:
    """The documents of all accounts, month by month."""

    documents: list[Expected] = field(default_factory=list)
    _lines: dict[tuple[Account, int], list[_Line]] = field(default_factory=lambda: defaultdict(list))
    _payments: dict[tuple[Account, int], list[Payment]] = field(default_factory=lambda: defaultdict(list))
    _by_id: dict[str, _Line] = field(default_factory=dict)
    _left: dict[str, Decimal] = field(default_factory=dict)
    _rests: dict[tuple[Any, ...], Fraction] = field(default_factory=lambda: defaultdict(Fraction))

    # ------------------------------------------------------------ events

    def record(self, body: Body, *, late: bool = False) -> None:
        """Take an event; a late one counts in the month after its own."""
        account = body["subject"], body["data"]["currency"]
        month = day_of(body).month + late
        data = body["data"]
        if body["type"] == "payment.recorded":
            one = Payment(day_of(body), Decimal(data["amount"]), data.get("kind", ""), data.get("statement", ""))
            self._payments[account, month].append(one)
            return
        line = self._line(body)
        self._by_id[body["id"]] = line
        self._lines[account, month].append(line)

    def _line(self, body: Body) -> _Line:
        data, of = body["data"], body["data"].get("refers_to")
        if body["type"] == "adjustment.recorded":
            return _Line(day_of(body), Decimal(0), {"commission": Fraction(data["commission"])}, data.get("kind", ""))
        if body["type"] == "sale.recorded":
            amount = Decimal(data["amount"])
            self._left[body["id"]] = amount
            return _Line(day_of(body), amount, _charged(body["subject"], day_of(body), amount))
        if of.endswith("-R"):  # a refund that is taken back
            back = self._by_id[of]
            return back._replace(amount=-back.amount, charges={name: -one for name, one in back.charges.items()})
        sale = self._by_id[of]
        amount = Decimal(data["amount"]) if "amount" in data else -self._left[of]
        self._left[of] += amount
        share = Fraction(amount) / Fraction(sale.amount)
        return sale._replace(amount=amount, charges={name: one * share for name, one in sale.charges.items()})

    # ------------------------------------------------------------ documents

    def close(self, month: int, numbers: Mapping[Account, str], issued_on: date) -> list[Expected]:
        """Return the statements of a month; ``numbers``: what they are called."""
        found = []
        for account in sorted({account for account, of in self._lines if of == month}):
            opening = self.balance(account)
            payments = tuple(self._payments.get((account, month), ()))
            lines = self._lines[account, month]
            rows, proceeds = self._rows(account, lines), self._proceeds(account, lines)
            found.append(Expected(numbers[account], account, month, issued_on, rows, proceeds, payments, opening))
        self.documents += found
        return found

    def cancel(self, number: str, by: str, again: str, on: date) -> None:
        """Reverse the last statement of an account whole, and issue it once more under another number."""
        (old,) = (one for one in self.documents if one.number == number)
        rows = [
            Row(
                *(row.key, row.parts, {name: -one for name, one in row.charges.items()}),
                *(-one for one in (row.base, row.tax, row.euro_base, row.euro_tax)),
            )
            for row in old.rows
        ]
        back = Expected(by, old.account, old.month, on, rows, -old.proceeds, (), old.closing, number)
        self.documents.append(back)
        self.documents.append(Expected(again, old.account, old.month, on, old.rows, old.proceeds, (), back.closing))

    def balance(self, account: Account) -> Decimal:
        """Return what an account owes after its last document."""
        return next((one.closing for one in reversed(self.documents) if one.account == account), Decimal(0))

    def exact(self, account: Account, month: int) -> Fraction:
        """Return what an account is charged in a month before it is rounded."""
        parts = (one for line in self._lines.get((account, month), ()) for one in line.charges.values())
        return sum(parts, Fraction(0))

    def _rows(self, account: Account, lines: Sequence[_Line]) -> list[Row]:
        parts: dict[RowKey, dict[tuple[str, str], Fraction]] = {}
        for line in sorted(lines, key=lambda one: (one.tax_point, one.kind)):
            of_row = parts.setdefault(_key(account[0], line), {})
            for name, exact in line.charges.items():
                of_row[name, line.kind] = of_row.get((name, line.kind), Fraction(0)) + exact
        carried, rows = dict(self._rests), []
        for key, of_row in parts.items():
            sums: dict[str, Fraction] = defaultdict(Fraction)
            for (name, _), one in of_row.items():
                sums[name] += one
            charges = {name: self._rounded(one, (account, key[:2], name), carried) for name, one in sums.items() if one}
            base = sum(charges.values(), Decimal(0))
            share = Fraction(key.percent) / 100
            tax = self._rounded(Fraction(base) * share, (account, key[:2], "tax"), carried)
            rows.append((key, of_row, charges, base, tax))
        return _in_euros(account[1], rows)

    def _proceeds(self, account: Account, lines: Sequence[_Line]) -> Decimal:
        collected = [one.amount for one in lines if _collects(account[0], one.tax_point)]
        return sum(collected, Decimal(0))

    def _rounded(self, exact: Fraction, of: tuple[Any, ...], carried: dict[tuple[Any, ...], Fraction]) -> Decimal:
        """Round with what is carried, which the first figure that is not 0 takes up."""
        if not exact:
            return Decimal("0.00")
        figure = cents(exact + carried.pop(of, Fraction(0)))
        self._rests[of] += exact - Fraction(figure)
        return figure

    # ------------------------------------------------------------ what is open

    def open(self, on: date) -> dict[str, Decimal]:
        """Return what is open of each document at the end of a day, and by account what clears nothing."""
        found: dict[str, Decimal] = {}
        for account in sorted({one.account for one in self.documents}):
            issued = [one for one in self.documents if one.account == account and one.issued_on <= on]
            every = [one for (of, _), some in self._payments.items() if of == account for one in some]
            _clear(issued, [one for one in every if one.day <= on], found, "#".join(account))
        return {name: amount for name, amount in found.items() if amount}


def _clear(documents: Sequence[Expected], payments: Sequence[Payment], found: dict[str, Decimal], name: str) -> None:
    """Clear documents: by cancellation, by payments that name them, oldest first, and by credits."""
    ordered = sorted(documents, key=lambda one: (one.month, one.number))
    left = {one.number: one.amount for one in ordered}
    for one in ordered:
        if one.cancels in left:
            left[one.number] = left[one.cancels] = Decimal(0)
    rest = sum((one.amount for one in payments), Decimal(0))
    for number in left:
        rest -= _take(left, number, sum((one.amount for one in payments if one.statement == number), Decimal(0)))
    for number in left:
        rest -= _take(left, number, rest)
    for credit, other in product(left, left):
        if left[credit] < 0 < left[other]:
            moved = min(-left[credit], left[other])
            left[credit], left[other] = left[credit] + moved, left[other] - moved
    found.update(left)
    found[name] = -rest


def _take(left: dict[str, Decimal], number: str, amount: Decimal) -> Decimal:
    """Clear a document by an amount of its sign, at most what is open; return what was taken."""
    open_ = left[number]
    taken = max(Decimal(0), min(amount, open_)) if open_ > 0 else min(Decimal(0), max(amount, open_))
    left[number] -= taken
    return taken


def _collects(name: str, day: date) -> bool:
    return registered(name, day).get("collects") == "marketplace"


def _charged(name: str, day: date, amount: Decimal) -> dict[str, Fraction]:
    """Return the charges of a sale."""
    if registered(name, day).get("group") == GROUP:
        return {
            charge: Fraction(amount) * Fraction(percent) / 100 + Fraction(fixed)
            for charge, (percent, fixed) in GROUP_CHARGES.items()
        }
    percent = [one for since, one in DEFAULT_RATES if since <= day.isoformat()][-1]
    return {"commission": Fraction(amount) * Fraction(percent) / 100}


def _key(name: str, line: _Line) -> RowKey:
    party = registered(name, line.tax_point)
    profile = party["tax"]
    rate = profile.get("by_kind", {}).get(line.kind, profile)
    percent = Decimal(rate.get("percent", "0"))
    return RowKey(rate["scheme"], percent, party["country"], profile.get("vat_id", ""), rate.get("reason", ""))


def _in_euros(currency: str, rows: Sequence[Any]) -> list[Row]:
    """Return rows with their figures in euros: the totals are converted, and the largest row takes what is left."""
    if currency == "EUR":
        return [Row._make((*row, row[3], row[4])) for row in rows]
    rate = Fraction(EXCHANGE_RATES[currency])
    columns = []
    for at in (3, 4):
        figures = [row[at] for row in rows]
        total, each = cents(Fraction(sum(figures, Decimal(0))) / rate), [cents(Fraction(one) / rate) for one in figures]
        largest = max(range(len(each)), key=lambda one: abs(figures[one]))
        each[largest] += total - sum(each, Decimal(0))
        columns.append(each)
    bases, taxes = columns
    return [Row._make((*row, base, tax)) for row, base, tax in zip(rows, bases, taxes, strict=True)]


def at(day: date, hour: int = 9) -> datetime:
    """Return an hour of a day in UTC."""
    return datetime(day.year, day.month, day.day, hour, tzinfo=UTC)


def flattened(documents: Sequence[Expected]) -> Iterator[tuple[Expected, Row]]:
    """Yield the rows of documents that charge something."""
    for document in documents:
        for row in document.rows:
            if row.base or row.tax:
                yield document, row
