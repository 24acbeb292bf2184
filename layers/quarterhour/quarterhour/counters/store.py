"""The counters' calls to DynamoDB, and the requests they make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour import aws
from quarterhour.aws import Request
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


@dataclass(frozen=True, slots=True)
class CounterStore:
    """The counters in the Entity table."""

    client: "DynamoDBClient"
    table: str

    def read(self, keys: Sequence[Key]) -> Mapping[str, Counter]:
        """Return the counters at these keys of one account, by sort key, strongly consistent."""
        items = aws.get_items(self.client, self.table, keys, aws.Workers(1))
        return {item["sk"]["S"]: aws.from_item(item) for item in items}

    def write(self, changes: Sequence[Change]) -> None:
        """Write all or none; raise botocore's ``ClientError`` where none was written."""
        self.client.transact_write_items(**write_request(self.table, changes))
