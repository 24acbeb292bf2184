"""The snapshots' calls to DynamoDB, and the requests they make."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from quarterhour import aws
from quarterhour.aws import Request

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def keep_request(table: str, values: dict[str, Any]) -> Request:
    """Build the PutItem that keeps a state unless its window holds a newer one."""
    return {
        "TableName": table,
        "Item": aws.to_item(values),
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
        try:
            aws.persist(lambda: self.client.put_item(**keep_request(self.table, values)), "the Entity table")
        except ClientError as error:
            if not aws.is_failed_condition(error):
                raise
