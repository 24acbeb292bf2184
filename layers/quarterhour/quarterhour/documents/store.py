"""The documents' writes to DynamoDB, and the requests they make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from quarterhour import aws
from quarterhour.aws import Request
from quarterhour.reading import Values

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE = "the Entity table"


def version_request(table: str, items: Sequence[Values], seen: int) -> Request:
    """Build the transaction that makes a version the latest, and adds it to the history, while the one seen is it."""
    latest, *others = ({"TableName": table, "Item": aws.to_item(item)} for item in items)
    unwritten = {"ConditionExpression": "attribute_not_exists(pk)"}
    unchanged = {
        "ConditionExpression": "version = :seen",
        "ExpressionAttributeValues": {":seen": {"N": str(seen)}},
    }
    first = {**latest, **(unchanged if seen else unwritten)}
    return {"TransactItems": [{"Put": first}, *({"Put": {**other, **unwritten}} for other in others)]}


@dataclass(frozen=True, slots=True)
class DocumentStore:
    """The documents in the Entity table."""

    client: "DynamoDBClient"
    table: str

    def add(self, items: Sequence[Values], seen: int) -> bool:
        """Write a version's items; ``False`` where the one that was seen is not, or may not be, the latest any more."""
        request = version_request(self.table, items, seen)
        try:
            aws.persist(lambda: self.client.transact_write_items(**request), _TABLE)
        except ClientError as error:
            if not aws.is_cancelled(error):
                raise
            return False
        return True

    def put(self, values: Mapping[str, Any]) -> None:
        """Write an item that replaces whatever stood there."""
        item = aws.to_item(dict(values))
        aws.persist(lambda: self.client.put_item(TableName=self.table, Item=item), _TABLE)
