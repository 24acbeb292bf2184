"""The DynamoDB store of the exchange rates, and the requests it sends."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import NEW, expressions, put_request
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
    condition = (NEW, {}) if change.version is None else ("version = :read", {"read": change.version})
    puts = [put_request(table, change.latest, *condition), put_request(table, change.entered, NEW)]
    return {"TransactItems": [{"Put": put} for put in puts]}


def earlier_request(table: str, earlier: EarlierRate) -> Request:
    """Build the transaction that adds an earlier rate to the history, unless a report has used later ones."""
    unused = expressions({"added": str(earlier.quarter_hour)}, ConditionExpression=f"{NEW} OR quarter_hour < :added")
    check = {"TableName": table, "Key": to_item(used_key(earlier.currency)), **unused}
    return {"TransactItems": [{"ConditionCheck": check}, {"Put": put_request(table, earlier.entered, NEW)}]}


def use_request(table: str, currency: str, use: LastUse) -> Request:
    """Build the PutItem that stores the last use of a currency's rates, unless a later one is stored."""
    return put_request(table, use.values(currency), f"{NEW} OR quarter_hour < :used", {"used": str(use.quarter_hour)})


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
