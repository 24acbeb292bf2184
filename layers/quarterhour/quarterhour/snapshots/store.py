"""The snapshots' calls to DynamoDB, and their request builders."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.expressions import put_request as conditional_put
from quarterhour.aws.items import Request
from quarterhour.aws.tables import conditional_write

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def put_request(table: str, values: dict[str, Any]) -> Request:
    """Build the PutItem that writes a state, unless its window holds the same or a newer version."""
    condition = "attribute_not_exists(version) OR version < :version"
    return conditional_put(table, values, condition, {"version": values["version"]})


@dataclass(frozen=True, slots=True)
class SnapshotStore:
    """Writes of snapshots to the Entity table."""

    client: "DynamoDBClient"
    table: str

    def put(self, values: dict[str, Any]) -> None:
        """Write a state, unless a newer one exists; raise ``UnavailableError`` if DynamoDB does not answer."""
        request = put_request(self.table, values)
        conditional_write(lambda: self.client.put_item(**request), "the Entity table")
