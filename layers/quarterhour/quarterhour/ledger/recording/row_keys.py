"""Row keys: what an event of a file says of its row, if its id depends on the place of the row in the file.

Such a file that has one row more gives sales that are recorded other ids. An item of the Identity table knows the id
under which a row is recorded, so that the row is recorded under no other one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from quarterhour.aws.items import Item, Request
from quarterhour.aws.tables import conditional_write, get_items, insert_items
from quarterhour.aws.workers import Workers
from quarterhour.ledger.events.event import ROW_KEY, Event, Rejection
from quarterhour.ledger.recording.claims import expiry
from quarterhour.ledger.recording.plan import RecordingRequest
from quarterhour.ledger.recording.ticket import Ticket
from quarterhour.model import clock, exact_json
from quarterhour.model.errors import FieldProblem, UnavailableError
from quarterhour.model.identifiers import SEPARATOR, Identity, base58_prefix

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_PREFIX: Final = f"{SEPARATOR}row{SEPARATOR}"
"""Begins the keys of rows: no identity of an event begins with the separator."""
_KEY_LENGTH: Final = 22


def row_key(event: Event) -> str | None:
    """Return the key of the item of an event's row; ``None`` if the event does not say which row it is."""
    key = exact_json.parse(event.attributes or "{}").get(ROW_KEY)
    if not key or not isinstance(key, str):
        return None
    named = f"{event.identity.source}\n{key}"
    return f"{_PREFIX}{base58_prefix(sha256(named.encode()).digest(), _KEY_LENGTH)}"


def row_item(key: str, identity: Identity, expires_at: int | None) -> Item:
    """Return the item of a row: the id of its event, and when it expires, as a claim does."""
    item: Item = {"event": {"S": key}, "id": {"S": identity.id}}
    if expires_at is not None:
        item["expires_at"] = {"N": str(expires_at)}
    return item


def replace_request(table: str, item: Item, before: str) -> Request:
    """Build the Put of the item of a row whose id ``before`` was never recorded."""
    values = {":before": {"S": before}}
    return {
        "TableName": table,
        "Item": item,
        "ConditionExpression": "id = :before",
        "ExpressionAttributeValues": values,
    }


@dataclass(frozen=True, slots=True)
class RowKeyStore:
    """Reads and writes the keys of rows in the Identity table."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def owners(self, desired: Mapping[str, Identity], request: RecordingRequest) -> dict[str, str]:
        """Return the id of the event of each row, which is the desired one unless another one is recorded.

        The result lacks the rows that could not be written in time.
        """
        expires_at = expiry(clock.now(), request.settings)
        items = {key: row_item(key, identity, expires_at) for key, identity in desired.items()}
        insertion = insert_items(
            self.client, self.table, list(items.values()), self.workers, lambda _: request.in_time()
        )
        known = [{"event": item["event"]["S"]} for item in insertion.existing]
        found = get_items(self.client, self.table, known, self.workers) if known else []
        owners = {key: identity.id for key, identity in desired.items()}
        owners |= {item["event"]["S"]: item["id"]["S"] for item in found}
        others = {key: id_ for key, id_ in owners.items() if id_ != desired[key].id}
        for key in self._never_recorded(others, desired):
            if self._replace(items[key], others[key]):
                owners[key] = desired[key].id
        for item in insertion.unwritten:
            owners.pop(item["event"]["S"], None)
        return owners

    def _replace(self, item: Item, before: str) -> bool:
        request = replace_request(self.table, item, before)
        return conditional_write(lambda: self.client.put_item(**request), "the Identity table").applied

    def _never_recorded(self, others: Mapping[str, str], desired: Mapping[str, Identity]) -> list[str]:
        """Return the rows whose other ids have neither a claim nor a reservation: their events were rejected."""
        if not others:
            return []
        claims = {key: str(Identity(desired[key].source, id_)) for key, id_ in others.items()}
        named = [{"event": event} for event in dict.fromkeys(claims.values())]
        there = {item["event"]["S"] for item in get_items(self.client, self.table, named, self.workers)}
        return [key for key, event in claims.items() if event not in there]


def refuse_known(tickets: Iterable[Ticket], store: RowKeyStore, request: RecordingRequest) -> None:
    """Reject the events whose rows are recorded under other ids; those that cannot be looked up now must wait."""
    by_key: dict[str, Ticket] = {}
    for ticket in tickets:
        key = row_key(ticket.event)
        if key and (first := by_key.setdefault(key, ticket)) is not ticket:
            ticket.put(_known_as(ticket.identity, first.identity.id))
    try:
        owners = store.owners({key: ticket.identity for key, ticket in by_key.items()}, request)
    except UnavailableError:
        owners = {}
    for key, ticket in by_key.items():
        if (owner := owners.get(key)) is None:
            ticket.admitted, ticket.events = [], []
        elif owner != ticket.identity.id:
            ticket.put(_known_as(ticket.identity, owner))


def _known_as(identity: Identity, id_: str) -> Rejection:
    """Return the rejection of an event whose row is recorded under another id."""
    problem = f"depends on the place of a row, which is recorded as {id_!r} with the same order, time and amount"
    expected = "the file as it was sent before, or a map whose ids do not hold the row's number"
    return Rejection(*identity, (FieldProblem("id", problem, expected),))
