"""Bills orders from the entity stream: a sale of each item when an order is paid, refunds when it is cancelled.

Invoked with `{}` by an operator, it bills the parked orders, once the cause is fixed.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.parking import Parking
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import observed
from quarterhour.aws.workers import Workers
from quarterhour.billing.service import Biller
from quarterhour.ledger.service import recorder_of
from quarterhour.orders.store import OrderStore

env = Environment.of_process()
dynamodb = clients.dynamodb()
workers = Workers(env.integer("MAX_CONCURRENCY", minimum=1))
biller = Biller(
    OrderStore(dynamodb, dynamodb, env.text("ENTITY_TABLE"), workers),  # only reads
    recorder_of(env, dynamodb, workers, "BILLING_TIMEOUT_SECONDS"),
    Parking(clients.sqs(), env.text("PARKED_QUEUE_URL")),
    workers,
)

RESERVE_SECONDS = 5
"""Time that is kept for the response: without one, Lambda delivers the whole batch again."""


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Bill a batch and return the records from which on Lambda must deliver again; or bill the parked orders."""
    seconds = context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS
    if "Records" in event:
        return biller.apply(event["Records"], context.aws_request_id, seconds)
    return {"billing": biller.unpark(context.aws_request_id, seconds).as_dict()}
