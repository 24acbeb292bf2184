"""The DynamoDB store of the exchange rates, and the requests it sends."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Request, to_item
from quarterhour.aws.tables import conditional_write
from quarterhour.model.clock import MILLISECOND
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.registry.exchange_rates.keys import history_until, used_key
from quarterhour.registry.exchange_rates.plan import EarlierRate, LastUse, RateChange

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
    return {"TransactItems": [{"Put": latest}, {"Put": _history_put(table, change.entered)}]}


def earlier_request(table: str, earlier: EarlierRate) -> Request:
    """Build the transaction that adds an earlier rate to the history, unless a report has used later ones."""
    unused = {
        "TableName": table,
        "Key": to_item(used_key(earlier.currency)),
        "ConditionExpression": "attribute_not_exists(pk) OR quarter_hour < :added",
        "ExpressionAttributeValues": to_item({":added": str(earlier.quarter_hour)}),
    }
    return {"TransactItems": [{"ConditionCheck": unused}, {"Put": _history_put(table, earlier.entered)}]}


def _history_put(table: str, values: dict[str, Any]) -> dict[str, Any]:
    return {"TableName": table, "Item": to_item(values), "ConditionExpression": "attribute_not_exists(pk)"}


def use_request(table: str, currency: str, use: LastUse) -> Request:
    """Build the PutItem that stores the last use of a currency's rates, unless a later one is stored."""
    return {
        "TableName": table,
        "Item": to_item(use.values(currency)),
        "ConditionExpression": "attribute_not_exists(pk) OR quarter_hour < :used",
        "ExpressionAttributeValues": to_item({":used": str(use.quarter_hour)}),
    }


@dataclass(frozen=True, slots=True)
class ExchangeRateStore:
    """The exchange rates in the Entity table."""

    client: "DynamoDBClient"
    table: str

    def put(self, change: RateChange) -> None:
        """Put a rate into force; raise botocore's ``ClientError`` if another write came first."""
        self.client.transact_write_items(**change_request(self.table, change))

    def add(self, earlier: EarlierRate) -> None:
        """Add an earlier rate; raise botocore's ``ClientError`` if another write came first."""
        self.client.transact_write_items(**earlier_request(self.table, earlier))

    def use(self, currency: str, use: LastUse) -> None:
        """Store the last use of a currency's rates, unless a later one is stored."""
        request = use_request(self.table, currency, use)
        conditional_write(lambda: self.client.put_item(**request), "the Entity table")

    def in_force(self, currency: str, before: datetime, base: str) -> ExchangeRate | None:
        """Return a currency's exchange rate in force right before an instant; ``None`` if there was none."""
        entities = EntityReader(self.client, self.table)
        values = next(entities.read(history_until(currency, before - MILLISECOND), 1), None)
        rate = ExchangeRate.of(values) if values else None
        return rate if rate and rate.base == base else None
