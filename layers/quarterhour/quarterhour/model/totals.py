"""Totals of an account: the figures that counters, reports and proofs share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self, TypeVar

from quarterhour.model import money
from quarterhour.model.charge_totals import NO_CHARGE_TOTALS, OF_SCHEME, ChargeTotals
from quarterhour.model.charges import COMMISSION, Charges, write_charges
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour

if TYPE_CHECKING:
    from quarterhour.model import api

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of events and exact sums: ``gross`` of the amounts of 0 or more, ``refunds`` of the negative ones.

    ``payments`` are in neither: they are what the agency paid, less what was paid to it. ``charges``: what is not plain
    commission of ``commission``, and the turnover of tiers, which ``commission`` holds nothing of.
    """

    events: int = 0
    gross: Decimal = money.ZERO
    refunds: Decimal = money.ZERO
    commission: Decimal = money.ZERO
    payments: Decimal = money.ZERO
    charges: ChargeTotals = field(default=NO_CHARGE_TOTALS, kw_only=True)

    def plus(
        self,
        amount: Decimal,
        commission: Decimal,
        *,
        is_payment: bool = False,
        charges: ChargeTotals = NO_CHARGE_TOTALS,
    ) -> "Totals":
        """Return the totals after one more event."""
        gross, refunds, payments = self.gross, self.refunds, self.payments
        if is_payment:
            payments = money.add(payments, amount)
        elif amount < 0:
            refunds = money.add(refunds, amount)
        else:
            gross = money.add(gross, amount)
        commission = money.add(self.commission, commission)
        return Totals(self.events + 1, gross, refunds, commission, payments, charges=self.charges + charges)

    def __add__(self, other: "Totals") -> "Totals":
        """Return the sum of both totals."""
        return Totals(
            self.events + other.events,
            money.add(self.gross, other.gross),
            money.add(self.refunds, other.refunds),
            money.add(self.commission, other.commission),
            money.add(self.payments, other.payments),
            charges=self.charges + other.charges,
        )

    def __sub__(self, other: "Totals") -> "Totals":
        """Return the difference of both totals, which may be negative, the number of events too."""
        figures = (other.gross, other.refunds, other.commission, other.payments)
        return self + Totals(-other.events, *map(money.negated, figures), charges=-other.charges)

    @property
    def net(self) -> Decimal:
        """The sales less the refunds; ``refunds`` is negative or 0."""
        return money.add(self.gross, self.refunds)

    def as_dict(self) -> "api.TieredSums":
        """Return the figures as they are stored and sealed: a count, and exact decimal strings.

        With charges, also the sum of each by its name, ``commission`` among them, and the turnover of tiers.
        """
        shown: api.TieredSums = {
            "events": self.events,
            "gross": money.plain(self.gross),
            "refunds": money.plain(self.refunds),
            "commission": money.plain(self.commission),
            "payments": money.plain(self.payments),
        }
        if self.charges:
            shown["charges"] = self.by_charge()
            shown["turnover"], shown["turnover_since"] = self.charges.turnover_as_dicts()
        return shown

    def by_charge(self) -> dict[str, str]:
        """Return the whole commission by the names of its charges, as exact decimal strings."""
        others = self.charges.amounts
        rest = money.add(self.commission, money.negated(money.total(others.values())))
        return {COMMISSION: money.plain(rest), **{name: money.plain(amount) for name, amount in others.items()}}

    def charges_text(self) -> str:
        """Return the charges as one text, as a line has them, with the turnover of tiers; empty if they are plain."""
        turnover = ((key.partition(OF_SCHEME), counted) for key, counted in self.charges.turnover.items())
        amounts = {name: Decimal(amount) for name, amount in self.by_charge().items()}
        return write_charges(Charges(amounts, {(name, text): counted for (name, _, text), counted in turnover}))

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
        charges = ChargeTotals.of(values) if "charges" in values else NO_CHARGE_TOTALS
        return cls(int(values["events"]), *(Decimal(str(figure)) for figure in figures), charges=charges)


class RunningTotals:
    """Totals that events are added to, one after the other."""

    __slots__ = ("_charges", "_commission", "_events", "_gross", "_payments", "_refunds")

    def __init__(self) -> None:
        self._events = 0
        self._charges = NO_CHARGE_TOTALS
        self._gross = self._refunds = self._commission = self._payments = money.ZERO

    def add(
        self,
        amount: Decimal,
        commission: Decimal,
        *,
        is_payment: bool = False,
        charges: ChargeTotals = NO_CHARGE_TOTALS,
    ) -> None:
        """Add an event."""
        self._events += 1
        if is_payment:
            self._payments = money.add(self._payments, amount)
        elif amount < money.ZERO:
            self._refunds = money.add(self._refunds, amount)
        else:
            self._gross = money.add(self._gross, amount)
        self._commission = money.add(self._commission, commission)
        if charges is not NO_CHARGE_TOTALS:
            self._charges += charges

    def totals(self) -> Totals:
        """Return the totals of the events added so far."""
        return Totals(self._events, self._gross, self._refunds, self._commission, self._payments, charges=self._charges)


def figures(totals: Totals) -> "api.Totals":
    """Return totals as the API shows them: the stored figures without turnover, and ``net``."""
    shown: api.Totals = {
        "events": totals.events,
        "gross": money.plain(totals.gross),
        "refunds": money.plain(totals.refunds),
        "commission": money.plain(totals.commission),
        "payments": money.plain(totals.payments),
        "net": money.plain(totals.net),
    }
    if totals.charges:
        shown["charges"] = totals.by_charge()
    return shown


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
