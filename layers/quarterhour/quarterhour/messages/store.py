"""The threads' calls to DynamoDB, and the builders of their requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity import Key, Values
from quarterhour.aws.expressions import NEW, RETURN_EXISTING, put_request, update_request
from quarterhour.aws.items import Request, from_item
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import conditional_transaction, conditional_write, get_item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


REDACTED: Final = "redacted"
"""The digest of a message's claim whose text was removed: no text has it, so no retry writes the text again."""


def claim_request(table: str, claim: Mapping[str, Any]) -> Request:
    """Build the PutItem that claims a message; if a claim exists, DynamoDB returns it with the error."""
    return {**put_request(table, claim, NEW), **RETURN_EXISTING}


def redact_request(table: str, claim: Key, message: Key, redacted: Mapping[str, str]) -> Request:
    """Build the transaction that removes the text of a message, and what its claim keeps of the text."""
    exists = "attribute_exists(pk)"
    without = "SET #text = :nothing, redacted = :redacted"
    updates = [
        update_request(table, claim, "SET digest = :redacted", exists, {"redacted": REDACTED}),
        update_request(table, message, without, exists, {"nothing": "", "redacted": redacted}),
    ]
    return {"TransactItems": [{"Update": one} for one in updates]}


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
        request = put_request(self.table, message)
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
