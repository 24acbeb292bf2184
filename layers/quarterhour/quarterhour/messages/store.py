"""The threads' calls to DynamoDB, and the builders of their requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity import Key, Values
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import conditional_transaction, conditional_write, get_item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


REDACTED: Final = "redacted"
"""The digest of a message's claim whose text was removed: no text has it, so no retry writes the text again."""


def claim_request(table: str, claim: Mapping[str, Any]) -> Request:
    """Build the PutItem that claims a message; if a claim exists, DynamoDB returns it with the error."""
    return {
        "TableName": table,
        "Item": to_item(claim),
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def redact_request(table: str, claim: Key, message: Key, redacted: Mapping[str, str]) -> Request:
    """Build the transaction that removes the text of a message, and what its claim keeps of the text."""
    return {
        "TransactItems": [
            {
                "Update": {
                    "TableName": table,
                    "Key": to_item(dict(claim)),
                    "UpdateExpression": "SET digest = :redacted",
                    "ConditionExpression": "attribute_exists(pk)",
                    "ExpressionAttributeValues": to_item({":redacted": REDACTED}),
                }
            },
            {
                "Update": {
                    "TableName": table,
                    "Key": to_item(dict(message)),
                    "UpdateExpression": "SET #text = :nothing, redacted = :redacted",
                    "ConditionExpression": "attribute_exists(pk)",
                    "ExpressionAttributeNames": {"#text": "text"},
                    "ExpressionAttributeValues": to_item({":nothing": "", ":redacted": redacted}),
                }
            },
        ]
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

    def claimed(self, claim: Key) -> Values | None:
        """Return the claim of a message; ``None`` if there is none."""
        item = get_item(self.client, self.table, claim)
        return from_item(item) if item else None

    def redact(self, claim: Key, message: Key, redacted: Mapping[str, str]) -> bool:
        """Remove the text of a message; return whether there is such a message.

        ``redacted``: what the message keeps: ``at``, ``by`` and ``reason``.
        """
        request = redact_request(self.table, claim, message, redacted)
        return conditional_transaction(lambda: self.client.transact_write_items(**request), "the Entity table")
