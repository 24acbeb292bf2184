"""The exchange rates' writes to DynamoDB, and the requests they send."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.items import Request, to_item
from quarterhour.exchange_rates.plan import Move

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def move_request(table: str, move: Move) -> Request:
    """Build the transaction that puts a rate into force and into the history, unless another write was faster."""
    latest: dict[str, Any] = {"TableName": table, "Item": to_item(move.latest)}
    if move.version is None:
        latest |= {"ConditionExpression": "attribute_not_exists(pk)"}
    else:
        latest |= {
            "ConditionExpression": "version = :read",
            "ExpressionAttributeValues": {":read": {"N": str(move.version)}},
        }
    stated = {
        "TableName": table,
        "Item": to_item(move.stated),
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    return {"TransactItems": [{"Put": latest}, {"Put": stated}]}


@dataclass(frozen=True, slots=True)
class ExchangeRateStore:
    """The exchange rates in the Entity table."""

    client: "DynamoDBClient"
    table: str

    def put(self, move: Move) -> None:
        """Put a rate into force; raise botocore's ``ClientError`` where another write was faster."""
        self.client.transact_write_items(**move_request(self.table, move))
