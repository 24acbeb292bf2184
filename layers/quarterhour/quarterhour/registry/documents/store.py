"""The documents' writes to DynamoDB, and the builders of their requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import Key, Values
from quarterhour.aws.items import Request, to_item
from quarterhour.aws.retries import with_retries

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE = "the Entity table"


def version_request(
    table: str, items: Sequence[Values], seen: int, metadata: Key, listing: Mapping[str, str]
) -> Request:
    """Build the transaction that writes a version's items, on condition that the version seen is still the latest.

    ``listing``: index attributes to add to the item with the key ``metadata``, if there are any.
    """
    latest, *others = ({"TableName": table, "Item": to_item(item)} for item in items)
    unwritten = {"ConditionExpression": "attribute_not_exists(pk)"}
    unchanged = {
        "ConditionExpression": "version = :seen",
        "ExpressionAttributeValues": {":seen": {"N": str(seen)}},
    }
    first = {**latest, **(unchanged if seen else unwritten)}
    actions = [{"Put": first}, *({"Put": {**other, **unwritten}} for other in others)]
    return {"TransactItems": [*actions, *([_listing(table, metadata, listing)] if listing else [])]}


def _listing(table: str, metadata: Key, listing: Mapping[str, str]) -> Request:
    return {
        "Update": {
            "TableName": table,
            "Key": to_item(metadata),
            "UpdateExpression": "SET gsi1pk = :pk, gsi1sk = :sk",
            "ExpressionAttributeValues": to_item({":pk": listing["gsi1pk"], ":sk": listing["gsi1sk"]}),
        }
    }


@dataclass(frozen=True, slots=True)
class DocumentStore:
    """Writes the documents' items to the Entity table."""

    client: "DynamoDBClient"
    table: str

    def add(self, items: Sequence[Values], seen: int, metadata: Key, listing: Mapping[str, str]) -> None:
        """Write a version's items; raise botocore's ``ClientError`` if ``seen`` is no longer the latest version."""
        request = version_request(self.table, items, seen, metadata, listing)
        with_retries(lambda: self.client.transact_write_items(**request), _TABLE)

    def put(self, values: Mapping[str, Any]) -> None:
        """Write an item, in place of an existing one."""
        item = to_item(dict(values))
        with_retries(lambda: self.client.put_item(TableName=self.table, Item=item), _TABLE)
