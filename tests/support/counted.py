"""The counters of a table as if all windows had left the account items, and windows that leave at a word."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import LATEST
from quarterhour.aws.items import from_item
from quarterhour.counters.keys import ACCOUNTS, account_of, account_pk, is_customers, is_day, is_period, is_quarter_hour
from quarterhour.counters.plan import CounterWrite, NewCustomers, Retention, changes, with_difference
from quarterhour.counters.store import CounterStore
from quarterhour.counters.windows import AccountState, Counter, Window
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_FIRST, _LAST = "", "~"


def is_counter(sk: str) -> bool:
    """Return whether an item of an account is the own item of a window."""
    return is_quarter_hour(sk) or is_day(sk) or is_period(sk) or is_customers(sk)


def counters(items: Iterable[Counter]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return all counters among items by ``pk`` and ``sk``: lifetimes, and windows wherever they are."""
    of_accounts = sorted((one for one in items if one["pk"].startswith(ACCOUNTS)), key=itemgetter("pk", "sk"))
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for pk, some in groupby(of_accounts, key=itemgetter("pk")):
        by_sk = {item["sk"]: item for item in some}
        latest = by_sk.get(LATEST)
        if latest:
            found[pk, LATEST] = {name: value for name, value in latest.items() if name != "open"}
        state = AccountState.of(account_of(pk), latest)
        own = (item for sk, item in by_sk.items() if is_counter(sk))
        found |= {(pk, counter["sk"]): counter for counter in state.counters_for_readers(own, _FIRST, _LAST)}
    return found


def scan(client: "DynamoDBClient", table: str) -> list[Counter]:
    """Return all items of a table in plain values."""
    pages = client.get_paginator("scan").paginate(TableName=table)
    return [from_item(item) for page in pages for item in page["Items"]]


RETENTION = Retention()


def let_windows_leave(client: "DynamoDBClient", table: str, retention: Retention = RETENTION) -> None:
    """Let all windows of all accounts leave, as if each were over."""
    store = CounterStore(client, table)
    for pk in {item["pk"] for item in scan(client, table) if item["pk"].startswith(ACCOUNTS) and item["sk"] == LATEST}:
        state = store.account(account_of(pk))
        leaving = list(state.windows)
        if leaving:
            own = store.read([{"pk": pk, "sk": sk} for sk in leaving])
            store.write(changes(state, state, leaving, own, retention)[1])


def planned(  # noqa: PLR0913 - all that a count can be made of
    store: CounterStore,
    account: Account,
    at: datetime,
    delta: Totals,
    *,
    seq: str = "1",
    customers: Sequence[NewCustomers] = (),
    retention: Retention = RETENTION,
) -> list[CounterWrite]:
    """Plan the writes that count a difference in a quarter-hour and its own month, and let all windows leave."""
    state, quarter_hour = store.account(account), QuarterHour.at(at)
    after = with_difference(
        state,
        quarter_hour,
        {Period.of(quarter_hour.day): delta},
        customers=customers,
        watermarks=Window(watermarks={"00": seq}),
        last_updated=iso_millis(at),
    )
    own = store.read([{"pk": account_pk(account), "sk": sk} for sk in after.windows])
    return changes(state, after, list(after.windows), own, retention)[1]
