"""The calls to DynamoDB that append segments and voids and look them up, and the builders of their requests."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from quarterhour.aws.expressions import put_request
from quarterhour.aws.items import Item, Request, to_item
from quarterhour.aws.retries import NETWORK_ERRORS, attempts, is_failed_condition, is_transient
from quarterhour.aws.tables import conditional_write
from quarterhour.aws.telemetry import logger
from quarterhour.aws.workers import Workers
from quarterhour.ledger.keys import CHECKPOINT_KEY, SHARDS_KEY, recorded_key
from quarterhour.ledger.postings.posting import Facts, Posting
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
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.plan import Found, NewSegment
from quarterhour.model.errors import LedgerItemError
from quarterhour.model.identifiers import Identity
from quarterhour.model.quarter_hours import QuarterHour

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MayAppend = Callable[[QuarterHour], bool]
"""A function that returns whether a call that appends to a quarter-hour may be sent now."""


def insert_segment_request(table: str, item: Item) -> Request:
    """Build the PutItem of a segment or a void whose key has no item yet; the existing item is returned if it has."""
    return {
        "TableName": table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(quarter_hour)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


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
class SegmentStore:
    """Reads and writes the Ledger table, and the control items of the Entity table that make reports read it."""

    client: "DynamoDBClient"
    ledger_table: str
    entity_table: str
    workers: Workers
    unarchive: Unarchive = as_stored
    _marked: set[QuarterHour] = field(default_factory=set)

    def prepare(self, shards: int, before: QuarterHour) -> None:
        """Write the control items that make reports read every append; call it before a process appends first."""
        shards_ = shards_request(self.entity_table, shards)
        checkpoint = first_checkpoint_request(self.entity_table, before)
        writes = (lambda: self.client.update_item(**shards_)), (lambda: self.client.put_item(**checkpoint))
        self.workers.map(lambda write: conditional_write(write, "the Entity table"), writes)

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
        quarter_hours = {segment.key.partition.quarter_hour for segment in segments}
        marked = {one for one in quarter_hours if self._mark(one, may_append)}

        def append(segment: NewSegment) -> set[LedgerKey]:
            item = segment_item(segment.key, len(segment.claims), segment.events)
            existing = self._insert(segment.key, item, may_append)
            if existing is item:
                return set(segment.claims)
            identities = (existing and _identities_in(existing)) or {}
            return {key for key, claim in segment.claims.items() if identities.get(key[1]) == claim.identity}

        reported = [one for one in segments if one.key.partition.quarter_hour in marked]
        return {key for keys in self.workers.map(append, reported) for key in keys}

    def _mark(self, quarter_hour: QuarterHour, may_append: MayAppend) -> bool:
        """Mark a quarter-hour before this process first appends to it; return whether it is marked.

        Reports read no other quarter-hour.
        """
        if quarter_hour in self._marked:
            return True
        request = put_request(self.entity_table, recorded_key(quarter_hour))
        for _ in attempts(lambda: may_append(quarter_hour)):
            try:
                self.client.put_item(**request)
            except (ClientError, *NETWORK_ERRORS) as error:
                if not is_transient(error):
                    raise
            else:
                self._marked.add(quarter_hour)
                return True
        return False

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
