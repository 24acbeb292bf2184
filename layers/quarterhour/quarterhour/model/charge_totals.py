"""What the events of a total are charged beside plain commission: sums by the names of charges, and turnover of tiers.

An account whose events are charged nothing but ``commission`` has none of it, and so stores nothing for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Self

from quarterhour.model import money
from quarterhour.model.charges import COMMISSION, read_charges

OF_SCHEME: Final = "@"
"""Separates the name of a charge from the definition of its tiers."""


@dataclass(frozen=True, slots=True, eq=False)
class ChargeTotals:
    """Sums of charges, and of what counts as turnover of charges with tiers.

    - ``amounts``: by the name of the charge, without ``commission``, which is the rest of the whole commission.
    - ``turnover``: by the name and the definition of the tiers: ``commission@month/account/graduated/0=12/10000=10``.
    - ``since``: the position of the first event of each turnover, in whose order several lie on each other. Totals that
      lack it are equal to others, as it adds nothing up.
    """

    amounts: Mapping[str, Decimal] = field(default_factory=dict)
    turnover: Mapping[str, Decimal] = field(default_factory=dict)
    since: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether there is anything, even if its sum is 0."""
        return bool(self.amounts or self.turnover)

    def __eq__(self, other: object) -> bool:
        """Return whether all sums are equal; a missing one is 0."""
        if not isinstance(other, ChargeTotals):
            return NotImplemented
        return self._sums() == other._sums()

    def __hash__(self) -> int:
        """Return the hash of the sums that are not 0."""
        return hash(self._sums())

    def _sums(self) -> frozenset[tuple[str, Decimal]]:
        return frozenset(one for one in (*self.amounts.items(), *self.turnover.items()) if one[1])

    def __add__(self, other: "ChargeTotals") -> "ChargeTotals":
        """Return the sums of both."""
        if other is NO_CHARGE_TOTALS:
            return self
        if self is NO_CHARGE_TOTALS:
            return other
        since = dict(self.since)
        for key, position in other.since.items():
            since[key] = min(since.get(key, position), position)
        amounts, turnover = _sums(self.amounts, other.amounts), _sums(self.turnover, other.turnover)
        return ChargeTotals(amounts, turnover, since)

    def __neg__(self) -> "ChargeTotals":
        """Return the sums with the opposite signs."""
        if self is NO_CHARGE_TOTALS:
            return self
        return ChargeTotals(_negated(self.amounts), _negated(self.turnover), self.since)

    def as_dict(self) -> dict[str, dict[str, str]]:
        """Return the sums as exact decimal texts, and the positions."""
        turnover, since = self.turnover_as_dicts()
        amounts = {name: money.plain(amount) for name, amount in self.amounts.items()}
        return {"charges": amounts, "turnover": turnover, "turnover_since": since}

    def turnover_as_dicts(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the turnover as exact decimal texts, and the positions."""
        return {key: money.plain(value) for key, value in self.turnover.items()}, dict(self.since)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returns, within more."""
        amounts = {name: Decimal(text) for name, text in values.get("charges", {}).items() if name != COMMISSION}
        turnover = {key: Decimal(text) for key, text in values.get("turnover", {}).items()}
        return cls(amounts, turnover, values.get("turnover_since", {}))

    @classmethod
    def of_event(cls, text: str, commission: Decimal, position: str) -> Self:
        """Return those of one event, of the text of its charges and its commission; it has a position in the ledger.

        Raises ``ValueError`` for a text that is not that of charges.
        """
        charges = read_charges(text, commission)
        amounts = {name: amount for name, amount in charges.amounts.items() if name != COMMISSION}
        turnover = {f"{name}{OF_SCHEME}{scheme}": counted for (name, scheme), counted in charges.turnover.items()}
        return cls(amounts, turnover, dict.fromkeys(turnover, position))


NO_CHARGE_TOTALS: Final = ChargeTotals()


def _sums(some: Mapping[str, Decimal], others: Mapping[str, Decimal]) -> dict[str, Decimal]:
    # A sum of 0 stays: an account item that is updated keeps its attributes, and must have no older value in one.
    return {key: money.add(some.get(key, money.ZERO), others.get(key, money.ZERO)) for key in {**some, **others}}


def _negated(values: Mapping[str, Decimal]) -> dict[str, Decimal]:
    return {key: money.negated(value) for key, value in values.items()}
