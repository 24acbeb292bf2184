"""What documents leave by rounding, for verification: it shares no arithmetic with what makes statements."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from quarterhour.proof.arithmetic import EXACT, exact_sum, text_of
from quarterhour.proof.compare import Json

RateKey = tuple[str | None, Decimal]
"""Scheme and percentage of a row of tax."""
NOTHING: dict[str, Any] = {"taxes": [], "proceeds": "0"}
"""The remainders before the first document of an account, as documents show them."""


class Rests:
    """Remainders by rate, of the base and of the tax, and that of the proceeds."""

    def __init__(self, shown: Json, sign: int = 1) -> None:
        """Read the remainders that a document shows; ``sign``: -1 turns all of them."""
        factor = Decimal(sign)
        self.taxes: dict[RateKey, tuple[Decimal, Decimal]] = {}
        for row in shown["taxes"]:
            base, tax = (EXACT.multiply(factor, Decimal(row[name])) for name in ("base", "tax"))
            self.taxes[row["scheme"], Decimal(row["percent"])] = base, tax
        self.proceeds = EXACT.multiply(factor, Decimal(shown["proceeds"]))

    def of(self, key: RateKey) -> tuple[Decimal, Decimal]:
        """Return the remainders of a base and of its tax."""
        return self.taxes.get(key, (Decimal(0), Decimal(0)))

    def add(self, left: Mapping[RateKey, tuple[Decimal, Decimal]], proceeds: Decimal) -> None:
        """Add what the rounding of one more document leaves."""
        for key, (base, tax) in left.items():
            before = self.of(key)
            self.taxes[key] = exact_sum(before[0], base), exact_sum(before[1], tax)
        self.proceeds = exact_sum(self.proceeds, proceeds)

    def shown(self) -> dict[str, Any]:
        """Return the remainders as a document shows them: those of 0 are left out."""
        rows = [
            {"scheme": scheme, "percent": _trimmed(percent), "base": _trimmed(base), "tax": _trimmed(tax)}
            for (scheme, percent), (base, tax) in self.taxes.items()
            if base or tax
        ]
        rows.sort(key=lambda row: (row["scheme"] or "", Decimal(row["percent"] or "0")))
        return {"taxes": rows, "proceeds": _trimmed(self.proceeds)}


def _trimmed(value: Decimal) -> str:
    return text_of(EXACT.normalize(value))
