"""Stating exchange rates: read the rate in force, plan what follows, write it under a condition."""

from dataclasses import dataclass

from quarterhour.aws.entity import Values
from quarterhour.aws.retries import optimistically
from quarterhour.exchange_rates.exchange_rate import ExchangeRate, Statement
from quarterhour.exchange_rates.plan import Move, decide, place_of
from quarterhour.exchange_rates.queries import ExchangeRateQueries
from quarterhour.exchange_rates.store import ExchangeRateStore
from quarterhour.model import clock


@dataclass(frozen=True, slots=True)
class ExchangeRateService:
    """Puts exchange rates into force, each once. ``base`` is the base currency, empty for none."""

    queries: ExchangeRateQueries
    store: ExchangeRateStore
    base: str

    def state(self, currency: str, statement: Statement) -> tuple[Values, bool]:
        """Put a rate into force; return the rate that is in force or was stated before, and whether it is new.

        Raises ``ConflictError`` where another rate was stated as of the same or a later instant,
        ``UnavailableError`` where others keep being faster.
        """

        def attempt() -> tuple[Values, bool]:
            latest = self.queries.latest(currency)
            at = place_of(statement, self.base, latest, clock.now())
            rate = ExchangeRate(statement.units_per_base, statement.source, self.base, at)
            found = decide(currency, rate, latest, self.queries.stated(currency, at) if latest else None)
            if not isinstance(found, Move):
                return found, False
            self.store.put(found)
            return found.latest, True

        return optimistically(attempt, f"the exchange rate of {currency}")
