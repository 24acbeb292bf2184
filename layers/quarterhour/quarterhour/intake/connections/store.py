"""The connections' calls to DynamoDB, and the builders of their requests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import NEW, expressions, put_request, update_request
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import conditional_transaction, conditional_write
from quarterhour.intake.connections.connection import Connection
from quarterhour.intake.connections.keys import (
    connection_key,
    connections,
    content_key,
    parked,
    parked_key,
    state_key,
)
from quarterhour.intake.connections.parked import Parked, content_of
from quarterhour.intake.connections.state import PARKED, WAITING, StateChange

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the Entity table"
_PAGE: Final = 100
_IS_THERE: Final = "attribute_exists(pk)"


def change_request(table: str, connection: Connection, seen: Connection | None) -> Request:
    """Build the put of a connection; it fails if it is not the one that was ``seen``."""
    if seen is None:
        return put_request(table, connection.as_item(), NEW)
    return put_request(table, connection.as_item(), "version = :version", {"version": seen.version})


def delete_request(table: str, connection: Connection) -> Request:
    """Build the transaction that deletes a connection with its state, unless one of its deliveries is parked."""
    given = {"version": connection.version}
    of_connection = expressions(given, ConditionExpression="version = :version")
    of_state = expressions({"none": 0}, ConditionExpression=f"attribute_not_exists({PARKED}) OR {PARKED} = :none")
    return {
        "TransactItems": [
            {"Delete": {"TableName": table, "Key": to_item(connection_key(connection.name)), **of_connection}},
            {"Delete": {"TableName": table, "Key": to_item(state_key(connection.name)), **of_state}},
        ]
    }


def park_request(table: str, name: str, one: Parked, contents: Sequence[Values], change: StateChange) -> Request:
    """Build the transaction that parks a delivery with the items of its content, unless it is parked already."""
    head = {"Put": put_request(table, one.as_item(name), NEW)}
    puts = [{"Put": put_request(table, values)} for values in contents]
    return {"TransactItems": [head, *puts, {"Update": change.request(table, name)}]}


def unpark_request(table: str, name: str, one: Parked, change: StateChange) -> Request:
    """Build the transaction that removes a parked delivery and counts it, if it is still parked."""
    head = {"TableName": table, "Key": to_item(parked_key(name, one.id)), "ConditionExpression": _IS_THERE}
    contents = [{"TableName": table, "Key": to_item(content_key(name, one.id, number))} for number in range(one.parts)]
    return {
        "TransactItems": [*({"Delete": each} for each in (head, *contents)), {"Update": change.request(table, name)}]
    }


@dataclass(frozen=True, slots=True)
class ConnectionStore:
    """Reads and writes connections, their states and their parked deliveries."""

    client: "DynamoDBClient"
    entities: EntityReader

    def get(self, name: str) -> Connection | None:
        """Return a connection, read with strong consistency; ``None`` if there is none."""
        values = self.entities.get(connection_key(name))
        return Connection.parse(values) if values else None

    def all(self) -> list[Connection]:
        """Return all connections, by name."""
        return [Connection.parse(values) for values in self.entities.read(connections(), _PAGE)]

    def write(self, connection: Connection, seen: Connection | None) -> bool:
        """Write a connection; return whether it was the one that was seen."""
        request = change_request(self.entities.table, connection, seen)
        return conditional_write(lambda: self.client.put_item(**request), _TABLE).applied

    def delete(self, connection: Connection) -> bool:
        """Delete a connection and its state; return ``False`` if it was changed, or if a delivery is parked."""
        request: Any = delete_request(self.entities.table, connection)
        return conditional_transaction(lambda: self.client.transact_write_items(**request), _TABLE)

    def state(self, name: str) -> Mapping[str, Any] | None:
        """Return the item of what a connection has delivered; ``None`` if there is none."""
        return self.entities.get(state_key(name))

    def count(self, name: str, change: StateChange) -> bool:
        """Add to what a connection has delivered; return whether a parked delivery of it waits for an event."""
        counts = StateChange({**change.counts, WAITING: 0}, change.at, change.delay)
        request = {**counts.request(self.entities.table, name), "ReturnValues": "ALL_NEW"}
        answer = with_retries(lambda: self.client.update_item(**request), _TABLE)
        return bool(from_item(answer["Attributes"])[WAITING] > 0)

    def park(self, name: str, one: Parked, contents: Sequence[Values], change: StateChange) -> bool:
        """Park a delivery and count it; return ``False`` if it is parked already."""
        request: Any = park_request(self.entities.table, name, one, contents, change)
        return conditional_transaction(lambda: self.client.transact_write_items(**request), _TABLE)

    def unpark(self, name: str, one: Parked, change: StateChange) -> bool:
        """Remove a parked delivery and count it; return ``False`` if it is not parked any more."""
        request: Any = unpark_request(self.entities.table, name, one, change)
        return conditional_transaction(lambda: self.client.transact_write_items(**request), _TABLE)

    def explain(self, name: str, one: Parked, reason: str) -> None:
        """Write another reason why a delivery is still parked."""
        key, given = parked_key(name, one.id), {"reason": reason}
        request = update_request(self.entities.table, key, "SET reason = :reason", _IS_THERE, given)
        conditional_write(lambda: self.client.update_item(**request), _TABLE)

    def parked(self, name: str, after: str | None = None) -> Iterator[Parked]:
        """Yield the parked deliveries of a connection behind an id."""
        return map(Parked.parse, self.entities.read(parked(name, after), _PAGE))

    def parked_one(self, name: str, id_: str) -> Parked | None:
        """Return a parked delivery; ``None`` if there is none of this id."""
        values = self.entities.get(parked_key(name, id_))
        return Parked.parse(values) if values else None

    def content(self, name: str, one: Parked) -> bytes:
        """Return what was delivered."""
        keys = [content_key(name, one.id, number) for number in range(one.parts)]
        return content_of(self.entities.get_many(keys))
