"""The calls to DynamoDB that register the lines of orders, so that one of them bears what an order is charged once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quarterhour.aws.items import Request
from quarterhour.aws.retries import attempts
from quarterhour.aws.tables import conditional_write, get_items, insert_items
from quarterhour.aws.workers import Workers
from quarterhour.ledger.events.event import Event
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.order_fees import OrderFees, fees_of, order_item, order_key_of
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Identity

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def put_fees_request(table: str, before: OrderFees | None, after: OrderFees) -> Request:
    """Build the Put of the fees of an order, which must be as they were read."""
    put: Request = {"TableName": table, "Item": order_item(after)}
    if before is None:
        return {**put, "ConditionExpression": "attribute_not_exists(event)"}
    values = {":changes": {"N": str(before.changes)}}
    return {**put, "ConditionExpression": "changes = :changes", "ExpressionAttributeValues": values}


@dataclass(frozen=True, slots=True)
class OrderFeeStore:
    """Reads and writes the fees of orders in the Identity table."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def read(self, keys: Iterable[str]) -> dict[str, OrderFees]:
        """Return the fees of orders that have some, by their keys, read strongly consistent."""
        named = [{"event": key} for key in dict.fromkeys(keys)]
        items = get_items(self.client, self.table, named, self.workers) if named else []
        return {one.key: one for one in map(fees_of, items)}

    def register(
        self, claimed: Sequence[tuple[Claim, Event]], in_time: Callable[[], bool]
    ) -> dict[Identity, frozenset[str]]:
        """Register lines with their orders; return the names of the fees that each bears.

        One conditional write decides that for an order, so every retry gets the same answer. The result lacks lines
        whose order could not be read or written in time.
        """
        by_order: dict[str, list[Claim]] = {}
        for claim, event in claimed:
            if key := order_key_of(event):
                by_order.setdefault(key, []).append(claim)
        found: dict[Identity, frozenset[str]] = {}
        try:
            for _ in attempts(in_time):
                if not by_order:
                    break
                for key, fees in self._attempt(by_order).items():
                    found |= {claim.identity: fees.owned_by(claim.identity) for claim in by_order.pop(key)}
        except UnavailableError:
            pass
        return found

    def _attempt(self, by_order: Mapping[str, Sequence[Claim]]) -> dict[str, OrderFees]:
        """Return the fees of orders with their lines, as far as no other writer has changed them meanwhile."""
        before = self.read(by_order)
        after = {key: _with_lines(before.get(key), key, claims) for key, claims in by_order.items()}
        new = [order_item(fees) for key, fees in after.items() if key not in before]
        insertion = insert_items(self.client, self.table, new, self.workers) if new else None
        lost = {item["event"]["S"] for item in (*insertion.existing, *insertion.unwritten)} if insertion else set()
        changed = [(before[key], fees) for key, fees in after.items() if key in before and fees != before[key]]
        written = self.workers.map(self._put, changed)
        lost |= {fees.key for (_, fees), is_written in zip(changed, written, strict=True) if not is_written}
        return {key: fees for key, fees in after.items() if key not in lost}

    def _put(self, change: tuple[OrderFees, OrderFees]) -> bool:
        request = put_fees_request(self.table, *change)
        return conditional_write(lambda: self.client.put_item(**request), "the Identity table").applied


def _with_lines(fees: OrderFees | None, key: str, claims: Sequence[Claim]) -> OrderFees:
    found = fees or OrderFees.of(key, claims[0].expires_at)
    for claim in claims:
        found = found.with_line(claim.identity, claim.terms.order_fees)
    return found
