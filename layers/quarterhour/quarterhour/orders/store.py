"""The orders' calls to DynamoDB, and the requests they make."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import Values
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.tables import conditional_write, put_items, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.orders.keys import ITEMS, header_key, order_pk
from quarterhour.orders.plan import WRITING, OrderHeader, StatusChange, committed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE = "the Entity table"


def claim_request(table: str, claim: Values) -> Request:
    """Build the PutItem that claims an order, and tells of the header that stands if it is claimed already."""
    return {
        "TableName": table,
        "Item": to_item(claim),
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def commit_request(table: str, order: str, commit: Values) -> Request:
    """Build the UpdateItem that shows an order whose items all stand, unless it is shown already."""
    names = {f"#{name}": name for name in commit}
    values = {f":{name}": value for name, value in commit.items()}
    return {
        "TableName": table,
        "Key": to_item(dict(header_key(order))),
        "UpdateExpression": "SET " + ", ".join(f"#{name} = :{name}" for name in commit),
        "ConditionExpression": "#status = :writing",
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": to_item({**values, ":writing": WRITING}),
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def status_request(table: str, order: str, change: StatusChange, at: str) -> Request:
    """Build the UpdateItem that takes an order from one status to another, if it is in the first."""
    queue = change.queue(order)
    entry = {":after": change.after, ":before": change.before, ":entry": [{"status": change.after, "at": at}]}
    return {
        "TableName": table,
        "Key": to_item(dict(header_key(order))),
        "UpdateExpression": "SET #status = :after, history = list_append(history, :entry)"
        + (", gsi2pk = :queue" if queue else " REMOVE gsi2pk, gsi2sk"),
        "ConditionExpression": "#status = :before",
        "ExpressionAttributeNames": {"#status": "status"},
        "ExpressionAttributeValues": to_item({**entry, **({":queue": queue} if queue else {})}),
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def items_request(table: str, order: str) -> Request:
    """Build the Query for all items of an order, strongly consistent."""
    return {
        "TableName": table,
        "KeyConditionExpression": "pk = :order AND begins_with(sk, :items)",
        "ExpressionAttributeValues": {":order": {"S": order_pk(order)}, ":items": {"S": ITEMS}},
        "ConsistentRead": True,
    }


@dataclass(frozen=True, slots=True)
class HeaderWrite:
    """The outcome of a conditional write of a header: whether it was applied, and the header after it.

    ``header`` is ``None`` where there is no such order.
    """

    header: OrderHeader | None
    applied: bool


@dataclass(frozen=True, slots=True)
class OrderStore:
    """The orders in the Entity table. ``once`` is a client that sends each call once: it commits the orders."""

    client: "DynamoDBClient"
    once: "DynamoDBClient"
    table: str
    workers: Workers

    def claim(self, claim: OrderHeader) -> HeaderWrite:
        """Write the claim of an order, unless it is claimed already."""
        request = claim_request(self.table, claim.values())
        write = self._write(lambda: self.client.put_item(**request))
        return HeaderWrite(claim, applied=True) if write.applied else write

    def items(self, order: str) -> list[Values]:
        """Return the items of an order that are in the table, in the order of their lines."""
        # One worker: orders are read side by side by these very workers, which would wait for each other.
        pages = query_pages(self.client, items_request(self.table, order), Workers(1))
        return [from_item(item) for items in pages for item in items]

    def write(self, items: Iterable[Values], in_time: Callable[[], bool]) -> None:
        """Write items; raise ``UnavailableError`` where some could not be written in time."""
        wanted = [to_item(item) for item in items]
        if put_items(self.client, self.table, wanted, self.workers, lambda _: in_time()):
            raise UnavailableError(f"{_TABLE} did not take all items in time")

    def commit(self, header: OrderHeader, in_time: Callable[[], bool]) -> HeaderWrite:
        """Make an order complete, unless it is already; the call is repeated for as long as there is time."""
        # Each try carries its own instant, and is short: listings rely on a commit taking effect soon after its
        # instant, or never.
        return self._write(
            lambda: self.once.update_item(**commit_request(self.table, header.order, committed(header, clock.now()))),
            in_time,
        )

    def change_status(self, order: str, change: StatusChange, at: str) -> HeaderWrite:
        """Change an order's status if it is the one that the change begins with."""
        request = status_request(self.table, order, change, at)
        return self._write(lambda: self.client.update_item(**request))

    @staticmethod
    def _write(call: Callable[[], Any], in_time: Callable[[], bool] | None = None) -> HeaderWrite:
        write = conditional_write(call, _TABLE, in_time)
        return HeaderWrite(OrderHeader.of(from_item(write.item)) if write.item else None, write.applied)
