"""The rates' calls to DynamoDB, and the requests they make."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from quarterhour import aws, clock
from quarterhour.aws import Request
from quarterhour.errors import UnavailableError
from quarterhour.rates.keys import latest_key, stated_key, stated_until
from quarterhour.rates.plan import Move, decide, place_of
from quarterhour.rates.rate import Rate, Statement
from quarterhour.reading import EntityReader, Values


def move_request(table: str, move: Move) -> Request:
    """Build the transaction that puts a rate into force and into the history, if nobody was faster."""
    latest: dict[str, Any] = {"TableName": table, "Item": aws.to_item(move.latest)}
    if move.version is None:
        latest |= {"ConditionExpression": "attribute_not_exists(pk)"}
    else:
        latest |= {
            "ConditionExpression": "version = :read",
            "ExpressionAttributeValues": {":read": {"N": str(move.version)}},
        }
    stated = {
        "TableName": table,
        "Item": aws.to_item(move.stated),
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    return {"TransactItems": [{"Put": latest}, {"Put": stated}]}


@dataclass(frozen=True, slots=True)
class RateStore:
    """The rates in the Entity table: the one in force, and all that were ever stated."""

    entities: EntityReader

    def latest(self, currency: str) -> Values | None:
        """Return the rate in force now; ``None`` where there is none."""
        return self.entities.get(latest_key(currency))

    def as_of(self, currency: str, at: datetime) -> Values | None:
        """Return the rate that was in force at an instant, however long ago; ``None`` where there was none."""
        return next(self.entities.read(stated_until(currency, at), 1), None)

    def state(self, currency: str, statement: Statement, base: str) -> Values:
        """Put a rate into force, and return it as it stands then; a statement that was made before changes nothing.

        Raises ``ConflictError`` where another stands against it, ``UnavailableError`` where others keep being faster.
        """
        for attempt in range(aws.ATTEMPTS):
            latest = self.latest(currency)
            at = place_of(statement, base, latest, clock.now())
            rate = Rate(statement.units_per_base, statement.source, base, at)
            found = decide(currency, rate, latest, self.entities.get(stated_key(currency, at)) if latest else None)
            if not isinstance(found, Move):
                return found
            try:
                self.entities.client.transact_write_items(**move_request(self.entities.table, found))
            except (ClientError, *aws.NETWORK_ERRORS) as error:
                if not (aws.is_cancelled(error) or aws.is_transient(error)):
                    raise
            else:
                return found.latest
            aws.pause(attempt)
        raise UnavailableError("the Entity table did not take the rate in time")
