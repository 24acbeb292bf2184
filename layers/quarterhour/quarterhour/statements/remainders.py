"""What rounding leaves, pure: each document of an account carries it to the next one, so it never adds up.

A remainder is what was exact, less what documents state. It is kept for each scheme and percentage: of the base of each
charge, and of the tax, which is beside that of ``commission``; and for the proceeds. The next document with lines of
that kind rounds their exact sum plus the remainder.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.charges import COMMISSION

Rate = tuple[str | None, Decimal]
"""Scheme and percentage of a tax; the scheme is ``None`` without a tax profile."""
TaxedCharge = tuple[Rate, str]
"""How a charge is taxed, and its name."""


class Remainder(NamedTuple):
    """What rounding has left of a base and of its tax."""

    base: Decimal = money.ZERO
    tax: Decimal = money.ZERO

    def plus(self, other: "Remainder") -> "Remainder":
        """Return the sum of both."""
        return Remainder(money.add(self.base, other.base), money.add(self.tax, other.tax))


@dataclass(frozen=True, slots=True)
class Remainders:
    """What the documents of an account have left by rounding: by charge those that are not 0, and of the proceeds."""

    taxes: Mapping[TaxedCharge, Remainder] = field(default_factory=dict)
    proceeds: Decimal = money.ZERO

    def of_rate(self, rate: Rate, charge: str = COMMISSION) -> Remainder:
        """Return the remainder of a charge."""
        return self.taxes.get((rate, charge), _NONE)

    def after(self, rests: Iterable[tuple[TaxedCharge, Remainder]], proceeds: Decimal) -> "Remainders":
        """Return the remainders after one more document; ``rests`` and ``proceeds``: what its own rounding left."""
        taxes = dict(self.taxes)
        for charge, rest in rests:
            taxes[charge] = taxes.get(charge, _NONE).plus(rest)
        left = {charge: one for charge, one in taxes.items() if any(one)}
        return Remainders(left, money.add(self.proceeds, proceeds))

    def negated(self) -> "Remainders":
        """Return the remainders with the opposite signs."""
        taxes = {charge: Remainder(*map(money.negated, one)) for charge, one in self.taxes.items()}
        return Remainders(taxes, money.negated(self.proceeds))

    def as_dict(self) -> dict[str, Any]:
        """Return the remainders as a statement and an item hold them; rows of ``commission`` do not name it."""
        return {
            "taxes": [
                {
                    "scheme": scheme,
                    "percent": _written(percent),
                    **({} if charge == COMMISSION else {"charge": charge}),
                    "base": _written(one.base),
                    "tax": _written(one.tax),
                }
                for ((scheme, percent), charge), one in sorted(self.taxes.items(), key=_place)
            ],
            "proceeds": _written(self.proceeds),
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returned."""
        taxes = {
            ((row["scheme"], Decimal(row["percent"])), row.get("charge", COMMISSION)): Remainder(
                Decimal(row["base"]), Decimal(row["tax"])
            )
            for row in values["taxes"]
        }
        return cls(taxes, Decimal(values["proceeds"]))


def _place(entry: tuple[TaxedCharge, Remainder]) -> tuple[str, Decimal, bool, str]:
    """Return the place of a remainder in a document: by scheme and percentage, ``commission`` first."""
    (scheme, percent), charge = entry[0]
    return scheme or "", percent, charge != COMMISSION, charge


_NONE = Remainder()
NOTHING = Remainders()
"""The remainders before the first document of an account."""


def rounded_with(
    exact: Decimal, remainder: Decimal, currency: str, rounding: money.Rounding = money.Rounding.HALF_EVEN
) -> Decimal:
    """Return an exact amount plus the remainder, rounded; of 0 it is 0: no remainder is charged alone."""
    whole = money.ZERO if exact.is_zero() else money.add(exact, remainder)
    return money.on_statement(whole, currency, rounding)


def _written(value: Decimal) -> str:
    return money.plain(money.trimmed(value))
