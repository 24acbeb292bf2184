"""Tax, pure: what a statement charges by tax point, taxed by the profiles that are valid then."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple

from quarterhour.agencies.agency import EXEMPT, OUTSIDE_SCOPE, REVERSE_CHARGE, STANDARD, TaxProfile
from quarterhour.model import money

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


class TaxRow(NamedTuple):
    """The tax of all tax points with one scheme and percentage. Base and tax are rounded once.

    ``scheme`` is ``None`` for the tax points without a tax profile. ``tax_points``: spans, each by its first and last
    tax point; no tax point of another row is within a span.
    """

    scheme: str | None
    percent: Decimal
    base: Decimal
    tax: Decimal
    tax_points: tuple[tuple[date, date], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the row as a statement shows it."""
        return {
            "scheme": self.scheme,
            "percent": money.plain(self.percent),
            "note": note_of(self.scheme, self.percent),
            "base": money.plain(self.base),
            "tax": money.plain(self.tax),
            "tax_points": [{"from": first.isoformat(), "to": last.isoformat()} for first, last in self.tax_points],
        }


def note_of(scheme: str | None, percent: Decimal) -> str:
    """Return how a statement names a tax: with the legal note of its scheme."""
    if scheme == STANDARD:
        return f"VAT {money.plain(percent)} %"
    return _UNKNOWN if scheme is None else _NOTES[scheme]


def taxed(commissions: Mapping[date, Decimal], currency: str, profile_at: ProfileAt) -> list[TaxRow]:
    """Return the tax on exact commissions by tax point: a row for each scheme and percentage, by first tax point.

    The base of a row is rounded once, half to even; its tax is a percentage of that base, rounded the same way.
    """
    sums: dict[tuple[str | None, Decimal], Decimal] = {}
    spans: dict[tuple[str | None, Decimal], list[tuple[date, date]]] = {}
    last = None
    for day in sorted(commissions):
        profile = profile_at(day)
        key = (profile.scheme, profile.percent) if profile else (None, money.ZERO)
        sums[key] = money.add(sums.get(key, money.ZERO), commissions[day])
        of_row = spans.setdefault(key, [])
        if key == last:
            of_row[-1] = of_row[-1][0], day
        else:
            of_row.append((day, day))
        last = key
    return [_row(*key, money.on_statement(sums[key], currency), currency, days) for key, days in spans.items()]


def _row(scheme: str | None, percent: Decimal, base: Decimal, currency: str, days: list[tuple[date, date]]) -> TaxRow:
    exact = money.multiply(base, money.multiply(percent, _PERCENT)) if scheme == STANDARD else money.ZERO
    return TaxRow(scheme, percent, base, money.on_statement(exact, currency), tuple(days))


def base_and_tax(rows: Iterable[TaxRow]) -> tuple[Decimal, Decimal]:
    """Return the sum of the bases and that of the taxes."""
    base = tax = money.ZERO
    for row in rows:
        base, tax = money.add(base, row.base), money.add(tax, row.tax)
    return base, tax
