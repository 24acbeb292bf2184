"""The logger, the metrics and the names of all metrics.

Logs and metrics are JSON lines with the invocation's correlation id. No line holds the content of a request.
"""

import logging
import warnings
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps
from typing import Any, TypeVar

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

ResultT = TypeVar("ResultT")
LambdaHandler = Callable[[dict[str, Any], LambdaContext], ResultT]

# In Lambda, the root logger accepts every level. At DEBUG, botocore would log credentials and every item.
logging.getLogger().setLevel(logging.WARNING)
logger = Logger()
metrics = Metrics()

# A batch may have nothing to count. The warning about it would be plain text in a log of JSON lines.
warnings.filterwarnings("ignore", message="No application metrics to publish")


class Metric(StrEnum):
    """The names in CloudWatch of the metrics that the functions publish, besides AWS's own metrics."""

    EVENTS_RECORDED = "EventsRecorded"
    EVENTS_DUPLICATE = "EventsDuplicate"
    EVENTS_CONFLICT = "EventsConflict"
    EVENTS_REJECTED = "EventsRejected"
    EVENTS_UNAVAILABLE = "EventsUnavailable"
    EVENTS_HELD = "EventsHeld"

    GROUPS_FAILED = "GroupsFailed"
    """Groups of one account and quarter-hour in a batch whose update failed; the stream delivers them again."""
    SNAPSHOTS_FAILED = "SnapshotsFailed"
    COUNTERS_REPAIRED = "CountersRepaired"

    ORDERS_CREATED = "OrdersCreated"
    BILLS_FAILED = "BillsFailed"
    """Orders in a batch whose billing failed; the stream delivers them again."""

    QUARTER_HOURS_SEALED = "QuarterHoursSealed"
    LINES_REPORTED = "LinesReported"
    COUNTER_DRIFT = "CounterDrift"
    """Sealed quarter-hours whose counters differ from the ledger."""

    ITEMS_ARCHIVED = "ItemsArchived"
    ARCHIVE_DELAY_DAYS = "ArchiveDelayDays"
    """For how many days a month has been due that is not archived."""

    INBOX_FILES_FAILED = "InboxFilesFailed"
    """Files of the inbox that have ended, and have an event or a row that is not recorded: 1 or 0."""

    STATEMENTS_SEALED = "StatementsSealed"
    STATEMENTS_DUE = "StatementsDue"
    """Whether a period is due and not sealed: 1 or 0."""

    NOTIFICATIONS_DELIVERED = "NotificationsDelivered"
    NOTIFICATIONS_FAILED = "NotificationsFailed"
    """Attempts to deliver a notification that failed; they are made again."""
    SUBSCRIPTIONS_DISABLED = "SubscriptionsDisabled"
    """Subscriptions whose deliveries have failed for three days."""

    REPORT_DELAY = "ReportDelay"
    """The delay of the reports, in firings of the schedule."""
    REPORT_DELAY_SECONDS = "ReportDelaySeconds"
    HELD_POSTED = "HeldPosted"
    """Held events that the watch has posted."""
    HELD_OVERDUE = "HeldOverdue"
    """The age of the oldest held event."""
    SCHEDULE_PAUSED = "SchedulePaused"
    SCHEDULE_RECONCILED = "ScheduleReconciled"

    @property
    def unit(self) -> MetricUnit:
        """The unit: seconds if the name ends so, and else a count."""
        return MetricUnit.Seconds if self.endswith("Seconds") else MetricUnit.Count


def count(metric: Metric, value: float) -> None:
    """Add a value to a metric of this invocation; zero is published too, so that alarms have data."""
    metrics.add_metric(metric, metric.unit, value)


def is_tick(event: Mapping[str, Any]) -> bool:
    """Return whether a schedule has invoked the function, not an operator."""
    return event.get("source") == "aws.scheduler"


def correlation_id(event: Mapping[str, Any], context: LambdaContext) -> str:
    """Return the id that connects the log lines of an invocation and of its retries.

    It is the id of the request, of the first record of a batch, or of the schedule's event. An invocation by an
    operator has its own request id.
    """
    match event:
        case {"requestContext": {"requestId": str(request)}}:
            return request
        case {"Records": [{"eventID": str(record)} | {"messageId": str(record)}, *_]}:
            return record
        case {"id": str(tick)} if is_tick(event):
            return tick
        case _:
            return context.aws_request_id


def observed(handler: LambdaHandler[ResultT]) -> LambdaHandler[ResultT]:
    """Wrap a function's handler so that its logs and metrics carry the invocation's correlation id."""

    @metrics.log_metrics
    @logger.inject_lambda_context(clear_state=True)
    @wraps(handler)
    def observing(event: dict[str, Any], context: LambdaContext) -> ResultT:
        id_ = correlation_id(event, context)
        logger.set_correlation_id(id_)
        metrics.add_metadata("correlation_id", id_)
        metrics.add_metadata("function_request_id", context.aws_request_id)
        try:
            return handler(event, context)
        except Exception as error:
            # Lambda logs the text and the stack under its request id. This line adds the correlation id to them.
            logger.error("failed", error=type(error).__name__)  # noqa: TRY400
            raise

    return observing
