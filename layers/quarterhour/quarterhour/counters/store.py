"""The counters' calls to DynamoDB, and the requests they make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour import aws
from quarterhour.aws import Request
from quarterhour.counters.distinct import Sighting
from quarterhour.counters.plan import Change, Counter
from quarterhour.entity import Key

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def write_request(table: str, changes: Sequence[Change]) -> Request:
    """Build the transaction that moves counters and watermark together, if none has changed since it was read."""
    return {"TransactItems": [{"Put": _put(table, change)} for change in changes]}


def _put(table: str, change: Change) -> dict[str, Any]:
    put: dict[str, Any] = {"TableName": table, "Item": aws.to_item(change.values)}
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
                "Item": aws.to_item({**marker, **expires}),
                "ConditionExpression": "attribute_not_exists(pk)",
            }
        }
        for marker in sighting.markers
    ]
    values = {":new": len(markers), ":expires": sighting.counter_expires}
    update = "ADD customers :new" + (" SET expires_at = :expires" if sighting.counter_expires else "")
    count = {
        "TableName": table,
        "Key": aws.to_item(dict(sighting.counter)),
        "UpdateExpression": update,
        "ExpressionAttributeValues": aws.to_item(values),
    }
    return {"TransactItems": [*markers, {"Update": count}]}


@dataclass(frozen=True, slots=True)
class CounterStore:
    """The counters in the Entity table."""

    client: "DynamoDBClient"
    table: str

    def read(self, keys: Sequence[Key]) -> Mapping[str, Counter]:
        """Return the counters at these keys of one account, by sort key, strongly consistent."""
        items = aws.get_items(self.client, self.table, keys, aws.Workers(1))
        return {item["sk"]["S"]: aws.from_item(item) for item in items}

    def seen(self, markers: Sequence[Key]) -> set[str]:
        """Return the ``pk`` of those markers that stand, strongly consistent."""
        items = aws.get_items(self.client, self.table, markers, aws.Workers(1))
        return {item["pk"]["S"] for item in items}

    def count(self, sighting: Sighting) -> None:
        """Set markers and count them, all or none; raise botocore's ``ClientError`` where one stands already."""
        self.client.transact_write_items(**sighting_request(self.table, sighting))

    def write(self, changes: Sequence[Change]) -> None:
        """Write all or none; raise botocore's ``ClientError`` where none was written."""
        self.client.transact_write_items(**write_request(self.table, changes))
