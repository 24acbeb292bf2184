"""Tax, pure: what a statement charges by tax point, taxed by the profiles that are valid then."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.registry.agencies.agency import EXEMPT, OUTSIDE_SCOPE, REVERSE_CHARGE, STANDARD, TaxProfile

if TYPE_CHECKING:
    from quarterhour.statements import api

REVERSE_CHARGE_NOTE: Final = "Reverse charge: the recipient of the service accounts for the VAT."
"""The legal note of Article 226(11a) of Directive 2006/112/EC, in its usual long form."""
_NOTES: Final = {
    REVERSE_CHARGE: REVERSE_CHARGE_NOTE,
    EXEMPT: "Exempt from VAT.",
    OUTSIDE_SCOPE: "Outside the scope of VAT.",
}
_UNKNOWN: Final = "No tax profile."
_PERCENT: Final = Decimal("0.01")

ProfileAt = Callable[[date], TaxProfile | None]
"""Returns the tax profile of a tax point; ``None`` without one."""


class TaxNames(NamedTuple):
    """The kinds and the categories that tax profiles name."""

    kinds: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()

    @classmethod
    def by(cls, profiles: Iterable[TaxProfile | None]) -> Self:
        """Return what these profiles name."""
        known = [profile for profile in profiles if profile]
        return cls(
            frozenset(name for profile in known for name in profile.by_kind),
            frozenset(name for profile in known for name in profile.by_category),
        )


class Taxable(NamedTuple):
    """What decides the tax of a line: its tax point, and of its kind and category those that a profile names."""

    tax_point: date
    kind: str = ""
    category: str = ""


class TaxSpan(NamedTuple):
    """The first and the last tax point of some lines of one kind and one category; both empty: of all others."""

    first: date
    last: date
    kind: str = ""
    category: str = ""

    def as_dict(self) -> "api.TaxPoints":
        """Return the span as a statement shows it: without an empty kind or category."""
        shown: api.TaxPoints = {"from": self.first.isoformat(), "to": self.last.isoformat()}
        if self.kind:
            shown["kind"] = self.kind
        if self.category:
            shown["category"] = self.category
        return shown


class TaxRow(NamedTuple):
    """The tax of all that has one scheme and percentage. Base and tax are rounded once.

    ``scheme`` is ``None`` for the tax points without a tax profile. Within a span, no tax point of its kind and
    category is in another row.
    """

    scheme: str | None
    percent: Decimal
    base: Decimal
    tax: Decimal
    tax_points: tuple[TaxSpan, ...]

    def as_dict(self) -> "api.TaxRow":
        """Return the row as a statement shows it."""
        return {
            "scheme": self.scheme,
            "percent": money.plain(self.percent),
            "note": note_of(self.scheme, self.percent),
            "base": money.plain(self.base),
            "tax": money.plain(self.tax),
            "tax_points": [span.as_dict() for span in self.tax_points],
        }


def note_of(scheme: str | None, percent: Decimal) -> str:
    """Return how a statement names a tax: with the legal note of its scheme."""
    if scheme == STANDARD:
        return f"VAT {money.plain(percent)} %"
    return _UNKNOWN if scheme is None else _NOTES[scheme]


def taxed(
    commissions: Mapping[Taxable, Decimal],
    currency: str,
    profile_at: ProfileAt,
    rounding: money.Rounding = money.Rounding.HALF_EVEN,
) -> list[TaxRow]:
    """Return the tax on exact commissions: a row for each scheme and percentage, by first tax point.

    The base of a row is rounded once; its tax is a percentage of that base, rounded the same way.
    """
    sums: dict[_Rate, Decimal] = {}
    spans: dict[_Rate, list[TaxSpan]] = defaultdict(list)
    open_spans: dict[tuple[str, str], tuple[_Rate, int]] = {}  # by kind and category: where the last span is
    for one in sorted(commissions):
        profile = profile_at(one.tax_point)
        rate: _Rate = profile.rate_of(one.kind, one.category) if profile else _NONE
        sums[rate] = money.add(sums.get(rate, money.ZERO), commissions[one])
        of_row, name = spans[rate], (one.kind, one.category)
        before, index = open_spans.get(name, (None, 0))
        if before == rate:
            of_row[index] = of_row[index]._replace(last=one.tax_point)
        else:
            open_spans[name] = rate, len(of_row)
            of_row.append(TaxSpan(one.tax_point, one.tax_point, *name))

    def rounded(amount: Decimal) -> Decimal:
        return money.on_statement(amount, currency, rounding)

    return [_row(rate, rounded(sums[rate]), of_row, rounded) for rate, of_row in spans.items()]


_Rate = tuple[str | None, Decimal]
"""Scheme and percentage."""
_NONE: Final[_Rate] = (None, money.ZERO)


def _row(rate: _Rate, base: Decimal, spans: list[TaxSpan], rounded: Callable[[Decimal], Decimal]) -> TaxRow:
    scheme, percent = rate
    exact = money.multiply(base, money.multiply(percent, _PERCENT)) if scheme == STANDARD else money.ZERO
    return TaxRow(scheme, percent, base, rounded(exact), tuple(spans))


def base_and_tax(rows: Iterable[TaxRow]) -> tuple[Decimal, Decimal]:
    """Return the sum of the bases and that of the taxes."""
    base = tax = money.ZERO
    for row in rows:
        base, tax = money.add(base, row.base), money.add(tax, row.tax)
    return base, tax
