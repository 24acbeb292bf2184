"""Reads who has collected the money of lines that are on no draft yet: from the lines, as counters know no tax points.

Only an agency whose registration ever changed who collects needs it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from quarterhour.aws.resources import Resources
from quarterhour.ledger.events.event import PAYMENT
from quarterhour.ledger.reading.queries import LedgerQueries
from quarterhour.model import clock, money
from quarterhour.model.identifiers import Account
from quarterhour.model.instants import ALWAYS
from quarterhour.model.periods import Calendar, Period, start_of
from quarterhour.registry.agencies.agency import BY_MARKETPLACE, collector_of
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.reports.store import began
from quarterhour.statements.store import AgencyAt
from quarterhour.web.access import Caller
from quarterhour.web.paging import MAX_LIMIT, RESERVE_SECONDS, Paging

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quarterhour.ledger.reading.api import Event

_CALLER: Final = Caller("previews", None)


@dataclass(slots=True)
class _Nets:
    """Of the lines that were read of a period: the net, and what the marketplace has collected of it."""

    all: Decimal = money.ZERO
    collected: Decimal = money.ZERO


@dataclass(frozen=True, slots=True)
class CollectedNets:
    """What the marketplace has collected of nets that are on no draft.

    ``last``: who collects now. He is taken to have collected what is counted and was not read.
    """

    last: str
    periods: dict[Period, _Nets] = field(default_factory=dict)

    def of_period(self, period: Period, net: Decimal) -> Decimal:
        """Return what the marketplace has collected of the net of a period."""
        return self._of(net, self.periods.get(period, _Nets()))

    def of_all(self, net: Decimal) -> Decimal:
        """Return what the marketplace has collected of the net of all periods."""
        nets = self.periods.values()
        return self._of(net, _Nets(money.total(one.all for one in nets), money.total(one.collected for one in nets)))

    def _of(self, net: Decimal, read: _Nets) -> Decimal:
        rest = money.subtract(net, read.all) if self.last == BY_MARKETPLACE else money.ZERO
        return money.add(read.collected, rest)


@dataclass(frozen=True, slots=True)
class CollectedReader:
    """Reads ``CollectedNets``; with many lines, as many as a request has time for."""

    ledger: LedgerQueries
    remaining_seconds: Callable[[], float]

    @classmethod
    def of(cls, resources: Resources, remaining_seconds: Callable[[], float]) -> Self:
        """Return the reader of a function."""
        first = partial(began, resources.entities)
        return cls(LedgerQueries.of(resources, ArchivedPostings.of(resources), first), remaining_seconds)

    def read(
        self, account: Account, agency_at: AgencyAt, calendar: Calendar, first: Period | None, until: datetime | None
    ) -> CollectedNets:
        """Return what is collected of an account's lines of the periods from ``first`` on, recorded before an instant.

        A period has no line that was recorded before it. Without ``first`` and ``until``: of all lines.
        """
        found = CollectedNets(collector_of(agency_at(until or clock.now())))
        if len({collector_of(one) for one in agency_at.versions}) == 1:
            return found
        start = calendar.starts(first) if first else ALWAYS[0]
        for event in self._events(account, start, until or ALWAYS[1]):
            period = Period.parse(event["period"])
            if event["currency"] == account.currency and event["type"] != PAYMENT and (not first or period >= first):
                nets, amount = found.periods.setdefault(period, _Nets()), Decimal(event["amount"])
                nets.all = money.add(nets.all, amount)
                tax_point = start_of(date.fromisoformat(event["tax_point"]), calendar.zone)
                if collector_of(agency_at(tax_point)) == BY_MARKETPLACE:
                    nets.collected = money.add(nets.collected, amount)
        return found

    def _events(self, account: Account, start: datetime, until: datetime) -> "Iterator[Event]":
        paging, only = Paging(MAX_LIMIT, ""), {"agency": account.agency}
        while True:
            page = self.ledger.events(start, until, only, paging, self.remaining_seconds, _CALLER)
            yield from page.items
            if page.after is None or self.remaining_seconds() < RESERVE_SECONDS:
                return
            paging = Paging(MAX_LIMIT, "", page.after)
