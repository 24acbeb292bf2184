"""The entity stream: posts each item of an order to the ledger when it is paid, and its refund when it is cancelled.

For the operator: invoked with `{}`, it bills the orders that were parked, once what kept them from it is mended.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.parking import Parking
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import observed
from quarterhour.aws.workers import Workers
from quarterhour.billing.service import Biller
from quarterhour.ledger.plan import RecordingTerms
from quarterhour.ledger.service import Recorder
from quarterhour.ledger.store import LedgerStore
from quarterhour.orders.store import OrderStore
from quarterhour.rate_cards.store import RateCardStore

env = Environment.of_process()
dynamodb = clients.dynamodb()
workers = Workers(env.integer("MAX_CONCURRENCY", least=1))
entity_table = env.text("ENTITY_TABLE")
biller = Biller(
    OrderStore(dynamodb, dynamodb, entity_table, workers),  # reads alone
    Recorder(
        RecordingTerms(
            shards=env.integer("LEDGER_SHARDS", least=1),
            commission_rate=env.rate("DEFAULT_COMMISSION_RATE"),
            grace=env.seconds("GRACE_SECONDS"),
            longest_run=env.seconds("BILLING_TIMEOUT_SECONDS"),
            retention=env.days("DEDUP_RETENTION_DAYS") or None,
        ),
        LedgerStore(dynamodb, env.text("IDENTITY_TABLE"), env.text("LEDGER_TABLE"), entity_table, workers),
        RateCardStore(dynamodb, entity_table, workers).read,
    ),
    Parking(clients.sqs(), env.text("PARKED_QUEUE_URL")),
    workers,
)

RESERVE_SECONDS = 5
"""Kept back to answer in: without an answer the whole batch comes again."""


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Bill the batch; answer from where on to deliver again, or how many parked orders were billed."""
    seconds = context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS
    if "Records" in event:
        return biller.apply(event["Records"], context.aws_request_id, seconds)
    return {"billing": biller.unpark(context.aws_request_id, seconds).as_dict()}
