"""`quarterhour bill`: sends missed changes of orders to billing again; it finds them in the orders' histories.

An order's history holds every payment and cancellation. Postings have identities, so nothing is posted twice.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from botocore.config import Config

from quarterhour.aws.items import from_item, to_item
from quarterhour.model.clock import parse_iso
from quarterhour.orders.keys import HEADER, ORDERS
from quarterhour.orders.plan import DUE
from quarterhour_tools.errors import ToolError
from quarterhour_tools.target.deployment import client, configure_span, configure_target, deployed, invoke

NAME: Final = "bill"
DESCRIPTION: Final = (
    "Send the payments and cancellations of orders in a span of time to billing again. They are found in the "
    "orders' histories. Nothing is posted twice while the deployment remembers its identity."
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from quarterhour.aws.streams import Record

Bill = Callable[[Sequence["Record"]], dict[str, Any]]
"""Sends records to billing, and returns its answer."""

_AT_ONCE: Final = 100
"""The changes of one invocation: as many as the stream delivers at once."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change that made an order due: its instant, and the order's header after it."""

    at: datetime
    header: dict[str, Any]

    def record(self, number: int) -> "Record":
        """Return a stream record of the change with the given sequence number."""
        image = to_item(self.header)
        keys = {name: image[name] for name in ("pk", "sk")}
        return {"eventName": "MODIFY", "dynamodb": {"SequenceNumber": str(number), "Keys": keys, "NewImage": image}}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour bill``."""
    configure_span(parser, "at which orders were paid or cancelled")
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    table = "EntityTable" if args.url else deployed(args.stack, "EntityTableName")
    changes = find_changes(client("dynamodb", args.url, Config()), table, args.start, args.end)
    sent = bill(changes, lambda records: invoke(args, "Billing", {"Records": list(records)}))
    print(f"{sent} payments and cancellations sent to billing")
    return 0


def find_changes(client: "DynamoDBClient", table: str, start: datetime, end: datetime) -> list[Change]:
    """Return the changes that made orders due in [start, end), the oldest first. Reads the whole table."""
    request: Any = {
        "TableName": table,
        "ConsistentRead": True,
        "FilterExpression": "sk = :header AND begins_with(pk, :orders) AND attribute_exists(history)",
        "ExpressionAttributeValues": {":header": {"S": HEADER}, ":orders": {"S": ORDERS}},
    }
    pages = client.get_paginator("scan").paginate(**request)
    changes = (change for page in pages for item in page["Items"] for change in changes_of(from_item(item)))
    return sorted((one for one in changes if start <= one.at < end), key=lambda one: one.at)


def changes_of(header: dict[str, Any]) -> Iterator[Change]:
    """Yield the changes in an order's history that made it due."""
    history = header["history"]
    for number, entry in enumerate(history, 1):
        if entry["status"] in DUE:
            before = {**header, "status": entry["status"], "history": history[:number]}
            yield Change(parse_iso(entry["at"]), before)


def bill(changes: Sequence[Change], send: Bill) -> int:
    """Send changes to billing until it has processed all; return their number.

    Raises ``ToolError`` if billing stops processing.
    """
    records = [change.record(number) for number, change in enumerate(changes, 1)]
    done = 0
    while done < len(records):
        some = records[done : done + _AT_ONCE]
        failed = [one["itemIdentifier"] for one in send(some)["batchItemFailures"]]
        taken = min((int(number) - 1 - done for number in failed), default=len(some))
        if not taken:
            raise ToolError(f"billing stopped after {done} of {len(records)} changes: run it again once billing works")
        done += taken
    return done
