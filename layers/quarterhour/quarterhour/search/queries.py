"""Looks up what a text names: each part by keys, at a cost that does not grow with what is stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.workers import Workers
from quarterhour.counters.queries import CounterQueries
from quarterhour.ledger.reading.queries import EventLookup
from quarterhour.ledger.reading.sealed_index import all_sources
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import is_stored_name
from quarterhour.model.instants import ALWAYS
from quarterhour.model.periods import Period
from quarterhour.orders.queries import OrderQueries
from quarterhour.search.plan import MAX_IDENTITIES, identities_in, is_numbered_by, numbers_in
from quarterhour.statements.keys import number_key, sealed_periods, statements_of_period
from quarterhour.web.access import Caller
from quarterhour.web.paging import Paging

MOST: Final = 20
"""The most results of a kind."""
_PERIODS: Final = 120
_STATEMENTS: Final = 1000
"""The most items of periods, and of a period of 0.2.0, that are read for one of its numbers."""
_PAGE: Final = 200
_STATEMENT: Final = ("number", "document", "period", "agency", "currency")
_EVENT: Final = ("source", "id", "type", "agency", "currency", "amount", "recorded_at")
_ORDER: Final = ("order", "status", "customer", "currency", "placed_at", "total")


@dataclass(frozen=True, slots=True)
class SearchQueries:
    """Searches for a text among accounts, statements, events, orders and customers."""

    entities: EntityReader
    events: EventLookup
    counters: CounterQueries
    orders: OrderQueries
    workers: Workers

    def search(self, text: str, caller: Caller) -> dict[str, Any]:
        """Return what a text names exactly, by kind, as far as the caller may see it.

        ``all_sources``: whether an event was looked for in all sources, and not only in the first ones by name.
        """
        sources = [values["sk"] for values in islice(self.entities.read(all_sources(), MAX_IDENTITIES), MAX_IDENTITIES)]
        is_name, of_marketplace = is_stored_name(text), caller.is_of_marketplace
        return {
            "accounts": self._accounts(text) if is_name and caller.may_see(text) else [],
            "statements": [one for one in self._statements(text) if caller.may_see(one["agency"])],
            "events": self._events(text, sources, caller),
            "orders": self._orders(text) if is_name and of_marketplace else [],
            "customers": self._customers(text) if is_name and of_marketplace else [],
            "all_sources": len(sources) < MAX_IDENTITIES,
        }

    def _accounts(self, agency: str) -> list[dict[str, Any]]:
        found = self.counters.accounts_of(agency, MOST)
        return [{"agency": one.agency, "currency": one.currency} for one in found]

    def _statements(self, text: str) -> list[dict[str, Any]]:
        numbers = numbers_in(text)
        found = self.entities.get_many([number_key(one) for one in numbers]) or list(self._of_0_2(numbers[-1]))
        return [{name: one[name] for name in _STATEMENT} for one in found]

    def _of_0_2(self, number: str) -> Iterator[Values]:
        """Yield the statement of 0.2.0 with a number, whose items are found by their period alone."""
        periods = islice(self.entities.read(sealed_periods(), _PERIODS), _PERIODS)
        period = next((one["period"] for one in periods if is_numbered_by(one, number)), None)
        if period:
            items = self.entities.read(statements_of_period(Period.parse(period)), _PAGE)
            yield from (one for one in islice(items, _STATEMENTS) if one.get("number") == number)

    def _events(self, text: str, sources: list[str], caller: Caller) -> list[dict[str, Any]]:
        found = self.events.find_all(identities_in(text, sources), self.workers)
        seen = sorted(
            (one for one in found if caller.may_see(one["agency"])), key=lambda one: (one["source"], one["id"])
        )
        return [{name: one[name] for name in _EVENT} for one in seen[:MOST]]

    def _orders(self, text: str) -> list[dict[str, Any]]:
        try:
            order = self.orders.order([text], Paging(1, ""))
        except NotFoundError:
            return []
        return [{name: order[name] for name in _ORDER if name in order}]

    def _customers(self, text: str) -> list[dict[str, Any]]:
        return [{"customer": text}] if self.orders.of_customer([text], *ALWAYS, Paging(1, "")).items else []
