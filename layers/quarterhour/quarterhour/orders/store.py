"""The DynamoDB store of the orders, and the requests it sends."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import Values
from quarterhour.aws.expressions import NEW, RETURN_EXISTING, put_request, query_request, set_all, update_request
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
    """Build the PutItem that claims an order's id; if it is claimed already, it returns the existing header."""
    return {**put_request(table, claim, NEW), **RETURN_EXISTING}


def commit_request(table: str, order: str, commit: Values) -> Request:
    """Build the UpdateItem that commits a header, unless it is committed already."""
    given = {**commit, "writing": WRITING}
    update = update_request(table, header_key(order), set_all(commit), "#status = :writing", given)
    return {**update, "ReturnValues": "ALL_NEW", **RETURN_EXISTING}


def status_request(table: str, order: str, change: StatusChange, at: str) -> Request:
    """Build the UpdateItem that changes an order's status, if the order is in the status before."""
    queue = change.queue(order)
    given = {"after": change.after, "before": change.before, "entry": [{"status": change.after, "at": at}]}
    update = "SET #status = :after, history = list_append(history, :entry)"
    update += ", gsi2pk = :queue" if queue else " REMOVE gsi2pk, gsi2sk"
    given |= {"queue": queue} if queue else {}
    request = update_request(table, header_key(order), update, "#status = :before", given)
    return {**request, "ReturnValues": "ALL_NEW", **RETURN_EXISTING}


def items_request(table: str, order: str) -> Request:
    """Build the Query for all items of an order, strongly consistent."""
    query = query_request(table, "pk = :order AND begins_with(sk, :items)", {"order": order_pk(order), "items": ITEMS})
    return {**query, "ConsistentRead": True}


@dataclass(frozen=True, slots=True)
class HeaderWrite:
    """The outcome of a conditional write: whether it was applied, and the header after it.

    ``header`` is ``None`` if there is no such order.
    """

    header: OrderHeader | None
    applied: bool


@dataclass(frozen=True, slots=True)
class OrderStore:
    """The orders in the Entity table. ``client_once`` never repeats a call; it commits the headers."""

    client: "DynamoDBClient"
    client_once: "DynamoDBClient"
    table: str
    workers: Workers

    def claim(self, claim: OrderHeader, in_time: Callable[[], bool]) -> HeaderWrite:
        """Claim an order's id by writing its header, unless it is claimed already; repeat the call in time."""
        request = claim_request(self.table, claim.values())
        write = self._write(lambda: self.client.put_item(**request), in_time)
        return HeaderWrite(claim, applied=True) if write.applied else write

    def items(self, order: str) -> list[Values]:
        """Return the stored items of an order, ordered by line."""
        # One worker: the other workers read orders in parallel, and would wait for each other.
        pages = query_pages(self.client, items_request(self.table, order), Workers(1))
        return [from_item(item) for items in pages for item in items]

    def write(self, items: Iterable[Values], in_time: Callable[[], bool]) -> None:
        """Write items; raise ``UnavailableError`` if some could not be written in time."""
        puts = [to_item(item) for item in items]
        if put_items(self.client, self.table, puts, self.workers, lambda _: in_time()):
            raise UnavailableError(f"{_TABLE} did not take all items in time")

    def commit(self, header: OrderHeader, in_time: Callable[[], bool]) -> HeaderWrite:
        """Commit a header, unless it is committed already; repeat the call while there is time."""
        # Each attempt is short and has its own instant: listings rely on a commit that takes effect soon after its
        # instant, or never.
        return self._write(
            lambda: self.client_once.update_item(
                **commit_request(self.table, header.order, committed(header, clock.now()))
            ),
            in_time,
        )

    def change_status(self, order: str, change: StatusChange, at: str) -> HeaderWrite:
        """Change an order's status, if it is the status that the change begins with."""
        request = status_request(self.table, order, change, at)
        return self._write(lambda: self.client.update_item(**request))

    @staticmethod
    def _write(call: Callable[[], Any], in_time: Callable[[], bool] | None = None) -> HeaderWrite:
        write = conditional_write(call, _TABLE, in_time)
        return HeaderWrite(OrderHeader.of(from_item(write.item)) if write.item else None, write.applied)
