"""The sums of a statement's lines, for verification: it shares no arithmetic with what makes statements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self

from quarterhour.ledger.events.event import ADJUSTMENT, OPENING, PAYMENT, REFUND, SALE, VOID
from quarterhour.model.charges import COMMISSION, read_charges
from quarterhour.model.identifiers import SEPARATOR
from quarterhour.model.periods import Period
from quarterhour.proof.arithmetic import EXACT, bounds_of, text_of
from quarterhour.proof.compare import Json
from quarterhour.reports.lines import LACKING, Line
from quarterhour.statements.drafts.figures import MAX_TERMS
from quarterhour.statements.drafts.orders import GROUPED_LINES


class PinnedRate(NamedTuple):
    """What one unit of the base currency is worth, who published that, and since when it holds.

    The last two are empty for the base currency itself.
    """

    units: Decimal
    source: str = ""
    as_of: str = ""


PinnedRateOf = Callable[[str, str], PinnedRate | None]
"""Returns the exchange rate of a quarter-hour and a currency; ``None`` without one."""

SOLD: Final = {SALE: "sales", VOID: "voids", REFUND: "refunds", ADJUSTMENT: "adjustments"}
BROUGHT_FORWARD: Final = "brought_forward"
PAYMENTS: Final = "payments"
OTHER: Final = "other"
KINDS: Final = (*SOLD.values(), BROUGHT_FORWARD, PAYMENTS, OTHER)
NAMED: Final = ("kind", "category", "charge")
"""What a statement may name of a charge that decides its tax, beside its tax point."""
OF_LINE: Final = ("kind", "category")
"""Those of them that are columns of a line."""
TaxableLines = tuple[str, str, str]
"""A tax point, and the kind and the category that a statement names; else both are empty."""
TurnoverOf = dict[tuple[str, str], tuple[str, Decimal]]
"""By the name of a charge and its tiers: the position of the first line, and the turnover that counts."""


def _kind_of(line: Line) -> str:
    if line["kind"] == OPENING:
        return BROUGHT_FORWARD
    if line["terms"] == "refund":  # a void that takes a refund back
        return SOLD[REFUND]
    return SOLD.get(line["type"], PAYMENTS if line["type"] == PAYMENT else OTHER)


class LineSum:
    """A number of lines, and the sums of two figures."""

    __slots__ = ("commission", "lines", "value")

    def __init__(self) -> None:
        self.lines, self.value, self.commission = 0, Decimal(0), Decimal(0)

    def add(self, value: Decimal, commission: Decimal, lines: int = 1) -> None:
        """Add lines."""
        self.lines += lines
        self.value = EXACT.add(self.value, value)
        self.commission = EXACT.add(self.commission, commission)

    def as_list(self) -> list[Any]:
        """Return the sum as a draft holds it."""
        return [self.lines, text_of(self.value), text_of(self.commission)]

    def shown(self, name: str) -> dict[str, Any]:
        """Return the sum as a statement shows it; ``name``: of the first figure."""
        return {"lines": self.lines, name: text_of(self.value), "commission": text_of(self.commission)}


@dataclass(slots=True)
class InBase:
    """Figures in the base currency, as exact fractions, and the quarter-hours without an exchange rate."""

    figures: dict[str, Fraction] = field(
        default_factory=lambda: {name: Fraction(0) for name in ("net", "commission", PAYMENTS)}
    )
    missing: set[str] = field(default_factory=set)

    def add(self, kind: str, amount: Decimal, commission: Decimal, quarter_hour: str, units: Decimal | None) -> None:
        """Add a line; ``units`` of its currency are worth one of the base currency."""
        if units is None:
            self.missing.add(quarter_hour)
        elif kind == PAYMENTS:
            self.figures[PAYMENTS] += Fraction(amount) / Fraction(units)
        elif kind != BROUGHT_FORWARD:
            self.figures["net"] += Fraction(0 if kind == OTHER else amount) / Fraction(units)
            self.figures["commission"] += Fraction(commission) / Fraction(units)


class Signs(NamedTuple):
    """By what a document multiplies its lines' amounts and commissions, and the amounts of payments.

    A cancellation reverses its lines. Payments count in the first document of a draft only.
    """

    lines: Decimal = Decimal(1)
    payments: Decimal = Decimal(1)

    def of_amount(self, kind: str) -> Decimal:
        """Return the factor of the amounts of a kind."""
        return self.payments if kind == PAYMENTS else self.lines

    @classmethod
    def of(cls, document: Json) -> Self:
        """Return those of a statement's JSON."""
        is_first = not (document.get("cancels") or document.get("replaces"))
        return cls(Decimal(-1 if document.get("cancels") else 1), Decimal(1 if is_first else 0))


_AS_SEALED: Final = Signs()


class LineSums:
    """The sums of a statement's lines, added one after the other.

    ``rate_of``: the exchange rates of the base currency; ``None`` without them. ``taxes``: those that the
    statement shows; of the kinds and categories of its lines, only those that they name decide a tax. Memory grows with
    these, the days and the listed terms of the lines, not with their number. ``signs``: those of the document that has
    the lines.
    """

    def __init__(
        self,
        period: str,
        zone: tzinfo,
        rate_of: PinnedRateOf | None = None,
        taxes: Sequence[Json] = (),
        signs: Signs = _AS_SEALED,
    ) -> None:
        self._signs = signs
        spans = [span for row in taxes for span in row["tax_points"]]
        self._named = {name: {span[name] for span in spans if name in span} for name in OF_LINE}
        self.period = period
        self._zone = zone
        self.rate_of = rate_of
        self.kinds = {name: LineSum() for name in KINDS}
        self.prior = {name: LineSum() for name in KINDS}
        self.of_period = {name: LineSum() for name in KINDS}
        self.days: dict[str, LineSum] = {}
        self.tax_points: dict[TaxableLines, LineSum] = {}
        self.charges: dict[TaxableLines, dict[str, Decimal]] = {}
        self.turnover: TurnoverOf = {}
        self.lacking = 0
        self.terms: dict[tuple[str, str], LineSum] = {}
        self.further_terms = 0
        self.grouped: list[tuple[str, Line, LineSum]] = []
        self.base = InBase()
        self.rate: tuple[bool, str, PinnedRate] | None = None
        self._end = datetime.fromisoformat(bounds_of(Period.parse(period), zone)["to"])
        self.lines = 0

    def add(self, line: Line) -> None:
        """Add a line; raise ``ValueError`` or ``ArithmeticError`` if it cannot be read."""
        amount, commission = (Decimal(line[name]) for name in ("amount", "commission"))
        kind = _kind_of(line)
        factor = self._signs.of_amount(kind)
        amount = EXACT.multiply(factor, amount) if factor else Decimal(0)
        commission = EXACT.multiply(self._signs.lines, commission)
        self.lines += 1
        self.kinds[kind].add(amount, commission)
        is_prior = line["prior_period"] or line["period"] != self.period
        (self.prior if is_prior else self.of_period)[kind].add(amount, commission)
        if self.rate_of:
            quarter_hour, _, _ = line["quarter_hour"].partition(SEPARATOR)
            pinned = self.rate_of(quarter_hour, line["currency"])
            self.base.add(kind, amount, commission, quarter_hour, pinned.units if pinned else None)
            if pinned is not None:
                rate = self._is_in_period(quarter_hour), quarter_hour, pinned
                self.rate = max(rate, self.rate) if self.rate else rate
        if kind in {BROUGHT_FORWARD, PAYMENTS}:
            return
        net = Decimal(0) if kind == OTHER else amount
        day = self._day(line)
        self.days.setdefault(day if day.startswith(self.period) else "", LineSum()).add(net, commission)
        tax_point = line["tax_point"] or day
        taxable = date.fromisoformat(tax_point).isoformat(), *self._named_of(line)
        self.tax_points.setdefault(taxable, LineSum()).add(net, commission)
        self._add_charges(line, taxable)
        terms = line["terms"], line["commission_rate"]
        if terms in self.terms or len(self.terms) < MAX_TERMS:
            self.terms.setdefault(terms, LineSum()).add(net, commission)
        else:
            self.further_terms += 1
        if self.lines <= GROUPED_LINES:
            some = LineSum()
            some.add(net, commission)
            self.grouped.append((kind, line, some))

    def _add_charges(self, line: Line, taxable: TaxableLines) -> None:
        self.lacking += any(flag in line["flag"] for flag in LACKING.values())
        charged = read_charges(line["charges"], Decimal(line["commission"]))
        of_point = self.charges.setdefault(taxable, {COMMISSION: Decimal(0)})
        for name, amount in charged.amounts.items():
            signed = EXACT.multiply(self._signs.lines, amount)
            of_point[name] = EXACT.add(of_point.get(name, Decimal(0)), signed)
        for definition, amount in charged.turnover.items():
            first, before = self.turnover.get(definition, (line["position"], Decimal(0)))
            self.turnover[definition] = min(first, line["position"]), EXACT.add(before, amount)

    def _is_in_period(self, quarter_hour: str) -> bool:
        return datetime.strptime(quarter_hour, "%Y%m%d%H%M").replace(tzinfo=UTC) < self._end

    def _named_of(self, line: Line) -> tuple[str, str]:
        """Return the kind and the category of a line, as far as they decide its tax."""
        kind, category = (text if (text := line[name]) in self._named[name] else "" for name in OF_LINE)
        return kind, category

    def _day(self, line: Line) -> str:
        """Return the date of business time."""
        at = datetime.fromisoformat(line["time"] or line["recorded_at"])
        try:
            return at.astimezone(self._zone).date().isoformat()
        except OverflowError:  # before the year 1 or after 9999 in that zone
            return at.date().isoformat()
