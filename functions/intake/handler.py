"""Records what comes by the queue, the bus and the inbox, by the same recorder as POST /events.

A message of the inbox's queue may also ask for the parked deliveries of a connection to be applied again. Invoked with
`{}` by an operator, it records the parked events again, once the cause is fixed.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.parking import Parking
from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import logger, observed
from quarterhour.customers.tokens import CustomerTokens
from quarterhour.intake.connections.agencies import AgenciesById
from quarterhour.intake.connections.apply_queue import ApplyQueue
from quarterhour.intake.connections.applying import ParkedDeliveries
from quarterhour.intake.connections.mapping import DeliveryRecorder
from quarterhour.intake.connections.store import ConnectionStore
from quarterhour.intake.inbox import InboxIntake
from quarterhour.intake.messages import BY
from quarterhour.intake.service import QueueIntake
from quarterhour.intake.store import InboxStore
from quarterhour.ledger.recording.service import recorder_of
from quarterhour.model.errors import UnavailableError
from quarterhour.registry.agencies.store import RegistrationStore
from quarterhour.reports.archived import ArchivedPostings

resources = Resources.of_process()
env, sqs = resources.env, resources.sqs
archived, tokens = ArchivedPostings.of(resources), CustomerTokens.of(resources)
recorder = recorder_of(resources, archived, "INTAKE_TIMEOUT_SECONDS", tokens)
queue = QueueIntake(recorder, Parking.of(resources, BY))
inbox_queue = env.text("INBOX_QUEUE_URL")
inbox = InboxIntake(recorder, InboxStore(resources.s3, env.text("INBOX_BUCKET")), sqs, inbox_queue)
external_ids = AgenciesById(RegistrationStore.of(resources).with_ids)
connections = ConnectionStore(resources.dynamodb, resources.entities)
parked = ParkedDeliveries(connections, DeliveryRecorder(recorder, external_ids))
parked_queue = ApplyQueue(sqs, inbox_queue)

RESERVE_SECONDS = 8
"""Time that is kept to park what is refused, to write a result, and for the response."""


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Record a batch of messages and return those that SQS must deliver again; or record the parked events."""

    def seconds() -> float:
        return context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS

    if "Records" not in event:
        return {BY: queue.unpark(context.aws_request_id, seconds).as_dict()}
    records = event["Records"]
    if records[0]["eventSourceARN"].rpartition(":")[2] != inbox_queue.rpartition("/")[2]:
        return queue.take(records, context.aws_request_id, seconds)
    failed = []
    for record in records:
        try:
            if not parked.take(record["body"], parked_queue, context.aws_request_id, seconds):
                inbox.take(record["body"], context.aws_request_id, seconds)
        except UnavailableError as error:
            logger.warning(
                "part of a file, or parked deliveries, not recorded", message_id=record["messageId"], error=str(error)
            )
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
