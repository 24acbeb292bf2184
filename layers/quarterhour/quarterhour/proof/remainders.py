"""What documents leave by rounding, for verification: it shares no arithmetic with what makes statements."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from quarterhour.model.charges import COMMISSION
from quarterhour.proof.arithmetic import EXACT, exact_sum, text_of
from quarterhour.proof.compare import Json

RateKey = tuple[str | None, Decimal]
"""Scheme and percentage of a row of tax."""
ChargeKey = tuple[RateKey, str]
"""A row of tax, and the name of a charge in it; what is left of the tax is beside ``commission``."""
NOTHING: dict[str, Any] = {"taxes": [], "proceeds": "0"}
"""The remainders before the first document of an account, as documents show them."""


class Rests:
    """Remainders by row of tax and charge, of the base and of the tax, and that of the proceeds."""

    def __init__(self, shown: Json, sign: int = 1) -> None:
        """Read the remainders that a document shows; ``sign``: -1 turns all of them."""
        factor = Decimal(sign)
        self.taxes: dict[ChargeKey, tuple[Decimal, Decimal]] = {}
        for row in shown["taxes"]:
            base, tax = (EXACT.multiply(factor, Decimal(row[name])) for name in ("base", "tax"))
            rate = row["scheme"], Decimal(row["percent"])
            self.taxes[rate, row.get("charge", COMMISSION)] = base, tax
        self.proceeds = EXACT.multiply(factor, Decimal(shown["proceeds"]))

    def of(self, key: ChargeKey) -> tuple[Decimal, Decimal]:
        """Return the remainders of a base and of its tax."""
        return self.taxes.get(key, (Decimal(0), Decimal(0)))

    def add(self, left: Mapping[ChargeKey, tuple[Decimal, Decimal]], proceeds: Decimal) -> None:
        """Add what the rounding of one more document leaves."""
        for key, (base, tax) in left.items():
            before = self.of(key)
            self.taxes[key] = exact_sum(before[0], base), exact_sum(before[1], tax)
        self.proceeds = exact_sum(self.proceeds, proceeds)

    def shown(self) -> dict[str, Any]:
        """Return the remainders as a document shows them: those of 0 are left out."""
        rows = []
        for ((scheme, percent), charge), (base, tax) in sorted(self.taxes.items(), key=_place):
            if base or tax:
                row: dict[str, Any] = {"scheme": scheme, "percent": _trimmed(percent)}
                named = {} if charge == COMMISSION else {"charge": charge}
                rows.append({**row, **named, "base": _trimmed(base), "tax": _trimmed(tax)})
        return {"taxes": rows, "proceeds": _trimmed(self.proceeds)}


def _place(entry: tuple[ChargeKey, tuple[Decimal, Decimal]]) -> tuple[str, Decimal, bool, str]:
    (scheme, percent), charge = entry[0]
    return scheme or "", percent, charge != COMMISSION, charge


def _trimmed(value: Decimal) -> str:
    return text_of(EXACT.normalize(value))
