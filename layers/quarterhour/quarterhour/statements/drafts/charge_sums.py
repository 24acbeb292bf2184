"""The sums of an account's charges, pure: by name, what counts for tiers, and what is charged of a whole period.

A line whose commission is ``commission`` alone, without tiers, has no part in it: it takes no memory and no time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.charges import COMMISSION, Charges
from quarterhour.model.tiers import Tier

Definition = tuple[str, str]
"""The name of a charge, and how it is computed: the text of its tiers, or of a charge of the period."""


class CountedTurnover(NamedTuple):
    """A turnover that counts for tiers, and the position of its first line."""

    first: str
    turnover: Decimal

    def plus(self, other: "CountedTurnover") -> "CountedTurnover":
        """Return both together."""
        return CountedTurnover(min(self.first, other.first), money.add(self.turnover, other.turnover))


class PeriodCharge(NamedTuple):
    """What is charged of a whole period: by tiers, a fee, or what is missing to a minimum.

    ``definition``: how it is computed. ``amount``: what this statement charges, exact. ``basis``: what it is computed
    from, as texts. ``tiers``: those of the turnover so far.
    """

    name: str
    definition: str
    amount: Decimal
    basis: Mapping[str, Any]
    tiers: tuple[Tier, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the charge as a draft and a statement hold it."""
        return {
            "name": self.name,
            "definition": self.definition,
            "amount": written(self.amount),
            **self.basis,
            "tiers": [tier_row(one) for one in self.tiers],
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returned."""
        own = {"name", "definition", "amount", "tiers"}
        basis = {name: value for name, value in values.items() if name not in own}
        tiers = tuple(_tier(row) for row in values["tiers"])
        return cls(values["name"], values["definition"], Decimal(values["amount"]), basis, tiers)

    def reversed(self) -> "PeriodCharge":
        """Return the charge that a cancellation gives back; what it is computed from stays."""
        return self._replace(amount=money.negated(self.amount))


def tier_row(tier: Tier) -> dict[str, str | None]:
    """Return a tier as documents show it."""
    return {
        "from": written(tier.start),
        "to": None if tier.end is None else written(tier.end),
        "percent": written(tier.percent),
        "turnover": written(tier.turnover),
        "commission": written(tier.commission),
    }


def written(value: Decimal) -> str:
    """Return a figure as it is kept: without zeros at the end of its decimal places."""
    return money.plain(money.trimmed(value))


def _tier(row: Mapping[str, Any]) -> Tier:
    end = row["to"]
    figures = (Decimal(row[name]) for name in ("percent", "turnover", "commission"))
    return Tier(Decimal(row["from"]), None if end is None else Decimal(end), *figures)


@dataclass(slots=True)
class ChargeSums:
    """The charges of an account.

    ``fixed``: those of lines, by tax point and name, without ``commission``, which is the rest of what lines charge.
    ``turnover``: what counts for tiers. ``of_period``: what is charged of the whole period. ``lacking``: the number of
    lines that do not say the tax or the shipping in their amount, and are charged without it.
    """

    fixed: dict[tuple[str, str], Decimal] = field(default_factory=dict)
    turnover: dict[Definition, CountedTurnover] = field(default_factory=dict)
    of_period: tuple[PeriodCharge, ...] = ()
    lacking: int = 0

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self.fixed or self.turnover or self.of_period or self.lacking)

    def add(self, tax_point: str, position: str, charges: Charges) -> None:
        """Add the charges of a line with a tax point and a position."""
        for name, amount in charges.amounts.items():
            if name != COMMISSION:
                key = tax_point, name
                self.fixed[key] = money.add(self.fixed.get(key, money.ZERO), amount)
        for definition, turnover in charges.turnover.items():
            self._count(definition, CountedTurnover(position, turnover))

    def join(self, other: "ChargeSums") -> None:
        """Add the charges of later lines."""
        for key, amount in other.fixed.items():
            self.fixed[key] = money.add(self.fixed.get(key, money.ZERO), amount)
        for definition, counted in other.turnover.items():
            self._count(definition, counted)
        self.lacking += other.lacking

    def _count(self, definition: Definition, counted: CountedTurnover) -> None:
        before = self.turnover.get(definition)
        self.turnover[definition] = before.plus(counted) if before else counted

    @property
    def whole(self) -> Decimal:
        """What is charged of the whole period, exact: lines do not have it."""
        return money.total(one.amount for one in self.of_period)

    def split(self, tax_point: str, commission: Decimal) -> Iterator[tuple[str, Decimal]]:
        """Yield the charges of the lines with a tax point by name, of which ``commission`` is the sum.

        What is left after those of other names is ``commission``.
        """
        found = {name: amount for (day, name), amount in self.fixed.items() if day == tax_point}
        rest = money.subtract(commission, money.total(found.values()))
        yield from without_zeros({COMMISSION: rest, **found})

    def reversed(self) -> "ChargeSums":
        """Return the charges that a cancellation gives back."""
        fixed = {key: money.negated(amount) for key, amount in self.fixed.items()}
        return replace(self, fixed=fixed, of_period=tuple(one.reversed() for one in self.of_period))

    def as_dict(self) -> dict[str, Any]:
        """Return the charges as plain values, to be stored."""
        return {
            "fixed": [[*key, money.plain(amount)] for key, amount in sorted(self.fixed.items())],
            "turnover": [[*key, first, money.plain(of)] for key, (first, of) in sorted(self.turnover.items())],
            "of_period": [one.as_dict() for one in self.of_period],
            "lacking": self.lacking,
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returned."""
        return cls(
            {(tax_point, name): Decimal(amount) for tax_point, name, amount in values["fixed"]},
            {(name, text): CountedTurnover(first, Decimal(of)) for name, text, first, of in values["turnover"]},
            tuple(map(PeriodCharge.of, values["of_period"])),
            int(values["lacking"]),
        )


def without_zeros(charges: Mapping[str, Decimal]) -> Iterator[tuple[str, Decimal]]:
    """Yield charges by name without those of 0; if all are 0, ``commission``."""
    found = [(name, amount) for name, amount in charges.items() if amount]
    yield from found or [(COMMISSION, money.ZERO)]
