"""Enters exchange rates: read the rate in force, plan the change, write it under a condition."""

from dataclasses import dataclass

from quarterhour.aws.entity import Values
from quarterhour.aws.retries import optimistically
from quarterhour.model import clock
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate, ExchangeRateRequest
from quarterhour.registry.exchange_rates.plan import effective_at, is_earlier, plan_earlier, plan_latest, require_same
from quarterhour.registry.exchange_rates.queries import ExchangeRateQueries
from quarterhour.registry.exchange_rates.store import ExchangeRateStore
from quarterhour.web.parameters import invalid


@dataclass(frozen=True, slots=True)
class ExchangeRateService:
    """Puts exchange rates into force. ``base`` is the base currency; empty for none."""

    queries: ExchangeRateQueries
    store: ExchangeRateStore
    base: str

    def enter(self, currency: str, request: ExchangeRateRequest) -> tuple[Values, bool]:
        """Put a rate into force, or add an earlier one; return its stored values, and whether this call stored them.

        Raises ``InvalidError`` for the base currency and for a rate of another base, ``ConflictError`` if another rate
        was entered as of the same instant or a report relies on later rates, ``UnavailableError`` if other writes keep
        conflicting.
        """
        if currency == self.base:
            raise invalid("currency", f"is {currency}, the base currency", "another: a unit of it is always worth one")
        if request.base and not self.base:
            raise invalid("base", f"is {request.base}", "none, as the settings have no base_currency")
        if request.base not in {"", self.base}:
            raise invalid("base", f"is {request.base}", f"{self.base}, the base currency")

        def attempt() -> tuple[Values, bool]:
            latest = self.queries.latest(currency)
            at = effective_at(request, self.base, latest, clock.now())
            rate = ExchangeRate(request.units_per_base, request.source, self.base, at)
            existing = self.queries.entered(currency, at) if latest else None
            if existing is not None:
                require_same(currency, rate, existing)
                return existing, False
            if is_earlier(rate, latest):
                following, last_use = self.queries.following(currency, at), self.queries.last_use(currency)
                earlier = plan_earlier(currency, rate, following, last_use)
                self.store.add(earlier)
                return earlier.entered, True
            change = plan_latest(currency, rate, latest)
            self.store.put(change)
            return change.latest, True

        return optimistically(attempt, f"the exchange rate of {currency}")
