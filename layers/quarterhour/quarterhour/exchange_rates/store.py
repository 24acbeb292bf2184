"""The DynamoDB store of the exchange rates, and the requests it sends."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.items import Request, to_item
from quarterhour.exchange_rates.plan import RateChange

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def change_request(table: str, change: RateChange) -> Request:
    """Build the transaction that writes the rate in force and the history, unless another write came first."""
    latest: dict[str, Any] = {"TableName": table, "Item": to_item(change.latest)}
    if change.version is None:
        latest |= {"ConditionExpression": "attribute_not_exists(pk)"}
    else:
        latest |= {
            "ConditionExpression": "version = :read",
            "ExpressionAttributeValues": {":read": {"N": str(change.version)}},
        }
    stated = {
        "TableName": table,
        "Item": to_item(change.stated),
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    return {"TransactItems": [{"Put": latest}, {"Put": stated}]}


@dataclass(frozen=True, slots=True)
class ExchangeRateStore:
    """The exchange rates in the Entity table."""

    client: "DynamoDBClient"
    table: str

    def put(self, change: RateChange) -> None:
        """Put a rate into force; raise botocore's ``ClientError`` if another write came first."""
        self.client.transact_write_items(**change_request(self.table, change))
