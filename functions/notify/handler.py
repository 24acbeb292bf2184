"""Puts what happened into the log of notifications, and delivers the log to the subscriptions.

A message of its queue says that something happened. Every minute, a schedule starts it for deliveries that failed.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.resources import Resources
from quarterhour.aws.secrets import SecretStore
from quarterhour.aws.telemetry import logger, observed
from quarterhour.notifications.bus import Bus
from quarterhour.notifications.service import Dispatcher, NotificationLog
from quarterhour.notifications.sources import of_message
from quarterhour.notifications.store import NotificationStore
from quarterhour.notifications.webhook import WebhookSender, trusted

resources = Resources.of_process()
env = resources.env
store = NotificationStore(resources.dynamodb, resources.entities)
log = NotificationLog(store)
bus = env.optional("NOTIFICATION_BUS", "the name of a bus", str)
dispatcher = Dispatcher(
    store,
    SecretStore(resources.ssm, env.text("SECRETS_PATH")),
    # Only the emulator sets this: on AWS, no address of the function's own machine is allowed.
    WebhookSender(trusted(), local=bool(env.variables.get("QUARTERHOUR_LOCAL_RECEIVERS"))),
    Bus(clients.events(), bus) if bus else None,
    resources.workers,
    env.text("STACK"),
)

RESERVE_SECONDS = 30
"""Time that is kept for attempts that are under way, and for what they write."""


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Append what the messages say, deliver the log, and return the messages that SQS must deliver again."""
    failed = []
    for record in event.get("Records", []):
        try:
            log.append(of_message(record["body"]))
        except (KeyError, ValueError, TypeError) as error:
            # After some deliveries, SQS moves it to the dead letters.
            logger.error("not understood", message_id=record["messageId"], error=type(error).__name__)
            failed.append({"itemIdentifier": record["messageId"]})
    seconds = context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS
    result = dispatcher.run(context.aws_request_id, seconds)
    logger.info("notified", **result.as_dict())
    return {"batchItemFailures": failed, **result.as_dict()}
