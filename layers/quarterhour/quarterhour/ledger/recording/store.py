"""The ledger's calls to DynamoDB, and the builders of their requests."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from quarterhour.aws.items import Item, Request, to_item
from quarterhour.aws.retries import (
    NETWORK_ERRORS,
    attempts,
    is_cancelled,
    is_failed_condition,
    is_transient,
    optimistically,
    with_retries,
)
from quarterhour.aws.tables import conditional_write, get_items, insert_items
from quarterhour.aws.telemetry import logger
from quarterhour.aws.workers import Workers
from quarterhour.ledger.events.event import APPROVED_BY, RECORDED_BY
from quarterhour.ledger.keys import CHECKPOINT_KEY, SHARDS_KEY, held_key, linked_values
from quarterhour.ledger.postings.posting import PRIOR, TAX_POINT, UNREGISTERED, Facts, Posting
from quarterhour.ledger.postings.reading import Unarchive, as_stored, read_items
from quarterhour.ledger.postings.segments import (
    LedgerKey,
    PostingValues,
    SegmentKey,
    identity_of,
    key_of,
    place,
    postings_of,
    segment_item,
    void_item,
)
from quarterhour.ledger.recording.claims import Claim, Claimed, Refundable
from quarterhour.ledger.recording.held_event import Held, HeldEvent, HeldReason, Hold, Reservation, held_values
from quarterhour.ledger.recording.linked import LinkedClaim, Lost
from quarterhour.ledger.recording.outcomes import result_of
from quarterhour.ledger.recording.plan import Found, NewSegment
from quarterhour.ledger.recording.pricing import CommissionTerms
from quarterhour.model import clock, money
from quarterhour.model.errors import LedgerItemError, UnavailableError
from quarterhour.model.identifiers import Account, Identity, Partition, Position, position_suffix
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_RERATED: Final = ("rerated_rate", "rerated_terms", "rerated_arithmetic")
"""The attributes of a claim that hold its terms by the last re-rating."""
_CHANGING: Final = ("left", "voided", *_RERATED)
"""The attributes of a claim that linked events change."""
MayAppend = Callable[[QuarterHour], bool]
"""A function that returns whether a call that appends to a quarter-hour may be sent now."""


def claim_values(claim: Claim, request_id: str) -> dict[str, Any]:
    """Return the Identity table's attributes of a claim."""
    sale, rerated = claim.refundable, claim.rerated
    return {
        "event": str(claim.identity),
        "quarter_hour": str(claim.partition),
        "position": str(claim.position),
        "digest": claim.digest,
        "commission_rate": money.plain(claim.terms.commission_rate),
        "terms": claim.terms.origin or None,
        "arithmetic": claim.terms.arithmetic or None,
        "request": request_hash(request_id),
        "expires_at": claim.expires_at,
        "account": str(sale.account) if sale else None,
        "left": money.plain(sale.left) if sale else None,
        "voided": str(sale.voided) if sale and sale.voided else None,
        "amount": None if claim.amount is None else money.plain(claim.amount),
        "period": str(claim.period),
        "prior_period": PRIOR if claim.prior_period else None,
        "unlinked": claim.unlinked or None,
        "unregistered": UNREGISTERED if claim.terms.unregistered else None,
        "rerated_rate": money.plain(rerated.commission_rate) if rerated else None,
        "rerated_terms": rerated.origin if rerated else None,
        "rerated_arithmetic": rerated.arithmetic or None if rerated else None,
        "attributes": claim.attributes,
        RECORDED_BY: claim.recorded_by,
        APPROVED_BY: claim.approved_by,
        TAX_POINT: _stored_tax_point(claim),
        "category": claim.category,
        "kind": claim.kind,
    }


def _stored_tax_point(claim: Claim) -> str | None:
    """Return the tax point as the claim stores it; ``None`` if it is the UTC date of ``recorded_at``, as it mostly is.

    Each byte of a claim is stored for ever.
    """
    return None if claim.tax_point == claim.position.recorded_at.date() else claim.tax_point.isoformat()


def _tax_point(item: Item, position: Position) -> date:
    text = _text(item, TAX_POINT)
    return date.fromisoformat(text) if text else position.recorded_at.date()


@lru_cache(maxsize=16)
def request_hash(request_id: str) -> str:
    """Return what a claim keeps of the id of the request that made it: 16 characters of its hash."""
    return position_suffix(sha256(request_id.encode()).digest())


def claim_of(item: Item) -> Claim:
    """Return the claim that an item of the Identity table holds."""
    expires = item.get("expires_at")
    position = Position.parse(item["position"]["S"])
    return Claim(
        Identity.parse(item["event"]["S"]),
        Partition.parse(item["quarter_hour"]["S"]),
        position,
        item["digest"]["S"],
        CommissionTerms(
            Decimal(item["commission_rate"]["S"]),
            _text(item, "terms"),
            _text(item, "arithmetic"),
            "unregistered" in item,
        ),
        int(expires["N"]) if expires else None,
        Period.parse(item["period"]["S"]),
        _tax_point(item, position),
        _refundable(item) if "left" in item else None,
        Decimal(item["amount"]["S"]) if "amount" in item else None,
        "prior_period" in item,
        "unlinked" in item,
        rerated_terms(item),
        _text(item, "attributes") or None,
        _text(item, RECORDED_BY) or None,
        item["category"]["S"] if "category" in item else None,
        item["kind"]["S"] if "kind" in item else None,
        _text(item, APPROVED_BY) or None,
    )


def rerated_terms(item: Item) -> CommissionTerms | None:
    """Return the terms by the last re-rating that a claim's item holds; ``None`` if there was none."""
    commission_rate, origin, arithmetic = (_text(item, name) for name in _RERATED)
    return CommissionTerms(Decimal(commission_rate), origin, arithmetic) if commission_rate else None


def _refundable(item: Item) -> Refundable:
    voided = Identity.parse(item["voided"]["S"]) if "voided" in item else None
    return Refundable(Account.parse(item["account"]["S"]), Decimal(item["left"]["S"]), voided)


def reservation_values(reservation: Reservation) -> dict[str, Any]:
    """Return the Identity table's attributes of a reservation."""
    return {
        "event": str(reservation.identity),
        "digest": reservation.digest,
        "type": reservation.type,
        "refers_to": str(reservation.refers_to) if reservation.refers_to else None,
        "held": reservation.reason.value,
        "discarded": reservation.discarded,
    }


def is_reservation(item: Item) -> bool:
    """Return whether an item of the Identity table is of an event that is held or was discarded, not of a claim."""
    return "held" in item


def claim_or_reservation(item: Item) -> Claim | Reservation:
    """Return what an item of the Identity table holds."""
    if not is_reservation(item):
        return claim_of(item)
    return Reservation(
        Identity.parse(item["event"]["S"]),
        item["digest"]["S"],
        item["type"]["S"],
        HeldReason(item["held"]["S"]),
        Identity.parse(item["refers_to"]["S"]) if "refers_to" in item else None,
        item["discarded"]["S"] if "discarded" in item else None,
    )


def hold_request(tables: tuple[str, str], hold: Hold, now: datetime) -> Request:
    """Build the transaction that reserves the identity of an event and keeps its content.

    ``tables``: the Identity and the Entity table.
    """
    identity_table, entity_table = tables
    return {
        "TransactItems": [
            {"Put": _insert_request(identity_table, reservation_values(hold.reservation))},
            {"Put": {"TableName": entity_table, "Item": to_item(held_values(HeldEvent.of(hold, now)))}},
        ]
    }


def _insert_request(table: str, values: dict[str, Any]) -> Request:
    """Build the Put of a claim or reservation of an identity that has none."""
    return {
        "TableName": table,
        "Item": to_item(values),
        "ConditionExpression": "attribute_not_exists(event)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def claim_held_request(table: str, claim: Claim, request_id: str) -> Request:
    """Build the PutItem that replaces the reservation of a held event by its claim."""
    return {
        "TableName": table,
        "Item": to_item(claim_values(claim, request_id)),
        "ConditionExpression": (
            "attribute_exists(held) AND begins_with(digest, :digest) AND attribute_not_exists(discarded)"
        ),
        "ExpressionAttributeValues": {":digest": {"S": claim.digest}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def linked_request(tables: tuple[str, str], linked: LinkedClaim, request_id: str) -> Request:
    """Build the transaction that claims a linked event, lists it with its sale, and changes the sale's claim if needed.

    The claim of the sale must still be as it was read. ``tables``: the Identity and the Entity table.
    """
    identity_table, entity_table = tables
    sale, event = linked.before.identity, linked.claim.identity
    claim = (
        claim_held_request(identity_table, linked.claim, request_id)
        if linked.was_held
        else _insert_request(identity_table, claim_values(linked.claim, request_id))
    )
    refundable = linked.after.refundable
    listed_values = linked_values(sale, event, refundable.left if refundable else None)
    listed = {
        "TableName": entity_table,
        "Item": to_item({**listed_values, "expires_at": linked.claim.expires_at}),
    }
    before, after = _changing(linked.before), _changing(linked.after)
    change = [] if before == after else [{"Update": _change_request(identity_table, sale, before, after)}]
    return {"TransactItems": [{"Put": claim}, {"Put": listed}, *change]}


def _changing(sale: Claim) -> dict[str, str]:
    """Return the attributes of a claim that linked events change, as they are."""
    values = claim_values(sale, "")
    return {name: values[name] for name in _CHANGING if values[name] is not None}


def _change_request(table: str, sale: Identity, before: Mapping[str, str], after: Mapping[str, str]) -> Request:
    """Build the update of a claim from the attributes before it to those after it."""
    names = {f"#{name}": name for name in _CHANGING}
    update = "SET " + ", ".join(f"#{name} = :{name}" for name in after)
    if removed := before.keys() - after.keys():
        update += " REMOVE " + ", ".join(f"#{name}" for name in sorted(removed))
    kept = [f"#{name} = :old_{name}" if name in before else f"attribute_not_exists(#{name})" for name in _CHANGING]
    values = {f":{name}": value for name, value in after.items()} | {
        f":old_{name}": value for name, value in before.items()
    }
    return {
        "TableName": table,
        "Key": {"event": {"S": str(sale)}},
        "UpdateExpression": update,
        # The claim must exist: it may have expired since it was read.
        "ConditionExpression": " AND ".join(["attribute_exists(event)", *kept]),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": to_item(values),
    }


def move_request(table: str, old: Claim, new: Claim) -> Request:
    """Build the UpdateItem that gives a claim another position, period, tax point and expiry.

    Nothing is written if another request has moved it.
    """
    update = "SET quarter_hour = :partition, #position = :position, #period = :period"
    values: dict[str, str | int] = {
        ":partition": str(new.partition),
        ":position": str(new.position),
        ":period": str(new.period),
        ":unmoved": str(old.position),
    }
    more = {
        "prior_period": PRIOR if new.prior_period else None,
        "expires_at": new.expires_at,
        TAX_POINT: _stored_tax_point(new),
    }
    update += "".join(f", {name} = :{name}" for name, value in more.items() if value is not None)
    if removed := [name for name, value in more.items() if value is None]:
        update += " REMOVE " + ", ".join(removed)
    values |= {f":{name}": value for name, value in more.items() if value is not None}
    return {
        "TableName": table,
        "Key": {"event": {"S": str(old.identity)}},
        "UpdateExpression": update,
        "ConditionExpression": "#position = :unmoved",
        "ExpressionAttributeNames": {"#position": "position", "#period": "period"},
        "ExpressionAttributeValues": to_item(values),
    }


def insert_segment_request(table: str, item: Item) -> Request:
    """Build the PutItem of a segment or a void whose key has no item yet; the existing item is returned if it has."""
    return {
        "TableName": table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(quarter_hour)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def forget_request(table: str, identity: Identity) -> Request:
    """Build the DeleteItem of the item of a held event."""
    return {"TableName": table, "Key": to_item(held_key(identity))}


def shards_request(table: str, shards: int) -> Request:
    """Build the UpdateItem that raises the highest number of shards ever used; it never lowers the number."""
    return {
        "TableName": table,
        "Key": to_item(dict(SHARDS_KEY)),
        "UpdateExpression": "SET shards = :shards",
        "ConditionExpression": "attribute_not_exists(shards) OR shards < :shards",
        "ExpressionAttributeValues": {":shards": {"N": str(shards)}},
    }


def first_checkpoint_request(table: str, before: QuarterHour) -> Request:
    """Build the PutItem of the first checkpoint, if there is none: reports begin after the quarter-hour ``before``."""
    return {
        "TableName": table,
        "Item": to_item({**CHECKPOINT_KEY, "sealed_through": str(before)}),
        "ConditionExpression": "attribute_not_exists(pk)",
    }


@dataclass(frozen=True, slots=True)
class LedgerStore:
    """Reads and writes the Identity and the Ledger table, and the control items of the Entity table."""

    client: "DynamoDBClient"
    identity_table: str
    ledger_table: str
    entity_table: str
    workers: Workers
    unarchive: Unarchive = as_stored

    def prepare(self, shards: int, before: QuarterHour) -> None:
        """Write the control items that make reports read every append; call it before a process appends first."""
        shards_ = shards_request(self.entity_table, shards)
        checkpoint = first_checkpoint_request(self.entity_table, before)
        writes = (lambda: self.client.update_item(**shards_)), (lambda: self.client.put_item(**checkpoint))
        self.workers.map(lambda write: conditional_write(write, "the Entity table"), writes)

    def claim(
        self, claims: Sequence[Claim], request_id: str, in_time: Callable[[], bool]
    ) -> list[Claimed | Held | None]:
        """Claim events, no identity twice; return the valid claims in the same order, existing ones if there are any.

        The reservation if the identity is that of a held event. ``None`` if the claim could not be written in time, or
        if the existing one could not be read.
        """
        items = [to_item(claim_values(claim, request_id)) for claim in claims]
        insertion = insert_items(self.client, self.identity_table, items, self.workers, lambda _: in_time())
        not_inserted = {item["event"]["S"]: None for item in insertion.unwritten} | self._existing(
            [item["event"]["S"] for item in insertion.existing], request_id
        )
        return [not_inserted.get(str(claim.identity), Claimed(claim, fresh=True)) for claim in claims]

    def _existing(self, events: Sequence[str], request_id: str) -> dict[str, Claimed | Held | None]:
        """Return the existing claim or reservation of each event; ``None`` if it cannot be read now, or has expired."""
        existing: dict[str, Claimed | Held | None] = dict.fromkeys(events)
        try:
            items = get_items(self.client, self.identity_table, [{"event": event} for event in events], self.workers)
        except UnavailableError:
            return existing
        return existing | {item["event"]["S"]: _found(item, request_id) for item in items}

    def claims(self, identities: Sequence[Identity]) -> dict[Identity, Claim | Reservation]:
        """Return the existing claims and reservations of these identities, read strongly consistent."""
        keys = [{"event": str(identity)} for identity in identities]
        items = get_items(self.client, self.identity_table, keys, self.workers)
        return {one.identity: one for one in map(claim_or_reservation, items)}

    def hold(self, holds: Sequence[Hold], in_time: Callable[[], bool]) -> list[Claimed | Held | None]:
        """Hold events, no identity twice; return the valid reservations, or the claims of events recorded before.

        ``None`` if the event could not be held in time.
        """

        def hold_one(hold: Hold) -> Claimed | Held | None:
            try:
                return optimistically(lambda: self._hold(hold), "the held event", in_time)
            except UnavailableError:
                return None

        return self.workers.map(hold_one, holds)

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
            request = claim_held_request(self.identity_table, claim, request_id)
            if not in_time():
                return None
            try:
                write = conditional_write(lambda: self.client.put_item(**request), "the Identity table")
            except UnavailableError:
                return None
            if write.applied:
                return Claimed(claim, fresh=True, was_held=True)
            return _found(write.item, request_id, was_held=True) if write.item else None

        return self.workers.map(claim_one, claims)

    def forget_held(self, identities: Sequence[Identity]) -> None:
        """Delete the items of held events that are recorded. The watch deletes what this leaves."""

        def forget(identity: Identity) -> None:
            request = forget_request(self.entity_table, identity)
            with suppress(UnavailableError):
                with_retries(lambda: self.client.delete_item(**request), "the Entity table")

        self.workers.map(forget, identities)

    def claim_all_linked(
        self, linked: Sequence[LinkedClaim], request_id: str, in_time: Callable[[], bool]
    ) -> list[Claimed | Lost | None]:
        """Claim linked events of different sales side by side; return the valid claims in the same order.

        ``None`` if the claim could not be written in time.
        """

        def claim(one: LinkedClaim) -> Claimed | Lost | None:
            try:
                return self.claim_linked(one, request_id) if in_time() else None
            except UnavailableError:
                return None

        return self.workers.map(claim, linked)

    def claim_linked(self, linked: LinkedClaim, request_id: str) -> Claimed | Lost:
        """Claim an event against its sale; return the valid claim, which is the existing one if there is one."""
        request = linked_request((self.identity_table, self.entity_table), linked, request_id)
        try:
            with_retries(lambda: self.client.transact_write_items(**request), "the Identity table")
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
            try:
                return conditional_write(lambda: self.client.update_item(**request), "the Identity table").applied
            except UnavailableError:
                return False

        return [new for (_, new), moved in zip(moves, self.workers.map(is_moved, moves), strict=True) if moved]

    def look_up(self, claims: Sequence[Claim]) -> Found:
        """Return what the ledger holds at the positions of claims, read strongly consistent."""
        items = self._read({claim.key for claim in claims})
        return _found_in(items, claims)

    def postings(self, claims: Sequence[Claim]) -> dict[Identity, Facts]:
        """Return the facts of the claimed events that are in the ledger, read strongly consistent.

        Of an item that cannot be read, and of values that are not those of a posting, they are missing, as if the
        events were not there yet.
        """
        keys = {claim.key: claim.identity for claim in claims}
        items = self._read(keys)
        found = (posting for item in items for posting in _readable(item) or ())
        named = (one for one in found if keys.get(key_of(one)) == identity_of(one))
        return {keys[key_of(one)]: one for one in named if _is_whole(one)}

    def _read(self, keys: Collection[LedgerKey]) -> Sequence[Item]:
        return read_items(self.client, self.ledger_table, keys, self.workers, self.unarchive)

    def append(self, segments: Sequence[NewSegment], may_append: MayAppend) -> set[LedgerKey]:
        """Append segments, side by side; return the keys of those of their postings that are in the ledger now.

        A segment that cannot be appended now is left out, and so is one whose key a void has. ``may_append`` is called
        for its quarter-hour before each call to DynamoDB, because a late append could take effect after the seal.
        """

        def append(segment: NewSegment) -> set[LedgerKey]:
            item = segment_item(segment.key, len(segment.claims), segment.events)
            existing = self._insert(segment.key, item, may_append)
            if existing is item:
                return set(segment.claims)
            identities = (existing and _identities_in(existing)) or {}
            return {key for key, claim in segment.claims.items() if identities.get(key[1]) == claim.identity}

        return {key for keys in self.workers.map(append, segments) for key in keys}

    def fence(self, claims: Sequence[Claim], may_append: MayAppend) -> Found:
        """Put a void under the key of each segment that is absent, and return what the ledger holds after it.

        No other writer can append such a segment then. ``may_append`` as in ``append``. A claim stays absent if its
        void could not be put now.
        """
        keys = list(dict.fromkeys(claim.segment for claim in claims))
        items = self.workers.map(lambda key: self._insert(key, void_item(key), may_append), keys)
        return _found_in([item for item in items if item], claims)

    def _insert(self, key: SegmentKey, item: Item, may_append: MayAppend) -> Item | None:
        """Put an item of the ledger whose key has none; return the item of that key now, ``None`` if it is unknown."""
        request = insert_segment_request(self.ledger_table, item)
        for _ in attempts(lambda: may_append(key.partition.quarter_hour)):
            try:
                self.client.put_item(**request)
            except (ClientError, *NETWORK_ERRORS) as error:
                if is_failed_condition(error):
                    failed: Any = error
                    existing: Item = failed.response["Item"]
                    return existing
                if not is_transient(error):
                    raise
            else:
                return item
        return None


def _found_in(items: Iterable[Item], claims: Iterable[Claim]) -> Found:
    """Return which claims have their event in the items of their positions."""
    identities = {(item["quarter_hour"]["S"], item["position"]["S"]): _identities_in(item) for item in items}
    found = Found([], [], [])
    for claim in claims:
        key = str(claim.partition), str(claim.position.of_item)
        if key not in identities:
            found.absent.append(claim)
        elif (held := identities[key]) is not None:
            posted = held.get(str(claim.position)) == claim.identity
            (found.posted if posted else found.passed_over).append(claim)
    return found


def _identities_in(item: Item) -> dict[str, Identity] | None:
    """Return the identity of each posting of a ledger item by its position; ``None`` if it cannot be read."""
    postings = _readable(item)
    return None if postings is None else {posting["position"]: identity_of(posting) for posting in postings}


def _readable(item: Item) -> list[PostingValues] | None:
    """Return the postings of a ledger item; log that it cannot be read, and return ``None``.

    Nothing is known about its events, so they wait: none is appended twice, and none is called recorded.
    """
    try:
        return postings_of(item)
    except LedgerItemError:
        logger.error("a ledger item cannot be read, its events are unavailable", place=place(item))
        return None


def _is_whole(values: PostingValues) -> bool:
    """Return whether values are those of a posting; log if they are not."""
    try:
        Posting.of(values)
    except ValueError:
        logger.error("a posting lacks values, its corrections are unavailable", place=" ".join(key_of(values)))
        return False
    return True


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


def _text(item: Item, name: str) -> str:
    return str(item[name]["S"]) if name in item else ""
