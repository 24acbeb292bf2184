"""The documents' writes to DynamoDB, and the builders of their requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import Values
from quarterhour.aws.items import Request, to_item
from quarterhour.aws.retries import with_retries

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE = "the Entity table"


def version_request(table: str, items: Sequence[Values], seen: int) -> Request:
    """Build the transaction that writes a version's items, on condition that the version seen is still the latest."""
    latest, *others = ({"TableName": table, "Item": to_item(item)} for item in items)
    unwritten = {"ConditionExpression": "attribute_not_exists(pk)"}
    unchanged = {
        "ConditionExpression": "version = :seen",
        "ExpressionAttributeValues": {":seen": {"N": str(seen)}},
    }
    first = {**latest, **(unchanged if seen else unwritten)}
    return {"TransactItems": [{"Put": first}, *({"Put": {**other, **unwritten}} for other in others)]}


@dataclass(frozen=True, slots=True)
class DocumentStore:
    """Writes the documents' items to the Entity table."""

    client: "DynamoDBClient"
    table: str

    def add(self, items: Sequence[Values], seen: int) -> None:
        """Write a version's items; raise botocore's ``ClientError`` if ``seen`` is no longer the latest version."""
        request = version_request(self.table, items, seen)
        with_retries(lambda: self.client.transact_write_items(**request), _TABLE)

    def put(self, values: Mapping[str, Any]) -> None:
        """Write an item, in place of an existing one."""
        item = to_item(dict(values))
        with_retries(lambda: self.client.put_item(TableName=self.table, Item=item), _TABLE)
