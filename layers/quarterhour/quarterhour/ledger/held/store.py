"""The calls to DynamoDB about held events, and the builders of their requests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, Self

from quarterhour.aws.entity import IndexRange, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Request, to_item
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import conditional_transaction, conditional_write
from quarterhour.ledger.keys import CURSOR_KEY, HIGHEST, LOWEST, HeldStatus, held_key, held_partitions, index_values
from quarterhour.ledger.recording.claim_store import forget_request
from quarterhour.ledger.recording.held_event import Approval, HeldDecision, HeldEvent, HeldReason, Release
from quarterhour.model.identifiers import Identity

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_WAITS_FOR: Final[Request] = {
    "ConditionExpression": "#status = :held AND #reason = :before",
    "ExpressionAttributeNames": {"#status": "status", "#reason": "reason"},
}
"""The condition that an event still waits, and for the same."""


def merged(entities: EntityReader, partitions: Sequence[str], after: str, high: str, page: int) -> Iterator[Values]:
    """Yield the entries of some partitions of ``gsi1`` after a place, the oldest first."""
    ranges = [IndexRange("gsi1", partition, after, high) for partition in partitions]
    return (entry for entry in entities.read_indexes(ranges, page) if entry["gsi1sk"] > after)


def reason_request(tables: tuple[str, str], before: HeldReason, held: HeldEvent) -> Request:
    """Build the transaction that keeps what a held event waits for, and why else it could not be posted.

    ``tables``: the Identity and the Entity table. ``before``: what it has waited for so far, which is the condition.
    The reservation and the item change together.
    """
    identity_table, entity_table = tables
    reasons = {":before": before, ":reason": held.reason}
    return {
        "TransactItems": [
            {
                "Update": {
                    "TableName": identity_table,
                    "Key": {"event": {"S": str(held.event.identity)}},
                    "UpdateExpression": "SET held = :reason",
                    "ConditionExpression": "held = :before AND attribute_not_exists(discarded)",
                    "ExpressionAttributeValues": to_item(reasons),
                }
            },
            {
                "Update": {
                    "TableName": entity_table,
                    "Key": to_item(held_key(held.event.identity)),
                    "UpdateExpression": "SET #reason = :reason, problems = :problems",
                    **_WAITS_FOR,
                    "ExpressionAttributeValues": to_item(
                        {**reasons, ":held": HeldStatus.HELD, ":problems": [asdict(one) for one in held.problems]}
                    ),
                }
            },
        ]
    }


def release_request(table: str, held: HeldEvent, decision: Release | Approval) -> Request:
    """Build the UpdateItem that releases or approves a held event.

    The conditions are that it still waits for the same, and that nobody has decided so since it was read.
    """
    name, before = ("released", held.released) if isinstance(decision, Release) else ("approved", held.approved)
    undecided = "#decision = :seen" if before else "attribute_not_exists(#decision)"
    return {
        "TableName": table,
        "Key": to_item(held_key(held.event.identity)),
        "UpdateExpression": "SET #decision = :decision",
        "ConditionExpression": f"{_WAITS_FOR['ConditionExpression']} AND {undecided}",
        "ExpressionAttributeNames": {**_WAITS_FOR["ExpressionAttributeNames"], "#decision": name},
        "ExpressionAttributeValues": to_item(
            {
                ":held": HeldStatus.HELD,
                ":before": held.reason,
                ":decision": asdict(decision),
                **({":seen": asdict(before)} if before else {}),
            }
        ),
    }


def discard_request(tables: tuple[str, str], held: HeldEvent, decision: HeldDecision) -> Request:
    """Build the transaction that discards a held event: its reservation and its item change together.

    ``tables``: the Identity and the Entity table. The condition is that the event is not posted yet.
    """
    identity_table, entity_table = tables
    event = held.event
    index = index_values(event.identity, event.account.agency, HeldStatus.DISCARDED, held.place)
    return {
        "TransactItems": [
            {
                "Update": {
                    "TableName": identity_table,
                    "Key": {"event": {"S": str(event.identity)}},
                    "UpdateExpression": "SET discarded = :reason",
                    "ConditionExpression": "attribute_exists(held) AND attribute_not_exists(discarded)",
                    "ExpressionAttributeValues": {":reason": {"S": decision.reason}},
                }
            },
            {
                "Update": {
                    "TableName": entity_table,
                    "Key": to_item(held_key(event.identity)),
                    "UpdateExpression": "SET discarded = :decision, #status = :discarded, "
                    + ", ".join(f"{name} = :{name}" for name in index),
                    "ConditionExpression": "#status = :held",
                    "ExpressionAttributeNames": {"#status": "status"},
                    "ExpressionAttributeValues": to_item(
                        {
                            ":held": HeldStatus.HELD,
                            ":discarded": HeldStatus.DISCARDED,
                            ":decision": asdict(decision),
                            **{f":{name}": value for name, value in index.items()},
                        }
                    ),
                }
            },
        ]
    }


@dataclass(frozen=True, slots=True)
class HeldStore:
    """Reads and writes the items of held events."""

    client: "DynamoDBClient"
    identity_table: str
    table: str
    entities: EntityReader

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the store of a function."""
        identity_table = resources.env.text("IDENTITY_TABLE")
        return cls(resources.dynamodb, identity_table, resources.entity_table, resources.entities)

    def get(self, identity: Identity) -> Values | None:
        """Return the item of a held or discarded event; ``None`` if there is none."""
        return self.entities.get(held_key(identity))

    def waiting(self, after: str, limit: int) -> list[Values]:
        """Return the items of the oldest events that are held, after a place."""
        partitions = held_partitions(HeldStatus.HELD)
        each = -(-limit // len(partitions))
        return list(islice(merged(self.entities, partitions, after, HIGHEST, each), limit))

    def cursor(self) -> str:
        """Return the place after which the next attempt to post begins."""
        values = self.entities.get(CURSOR_KEY)
        return str(values["after"]) if values else LOWEST

    def set_cursor(self, after: str) -> None:
        """Keep the place after which the next attempt to post begins."""
        self._put({**CURSOR_KEY, "after": after})

    def set_reason(self, before: HeldReason, held: HeldEvent) -> None:
        """Keep what a held event waits for, and why else it could not be posted, unless it has changed meanwhile."""
        request = reason_request((self.identity_table, self.table), before, held)
        conditional_transaction(lambda: self.client.transact_write_items(**request), "the Entity table")

    def forget(self, identity: Identity) -> None:
        """Delete the item of an event that is recorded."""
        request = forget_request(self.table, identity)
        with_retries(lambda: self.client.delete_item(**request), "the Entity table")

    def release(self, held: HeldEvent, decision: Release | Approval) -> bool:
        """Release or approve a held event; return whether it still was as it was read."""
        request = release_request(self.table, held, decision)
        return conditional_write(lambda: self.client.update_item(**request), "the Entity table").applied

    def discard(self, held: HeldEvent, decision: HeldDecision) -> None:
        """Discard a held event; raise botocore's ``ClientError`` if it does not wait any more."""
        request = discard_request((self.identity_table, self.table), held, decision)
        self.client.transact_write_items(**request)

    def _put(self, values: Mapping[str, str]) -> None:
        request: Request = {"TableName": self.table, "Item": to_item(values)}
        with_retries(lambda: self.client.put_item(**request), "the Entity table")
