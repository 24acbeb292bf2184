"""Tax, pure: what a statement charges by tax point, taxed by the profiles that are valid then."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.charges import COMMISSION
from quarterhour.registry.agencies.agency import EXEMPT, OUTSIDE_SCOPE, REVERSE_CHARGE, STANDARD, TaxProfile
from quarterhour.statements.drafts.charge_sums import without_zeros, written
from quarterhour.statements.remainders import NOTHING, Rate, Remainder, Remainders, TaxedCharge, rounded_with

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
_CENTS: Final = "EUR"
"""A currency of two decimals."""

ProfileAt = Callable[[date], TaxProfile | None]
"""Returns the tax profile of a tax point; ``None`` without one."""


class TaxNames(NamedTuple):
    """The kinds, categories and charges that tax profiles name."""

    kinds: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    charges: frozenset[str] = frozenset()

    @classmethod
    def by(cls, profiles: Iterable[TaxProfile | None]) -> Self:
        """Return what these profiles name."""
        known = [profile for profile in profiles if profile]
        return cls(
            frozenset(name for profile in known for name in profile.by_kind),
            frozenset(name for profile in known for name in profile.by_category),
            frozenset(name for profile in known for name in profile.by_charge),
        )

    @property
    def of_lines(self) -> bool:
        """Whether the tax depends on the kinds or the categories of lines, which the sums of a draft do not know."""
        return bool(self.kinds or self.categories)


class Taxable(NamedTuple):
    """What decides the tax of a charge: its tax point and name, and those of kind and category that a profile names."""

    tax_point: date
    kind: str = ""
    category: str = ""
    charge: str = COMMISSION


class TaxSpan(NamedTuple):
    """The first and the last tax point of some lines of one kind, category and charge; empty: of all others."""

    first: date
    last: date
    kind: str = ""
    category: str = ""
    charge: str = ""

    def as_dict(self) -> "api.TaxPoints":
        """Return the span as a statement shows it: without an empty kind, category or charge."""
        shown: api.TaxPoints = {"from": self.first.isoformat(), "to": self.last.isoformat()}
        if self.kind:
            shown["kind"] = self.kind
        if self.category:
            shown["category"] = self.category
        if self.charge:
            shown["charge"] = self.charge
        return shown


class TaxKey(NamedTuple):
    """What a row of tax is of: how it is taxed, and the country, the VAT id and the legal ground of the profile."""

    scheme: str | None = None
    percent: Decimal = money.ZERO
    country: str | None = None
    vat_id: str | None = None
    reason: str | None = None
    reason_code: str | None = None

    @classmethod
    def of(cls, profile: TaxProfile | None, one: Taxable) -> Self:
        """Return that of a tax point with this profile."""
        if profile is None:
            return cls()
        scheme, percent, reason, code = profile.rate_of(one.kind, one.category, one.charge)
        return cls(scheme, percent, profile.country, profile.vat_id, reason, code)

    @property
    def rate(self) -> Rate:
        """Scheme and percentage, by which remainders are kept."""
        return self.scheme, self.percent


PROFILE_FACTS: Final = ("country", "vat_id", "reason", "reason_code")
"""What a row of tax has of its profile beside scheme and percentage."""


class TaxedBase(NamedTuple):
    """What a statement charges by one name, scheme and percentage: exact, and rounded once."""

    charge: str
    exact: Decimal
    base: Decimal


class TaxRow(NamedTuple):
    """The tax of all that has one scheme, percentage, country, VAT id and legal ground.

    The base of each charge and the tax are rounded once. The scheme is ``None`` without a tax profile. Within a span,
    no tax point of its kind, category and charge is in another row. ``charges``: the parts of the base, ``commission``
    first. ``rest``: what the rounding of the tax leaves.
    """

    key: TaxKey
    base: Decimal
    tax: Decimal
    tax_points: tuple[TaxSpan, ...]
    charges: tuple[TaxedBase, ...]
    rest: Decimal = money.ZERO

    @property
    def scheme(self) -> str | None:
        """Its scheme."""
        return self.key.scheme

    @property
    def rate(self) -> Rate:
        """Its scheme and percentage."""
        return self.key.rate

    @property
    def rests(self) -> Iterator[tuple[TaxedCharge, Remainder]]:
        """What the rounding of each charge leaves; what that of the tax leaves is beside ``commission``."""
        for name, exact, base in self.charges:
            yield (self.rate, name), Remainder(money.subtract(exact, base))
        yield (self.rate, COMMISSION), Remainder(tax=self.rest)

    def as_dict(self) -> "api.TaxRow":
        """Return the row as a statement shows it."""
        return {
            "scheme": self.scheme,
            "percent": money.plain(self.key.percent),
            "country": self.key.country,
            "vat_id": self.key.vat_id,
            "reason": self.key.reason,
            "reason_code": self.key.reason_code,
            "note": note_of(*self.rate),
            "base": money.plain(self.base),
            "tax": money.plain(self.tax),
            "tax_points": [span.as_dict() for span in self.tax_points],
            "charges": [
                {"name": name, "exact": written(exact), "amount": money.plain(base)}
                for name, exact, base in self.charges
            ],
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
    carried: Remainders = NOTHING,
) -> list[TaxRow]:
    """Return the tax on exact commissions: a row for each ``TaxKey``, by first tax point.

    Each charge is rounded once, and their sum is the base; the tax is a percentage of it, rounded the same way.
    ``carried``: what the documents before have left by rounding. The first row of its rate over anything adds it before
    it rounds.
    """
    profiles = {day: profile_at(day) for day in dict.fromkeys(one.tax_point for one in commissions)}
    named = TaxNames.by(profiles.values()).charges
    sums: dict[TaxKey, dict[str, Decimal]] = defaultdict(dict)
    spans: dict[TaxKey, list[TaxSpan]] = defaultdict(list)
    open_spans: dict[tuple[str, str, str], tuple[TaxKey, int]] = {}  # by what the span is of: where the last one is
    for one in sorted(commissions):
        key = TaxKey.of(profiles[one.tax_point], one)
        of_key = sums[key]
        of_key[one.charge] = money.add(of_key.get(one.charge, money.ZERO), commissions[one])
        of_row, name = spans[key], (one.kind, one.category, one.charge if one.charge in named else "")
        before, index = open_spans.get(name, (None, 0))
        if before == key:
            of_row[index] = of_row[index]._replace(last=one.tax_point)
        else:
            open_spans[name] = key, len(of_row)
            of_row.append(TaxSpan(one.tax_point, one.tax_point, *name))

    rows: list[TaxRow] = []
    rounder = _Rounder(currency, rounding, carried)
    for key, of_key in sums.items():
        charges = tuple(
            TaxedBase(name, exact, rounder.base(exact, key.rate, name))
            for name, exact in sorted(without_zeros(of_key), key=_commission_first)
        )
        base = money.total(one.base for one in charges)
        share = money.multiply(key.percent, _PERCENT) if key.scheme == STANDARD else money.ZERO
        exact_tax = money.multiply(base, share)
        tax = _near(exact_tax, rounder.tax(exact_tax, key.rate), currency)
        rows.append(TaxRow(key, base, tax, tuple(spans[key]), charges, money.subtract(exact_tax, tax)))
    return rows


class _Rounder:
    """Rounds with the remainders that are carried; each is added once, to the first figure that is not 0."""

    def __init__(self, currency: str, rounding: money.Rounding, carried: Remainders) -> None:
        self._currency = currency
        self._rounding = rounding
        self._carried = carried
        self._added: set[tuple[Rate, str | None]] = set()

    def base(self, exact: Decimal, rate: Rate, charge: str) -> Decimal:
        """Return a rounded base."""
        return self._rounded(exact, self._carried.of_rate(rate, charge).base, (rate, charge))

    def tax(self, exact: Decimal, rate: Rate) -> Decimal:
        """Return a rounded tax."""
        return self._rounded(exact, self._carried.of_rate(rate).tax, (rate, None))

    def _rounded(self, exact: Decimal, remainder: Decimal, of: tuple[Rate, str | None]) -> Decimal:
        if of in self._added:
            remainder = money.ZERO
        elif not exact.is_zero():
            self._added.add(of)
        return rounded_with(exact, remainder, self._currency, self._rounding)


def _commission_first(entry: tuple[str, Decimal]) -> tuple[bool, str]:
    return entry[0] != COMMISSION, entry[0]


def _near(exact: Decimal, tax: Decimal, currency: str) -> Decimal:
    """Return a tax that is less than one unit of the currency away from the percentage of its base.

    EN 16931 allows no more (BR-CO-17, which rounds the percentage to cents). Only where a currency has no decimals can
    a remainder lead further away.
    """
    cents = money.on_statement(exact.copy_abs(), _CENTS, money.Rounding.HALF_UP)
    difference = money.subtract(tax.copy_abs(), cents)
    if money.minor_digits(currency) or abs(difference) < 1:
        return tax
    nearer = Decimal(math.ceil(cents) if difference > 0 else math.floor(cents))
    return nearer.copy_sign(exact) if nearer else nearer


def base_and_tax(rows: Iterable[TaxRow]) -> tuple[Decimal, Decimal]:
    """Return the sum of the bases and that of the taxes."""
    base = tax = money.ZERO
    for row in rows:
        base, tax = money.add(base, row.base), money.add(tax, row.tax)
    return base, tax
