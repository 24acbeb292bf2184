"""The orders' calls to DynamoDB, and the requests they make."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from quarterhour import aws, clock
from quarterhour.aws import Request
from quarterhour.orders.keys import ITEMS, header_key, order_pk
from quarterhour.orders.plan import WRITING, Step, Values, committed

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE = "the Entity table"


def claim_request(table: str, claim: Values) -> Request:
    """Build the PutItem that claims an order, and tells of the header that stands if it is claimed already."""
    return {
        "TableName": table,
        "Item": aws.to_item(claim),
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def commit_request(table: str, order: str, commit: Values) -> Request:
    """Build the UpdateItem that shows an order whose items all stand, unless it is shown already."""
    names = {f"#{name}": name for name in commit}
    values = {f":{name}": value for name, value in commit.items()}
    return {
        "TableName": table,
        "Key": aws.to_item(dict(header_key(order))),
        "UpdateExpression": "SET " + ", ".join(f"#{name} = :{name}" for name in commit),
        "ConditionExpression": "#status = :writing",
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": aws.to_item({**values, ":writing": WRITING}),
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def step_request(table: str, order: str, step: Step, at: str) -> Request:
    """Build the UpdateItem that takes an order from one status to another, if it is in the first."""
    queue = step.queue(order)
    entry = {":after": step.after, ":before": step.before, ":entry": [{"status": step.after, "at": at}]}
    return {
        "TableName": table,
        "Key": aws.to_item(dict(header_key(order))),
        "UpdateExpression": "SET #status = :after, history = list_append(history, :entry)"
        + (", gsi2pk = :queue" if queue else " REMOVE gsi2pk, gsi2sk"),
        "ConditionExpression": "#status = :before",
        "ExpressionAttributeNames": {"#status": "status"},
        "ExpressionAttributeValues": aws.to_item({**entry, **({":queue": queue} if queue else {})}),
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
class Standing:
    """A header as it stands after a write was tried: changed by it, or (``None`` if there is none) as it stood."""

    header: Values | None
    changed: bool


@dataclass(frozen=True, slots=True)
class OrderStore:
    """The orders in the Entity table. ``once``: the client that commits them, each call of which is one try."""

    client: "DynamoDBClient"
    once: "DynamoDBClient"
    table: str
    workers: aws.Workers

    def claim(self, claim: Values) -> Standing:
        """Claim an order, unless it is claimed already."""
        request = claim_request(self.table, claim)
        standing = self._unless_failed(lambda: self.client.put_item(**request))
        return Standing(claim, changed=True) if standing.changed else standing

    def items(self, order: str) -> list[Values]:
        """Return the items of an order that stand, in the order of their lines."""
        # In turn: orders are read side by side by these very workers, who would wait for each other.
        pages = aws.query_pages(self.client, items_request(self.table, order), aws.Workers(1))
        return [aws.from_item(item) for items in pages for item in items]

    def write(self, items: Iterable[Values], in_time: Callable[[], bool]) -> None:
        """Write items; raise ``UnavailableError`` where some could not be written in time."""
        aws.put_items(self.client, self.table, [aws.to_item(item) for item in items], self.workers, in_time)

    def commit(self, order: str, header: Values, in_time: Callable[[], bool]) -> Standing:
        """Show an order, unless it is shown already; tried for as long as there is time."""
        # The instant is that of each try, and a try is short: whoever lists items relies on the commit's taking effect
        # soon after its instant, or never.
        return self._unless_failed(
            lambda: self.once.update_item(**commit_request(self.table, order, committed(header, clock.now()))),
            in_time,
        )

    def step(self, order: str, step: Step, at: str) -> Standing:
        """Change an order's status, if it is the one that the step begins with."""
        request = step_request(self.table, order, step, at)
        return self._unless_failed(lambda: self.client.update_item(**request))

    @staticmethod
    def _unless_failed(call: Callable[[], Any], in_time: Callable[[], bool] | None = None) -> Standing:
        """Make a conditional write of a header; tell how it stands then."""
        try:
            answer = aws.persist(call, _TABLE, in_time)
        except ClientError as error:
            if not aws.is_failed_condition(error):
                raise
            stood: Any = error.response.get("Item")
            return Standing(aws.from_item(stood) if stood else None, changed=False)
        return Standing(aws.from_item(answer.get("Attributes", {})), changed=True)
