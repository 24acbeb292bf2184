"""Reads exchange rates: the one in force now or at an instant, and all that were ever entered."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from quarterhour.aws.entity import Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.clock import MILLISECOND, iso_millis
from quarterhour.model.errors import NotFoundError
from quarterhour.model.instants import ALWAYS
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate, shown
from quarterhour.registry.exchange_rates.keys import (
    currency_of,
    history_after,
    history_between,
    history_key,
    history_until,
    latest_key,
    used_key,
)
from quarterhour.registry.exchange_rates.plan import LastUse
from quarterhour.snapshots.keys import window_start
from quarterhour.snapshots.layers import Layer
from quarterhour.web.paging import Paging, within

if TYPE_CHECKING:
    from quarterhour.registry.exchange_rates import api
    from quarterhour.web.paging import Page


@dataclass(frozen=True, slots=True)
class ExchangeRateQueries:
    """Queries of the exchange rates."""

    entities: EntityReader

    def in_force(self, currency: str, at: datetime | None = None) -> Values:
        """Return the rate in force at an instant, or (``None``) now; raise ``NotFoundError`` if there is none."""
        values = self.latest(currency) if at is None else self.as_of(currency, at)
        if values is None:
            when = "ever entered" if at is None else f"entered as of {iso_millis(at)} or before"
            raise NotFoundError(f"no exchange rate of {currency} was {when}")
        return values

    def latest(self, currency: str) -> Values | None:
        """Return the rate in force now; ``None`` if there is none."""
        return self.entities.get(latest_key(currency))

    def entered(self, currency: str, at: datetime) -> Values | None:
        """Return the rate entered as of exactly this instant; ``None`` if there is none."""
        return self.entities.get(history_key(currency, at))

    def as_of(self, currency: str, at: datetime) -> Values | None:
        """Return the rate that was in force at an instant, however long ago; ``None`` if there was none."""
        return next(self.entities.read(history_until(currency, at), 1), None)

    def following(self, currency: str, at: datetime) -> Values:
        """Return the rate entered as of the next later instant; there must be one."""
        return next(self.entities.read(history_after(currency, at), 1))

    def last_use(self, currency: str) -> LastUse | None:
        """Return the last use of a currency's rates by a report; ``None`` if none has used them."""
        values = self.entities.get(used_key(currency))
        return LastUse.of(values) if values else None

    def before_window(self, layer: Layer, latest: Values) -> Values | None:
        """Return the rate in force before the window of the latest rate, or before the latest if a layer has none.

        It is read from the history, as rates can be entered less often than windows are kept.
        """
        at = ExchangeRate.of(latest).as_of
        start = window_start(at, layer.window) if layer.window else at
        return self.as_of(currency_of(latest["pk"]), start - MILLISECOND)

    def span(self, currency: str, start: datetime, end: datetime, paging: Paging) -> "Page[api.ExchangeRateState]":
        """Return a page of the rates entered as of an instant from ``start`` to before ``end``, the oldest first."""
        return self._page(history_between(currency, start, end), paging)

    def last(self, currency: str, paging: Paging) -> "Page[api.ExchangeRateState]":
        """Return a page of all rates that were ever entered, the newest first."""
        return self._page(replace(history_between(currency, *ALWAYS), descending=True), paging)

    def _page(self, entered: Range, paging: Paging) -> "Page[api.ExchangeRateState]":
        after = paging.start(lambda sk: within(entered.low, sk, entered.high), None)
        entries = self.entities.read(replace(entered, after=after), paging.limit + 1)
        return paging.cut(entries, shown, lambda values: str(values["sk"]))
