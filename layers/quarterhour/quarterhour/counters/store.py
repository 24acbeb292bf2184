"""The counters' calls to DynamoDB, and the requests they make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import Key
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.tables import get_items, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import Sighting, missing
from quarterhour.counters.keys import account_pk, partition_of, quarter_hour_sks
from quarterhour.counters.plan import Change, Counter
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def write_request(table: str, changes: Sequence[Change]) -> Request:
    """Build the transaction that moves counters and watermark together, if none has changed since it was read."""
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


def sighting_request(table: str, sighting: Sighting) -> Request:
    """Build the transaction that sets new markers and counts them, if none of them stands yet."""
    expires = {"expires_at": sighting.markers_expire}
    markers = [
        {
            "Put": {
                "TableName": table,
                "Item": to_item({**marker, **expires}),
                "ConditionExpression": "attribute_not_exists(pk)",
            }
        }
        for marker in sighting.markers
    ]
    values = {":new": len(markers), ":expires": sighting.counter_expires}
    update = "ADD customers :new" + (" SET expires_at = :expires" if sighting.counter_expires else "")
    count = {
        "TableName": table,
        "Key": to_item(dict(sighting.counter)),
        "UpdateExpression": update,
        "ExpressionAttributeValues": to_item(values),
    }
    return {"TransactItems": [*markers, {"Update": count}]}


def customers_request(table: str, counter: Key, customers: int, expires: int) -> Request:
    """Build the UpdateItem that says how many distinct customers a day had, whatever was counted of it."""
    return {
        "TableName": table,
        "Key": to_item(dict(counter)),
        "UpdateExpression": "SET customers = :right, expires_at = :expires",
        "ExpressionAttributeValues": to_item({":right": customers, ":expires": expires}),
    }


def counted_request(table: str, account: Account, first: QuarterHour, last: QuarterHour) -> Request:
    """Build the Query for an account's quarter-hour counters from one to another, strongly consistent."""
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
        """Return the counters at these keys of one account, by sort key, strongly consistent."""
        items = get_items(self.client, self.table, keys, Workers(1))
        return {item["sk"]["S"]: from_item(item) for item in items}

    def counted(self, account: Account, first: QuarterHour, last: QuarterHour) -> dict[Partition, Totals]:
        """Return what was counted of the partitions from one quarter-hour to another, both included."""
        request = counted_request(self.table, account, first, last)
        pages = query_pages(self.client, request, Workers(1))
        return {partition_of(item["sk"]["S"]): Totals.of(from_item(item)) for items in pages for item in items}

    def count_missing(self, sighting: Sighting) -> None:
        """Set the markers that are missing and count them; raise ``ClientError`` where one was set meanwhile."""
        seen = get_items(self.client, self.table, sighting.markers, Workers(1))
        for new in missing(sighting, {item["pk"]["S"] for item in seen}):
            self.client.transact_write_items(**sighting_request(self.table, new))

    def set_customers(self, counter: Key, customers: int, expires: int) -> None:
        """Say how many distinct customers a day had: only where nothing is counted of it any more."""
        self.client.update_item(**customers_request(self.table, counter, customers, expires))

    def write(self, changes: Sequence[Change]) -> None:
        """Write all or none; raise botocore's ``ClientError`` where none was written."""
        self.client.transact_write_items(**write_request(self.table, changes))
