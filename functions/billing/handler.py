"""Bills orders from the entity stream: a sale of each item when an order is paid, refunds when it is cancelled.

A stream takes two readers. So this one also puts changes of statements and held events into the log of notifications,
if the deployment sends some.

Invoked with `{}` by an operator, it bills the parked orders, once the cause is fixed.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.parking import Parking
from quarterhour.aws.resources import Resources
from quarterhour.aws.streams import Record
from quarterhour.aws.telemetry import observed
from quarterhour.customers.tokens import no_tokens
from quarterhour.ledger.keys import HELD
from quarterhour.ledger.recording.service import recorder_of
from quarterhour.notifications.service import ChangeLog, NotificationLog
from quarterhour.notifications.sources import STATEMENTS
from quarterhour.notifications.store import NotificationStore
from quarterhour.orders.billing.service import BY, Biller
from quarterhour.orders.store import OrderStore
from quarterhour.reports.archived import ArchivedPostings

resources = Resources.of_process()
env, dynamodb, workers = resources.env, resources.dynamodb, resources.workers
parking = Parking.of(resources, BY)
biller = Biller(
    OrderStore(dynamodb, dynamodb, resources.entity_table, workers),  # only reads
    recorder_of(resources, ArchivedPostings.of(resources), "BILLING_TIMEOUT_SECONDS", no_tokens),
    parking,
    workers,
)
queue = env.optional("NOTIFICATION_QUEUE_URL", "the URL of a queue", str)
changes = ChangeLog(
    NotificationLog(NotificationStore(dynamodb, resources.entities)),
    parking,
    Parking(resources.sqs, queue or "", BY),
)

RESERVE_SECONDS = 5
"""Time that is kept for the response: without one, Lambda delivers the whole batch again."""


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Bill a batch and return the records from which on Lambda must deliver again; or bill the parked orders."""
    seconds = context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS
    if "Records" in event:
        orders, others = split(event["Records"])
        changes.apply(others)
        return biller.apply(orders, context.aws_request_id, seconds)
    return {BY: biller.unpark(context.aws_request_id, seconds).as_dict()}


def split(records: list[Record]) -> tuple[list[Record], list[Record]]:
    """Return the records of orders, and the others, which are about statements and held events."""
    keys = [str(record["dynamodb"].get("Keys", {}).get("pk", {}).get("S", "")) for record in records]
    others = [record for key, record in zip(keys, records, strict=True) if key.startswith((HELD, STATEMENTS))]
    return [record for record in records if record not in others], others
