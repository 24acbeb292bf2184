"""The counters of a table as if all windows had left the account items, and windows that leave at a word."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import LATEST
from quarterhour.aws.items import from_item
from quarterhour.counters.keys import ACCOUNTS, account_of, is_customers, is_day, is_period, is_quarter_hour
from quarterhour.counters.plan import Retention, changes
from quarterhour.counters.store import CounterStore
from quarterhour.counters.windows import AccountState, Counter

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
            found[pk, LATEST] = {name: value for name, value in latest.items() if not name.startswith("open")}
        state = AccountState.of(account_of(pk), latest)
        own = (item for sk, item in by_sk.items() if is_counter(sk))
        found |= {(pk, counter["sk"]): counter for counter in state.counters_for_readers(own, _FIRST, _LAST)}
    return found


def scan(client: "DynamoDBClient", table: str) -> list[Counter]:
    """Return all items of a table in plain values."""
    pages = client.get_paginator("scan").paginate(TableName=table)
    return [from_item(item) for page in pages for item in page["Items"]]


RETENTION = Retention(timedelta(days=14), timedelta(days=800))


def let_windows_leave(client: "DynamoDBClient", table: str, retention: Retention = RETENTION) -> None:
    """Let all windows of all accounts leave, as if each were over."""
    store = CounterStore(client, table)
    for pk in {item["pk"] for item in scan(client, table) if item["pk"].startswith(ACCOUNTS) and item["sk"] == LATEST}:
        state = store.account(account_of(pk))
        leaving = list(state.windows)
        if leaving:
            own = store.read([{"pk": pk, "sk": sk} for sk in leaving])
            store.write(changes(state, state, leaving, own, retention)[1])
