"""The ledger's calls to DynamoDB, and the requests they make."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from quarterhour import aws, control, money
from quarterhour.aws import Item, Request
from quarterhour.errors import UnavailableError
from quarterhour.ledger.keys import Account, Identity, Partition, Position
from quarterhour.ledger.pricing import Price
from quarterhour.ledger.recording import Claim, Claimed, Refundable
from quarterhour.ledger.refunds import LinkedRefund
from quarterhour.quarters import Quarter

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Entry = tuple[Quarter, dict[str, str]]
"""A bucket, and the ledger's attributes of an event that goes there."""


def claim_values(claim: Claim, request_id: str) -> dict[str, Any]:
    """Return the Identity table's attributes of a claim."""
    sale = claim.refundable
    return {
        "event": str(claim.identity),
        "quarter_hour": str(claim.partition),
        "position": str(claim.position),
        "digest": claim.digest,
        "commission_rate": money.plain(claim.price.rate),
        "terms": claim.price.terms or None,
        "arithmetic": claim.price.arithmetic or None,
        "request": request_id,
        "expires_at": claim.expires_at,
        "account": str(sale.account) if sale else None,
        "left": money.plain(sale.left) if sale else None,
        "amount": None if claim.amount is None else money.plain(claim.amount),
    }


def claim_of(item: Item) -> Claim:
    """Read a claim from its item."""
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
    )


def claim_request(table: str, claim: Claim, request_id: str) -> Request:
    """Build the PutItem that claims an event for the first time, and tells of the claim that stands if it is not."""
    return {
        "TableName": table,
        "Item": aws.to_item(claim_values(claim, request_id)),
        "ConditionExpression": "attribute_not_exists(event)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def refund_request(table: str, refund: LinkedRefund, request_id: str) -> Request:
    """Build the transaction that claims a refund and takes it off what is left of its sale, or does neither."""
    return {
        "TransactItems": [
            {"Put": claim_request(table, refund.claim, request_id)},
            {
                "Update": {
                    "TableName": table,
                    "Key": {"event": {"S": str(refund.sale.identity)}},
                    "UpdateExpression": "SET #left = :after",
                    "ConditionExpression": "#left = :before",
                    "ExpressionAttributeNames": {"#left": "left"},
                    "ExpressionAttributeValues": {
                        ":before": {"S": money.plain(refund.before)},
                        ":after": {"S": money.plain(refund.after)},
                    },
                }
            },
        ]
    }


def move_request(table: str, old: Claim, new: Claim) -> Request:
    """Build the UpdateItem that moves a claim to another position, unless somebody else has moved it."""
    return {
        "TableName": table,
        "Key": {"event": {"S": str(old.identity)}},
        "UpdateExpression": "SET quarter_hour = :partition, #position = :position",
        "ConditionExpression": "#position = :unmoved",
        "ExpressionAttributeNames": {"#position": "position"},
        "ExpressionAttributeValues": {
            ":partition": {"S": str(new.partition)},
            ":position": {"S": str(new.position)},
            ":unmoved": {"S": str(old.position)},
        },
    }


def shards_request(table: str, shards: int) -> Request:
    """Build the UpdateItem that raises the highest number of shards ever used, and never lowers it."""
    return {
        "TableName": table,
        "Key": aws.to_item(dict(control.SHARDS)),
        "UpdateExpression": "SET shards = :shards",
        "ConditionExpression": "attribute_not_exists(shards) OR shards < :shards",
        "ExpressionAttributeValues": {":shards": {"N": str(shards)}},
    }


def first_checkpoint_request(table: str, before: Quarter) -> Request:
    """Build the PutItem that starts the reports after the given bucket, unless they have started."""
    return {
        "TableName": table,
        "Item": aws.to_item({**control.CHECKPOINT, "sealed_through": str(before)}),
        "ConditionExpression": "attribute_not_exists(pk)",
    }


def append_request(table: str, items: Sequence[Item]) -> Request:
    """Build the BatchWriteItem that appends up to 25 items; repeating it writes the same bytes again."""
    return {"RequestItems": {table: [{"PutRequest": {"Item": item}} for item in items]}}


@dataclass(frozen=True, slots=True)
class LedgerStore:
    """The ledger's tables."""

    client: "DynamoDBClient"
    identity_table: str
    ledger_table: str
    entity_table: str
    workers: aws.Workers

    def prepare(self, shards: int, before: Quarter) -> None:
        """Make sure, before the first append of a process, that the reports will read it."""
        for request, call in (
            (shards_request(self.entity_table, shards), self.client.update_item),
            (first_checkpoint_request(self.entity_table, before), self.client.put_item),
        ):
            self._unless_failed(lambda call=call, request=request: call(**request))

    def claim(self, claims: Sequence[Claim], request_id: str, in_time: Callable[[], bool]) -> list[Claimed | None]:
        """Claim each, and return what stands then, in their order; ``None`` where DynamoDB or time was lacking."""
        return self.workers.map(lambda claim: self._claim(claim, request_id) if in_time() else None, claims)

    def _claim(self, claim: Claim, request_id: str) -> Claimed | None:
        request = claim_request(self.identity_table, claim, request_id)
        try:
            aws.persist(lambda: self.client.put_item(**request), "the Identity table")
        except UnavailableError:
            return None
        except ClientError as error:
            if not aws.is_failed_condition(error):
                raise
            return _claimed_before(error.response["Item"], request_id)  # type: ignore[typeddict-item]
        return Claimed(claim, fresh=True)

    def claims(self, identities: Sequence[Identity]) -> dict[Identity, Claim]:
        """Return the claims that stand for these identities, strongly consistent."""
        keys = [{"event": str(identity)} for identity in identities]
        items = aws.get_items(self.client, self.identity_table, keys, self.workers)
        return {claim.identity: claim for claim in map(claim_of, items)}

    def claim_refund(self, refund: LinkedRefund, request_id: str) -> Claimed | None:
        """Claim a refund against its sale; ``None`` where sale or refund changed meanwhile, so read them again."""
        request = refund_request(self.identity_table, refund, request_id)
        try:
            aws.persist(lambda: self.client.transact_write_items(**request), "the Identity table")
        except ClientError as error:
            if not aws.is_cancelled(error):
                raise
            standing: Any = error.response["CancellationReasons"][0].get("Item")
            return _claimed_before(standing, request_id) if standing else None
        return Claimed(refund.claim, fresh=True)

    def move(self, old: Claim, new: Claim) -> bool:
        """Move a claim; ``False`` where somebody else has moved it, or DynamoDB was not available."""
        try:
            return self._unless_failed(lambda: self.client.update_item(**move_request(self.identity_table, old, new)))
        except UnavailableError:
            return False

    def standing(self, claims: Sequence[Claim]) -> set[tuple[str, str]]:
        """Return the keys (partition, position) of those claims whose event is in the ledger, strongly consistent."""
        keys = [{"quarter_hour": str(claim.partition), "position": str(claim.position)} for claim in claims]
        items = aws.get_items(self.client, self.ledger_table, keys, self.workers)
        return {_key(item) for item in items}

    def append(self, entries: Sequence[Entry], is_open: Callable[[Quarter], bool]) -> set[tuple[str, str]]:
        """Append entries and return the keys of those that are in the ledger now.

        Asks before each call whether the bucket still takes appends: one issued too late could land behind a seal.
        """
        appended = self.workers.map(
            lambda some: self._append(some, is_open), list(aws.chunks(entries, aws.BATCH_WRITE))
        )
        return set().union(*appended)

    def _append(self, entries: Sequence[Entry], is_open: Callable[[Quarter], bool]) -> set[tuple[str, str]]:
        pending = {_key(item): (quarter, item) for quarter, item in ((q, _as_item(values)) for q, values in entries)}
        appended: set[tuple[str, str]] = set()
        for attempt in range(aws.ATTEMPTS):
            if attempt:
                aws.pause(attempt)
            pending = {key: (quarter, item) for key, (quarter, item) in pending.items() if is_open(quarter)}
            if not pending:
                break
            try:
                answer = self.client.batch_write_item(
                    **append_request(self.ledger_table, [i for _, i in pending.values()])
                )
            except (ClientError, *aws.NETWORK_ERRORS) as error:
                if not aws.is_transient(error):
                    raise
                continue
            left = {
                _key(request["PutRequest"]["Item"]) for request in answer["UnprocessedItems"].get(self.ledger_table, [])
            }
            appended |= pending.keys() - left
            pending = {key: pending[key] for key in left}
        return appended

    @staticmethod
    def _unless_failed(call: Any) -> bool:  # noqa: ANN401
        try:
            aws.persist(call, "DynamoDB")
        except ClientError as error:
            if not aws.is_failed_condition(error):
                raise
            return False
        return True


def _claimed_before(standing: Item, request_id: str) -> Claimed:
    # A claim of this very request stands where the answer to its first try was lost.
    return Claimed(claim_of(standing), fresh=standing["request"]["S"] == request_id)


def _text(item: Item, name: str) -> str:
    return str(item[name]["S"]) if name in item else ""


def _as_item(values: dict[str, str]) -> Item:
    return {name: {"S": value} for name, value in values.items()}


def _key(item: Item) -> tuple[str, str]:
    return item["quarter_hour"]["S"], item["position"]["S"]
