"""The calls to DynamoDB that claim and hold events, and the builders of their requests."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from botocore.exceptions import ClientError

from quarterhour.aws.items import Item, Request, to_item
from quarterhour.aws.retries import is_cancelled, optimistically, with_retries
from quarterhour.aws.tables import conditional_write, get_items, insert_items
from quarterhour.aws.workers import Workers
from quarterhour.ledger.keys import LinkedEvent, held_key, linked_values
from quarterhour.ledger.recording.claim_items import (
    claim_attributes,
    claim_item,
    claim_or_reservation,
    request_hash,
    reservation_item,
)
from quarterhour.ledger.recording.claims import Claim, Claimed
from quarterhour.ledger.recording.held_event import Held, HeldEvent, Hold, Reservation, held_values
from quarterhour.ledger.recording.linked import LinkedClaim, Lost
from quarterhour.ledger.recording.order_fee_store import OrderFeeStore, put_fees_request
from quarterhour.ledger.recording.ticket import result_of
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from quarterhour.ledger.recording.row_keys import RowKeyStore

A = TypeVar("A")
R = TypeVar("R")

_IDENTITY_TABLE: Final = "the Identity table"
_POSITION: Final = ("position",)
"""The attribute of a claim that every move changes."""
_CHANGES: Final = ("changes",)
"""The attribute of a claim that every change by a linked event counts up."""


def hold_request(tables: tuple[str, str], hold: Hold, now: datetime) -> Request:
    """Build the transaction that reserves the identity of an event and keeps its content.

    ``tables``: the Identity and the Entity table.
    """
    identity_table, entity_table = tables
    return {
        "TransactItems": [
            {"Put": _insert_request(identity_table, reservation_item(hold.reservation))},
            {"Put": {"TableName": entity_table, "Item": to_item(held_values(HeldEvent.of(hold, now)))}},
        ]
    }


def _insert_request(table: str, item: Item) -> Request:
    """Build the Put of a claim or reservation of an identity that has none."""
    return {
        "TableName": table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(event)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def claim_held_request(table: str, claim: Claim, request_id: str) -> Request:
    """Build the PutItem that replaces the reservation of a held event by its claim."""
    return {
        "TableName": table,
        "Item": claim_item(claim, request_id),
        "ConditionExpression": (
            "attribute_exists(held) AND begins_with(digest, :digest) AND attribute_not_exists(discarded)"
        ),
        "ExpressionAttributeValues": {":digest": {"S": claim.digest}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def linked_request(tables: tuple[str, str], linked: LinkedClaim, request_id: str) -> Request:
    """Build the transaction that claims a linked event, lists it, and changes the claims of its sale and its refund.

    Those claims must still be as they were read. ``tables``: the Identity and the Entity table.
    """
    identity_table, entity_table = tables
    claim = (
        claim_held_request(identity_table, linked.claim, request_id)
        if linked.was_held
        else _insert_request(identity_table, claim_item(linked.claim, request_id))
    )
    refundable = linked.after.refundable
    listed = LinkedEvent(linked.claim.identity, linked.after.changes, refundable.left if refundable else None)
    entry = to_item({**linked_values(linked.before.identity, listed), "expires_at": linked.claim.expires_at})
    changes = [
        _update_request(identity_table, claim_attributes(before), claim_attributes(after), _CHANGES)
        for before, after in linked.corrected
        if before != after
    ]
    puts = [{"Put": claim}, {"Put": {"TableName": entity_table, "Item": entry}}]
    if linked.order:
        puts.append({"Put": put_fees_request(identity_table, *linked.order)})
    return {"TransactItems": [*puts, *({"Update": one} for one in changes)]}


def move_request(table: str, old: Claim, new: Claim) -> Request:
    """Build the UpdateItem that gives a claim another position; nothing is written if another request has moved it."""
    return _update_request(table, claim_attributes(old), claim_attributes(new), _POSITION)


def _update_request(table: str, old: Item, new: Item, unchanged: Iterable[str]) -> Request:
    """Build the UpdateItem of the attributes in which a claim differs, on condition that some are as they were read."""
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    written, removed = [name for name in changed if name in new], [name for name in changed if name not in new]
    conditions = [f"#{name} = :old_{name}" if name in old else f"attribute_not_exists(#{name})" for name in unchanged]
    update = "SET " + ", ".join(f"#{name} = :{name}" for name in written)
    if removed:
        update += " REMOVE " + ", ".join(f"#{name}" for name in removed)
    return {
        "TableName": table,
        "Key": {"event": old["event"]},
        "UpdateExpression": update,
        # The claim must exist: it may have expired since it was read.
        "ConditionExpression": " AND ".join(["attribute_exists(event)", *conditions]),
        "ExpressionAttributeNames": {f"#{name}": name for name in {*changed, *unchanged}},
        "ExpressionAttributeValues": {f":{name}": new[name] for name in written}
        | {f":old_{name}": old[name] for name in unchanged if name in old},
    }


def forget_request(table: str, identity: Identity) -> Request:
    """Build the DeleteItem of the item of a held event."""
    return {"TableName": table, "Key": to_item(held_key(identity))}


@dataclass(frozen=True, slots=True)
class ClaimStore:
    """Reads and writes the Identity table, and the items of held and linked events in the Entity table."""

    client: "DynamoDBClient"
    identity_table: str
    entity_table: str
    workers: Workers

    @property
    def orders(self) -> OrderFeeStore:
        """The fees of orders, which are in the Identity table too."""
        return OrderFeeStore(self.client, self.identity_table, self.workers)

    @property
    def rows(self) -> "RowKeyStore":
        """The keys of rows, which are in the Identity table too."""
        from quarterhour.ledger.recording.row_keys import RowKeyStore  # noqa: PLC0415 - few files need it

        return RowKeyStore(self.client, self.identity_table, self.workers)

    def claim(
        self, claims: Sequence[Claim], request_id: str, in_time: Callable[[], bool]
    ) -> list[Claimed | Held | None]:
        """Claim events, no identity twice; return the valid claims in the same order, existing ones if there are any.

        The reservation if the identity is that of a held event. ``None`` if the claim could not be written in time, or
        if the existing one could not be read.
        """
        items = [claim_item(claim, request_id) for claim in claims]
        insertion = insert_items(self.client, self.identity_table, items, self.workers, lambda _: in_time())
        if not (insertion.existing or insertion.unwritten):
            return [Claimed(claim, fresh=True) for claim in claims]
        not_inserted = {item["event"]["S"]: None for item in insertion.unwritten} | self._existing(
            [item["event"]["S"] for item in insertion.existing], request_id
        )
        return [not_inserted.get(str(claim.identity), Claimed(claim, fresh=True)) for claim in claims]

    def _existing(self, events: Sequence[str], request_id: str) -> dict[str, Claimed | Held | None]:
        """Return the existing claim or reservation of each event; ``None`` if it cannot be read now, or has expired."""
        existing: dict[str, Claimed | Held | None] = dict.fromkeys(events)
        with suppress(UnavailableError):
            items = get_items(self.client, self.identity_table, [{"event": event} for event in events], self.workers)
            existing |= {item["event"]["S"]: _found(item, request_id) for item in items}
        return existing

    def claims(self, identities: Sequence[Identity]) -> dict[Identity, Claim | Reservation]:
        """Return the existing claims and reservations of these identities, read strongly consistent."""
        keys = [{"event": str(identity)} for identity in identities]
        items = get_items(self.client, self.identity_table, keys, self.workers)
        return {one.identity: one for one in map(claim_or_reservation, items)}

    def hold(self, holds: Sequence[Hold], in_time: Callable[[], bool]) -> list[Claimed | Held | None]:
        """Hold events, no identity twice; return the valid reservations, or the claims of events recorded before.

        ``None`` if the event could not be held in time.
        """

        def hold_one(hold: Hold) -> Claimed | Held:
            return optimistically(lambda: self._hold(hold), "the held event", in_time)

        return self.workers.map(_if_available(hold_one), holds)

    def _hold(self, hold: Hold) -> Claimed | Held:
        request = hold_request((self.identity_table, self.entity_table), hold, clock.now())
        try:
            self.client.transact_write_items(**request)
        except ClientError as error:
            existing = _existing_item(error)
            if not existing:
                raise
            return result_of(claim_or_reservation(existing))
        return Held(hold.reservation)

    def claim_held(
        self, claims: Sequence[Claim], request_id: str, in_time: Callable[[], bool]
    ) -> list[Claimed | Held | None]:
        """Replace the reservations of held events by claims; return the valid claims in the same order.

        The reservation if the event was discarded meanwhile; ``None`` if the claim could not be written.
        """

        def claim_one(claim: Claim) -> Claimed | Held | None:
            if not in_time():
                return None
            request = claim_held_request(self.identity_table, claim, request_id)
            write = conditional_write(lambda: self.client.put_item(**request), _IDENTITY_TABLE)
            if write.applied:
                return Claimed(claim, fresh=True, was_held=True)
            return _found(write.item, request_id, was_held=True) if write.item else None

        return self.workers.map(_if_available(claim_one), claims)

    def forget_held(self, identities: Sequence[Identity]) -> None:
        """Delete the items of held events that are recorded. The watch deletes what this leaves."""

        def forget(identity: Identity) -> None:
            request = forget_request(self.entity_table, identity)
            with_retries(lambda: self.client.delete_item(**request), "the Entity table")

        self.workers.map(_if_available(forget), identities)

    def claim_all_linked(
        self, linked: Sequence[LinkedClaim], request_id: str, in_time: Callable[[], bool]
    ) -> list[Claimed | Lost | None]:
        """Claim linked events of different sales side by side; return the valid claims in the same order.

        ``None`` if the claim could not be written in time.
        """

        def claim(one: LinkedClaim) -> Claimed | Lost | None:
            return self.claim_linked(one, request_id) if in_time() else None

        return self.workers.map(_if_available(claim), linked)

    def claim_linked(self, linked: LinkedClaim, request_id: str) -> Claimed | Lost:
        """Claim an event against its sale; return the valid claim, which is the existing one if there is one."""
        request = linked_request((self.identity_table, self.entity_table), linked, request_id)
        try:
            with_retries(lambda: self.client.transact_write_items(**request), _IDENTITY_TABLE)
        except ClientError as error:
            if not is_cancelled(error):
                raise
            existing = _existing_item(error)
            found = _found(existing, request_id, was_held=linked.was_held) if existing else None
            return found if isinstance(found, Claimed) else Lost()
        return Claimed(linked.claim, fresh=True, was_held=linked.was_held)

    def move(self, moves: Sequence[tuple[Claim, Claim]]) -> list[Claim]:
        """Move claims, given before and after; return those that were moved, as they are now.

        A claim is not moved if another request has moved it or DynamoDB is not available.
        """

        def is_moved(move: tuple[Claim, Claim]) -> bool:
            request = move_request(self.identity_table, *move)
            return conditional_write(lambda: self.client.update_item(**request), _IDENTITY_TABLE).applied

        moved = self.workers.map(_if_available(is_moved), moves)
        return [new for (_, new), is_new in zip(moves, moved, strict=True) if is_new]


def _if_available(call: Callable[[A], R]) -> Callable[[A], R | None]:
    """Return a call that returns ``None`` where DynamoDB is not available."""

    def call_if_available(argument: A) -> R | None:
        try:
            return call(argument)
        except UnavailableError:
            return None

    return call_if_available


def _found(item: Item, request_id: str, *, was_held: bool = False) -> Claimed | Held:
    found = result_of(claim_or_reservation(item))
    # The existing claim is of this same request if DynamoDB's response to its first try was lost.
    if isinstance(found, Claimed) and item["request"]["S"] == request_hash(request_id):
        return Claimed(found.claim, fresh=True, was_held=was_held)
    return found


def _existing_item(error: ClientError) -> Item | None:
    """Return the item for which the condition of a transaction's first write does not hold; ``None`` for others."""
    if not is_cancelled(error):
        return None
    first: Any = error.response["CancellationReasons"][0]
    existing: Item | None = first.get("Item")
    return existing
