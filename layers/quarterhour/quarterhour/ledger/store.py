"""The ledger's calls to DynamoDB, and the builders of their requests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from quarterhour.aws.entity import CHECKPOINT_KEY, SHARDS_KEY
from quarterhour.aws.items import Item, Request, to_item
from quarterhour.aws.retries import is_cancelled, with_retries
from quarterhour.aws.tables import conditional_write, get_items, insert_items, put_items
from quarterhour.aws.workers import Workers
from quarterhour.ledger.linked import LinkedClaim
from quarterhour.ledger.plan import PRIOR, Claim, Claimed, Refundable
from quarterhour.ledger.pricing import Price
from quarterhour.model import money
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Entry = tuple[QuarterHour, dict[str, str]]
"""A bucket's quarter-hour, and the ledger's attributes of an event to append to it."""


def claim_values(claim: Claim, request_id: str) -> dict[str, Any]:
    """Return the Identity table's attributes of a claim."""
    sale = claim.refundable
    return {
        "event": str(claim.identity),
        "quarter_hour": str(claim.partition),
        "position": str(claim.position),
        "digest": claim.digest,
        "commission_rate": money.plain(claim.price.commission_rate),
        "terms": claim.price.origin or None,
        "arithmetic": claim.price.arithmetic or None,
        "request": request_id,
        "expires_at": claim.expires_at,
        "account": str(sale.account) if sale else None,
        "left": money.plain(sale.left) if sale else None,
        "amount": None if claim.amount is None else money.plain(claim.amount),
        "period": str(claim.period) if claim.period else None,
        "prior_period": PRIOR if claim.prior_period else None,
    }


def claim_of(item: Item) -> Claim:
    """Return the claim that an item of the Identity table holds."""
    expires = item.get("expires_at")
    sale = "left" in item
    return Claim(
        Identity.parse(item["event"]["S"]),
        Partition.parse(item["quarter_hour"]["S"]),
        Position.parse(item["position"]["S"]),
        item["digest"]["S"],
        Price(Decimal(item["commission_rate"]["S"]), _text(item, "terms"), _text(item, "arithmetic")),
        int(expires["N"]) if expires else None,
        Refundable(Account.parse(item["account"]["S"]), Decimal(item["left"]["S"])) if sale else None,
        Decimal(item["amount"]["S"]) if "amount" in item else None,
        Period.parse(item["period"]["S"]) if "period" in item else None,
        "prior_period" in item,
    )


def linked_request(table: str, linked: LinkedClaim, request_id: str) -> Request:
    """Build the transaction that claims a linked event and changes the claim of its sale."""
    return {
        "TransactItems": [
            {
                "Put": {
                    "TableName": table,
                    "Item": to_item(claim_values(linked.claim, request_id)),
                    "ConditionExpression": "attribute_not_exists(event)",
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            },
            {
                "Update": {
                    "TableName": table,
                    "Key": {"event": {"S": str(linked.before.identity)}},
                    "UpdateExpression": "SET #left = :after",
                    "ConditionExpression": "#left = :before",
                    "ExpressionAttributeNames": {"#left": "left"},
                    "ExpressionAttributeValues": {
                        ":before": {"S": _left(linked.before)},
                        ":after": {"S": _left(linked.after)},
                    },
                }
            },
        ]
    }


def move_request(table: str, old: Claim, new: Claim) -> Request:
    """Build the UpdateItem that gives a claim another position and period, unless another request has moved it."""
    update = "SET quarter_hour = :partition, #position = :position, #period = :period"
    values = {
        ":partition": str(new.partition),
        ":position": str(new.position),
        ":period": str(new.period),
        ":unmoved": str(old.position),
    }
    if new.prior_period:
        update, values = f"{update}, prior_period = :prior", {**values, ":prior": PRIOR}
    else:
        update += " REMOVE prior_period"
    return {
        "TableName": table,
        "Key": {"event": {"S": str(old.identity)}},
        "UpdateExpression": update,
        "ConditionExpression": "#position = :unmoved",
        "ExpressionAttributeNames": {"#position": "position", "#period": "period"},
        "ExpressionAttributeValues": to_item(values),
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
    """Build the PutItem of the first checkpoint: reports begin after the bucket ``before``. An existing one stays."""
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

    def prepare(self, shards: int, before: QuarterHour) -> None:
        """Write the control items that make reports read every append; call it before a process appends first."""
        shards_ = shards_request(self.entity_table, shards)
        checkpoint = first_checkpoint_request(self.entity_table, before)
        writes = (lambda: self.client.update_item(**shards_)), (lambda: self.client.put_item(**checkpoint))
        self.workers.map(lambda write: conditional_write(write, "the Entity table"), writes)

    def claim(self, claims: Sequence[Claim], request_id: str, in_time: Callable[[], bool]) -> list[Claimed | None]:
        """Claim events, no identity twice; return the valid claims in the same order, existing ones where there are.

        ``None`` if the claim could not be written in time, or if the existing one could not be read.
        """
        items = [to_item(claim_values(claim, request_id)) for claim in claims]
        insertion = insert_items(self.client, self.identity_table, items, self.workers, lambda _: in_time())
        not_inserted = {item["event"]["S"]: None for item in insertion.unwritten} | self._existing(
            [item["event"]["S"] for item in insertion.existing], request_id
        )
        return [not_inserted.get(str(claim.identity), Claimed(claim, fresh=True)) for claim in claims]

    def _existing(self, events: Sequence[str], request_id: str) -> dict[str, Claimed | None]:
        """Return the existing claim of each event; ``None`` if it cannot be read now, or has expired meanwhile."""
        existing: dict[str, Claimed | None] = dict.fromkeys(events)
        try:
            items = get_items(self.client, self.identity_table, [{"event": event} for event in events], self.workers)
        except UnavailableError:
            return existing
        return existing | {item["event"]["S"]: _claimed(item, request_id) for item in items}

    def claims(self, identities: Sequence[Identity]) -> dict[Identity, Claim]:
        """Return the existing claims of these identities, read strongly consistent."""
        keys = [{"event": str(identity)} for identity in identities]
        items = get_items(self.client, self.identity_table, keys, self.workers)
        return {claim.identity: claim for claim in map(claim_of, items)}

    def claim_all_linked(
        self, linked: Sequence[LinkedClaim], request_id: str, in_time: Callable[[], bool]
    ) -> list[Claimed | ClientError | None]:
        """Claim linked events of different sales side by side; return the valid claims in the same order.

        The error if the sale's claim has changed since it was read; ``None`` if the claim could not be written in time.
        """

        def claim(one: LinkedClaim) -> Claimed | ClientError | None:
            try:
                return self.claim_linked(one, request_id) if in_time() else None
            except UnavailableError:
                return None
            except ClientError as error:
                if not is_cancelled(error):
                    raise
                return error

        return self.workers.map(claim, linked)

    def claim_linked(self, linked: LinkedClaim, request_id: str) -> Claimed:
        """Claim an event against its sale; return the valid claim, which is the existing one where there is one.

        Raises botocore's ``ClientError`` if the sale's claim has changed since it was read.
        """
        request = linked_request(self.identity_table, linked, request_id)
        try:
            with_retries(lambda: self.client.transact_write_items(**request), "the Identity table")
        except ClientError as error:
            if not is_cancelled(error):
                raise
            first: Any = error.response["CancellationReasons"][0].get("Item")
            if not first:
                raise
            return _claimed(first, request_id)
        return Claimed(linked.claim, fresh=True)

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

    def posted(self, claims: Sequence[Claim]) -> set[tuple[str, str]]:
        """Return the keys (partition, position) of the claims whose event is in the ledger, strongly consistent."""
        keys = [{"quarter_hour": str(claim.partition), "position": str(claim.position)} for claim in claims]
        items = get_items(self.client, self.ledger_table, keys, self.workers)
        return {_key(item) for item in items}

    def append(self, entries: Sequence[Entry], is_open: Callable[[QuarterHour], bool]) -> set[tuple[str, str]]:
        """Append entries; return the keys of those that are in the ledger now.

        ``is_open`` is checked before each call to DynamoDB, because a late append could take effect after the seal.
        """
        quarter_hours = {values["quarter_hour"]: quarter_hour for quarter_hour, values in entries}
        items = {_key(item): item for item in (_as_item(values) for _, values in entries)}
        unwritten = put_items(
            self.client,
            self.ledger_table,
            list(items.values()),
            self.workers,
            lambda item: is_open(quarter_hours[item["quarter_hour"]["S"]]),
        )
        return items.keys() - {_key(item) for item in unwritten}


def _claimed(item: Item, request_id: str) -> Claimed:
    # The existing claim is of this same request where DynamoDB's response to its first try was lost.
    return Claimed(claim_of(item), fresh=item["request"]["S"] == request_id)


def _left(sale: Claim) -> str:
    if sale.refundable is None:
        raise ValueError(f"{sale.identity} is no sale")
    return money.plain(sale.refundable.left)


def _text(item: Item, name: str) -> str:
    return str(item[name]["S"]) if name in item else ""


def _as_item(values: dict[str, str]) -> Item:
    return {name: {"S": value} for name, value in values.items()}


def _key(item: Item) -> tuple[str, str]:
    return item["quarter_hour"]["S"], item["position"]["S"]
