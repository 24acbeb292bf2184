"""Reads what an account was billed, and what was counted for it and is on no document yet."""

from datetime import datetime
from decimal import Decimal
from typing import Final

from quarterhour.aws.entity_table import EntityReader
from quarterhour.counters.keys import period_of, period_sk_bounds
from quarterhour.counters.queries import CounterQueries
from quarterhour.model import clock, money
from quarterhour.model.identifiers import Account
from quarterhour.model.totals import PeriodTotals, Totals
from quarterhour.statements.keys import last_document_key, statement_key
from quarterhour.statements.plan import Progress
from quarterhour.statements.previews.balance import Billed, of_periods

COUNTERS_OF_A_PAGE: Final = 1000


def billed(entities: EntityReader, account: Account, progress: Progress, at: datetime) -> Billed:
    """Return what an account was billed by an instant, read with strong consistency."""
    keys = [last_document_key(account), *(statement_key(one, account) for one in progress.drafted)]
    items = entities.get_many(keys)
    last = [values for values in items if values["pk"] == keys[0]["pk"]]
    return Billed.of([one for one in items if one not in last], last[0] if last else None, at)


def counted(counters: CounterQueries, account: Account) -> PeriodTotals:
    """Return the totals of each period of an account."""
    found = counters.counted(counters.state_of(account), *period_sk_bounds(), COUNTERS_OF_A_PAGE)
    return {period_of(values["sk"]): Totals.of(values) for values in found}


def paid_since(entities: EntityReader, progress: Progress, account: Account) -> Decimal:
    """Return the payments of an account that are on no document yet."""
    on_documents = billed(entities, account, progress, clock.now()).charged.payments
    recorded = of_periods(counted(CounterQueries(entities), account), progress.first_period).payments
    return money.subtract(recorded, on_documents)
