"""Billing, on the entity stream: posts the items of paid orders to the ledger, and refunds those of cancelled orders.

An operator invokes the function with `{}` to bill the parked orders, after the cause of their failure is fixed.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.parking import Parking
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import observed
from quarterhour.aws.workers import Workers
from quarterhour.billing.service import Biller
from quarterhour.ledger.wiring import recorder_of
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
"""The time kept for the response: without one, the stream delivers the whole batch again."""


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Bill a batch of the stream and return the failures, or bill the parked orders and return how many."""
    seconds = context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS
    if "Records" in event:
        return biller.apply(event["Records"], context.aws_request_id, seconds)
    return {"billing": biller.unpark(context.aws_request_id, seconds).as_dict()}
