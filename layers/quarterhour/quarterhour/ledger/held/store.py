"""The calls to DynamoDB about held events, and the builders of their requests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, Self

from quarterhour.aws.entity import IndexRange, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import put_request, set_all, update_request
from quarterhour.aws.items import Request
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import conditional_transaction, conditional_write
from quarterhour.ledger.keys import CURSOR_KEY, HIGHEST, LOWEST, HeldStatus, held_key, held_partitions, index_values
from quarterhour.ledger.recording.claim_store import forget_request
from quarterhour.ledger.recording.held_event import Approval, HeldDecision, HeldEvent, HeldReason, Release
from quarterhour.model.identifiers import Identity

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_WAITS_FOR: Final = "#status = :held AND #reason = :before"
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
    identity = held.event.identity
    reasons = {"before": before, "reason": held.reason}
    problems = {"held": HeldStatus.HELD, "problems": [asdict(one) for one in held.problems]}
    unposted = "held = :before AND attribute_not_exists(discarded)"
    update = "SET #reason = :reason, problems = :problems"
    updates = [
        update_request(identity_table, {"event": str(identity)}, "SET held = :reason", unposted, reasons),
        update_request(entity_table, held_key(identity), update, _WAITS_FOR, {**reasons, **problems}),
    ]
    return {"TransactItems": [{"Update": one} for one in updates]}


def release_request(table: str, held: HeldEvent, decision: Release | Approval) -> Request:
    """Build the UpdateItem that releases or approves a held event.

    The conditions are that it still waits for the same, and that nobody has decided so since it was read.
    """
    name, before = ("released", held.released) if isinstance(decision, Release) else ("approved", held.approved)
    undecided = f"#{name} = :seen" if before else f"attribute_not_exists(#{name})"
    given = {"held": HeldStatus.HELD, "before": held.reason, "decision": asdict(decision)}
    given |= {"seen": asdict(before)} if before else {}
    key = held_key(held.event.identity)
    return update_request(table, key, f"SET #{name} = :decision", f"{_WAITS_FOR} AND {undecided}", given)


def discard_request(tables: tuple[str, str], held: HeldEvent, decision: HeldDecision) -> Request:
    """Build the transaction that discards a held event: its reservation and its item change together.

    ``tables``: the Identity and the Entity table. The condition is that the event is not posted or approved meanwhile.
    """
    identity_table, entity_table = tables
    event = held.event
    unapproved = "" if held.approved else " AND attribute_not_exists(approved)"
    index = index_values(event.identity, event.account.agency, HeldStatus.DISCARDED, held.place)
    given = {"held": HeldStatus.HELD, "discarded": HeldStatus.DISCARDED, "decision": asdict(decision)}
    updates = [
        update_request(
            identity_table,
            {"event": str(event.identity)},
            "SET discarded = :reason",
            "attribute_exists(held) AND attribute_not_exists(discarded)",
            {"reason": decision.reason},
        ),
        update_request(
            entity_table,
            held_key(event.identity),
            f"{set_all(index)}, discarded = :decision, #status = :discarded",
            f"#status = :held{unapproved}",
            {**given, **index},
        ),
    ]
    return {"TransactItems": [{"Update": one} for one in updates]}


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
        request = put_request(self.table, values)
        with_retries(lambda: self.client.put_item(**request), "the Entity table")
