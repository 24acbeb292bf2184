"""The threads' calls to DynamoDB, and the builders of their requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import Values
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import conditional_write

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def claim_request(table: str, claim: Mapping[str, Any]) -> Request:
    """Build the PutItem that claims a message; if a claim exists, DynamoDB returns it with the error."""
    return {
        "TableName": table,
        "Item": to_item(claim),
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


@dataclass(frozen=True, slots=True)
class ThreadStore:
    """Writes claims and messages to the Entity table."""

    client: "DynamoDBClient"
    table: str

    def claim(self, claim: Values) -> Values:
        """Write a claim unless one exists for the message; return the valid claim: this one, or the existing one."""
        request = claim_request(self.table, claim)
        write = conditional_write(lambda: self.client.put_item(**request), "the Entity table")
        return claim if write.applied else from_item(write.item)

    def put(self, message: Values) -> None:
        """Write a message; a repeated write writes the same item."""
        request: Request = {"TableName": self.table, "Item": to_item(message)}
        with_retries(lambda: self.client.put_item(**request), "the Entity table")
