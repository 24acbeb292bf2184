"""The DynamoDB store of the counters, and the requests it sends."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import Key
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.tables import get_items, insert_items, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import Marker, MarkerSet, missing, new_markers
from quarterhour.counters.keys import (
    account_of,
    account_pk,
    partition_key,
    period_of,
    period_sks,
    quarter_hour_key,
    quarter_hour_of,
    quarter_hour_sks,
)
from quarterhour.counters.plan import Addition, Counter, CounterChange, CounterWrite, by_quarter_hour_and_period
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, QuarterHourTotals, Totals

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def write_request(table: str, changes: Sequence[CounterWrite]) -> Request:
    """Build the transaction that writes counters, watermarks and new customers, if no counter changed meanwhile."""
    return {
        "TransactItems": [
            {"Put": _put(table, change)} if isinstance(change, CounterChange) else {"Update": _add(table, change)}
            for change in changes
        ]
    }


def _put(table: str, change: CounterChange) -> dict[str, Any]:
    put: dict[str, Any] = {"TableName": table, "Item": to_item(change.values)}
    if change.version is None:
        return {**put, "ConditionExpression": "attribute_not_exists(pk)"}
    return {
        **put,
        "ConditionExpression": "version = :read",
        "ExpressionAttributeValues": {":read": {"N": str(change.version)}},
    }


def _add(table: str, addition: Addition) -> dict[str, Any]:
    update = "ADD customers :new" + (" SET expires_at = :expires" if addition.expires else "")
    return {
        "TableName": table,
        "Key": to_item(dict(addition.counter)),
        "UpdateExpression": update,
        "ExpressionAttributeValues": to_item({":new": addition.customers, ":expires": addition.expires}),
    }


def markers_request(table: str, marker_set: MarkerSet) -> Request:
    """Build the transaction that sets new markers and counts them, if none of them exists."""
    expires = {"expires_at": marker_set.markers_expire}
    markers = [
        {
            "Put": {
                "TableName": table,
                "Item": to_item({**marker, **expires}),
                "ConditionExpression": "attribute_not_exists(pk)",
            }
        }
        for marker in marker_set.markers.values()
    ]
    return {"TransactItems": [*markers, {"Update": _add(table, marker_set.addition(len(markers)))}]}


def customers_request(table: str, counter: Key, customers: int, expires: int) -> Request:
    """Build the UpdateItem that sets a day's number of distinct customers, whatever was counted before."""
    return {
        "TableName": table,
        "Key": to_item(dict(counter)),
        "UpdateExpression": "SET customers = :right, expires_at = :expires",
        "ExpressionAttributeValues": to_item({":right": customers, ":expires": expires}),
    }


def counted_request(table: str, account: Account, first: QuarterHour, last: QuarterHour) -> Request:
    """Build the Query for an account's quarter-hour counters, both bounds included, strongly consistent.

    It finds 0.1.0's counters of their partitions too.
    """
    return _range_request(table, account, quarter_hour_sks(first, last))


def periods_request(table: str, account: Account) -> Request:
    """Build the Query for the counters of all periods of an account, strongly consistent."""
    return _range_request(table, account, period_sks())


def _range_request(table: str, account: Account, bounds: tuple[str, str]) -> Request:
    lowest, highest = bounds
    return {
        "TableName": table,
        "KeyConditionExpression": "pk = :account AND sk BETWEEN :first AND :last",
        "ExpressionAttributeValues": {
            ":account": {"S": account_pk(account)},
            ":first": {"S": lowest},
            ":last": {"S": highest},
        },
        "ConsistentRead": True,
    }


@dataclass(frozen=True, slots=True)
class CounterStore:
    """The counters in the Entity table."""

    client: "DynamoDBClient"
    table: str

    def read(self, keys: Sequence[Key]) -> Mapping[str, Counter]:
        """Return the counters at keys of one account, by sort key, strongly consistent."""
        items = get_items(self.client, self.table, keys, Workers(1))
        return {item["sk"]["S"]: from_item(item) for item in items}

    def read_partitions(self, account: Account, quarter_hour: QuarterHour) -> Mapping[str, Counter]:
        """Return the counter of a quarter-hour and those that 0.1.0 kept of its partitions, by sort key."""
        return {values["sk"]: values for values in self._quarter_hours(account, quarter_hour, quarter_hour)}

    def counted(self, account: Account, first: QuarterHour, last: QuarterHour) -> dict[QuarterHour, PeriodTotals]:
        """Return the counted totals of some quarter-hours by period, both bounds included."""
        return dict(by_quarter_hour_and_period(self._quarter_hours(account, first, last)))

    def periods(self, account: Account) -> PeriodTotals:
        """Return the counted totals of all periods of an account."""
        pages = query_pages(self.client, periods_request(self.table, account), Workers(1))
        counters = (from_item(item) for items in pages for item in items)
        return {period_of(values["sk"]): Totals.of(values) for values in counters}

    def _quarter_hours(self, account: Account, first: QuarterHour, last: QuarterHour) -> Iterator[Counter]:
        pages = query_pages(self.client, counted_request(self.table, account, first, last), Workers(1))
        return (from_item(item) for items in pages for item in items)

    def mark(self, sets: Sequence[MarkerSet], places: Mapping[str, str]) -> Mapping[str, Marker]:
        """Insert the markers that do not exist, with the places that set them; return all markers by ``pk``.

        Raises ``UnavailableError`` if some could not be inserted in time.
        """
        found = self._markers([key for one in sets for key in one.markers.values()])
        new = {marker["pk"]: marker for one in sets for marker in new_markers(one, places, found.keys())}
        insertion = insert_items(self.client, self.table, list(map(to_item, new.values())), Workers(1))
        if insertion.unwritten:
            raise UnavailableError(f"the table {self.table} did not take all markers in time")
        # Another group, or a call of ours whose response was lost, has inserted these: their places say which.
        others = [{name: item[name]["S"] for name in ("pk", "sk")} for item in insertion.existing]
        return {**found, **new, **self._markers(others)}

    def _markers(self, keys: Sequence[Key]) -> dict[str, Marker]:
        items = get_items(self.client, self.table, keys, Workers(1))
        return {item["pk"]["S"]: from_item(item) for item in items}

    def count_new(self, marker_set: MarkerSet) -> list[Marker]:
        """Set and count the markers that do not exist, and return those that do.

        Raises ``ClientError`` if one was set meanwhile.
        """
        found = self._markers(list(marker_set.markers.values()))
        for new in missing(marker_set, found.keys()):
            self.client.transact_write_items(**markers_request(self.table, new))
        return list(found.values())

    def set_customers(self, counter: Key, customers: int, expires: int) -> None:
        """Set a day's number of distinct customers; only for a day of which nothing is counted any more."""
        self.client.update_item(**customers_request(self.table, counter, customers, expires))

    def write(self, changes: Sequence[CounterWrite]) -> None:
        """Write all changes or none; raise botocore's ``ClientError`` if none was written."""
        self.client.transact_write_items(**write_request(self.table, changes))


@dataclass(frozen=True, slots=True)
class CounterReader:
    """Reads the quarter-hour counters that prove sealed quarter-hours.

    Reads are eventually consistent: an old value makes the proof pending, and is read again.
    """

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def counted(self, expected: QuarterHourTotals, shards: int) -> QuarterHourTotals:
        """Return what is counted of each account and quarter-hour; ``expected`` are the ledger's totals.

        The counters that 0.1.0 kept of partitions are read only where today's do not hold the ledger's totals.
        """
        counted = self._read([quarter_hour_key(*key) for key in expected])
        differing = [key for key, totals in expected.items() if counted.get(key) != totals]
        older = [
            partition_key(account, Partition(quarter_hour, shard))
            for account, quarter_hour in differing
            for shard in range(shards)
        ]
        for key, totals in self._read(older).items():
            counted[key] = counted.get(key, Totals()) + totals
        return counted

    def _read(self, keys: Sequence[Key]) -> QuarterHourTotals:
        items = get_items(self.client, self.table, keys, self.workers, consistent=False)
        sums: QuarterHourTotals = {}
        for item in items:
            key = account_of(item["pk"]["S"]), quarter_hour_of(item["sk"]["S"])
            sums[key] = sums.get(key, Totals()) + Totals.of(from_item(item))
        return sums
