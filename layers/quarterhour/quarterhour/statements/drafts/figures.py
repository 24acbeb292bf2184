"""The figures of a statement, pure: sums of an account's lines by kind, and what is owed for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self, TypeVar

from quarterhour.ledger.events.event import ADJUSTMENT, OPENING, PAYMENT, REFUND, SALE, VOID
from quarterhour.ledger.recording.pricing import BY_REFUND
from quarterhour.model import money
from quarterhour.statements.drafts.charge_sums import ChargeSums

K = TypeVar("K")

MAX_TERMS: Final = 50
"""The most commission terms that a statement lists; lines of others are counted. The sums of a day keep all terms."""
OTHER_DAYS: Final = ""
"""The day of all lines whose business time is not in the period."""


class Kind(StrEnum):
    """The kind of a line on a statement."""

    SALES = "sales"
    VOIDS = "voids"
    REFUNDS = "refunds"
    ADJUSTMENTS = "adjustments"
    BROUGHT_FORWARD = "brought_forward"
    PAYMENTS = "payments"
    OTHER = "other"


SOLD: Final = (Kind.SALES, Kind.VOIDS, Kind.REFUNDS, Kind.ADJUSTMENTS)
"""The kinds whose amounts are the net of a statement."""
CHARGED: Final = (*SOLD, Kind.OTHER)
"""The kinds whose commissions a statement charges."""

_KINDS: Final[Mapping[str, Kind]] = {
    SALE: Kind.SALES,
    VOID: Kind.VOIDS,
    REFUND: Kind.REFUNDS,
    ADJUSTMENT: Kind.ADJUSTMENTS,
    PAYMENT: Kind.PAYMENTS,
}


def kind_of(type_: str, kind: str, terms: str) -> Kind:
    """Return the kind of a line on a statement, from its columns ``type``, ``kind`` and ``terms``.

    A void that takes a refund back is one of the refunds, so that they sum up to what was given back in the end.
    """
    if terms == BY_REFUND:
        return Kind.REFUNDS
    return Kind.BROUGHT_FORWARD if kind == OPENING else _KINDS.get(type_, Kind.OTHER)


@dataclass(slots=True)
class Sum:
    """The number of lines, and exact sums of their amounts and commissions."""

    lines: int = 0
    amount: Decimal = money.ZERO
    commission: Decimal = money.ZERO

    def add(self, lines: int, amount: Decimal, commission: Decimal) -> None:
        """Add some lines."""
        self.lines += lines
        self.amount = money.add(self.amount, amount)
        self.commission = money.add(self.commission, commission)

    def join(self, other: "Sum") -> None:
        """Add the lines of another sum."""
        self.add(other.lines, other.amount, other.commission)

    def as_list(self) -> list[Any]:
        """Return the sum as plain values."""
        return [self.lines, money.plain(self.amount), money.plain(self.commission)]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Parse what ``as_list`` returned."""
        lines, amount, commission = values
        return cls(int(lines), Decimal(amount), Decimal(commission))

    def as_dict(self, name: str = "amount") -> dict[str, Any]:
        """Return the sum as a statement shows it; ``name``: of the amount."""
        return {"lines": self.lines, name: money.plain(self.amount), "commission": money.plain(self.commission)}


KindOfPeriod = tuple[Kind, bool]
"""A kind, and whether its lines are of prior periods."""
Terms = tuple[str, str]
"""Commission terms: their origin, as the column ``terms`` has it, and the commission rate."""


class LastRate(NamedTuple):
    """The exchange rate that was pinned for the last quarter-hour with lines, of those in the period if there are any.

    ``units`` of the lines' currency are worth one of the base currency. ``source``: who published that, and ``as_of``:
    since when it holds, ISO 8601; both are empty for lines in the base currency. The later of two is the greater one.
    """

    is_in_period: bool
    quarter_hour: str
    units: Decimal
    source: str = ""
    as_of: str = ""


@dataclass(slots=True)
class BaseFigures:
    """Exact figures in the base currency, and the quarter-hours for which an exchange rate is missing.

    ``rate``: the last one; ``None`` if no line has any.
    """

    net: Fraction = Fraction(0)
    commission: Fraction = Fraction(0)
    payments: Fraction = Fraction(0)
    missing: set[str] = field(default_factory=set)
    rate: LastRate | None = None

    def see(self, rate: LastRate | None) -> None:
        """Keep the later one of two exchange rates."""
        if rate and (self.rate is None or rate > self.rate):
            self.rate = rate

    def add(self, kind: Kind, amount: Decimal, commission: Decimal, units: Decimal) -> None:
        """Add some lines of a kind; ``units`` of their currency are worth one of the base currency."""
        if kind in SOLD:
            self.net += Fraction(amount) / Fraction(units)
        if kind in CHARGED:
            self.commission += Fraction(commission) / Fraction(units)
        if kind is Kind.PAYMENTS:
            self.payments += Fraction(amount) / Fraction(units)

    def as_list(self) -> list[Any]:
        """Return the figures as plain values."""
        figures = [str(figure) for figure in (self.net, self.commission, self.payments)]
        rate = self.rate and [*self.rate[:2], money.plain(self.rate.units), self.rate.source, self.rate.as_of]
        return [*figures, sorted(self.missing), rate]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Parse what ``as_list`` returned."""
        net, commission, payments, missing, last = values
        rate = None
        if last:
            is_in_period, quarter_hour, units, source, as_of = last
            rate = LastRate(is_in_period, quarter_hour, Decimal(units), source, as_of)
        return cls(Fraction(net), Fraction(commission), Fraction(payments), set(missing), rate)

    def __iadd__(self, other: "BaseFigures") -> Self:
        """Add the figures of other lines."""
        self.net += other.net
        self.commission += other.commission
        self.payments += other.payments
        self.missing |= other.missing
        self.see(other.rate)
        return self


@dataclass(slots=True)
class AccountSums:
    """The sums of an account's lines on a statement.

    ``days``: by day of business time, ``YYYY-MM-DD``, or ``OTHER_DAYS``. ``terms``: by commission terms, in the order
    of their first lines, with the number of lines of ``further_terms``. ``tax_points``: by tax point, ``YYYY-MM-DD``.
    ``base``: in the base currency, ``None`` without one. ``charges``: of other names than ``commission``, or of the
    whole period.
    """

    parts: dict[KindOfPeriod, Sum] = field(default_factory=dict)
    days: dict[str, Sum] = field(default_factory=dict)
    terms: dict[Terms, Sum] = field(default_factory=dict)
    further_terms: int = 0
    tax_points: dict[str, Sum] = field(default_factory=dict)
    base: BaseFigures | None = None
    charges: ChargeSums = field(default_factory=ChargeSums)

    def add(self, part: KindOfPeriod, day: str, terms: Terms, tax_point: str, some: Sum) -> None:
        """Add lines of the statement that have all this in common."""
        kind, _ = part
        self.parts.setdefault(part, Sum()).join(some)
        if kind in CHARGED:
            net = some.amount if kind in SOLD else money.ZERO
            self.days.setdefault(day, Sum()).add(some.lines, net, some.commission)
            self.terms.setdefault(terms, Sum()).add(some.lines, net, some.commission)
            self.tax_points.setdefault(tax_point, Sum()).add(some.lines, net, some.commission)

    def __iadd__(self, other: "AccountSums") -> Self:
        """Add the sums of later lines."""
        for part, some in other.parts.items():
            self.parts.setdefault(part, Sum()).join(some)
        for day, some in other.days.items():
            self.days.setdefault(day, Sum()).join(some)
        for terms, some in other.terms.items():
            if terms in self.terms or len(self.terms) < MAX_TERMS:
                self.terms.setdefault(terms, Sum()).join(some)
            else:
                self.further_terms += some.lines
        self.further_terms += other.further_terms
        for tax_point, some in other.tax_points.items():
            self.tax_points.setdefault(tax_point, Sum()).join(some)
        if other.base:
            self.base = self.base or BaseFigures()
            self.base += other.base
        if other.charges:
            self.charges.join(other.charges)
        return self

    @property
    def lines(self) -> int:
        """The number of lines on the statement."""
        return sum(some.lines for some in self.parts.values())

    @property
    def prior_period_lines(self) -> int:
        """The number of lines of prior periods."""
        return sum(some.lines for (_, prior), some in self.parts.items() if prior)

    @property
    def commission(self) -> Decimal:
        """The exact commission that the statement charges: for its lines, and for the whole period."""
        return money.total((*(self.of_kind(kind).commission for kind in CHARGED), self.charges.whole))

    @property
    def net(self) -> Decimal:
        """The exact sum of the amounts of all kinds in ``SOLD``."""
        return money.total(self.of_kind(kind).amount for kind in SOLD)

    @property
    def brought_forward(self) -> Decimal:
        """The exact commission that was owed before, from ``opening`` adjustments."""
        return self.of_kind(Kind.BROUGHT_FORWARD).commission

    @property
    def payments(self) -> Decimal:
        """The exact amount of the payments."""
        return self.of_kind(Kind.PAYMENTS).amount

    def of_kind(self, kind: Kind, *, prior_only: bool = False) -> Sum:
        """Return the sum of the lines of a kind: of all, or of those of prior periods."""
        total = Sum()
        for prior in (True,) if prior_only else (False, True):
            if some := self.parts.get((kind, prior)):
                total.join(some)
        return total

    def reissued(self) -> "AccountSums":
        """Return the sums of the same lines without the amounts of payments, as a later document of a draft has them.

        A payment was made, whatever becomes of the statement: it stays in the balance of the draft's first document.
        """
        parts = {
            part: replace(some, amount=money.ZERO) if part[0] is Kind.PAYMENTS else some
            for part, some in self.parts.items()
        }
        return replace(self, parts=parts, base=self.base and replace(self.base, payments=Fraction(0)))

    def reversed(self) -> "AccountSums":
        """Return the sums of the same lines with all amounts and commissions negated."""

        def negated(sums: Mapping[K, Sum]) -> dict[K, Sum]:
            return {
                key: Sum(some.lines, money.negated(some.amount), money.negated(some.commission))
                for key, some in sums.items()
            }

        base = self.base
        return AccountSums(
            negated(self.parts),
            negated(self.days),
            negated(self.terms),
            self.further_terms,
            negated(self.tax_points),
            BaseFigures(-base.net, -base.commission, -base.payments, set(base.missing), base.rate) if base else None,
            self.charges.reversed(),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the sums as plain values, to be stored."""
        return {
            "parts": [[kind.value, prior, *some.as_list()] for (kind, prior), some in self.parts.items()],
            "days": {day: some.as_list() for day, some in self.days.items()},
            "terms": [[*terms, *some.as_list()] for terms, some in self.terms.items()],
            "further_terms": self.further_terms,
            "tax_points": {tax_point: some.as_list() for tax_point, some in self.tax_points.items()},
            "base": self.base.as_list() if self.base else None,
            **({"charges": self.charges.as_dict()} if self.charges else {}),
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returned."""
        return cls(
            {(Kind(kind), prior): Sum.of(some) for kind, prior, *some in values["parts"]},
            {day: Sum.of(some) for day, some in values["days"].items()},
            {(origin, rate): Sum.of(some) for origin, rate, *some in values["terms"]},
            int(values["further_terms"]),
            {tax_point: Sum.of(some) for tax_point, some in values["tax_points"].items()},
            BaseFigures.of(values["base"]) if values["base"] else None,
            ChargeSums.of(values["charges"]) if "charges" in values else ChargeSums(),
        )
