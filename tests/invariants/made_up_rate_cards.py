"""Rate cards drawn at random: charges of every kind, side by side, for all that is sold or for a part of it."""

from random import Random
from typing import Any, Final

LINE_NAMES: Final = ("commission", "payment fee", "platform fee")
CURRENCIES: Final = ("GBP", "EUR", "JPY")
CONDITIONS: Final[tuple[dict[str, Any], ...]] = (
    {"category": ["books", "maps"]},
    {"category": "toys"},
    {"product": "Atlas"},
    {"location": "GB#London"},
    {"location": ["GB", "DE"]},
    {"product": "Globe", "category": "maps"},
)
"""No two of them are equally specific for one event."""


class RateCards:
    """Draws the rules of rate cards."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def rules(self) -> list[dict[str, Any]]:
        """Return rules for most currencies, for some parts of what is sold, and perhaps for all."""
        found: list[dict[str, Any]] = []
        for currency in CURRENCIES:
            if self._random.random() < 0.8:
                found.append({"currency": currency, "charges": [*self._charges(currency), *self._monthly(currency)]})
            if self._random.random() < 0.5:
                condition = self._random.choice(CONDITIONS)
                found.append({**condition, "currency": currency, "charges": self._charges(currency)})
        if self._random.random() < 0.4 or not found:
            found.append({"percent": self._random.choice(("0", "7.5", "12", "33.33"))})
        return found

    def _charges(self, currency: str) -> list[dict[str, Any]]:
        names = self._random.sample(LINE_NAMES, self._random.randint(1, 3))
        return [self._tiered(name) if self._random.random() < 0.35 else self._charge(name, currency) for name in names]

    def _charge(self, name: str, currency: str) -> dict[str, Any]:
        draw, choice = self._random.random, self._random.choice
        unit = 100 if currency == "JPY" else 1
        charge: dict[str, Any] = {"name": name, "percent": choice(("0", "1.4", "8", "12.5"))}
        if draw() < 0.5:
            charge["of"] = choice(("amount", "net", "goods"))
        if draw() < 0.5:
            charge["fixed"] = f"{unit}" if currency == "JPY" else choice(("0.25", "0.3", "1"))
            if draw() < 0.5:
                charge["fixed_per"] = choice(("order", "order", "item"))
        if draw() < 0.3:
            charge["minimum"] = f"{2 * unit}" if draw() < 0.5 else f"{unit}"
        if draw() < 0.3:
            charge["maximum"] = f"{20 * unit}"
        if draw() < 0.4:
            charge["decimals"] = choice((0, 2)) if currency == "JPY" else choice((2, 3))
        kinds = ("share", "keep", "keep_fixed") if "fixed" in charge else ("share", "keep")
        return charge | ({"refund": choice(kinds)} if draw() < 0.6 else {})

    def _tiered(self, name: str) -> dict[str, Any]:
        choice = self._random.choice
        tiers = {
            "per": choice(("month", "quarter", "year")),
            "of": choice(("account", "group")),
            "mode": choice(("graduated", "volume")),
            "steps": choice(STEPS),
        }
        charge: dict[str, Any] = {"name": name, "tiers": tiers}
        if self._random.random() < 0.3:
            charge["of"] = choice(("net", "goods"))
        return charge | ({"refund": "keep"} if self._random.random() < 0.3 else {})

    def _monthly(self, currency: str) -> list[dict[str, Any]]:
        draw, choice = self._random.random, self._random.choice
        unit = 100 if currency == "JPY" else 1
        found: list[dict[str, Any]] = []
        if draw() < 0.3:
            part = {"part_months": choice(("by_days", "by_days", "whole"))} if draw() < 0.8 else {}
            found.append({"name": "listing fee", "amount": f"{choice((10, 39)) * unit}", "per": "month", **part})
        if draw() < 0.3:
            found.append({"name": "minimum", "minimum": f"{choice((50, 400)) * unit}", "per": "month"})
        return found


STEPS: Final = (
    [{"from": "0", "percent": "12"}, {"from": "1000", "percent": "10"}, {"from": "5000", "percent": "8.25"}],
    [{"from": "0", "percent": "7"}, {"from": "250.50", "percent": "20"}],
    [{"from": "0", "percent": "15.0"}, {"from": "100000", "percent": "5"}],
)
