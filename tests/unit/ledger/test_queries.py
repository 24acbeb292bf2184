"""Reading the events of a source from its index and from the ledger, over tables in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from quarterhour.aws.entity import CHECKPOINT_KEY, SHARDS_KEY
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Item, to_item
from quarterhour.aws.workers import Workers
from quarterhour.ledger.plan import ledger_values
from quarterhour.ledger.queries import LedgerQueries
from quarterhour.ledger.source_index import SourceIndex
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour.model.identifiers import Identity
from quarterhour.model.instants import ALWAYS
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.web.paging import Paging
from tests.support.builders import AT, claim, event, utc

SHARDS: Final = 3
_KEYS: Final = {"Ledger": ("quarter_hour", "position"), "Entity": ("pk", "sk")}


class Tables:
    """Two tables in memory with DynamoDB's reading calls; BatchGetItem returns items in no order, as DynamoDB does."""

    def __init__(self) -> None:
        self.items: dict[str, dict[tuple[str, str], Item]] = {"Ledger": {}, "Entity": {}}

    def put(self, table: str, *entries: dict[str, Any]) -> None:
        for values in entries:
            item = to_item(values)
            self.items[table][self._place(table, item)] = item

    @staticmethod
    def _place(table: str, item: Item) -> tuple[str, str]:
        partition, sort = _KEYS[table]
        return item[partition]["S"], item[sort]["S"]

    def get_item(self, **request: Any) -> dict[str, Any]:
        table = request["TableName"]
        item = self.items[table].get(self._place(table, request["Key"]))
        return {"Item": item} if item else {}

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        ((table, keys),) = request["RequestItems"].items()
        places = sorted((self._place(table, key) for key in keys["Keys"]), key=lambda one: one[1], reverse=True)
        return {"Responses": {table: [self.items[table][one] for one in places if one in self.items[table]]}}

    def query(self, **request: Any) -> dict[str, Any]:
        table = request["TableName"]
        partition, low, high = (one["S"] for one in request["ExpressionAttributeValues"].values())
        after = self._place(table, request["ExclusiveStartKey"])[1] if "ExclusiveStartKey" in request else ""
        places = sorted(one for one in self.items[table] if one[0] == partition and low <= one[1] <= high)
        found = [self.items[table][one] for one in places if one[1] > after]
        page = found[: request["Limit"]]
        if page == found:
            return {"Items": page}
        return {"Items": page, "LastEvaluatedKey": {name: page[-1][name] for name in _KEYS[table]}}


@pytest.fixture
def tables() -> Iterator[Tables]:
    with clock.using(ManualClock(utc("02:10"))):
        yield Tables()


def record(tables: Tables, instants: Sequence[datetime], source: str = "shop") -> list[dict[str, str]]:
    found = []
    for number, instant in enumerate(instants):
        one = replace(event(), identity=Identity(source, f"e{number}"))
        found.append(ledger_values(one, claim(one, instant, shards=SHARDS)))
    tables.put("Ledger", *found)
    return found


def write_index(tables: Tables, events: Sequence[dict[str, str]]) -> None:
    """Write the index of each quarter-hour, as the run does that seals it."""
    index = SourceIndex()
    before = ""
    for one in events:
        quarter_hour, _ = one["quarter_hour"].split("#")
        if quarter_hour != before:
            tables.put("Entity", *index.take())
        before = quarter_hour
        index.add(one)
    tables.put("Entity", *index.take())


def seal(tables: Tables, through: str) -> None:
    tables.put(
        "Entity",
        {**CHECKPOINT_KEY, "sealed_through": str(QuarterHour.at(utc(through)))},
        {**SHARDS_KEY, "shards": SHARDS},
    )


def read(tables: Tables, limit: int) -> list[str]:
    """Read all pages, and return the ids in the order in which they are shown."""
    client: Any = tables
    queries = LedgerQueries(client, "Ledger", EntityReader(client, "Entity"), Workers(1))
    found: list[str] = []
    token = None
    for _ in range(100):
        paging = Paging.of("request", limit, token)
        body = paging.body(queries.of_source("shop", *ALWAYS, paging))
        found += [one["id"] for one in body["items"]]
        token = body["next"]
        if token is None:
            return found
    raise AssertionError("the pages have no end")


LIMITS: Final = [1, 2, 3, 100]


@pytest.mark.parametrize("limit", LIMITS)
def test_each_event_is_shown_once_though_its_index_was_written_before_the_checkpoint(
    tables: Tables, limit: int
) -> None:
    """A run writes the index of a quarter-hour first and moves the checkpoint last; here it is between the two."""
    events = record(tables, [utc("01:30") + timedelta(minutes=7 * number) for number in range(5)])
    write_index(tables, events)
    seal(tables, through="01:30")
    assert read(tables, limit) == ["e0", "e1", "e2", "e3", "e4"]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_sources_events_are_sorted_by_time_though_dynamodb_returns_them_in_any_order(
    tables: Tables, limit: int
) -> None:
    events = record(tables, [AT + timedelta(seconds=number) for number in range(7)])
    write_index(tables, events)
    seal(tables, through="01:30")
    assert read(tables, limit) == [f"e{number}" for number in range(7)]


@pytest.mark.parametrize("limit", LIMITS)
def test_events_that_are_not_sealed_yet_are_filtered_from_the_ledger(tables: Tables, limit: int) -> None:
    record(tables, [utc("01:50") + timedelta(seconds=10 * number) for number in range(4)])
    record(tables, [utc("01:50") + timedelta(seconds=10 * number + 5) for number in range(4)], "another")
    seal(tables, through="01:30")
    assert read(tables, limit) == ["e0", "e1", "e2", "e3"]
