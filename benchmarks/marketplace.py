"""Makes up the counters of a marketplace with many agencies and days, as recording would have written them."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Final

from quarterhour.aws.entity import Values
from quarterhour.aws.items import chunks, to_item
from quarterhour.aws.tables import BATCH_WRITE
from quarterhour.counters.keys import LISTED, account_pk, day_key, listed_key, period_key
from quarterhour.counters.windows import AccountState
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account
from quarterhour.model.instants import midnight
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals, add_up, total
from quarterhour.snapshots.keys import window_index
from quarterhour_tools.emulator.stack import Stack

CURRENCIES: Final = ("EUR", "GBP")
"""The currencies of the agencies, in turns."""
_COMMISSION_RATE: Final = Decimal("0.125")


def accounts(agencies: int) -> list[Account]:
    """Return one account of each agency."""
    return [Account(f"agency {number:04}", CURRENCIES[number % len(CURRENCIES)]) for number in range(agencies)]


def counters(account: Account, days: Sequence[date]) -> Iterator[Values]:
    """Yield the items of an account that has sales on each of these days: days, periods, lifetime, and its listing."""
    random = Random(str(account))  # noqa: S311 - the same figures in every run
    by_day = {day: _totals(random) for day in days}
    by_period = add_up({}, ((Period.of(day), totals) for day, totals in by_day.items()))
    for day, totals in by_day.items():
        yield {**day_key(account, day), **totals.as_dict(), "version": 1}
    for period, totals in by_period.items():
        yield {**period_key(account, period), **totals.as_dict(), "version": 1}
    last_updated = iso_millis(midnight(days[-1].isoformat()))
    yield AccountState(account, total(by_day.values()), len(days), last_updated).item()
    yield {**listed_key(account), **window_index(LISTED, account_pk(account))}


def fill(stack: Stack, every: Sequence[Account], days: Sequence[date]) -> None:
    """Write the counters of accounts with sales on each of these days into a stack's table."""
    write(stack, [values for account in every for values in counters(account, days)])


def write(stack: Stack, every: Iterable[Values]) -> None:
    """Write items into a stack's Entity table."""
    table = stack.ref("EntityTable")
    items = [to_item(values) for values in every]
    for some in chunks(items, BATCH_WRITE):
        stack.dynamodb.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": item}} for item in some]})


def days_before(end: date, days: int) -> list[date]:
    """Return this many days, the last one before ``end``."""
    return [end - timedelta(days=number) for number in range(days, 0, -1)]


def _totals(random: Random) -> Totals:
    gross, refunds = (Decimal(random.randrange(most)) / 100 for most in (1_000_000, 50_000))
    return Totals(random.randrange(1, 100), gross, -refunds, (gross - refunds) * _COMMISSION_RATE)
