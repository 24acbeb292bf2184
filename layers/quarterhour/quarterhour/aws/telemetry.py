"""Logs and metrics, set up once; the metrics' names stand here, and nowhere else.

Both are JSON, a line each, and carry the id of what an invocation is about. No line holds what senders wrote.
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

Answer = TypeVar("Answer")
Handler = Callable[[dict[str, Any], LambdaContext], Answer]

# Lambda opens the root logger to all; there, at DEBUG, botocore would write credentials and every item into the log.
logging.getLogger().setLevel(logging.WARNING)
logger = Logger()
metrics = Metrics()

# A batch may well give nothing to count; said as a warning, it would stand in the log as plain text.
warnings.filterwarnings("ignore", message="No application metrics to publish")


class Metric(StrEnum):
    """What the functions measure, under CloudWatch's names: what AWS measures by itself is not among it."""

    EVENTS_RECORDED = "EventsRecorded"
    EVENTS_DUPLICATE = "EventsDuplicate"
    EVENTS_CONFLICT = "EventsConflict"
    EVENTS_REJECTED = "EventsRejected"
    EVENTS_UNAVAILABLE = "EventsUnavailable"

    GROUPS_FAILED = "GroupsFailed"
    """Of one account and partition in a batch, each; the stream delivers them again."""
    SNAPSHOTS_FAILED = "SnapshotsFailed"
    COUNTERS_MENDED = "CountersMended"

    ORDERS_CREATED = "OrdersCreated"
    BILLS_FAILED = "BillsFailed"
    """Of one order in a batch, each; the stream delivers them again."""

    BUCKETS_SEALED = "BucketsSealed"
    LINES_REPORTED = "LinesReported"
    COUNTER_DRIFT = "CounterDrift"
    """Sealed quarter-hours whose counters say something else than the ledger."""

    REPORT_DELAY = "ReportDelay"
    """The age of the checkpoint, in rates."""
    REPORT_DELAY_SECONDS = "ReportDelaySeconds"
    SCHEDULE_PAUSED = "SchedulePaused"
    SCHEDULE_MENDED = "ScheduleMended"

    @property
    def unit(self) -> MetricUnit:
        """The unit: a count, but for what names another at its end."""
        return MetricUnit.Seconds if self.endswith("Seconds") else MetricUnit.Count


def count(metric: Metric, value: float) -> None:
    """Measure something in this invocation; zero counts too, so that an alarm has data."""
    metrics.add_metric(metric, metric.unit, value)


def is_tick(event: Mapping[str, Any]) -> bool:
    """Tell whether a schedule has invoked the function, and no operator."""
    return event.get("source") == "aws.scheduler"


def correlation_id(event: Mapping[str, Any], context: LambdaContext) -> str:
    """Return the id that an invocation is followed by, the same each time it is repeated.

    A request's as its client and the access log know it, a schedule's tick's, a batch's by its first record; the
    invocation's own where an operator has started it by hand.
    """
    match event:
        case {"requestContext": {"requestId": str(request)}}:
            return request
        case {"Records": [{"eventID": str(record)}, *_]}:
            return record
        case {"id": str(tick)} if is_tick(event):
            return tick
        case _:
            return context.aws_request_id


def observed(handler: Handler[Answer]) -> Handler[Answer]:
    """Wrap a function's handler: what it logs and measures can be told apart from any other invocation's."""

    @metrics.log_metrics
    @logger.inject_lambda_context(clear_state=True)
    @wraps(handler)
    def observing(event: dict[str, Any], context: LambdaContext) -> Answer:
        followed = correlation_id(event, context)
        logger.set_correlation_id(followed)
        metrics.add_metadata("correlation_id", followed)
        metrics.add_metadata("function_request_id", context.aws_request_id)
        try:
            return handler(event, context)
        except Exception as error:
            # Text and stack are Lambda's to log, under the same request id: this line ties them to what is followed.
            logger.error("failed", error=type(error).__name__)  # noqa: TRY400
            raise

    return observing
