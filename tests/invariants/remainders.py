"""The roundings of an account's documents, computed from their lines without any code of the product."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

DIGITS = {"JPY": 0, "BHD": 3}
"""The digits of the minor unit, where they are not two."""
MODES = {"half-even": ROUND_HALF_EVEN, "half-up": ROUND_HALF_UP}
EXACT = Context(prec=100)
Rate = tuple[str | None, Decimal]


class Roundings:
    """What rounding has left of each figure of an account, after each of its documents."""

    def __init__(self) -> None:
        self.rests: defaultdict[tuple[Any, ...], Decimal] = defaultdict(Decimal)
        self.exact: defaultdict[tuple[Any, ...], Decimal] = defaultdict(Decimal)
        self.shown: defaultdict[tuple[Any, ...], Decimal] = defaultdict(Decimal)
        self._rows: dict[str, dict[tuple[Any, ...], Decimal]] = {}

    def check(self, statement: Mapping[str, Any], lines: Iterable[Mapping[str, str]]) -> None:
        """Check the figures of the next document, and the remainders that it shows."""
        currency, mode = statement["currency"], MODES[statement["rounding"]]
        found = _figures(statement)
        cancels = statement["cancels"]
        if cancels:
            assert found == {figure: -amount for figure, amount in self._rows[cancels["number"]].items()}
        for figure, exact in self._exact(statement, lines, -1 if cancels else 1):
            if not cancels:
                assert found[figure] == _rounded(figure, exact, self.rests[figure], currency, mode), figure
            self.exact[figure] += exact
            self.shown[figure] += found[figure]
            self.rests[figure] += exact - found[figure]
        self._rows[statement["number"]] = found
        left = {figure: rest for figure, rest in self.rests.items() if rest}
        assert _remainders(statement["remainders"]) == left
        assert all(self.rests[figure] == self.exact[figure] - self.shown[figure] for figure in self.rests)

    def _exact(
        self, statement: Mapping[str, Any], lines: Iterable[Mapping[str, str]], sign: int
    ) -> Iterable[tuple[tuple[Any, ...], Decimal]]:
        """Yield what each figure of a document is before it is rounded: each tax is that of its rounded base."""
        bases: dict[Rate, Decimal] = {_rate(row): Decimal(0) for row in statement["taxes"]}
        collected = Decimal(0)
        for line in lines:
            if line["type"] == "payment.recorded" or line["kind"] == "opening":
                continue
            (row,) = (row for row in statement["taxes"] if _has(row, line["tax_point"]))
            bases[_rate(row)] += sign * Decimal(line["commission"])
            (by,) = (row["by"] for row in statement["collected"] if _has(row, line["tax_point"]))
            if by == "marketplace" and line["type"] != "view.recorded":
                collected += sign * Decimal(line["amount"])
        for rate, exact in bases.items():
            yield ("base", *rate), exact
        for row in statement["taxes"]:
            is_taxed = row["scheme"] == "standard"
            yield ("tax", *_rate(row)), Decimal(row["base"]) * Decimal(row["percent"]) / 100 if is_taxed else Decimal(0)
        yield ("proceeds",), collected


def _rounded(figure: tuple[Any, ...], exact: Decimal, rest: Decimal, currency: str, mode: str) -> Decimal:
    """Return what a document must show of an exact figure: the sum with the remainder; of 0 it is 0.

    A tax stays less than one unit away from its percentage in cents, as EN 16931 has it.
    """
    digits = DIGITS.get(currency, 2)
    if not exact:
        return Decimal(0)
    found = (exact + rest).quantize(Decimal(1).scaleb(-digits), mode, EXACT)
    cents = exact.copy_abs().quantize(Decimal("0.01"), ROUND_HALF_UP, EXACT)
    if figure[0] == "tax" and digits == 0 and abs(abs(found) - cents) >= 1:
        towards = ROUND_CEILING if abs(found) > cents else ROUND_FLOOR
        found = cents.quantize(Decimal(1), towards, EXACT).copy_sign(exact)
    return found


def _rate(row: Mapping[str, Any]) -> Rate:
    return row["scheme"], Decimal(row["percent"])


def _has(row: Mapping[str, Any], tax_point: str) -> bool:
    return any(span["from"] <= tax_point <= span["to"] for span in row["tax_points"])


def _figures(statement: Mapping[str, Any]) -> dict[tuple[Any, ...], Decimal]:
    rows = statement["taxes"]
    found = {(name, *_rate(row)): Decimal(row[name]) for row in rows for name in ("base", "tax")}
    return {**found, ("proceeds",): Decimal(statement["proceeds"])}


def _remainders(shown: Mapping[str, Any]) -> dict[tuple[Any, ...], Decimal]:
    rows = shown["taxes"]
    found: dict[tuple[Any, ...], Decimal] = {
        (name, *_rate(row)): Decimal(row[name]) for row in rows for name in ("base", "tax")
    }
    found["proceeds",] = Decimal(shown["proceeds"])
    return {figure: amount for figure, amount in found.items() if amount}
