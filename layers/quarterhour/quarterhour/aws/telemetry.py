"""The logger, the metrics and the names of all metrics.

Logs and metrics are JSON lines with the invocation's correlation id. No line holds the content of a request.
"""

import logging
import warnings
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps
from typing import Any, Final, TypeVar

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
    """The names in CloudWatch of the metrics that the functions publish, besides AWS's own metrics.

    Each costs money for every hour with a value, so one is here only if an alarm or the dashboard uses it. What else
    functions count is in their log lines.
    """

    EVENTS_RECORDED = "EventsRecorded"
    EVENTS_UNAVAILABLE = "EventsUnavailable"

    COUNTER_DRIFT = "CounterDrift"
    """Sealed quarter-hours whose counters differ from the ledger."""
    ARCHIVE_DELAY_DAYS = "ArchiveDelayDays"
    """For how many days a month has been due that is not archived."""

    INBOX_FILES_FAILED = "InboxFilesFailed"
    """Files of the inbox that have ended, and have an event or a row that is not recorded."""
    DELIVERIES_PARKED = "DeliveriesParked"
    """Signed deliveries of connections that were parked, as something in them could not be recorded."""
    SUBSCRIPTIONS_DISABLED = "SubscriptionsDisabled"
    """Subscriptions whose deliveries have failed for three days."""

    REPORT_DELAY = "ReportDelay"
    """The delay of the reports, in firings of the schedule; zero too, as its alarm takes silence for a failure."""
    HELD_OVERDUE = "HeldOverdue"
    """Whether an event has been held for longer than the settings say: 1."""
    STATEMENTS_DUE = "StatementsDue"
    """Whether a period is due and not sealed: 1 or 0; zero too, as its alarm takes the minimum of an hour."""


WITH_ZEROS: Final = frozenset({Metric.REPORT_DELAY, Metric.STATEMENTS_DUE})
"""The metrics whose zeros are published."""


def count(metric: Metric, value: float) -> None:
    """Add a value to a metric of this invocation, unless it is zero and the alarm takes no value for zero."""
    if value or metric in WITH_ZEROS:
        metrics.add_metric(metric, MetricUnit.Count, value)


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
