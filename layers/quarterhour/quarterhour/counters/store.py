"""The DynamoDB store of the counters, and the requests it sends."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import Key
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.tables import get_items, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import MarkerSet, missing
from quarterhour.counters.keys import account_pk, quarter_hour_sks
from quarterhour.counters.plan import Change, Counter, by_quarter_hour
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def write_request(table: str, changes: Sequence[Change]) -> Request:
    """Build the transaction that writes counters and watermark, if none has changed since it was read."""
    return {"TransactItems": [{"Put": _put(table, change)} for change in changes]}


def _put(table: str, change: Change) -> dict[str, Any]:
    put: dict[str, Any] = {"TableName": table, "Item": to_item(change.values)}
    if change.version is None:
        return {**put, "ConditionExpression": "attribute_not_exists(pk)"}
    return {
        **put,
        "ConditionExpression": "version = :read",
        "ExpressionAttributeValues": {":read": {"N": str(change.version)}},
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
        for marker in marker_set.markers
    ]
    values = {":new": len(markers), ":expires": marker_set.counter_expires}
    update = "ADD customers :new" + (" SET expires_at = :expires" if marker_set.counter_expires else "")
    count = {
        "TableName": table,
        "Key": to_item(dict(marker_set.counter)),
        "UpdateExpression": update,
        "ExpressionAttributeValues": to_item(values),
    }
    return {"TransactItems": [*markers, {"Update": count}]}


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
    lowest, highest = quarter_hour_sks(first, last)
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

    def counted(self, account: Account, first: QuarterHour, last: QuarterHour) -> dict[QuarterHour, Totals]:
        """Return the counted totals of some quarter-hours, both bounds included."""
        return dict(by_quarter_hour(self._quarter_hours(account, first, last)))

    def _quarter_hours(self, account: Account, first: QuarterHour, last: QuarterHour) -> Iterator[Counter]:
        pages = query_pages(self.client, counted_request(self.table, account, first, last), Workers(1))
        return (from_item(item) for items in pages for item in items)

    def count_new(self, marker_set: MarkerSet) -> None:
        """Set and count the markers that do not exist; raise ``ClientError`` if one was set meanwhile."""
        found = get_items(self.client, self.table, marker_set.markers, Workers(1))
        for new in missing(marker_set, {item["pk"]["S"] for item in found}):
            self.client.transact_write_items(**markers_request(self.table, new))

    def set_customers(self, counter: Key, customers: int, expires: int) -> None:
        """Set a day's number of distinct customers; only for a day of which nothing is counted any more."""
        self.client.update_item(**customers_request(self.table, counter, customers, expires))

    def write(self, changes: Sequence[Change]) -> None:
        """Write all changes or none; raise botocore's ``ClientError`` if none was written."""
        self.client.transact_write_items(**write_request(self.table, changes))
