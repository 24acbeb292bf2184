"""Totals of an account: the figures that counters, reports and proofs share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self, TypeVar

from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour

if TYPE_CHECKING:
    from quarterhour.model import api

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of events and exact sums: ``gross`` of the amounts of 0 or more, ``refunds`` of the negative ones.

    ``payments`` are in neither: they are what the agency paid, less what was paid to it.
    """

    events: int = 0
    gross: Decimal = money.ZERO
    refunds: Decimal = money.ZERO
    commission: Decimal = money.ZERO
    payments: Decimal = money.ZERO

    def plus(self, amount: Decimal, commission: Decimal, *, is_payment: bool = False) -> "Totals":
        """Return the totals after one more event."""
        gross, refunds, payments = self.gross, self.refunds, self.payments
        if is_payment:
            payments = money.add(payments, amount)
        elif amount < 0:
            refunds = money.add(refunds, amount)
        else:
            gross = money.add(gross, amount)
        return Totals(self.events + 1, gross, refunds, money.add(self.commission, commission), payments)

    def __add__(self, other: "Totals") -> "Totals":
        """Return the sum of both totals."""
        return Totals(
            self.events + other.events,
            money.add(self.gross, other.gross),
            money.add(self.refunds, other.refunds),
            money.add(self.commission, other.commission),
            money.add(self.payments, other.payments),
        )

    def __sub__(self, other: "Totals") -> "Totals":
        """Return the difference of both totals, which may be negative, the number of events too."""
        figures = (other.gross, other.refunds, other.commission, other.payments)
        return self + Totals(-other.events, *map(money.negated, figures))

    @property
    def net(self) -> Decimal:
        """The sales less the refunds; ``refunds`` is negative or 0."""
        return money.add(self.gross, self.refunds)

    def as_dict(self) -> "api.Sums":
        """Return the figures as they are stored and shown: a count, and exact decimal strings."""
        return {**self.without_payments(), "payments": money.plain(self.payments)}

    def without_payments(self) -> "api.SalesSums":
        """Return the figures of ``as_dict`` that say nothing of payments."""
        return {
            "events": self.events,
            "gross": money.plain(self.gross),
            "refunds": money.plain(self.refunds),
            "commission": money.plain(self.commission),
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse the values that ``as_dict`` or ``without_payments`` returns."""
        figures = values["gross"], values["refunds"], values["commission"], values.get("payments", "0")
        return cls(int(values["events"]), *(Decimal(str(figure)) for figure in figures))


class RunningTotals:
    """Totals that events are added to, one after the other."""

    __slots__ = ("_commission", "_events", "_gross", "_payments", "_refunds")

    def __init__(self) -> None:
        self._events = 0
        self._gross = self._refunds = self._commission = self._payments = money.ZERO

    def add(self, amount: Decimal, commission: Decimal, *, is_payment: bool = False) -> None:
        """Add an event."""
        self._events += 1
        if is_payment:
            self._payments = money.add(self._payments, amount)
        elif amount < money.ZERO:
            self._refunds = money.add(self._refunds, amount)
        else:
            self._gross = money.add(self._gross, amount)
        self._commission = money.add(self._commission, commission)

    def totals(self) -> Totals:
        """Return the totals of the events added so far."""
        return Totals(self._events, self._gross, self._refunds, self._commission, self._payments)


def figures(totals: Totals) -> "api.Totals":
    """Return totals as the API shows them: the stored figures, and ``net``."""
    return {**totals.as_dict(), "net": money.plain(totals.net)}


def sales_figures(totals: Totals) -> "api.SalesTotals":
    """Return totals of sales alone as the API shows them: as ``figures`` does, without payments."""
    return {**totals.without_payments(), "net": money.plain(totals.net)}


QuarterHourTotals = dict[tuple[Account, QuarterHour], Totals]
"""Totals by account and quarter-hour, as the counters keep them."""
PeriodTotals = dict[Period, Totals]
"""Totals by period."""
_NOTHING = Totals()


def add_up(sums: dict[K, Totals], more: Iterable[tuple[K, Totals]]) -> dict[K, Totals]:
    """Add totals to sums by their keys, and return the sums."""
    for key, totals in more:
        sums[key] = sums[key] + totals if key in sums else totals
    return sums


def differences(left: Mapping[K, Totals], right: Mapping[K, Totals]) -> dict[K, Totals]:
    """Return the difference of both sides for each key where they differ; a missing key has empty totals."""
    keys = dict.fromkeys((*left, *right))
    found = {key: left.get(key, _NOTHING) - right.get(key, _NOTHING) for key in keys}
    return {key: totals for key, totals in found.items() if totals != _NOTHING}


def total(totals: Iterable[Totals]) -> Totals:
    """Add up totals."""
    return sum(totals, _NOTHING)
