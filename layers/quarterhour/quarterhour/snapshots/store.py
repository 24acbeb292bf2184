"""The snapshots' calls to DynamoDB, and the requests they make."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.items import Request, to_item
from quarterhour.aws.tables import conditional_write

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def keep_request(table: str, values: dict[str, Any]) -> Request:
    """Build the PutItem that keeps a state unless its window holds a newer one."""
    return {
        "TableName": table,
        "Item": to_item(values),
        "ConditionExpression": "attribute_not_exists(version) OR version < :version",
        "ExpressionAttributeValues": {":version": {"N": str(values["version"])}},
    }


@dataclass(frozen=True, slots=True)
class SnapshotStore:
    """The snapshots in the Entity table."""

    client: "DynamoDBClient"
    table: str

    def keep(self, values: dict[str, Any]) -> None:
        """Keep a state; one that is newer stays. Raises ``UnavailableError`` where DynamoDB is not available."""
        request = keep_request(self.table, values)
        conditional_write(lambda: self.client.put_item(**request), "the Entity table")
