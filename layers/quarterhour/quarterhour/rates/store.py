"""The rates' calls to DynamoDB, and the requests they make."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from quarterhour import aws, clock
from quarterhour.aws import Request
from quarterhour.clock import MILLISECOND
from quarterhour.errors import UnavailableError
from quarterhour.paging import Page, Paging, within
from quarterhour.parameters import ALWAYS
from quarterhour.rates.keys import currency_of, latest_key, stated_between, stated_key, stated_until
from quarterhour.rates.plan import Move, decide, place_of
from quarterhour.rates.rate import Rate, Statement, shown
from quarterhour.reading import EntityReader, Range, Values
from quarterhour.settings import Layer
from quarterhour.snapshots.keys import window_start


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

    def before(self, layer: Layer, latest: Values) -> Values | None:
        """Return the rate that was in force before the window of the one in force now, or before it was stated.

        It is read from the history: rates can be stated more seldom than windows are kept.
        """
        at = Rate.of(latest).as_of
        start = window_start(at, layer.window) if layer.window else at
        return self.as_of(currency_of(latest["pk"]), start - MILLISECOND)

    def span(self, currency: str, start: datetime, end: datetime, paging: Paging) -> Page:
        """Return the rates stated as of an instant from the start to before the end, the oldest first."""
        return self._page(stated_between(currency, start, end), paging)

    def last(self, currency: str, paging: Paging) -> Page:
        """Return the rates that were ever stated, the newest first."""
        return self._page(replace(stated_between(currency, *ALWAYS), falling=True), paging)

    def _page(self, wanted: Range, paging: Paging) -> Page:
        after = paging.start(lambda sk: within(wanted.low, sk, wanted.high), None)
        entries = self.entities.read(replace(wanted, after=after), paging.limit + 1)
        return paging.cut(entries, shown, lambda values: str(values["sk"]))

    def state(self, currency: str, statement: Statement, base: str) -> tuple[Values, bool]:
        """Put a rate into force; return it as it stands, and whether it is new: stated before, it changes nothing.

        Raises ``ConflictError`` where another stands against it, ``UnavailableError`` where others keep being faster.
        """
        for attempt in range(aws.ATTEMPTS):
            latest = self.latest(currency)
            at = place_of(statement, base, latest, clock.now())
            rate = Rate(statement.units_per_base, statement.source, base, at)
            found = decide(currency, rate, latest, self.entities.get(stated_key(currency, at)) if latest else None)
            if not isinstance(found, Move):
                return found, False
            try:
                self.entities.client.transact_write_items(**move_request(self.entities.table, found))
            except (ClientError, *aws.NETWORK_ERRORS) as error:
                if not (aws.is_cancelled(error) or aws.is_transient(error)):
                    raise
            else:
                return found.latest, True
            aws.pause(attempt)
        raise UnavailableError("the Entity table did not take the rate in time")
