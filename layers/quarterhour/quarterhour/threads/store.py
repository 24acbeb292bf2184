"""Writing messages, each once: a claim that fixes when, then the message at the place that follows from it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from quarterhour import aws, clock
from quarterhour.aws import Request
from quarterhour.errors import ConflictError
from quarterhour.threads.message import Message, shown

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def claim_request(table: str, claim: dict[str, Any]) -> Request:
    """Build the PutItem that claims a message for the first time, and tells of the claim that stands if it is not."""
    return {
        "TableName": table,
        "Item": aws.to_item(claim),
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


@dataclass(frozen=True, slots=True)
class ThreadStore:
    """The messages in the Entity table."""

    client: "DynamoDBClient"
    table: str

    def write(self, message: Message) -> tuple[dict[str, Any], bool]:
        """Write a message, and return it as it is shown, with whether it is new.

        A retry finds the claim and writes the same bytes to the same place, so it mends what a crash left unwritten.
        Raises ``ConflictError`` where another text stands under the id, ``UnavailableError``.
        """
        claim = message.claim(clock.now())
        standing = self._claim(claim)
        if standing["digest"] != message.digest:
            raise ConflictError(f"you have sent another text under the id {message.id}: give each message its own")
        values = message.values(standing["at"])
        request: Request = {"TableName": self.table, "Item": aws.to_item(values)}
        aws.persist(lambda: self.client.put_item(**request), "the Entity table")
        return shown(values), standing is claim

    def _claim(self, claim: dict[str, Any]) -> dict[str, Any]:
        """Return the claim that stands: this one, or the one that was there before."""
        request = claim_request(self.table, claim)
        try:
            aws.persist(lambda: self.client.put_item(**request), "the Entity table")
        except ClientError as error:
            if not aws.is_failed_condition(error):
                raise
            return aws.from_item(error.response["Item"])  # type: ignore[typeddict-item]
        return claim
