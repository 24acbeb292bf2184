"""The schedule: seals every closed quarter-hour in S3, unless it is paused.

For the operator: invoked with `{}`, it seals whether paused or not; with `{"reseal": "2026-10-23T0130-0230"}`, it
writes the files of a run that are gone once more.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws
from quarterhour.reading import EntityReader
from quarterhour.reports.plan import Terms
from quarterhour.reports.reporter import Reporter
from quarterhour.reports.reseal import reseal
from quarterhour.reports.store import ReportStore
from quarterhour.schedule.store import read_wish
from quarterhour.settings import Environment
from quarterhour.telemetry import Metric, count, is_tick, logger, observed

env = Environment.of_process()
entities = EntityReader(aws.dynamodb(), env.text("ENTITY_TABLE"))
store = ReportStore(
    entities.client,
    aws.s3(),
    entities.table,
    env.text("REPORT_BUCKET"),
    env.text("LEDGER_TABLE"),
    aws.Workers(env.integer("MAX_CONCURRENCY", least=1)),
)
terms = Terms(env.seconds("GRACE_SECONDS"), env.text("CODE_VERSION"), env.currency("BASE_CURRENCY"))
reporter = Reporter(store, terms)


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Report what is closed, or reseal a run; answer what was done, and whether another invocation must go on."""
    if "reseal" in event:
        resealed = reseal(store, event["reseal"]).as_dict()
        logger.info("resealed", **resealed)
        return resealed
    # A deployment may have set the schedule going again; until the watch has stopped it, its ticks do nothing.
    if is_tick(event) and read_wish(entities).paused:
        logger.info("paused")
        return {"paused": True}
    result = reporter.run(lambda: context.get_remaining_time_in_millis() / 1000)
    count(Metric.BUCKETS_SEALED, result.sealed_buckets)
    count(Metric.LINES_REPORTED, result.lines)
    count(Metric.COUNTER_DRIFT, result.drift)
    logger.info("reported", **result.as_dict())
    return result.as_dict()
