"""Seals every closed quarter-hour in S3 on schedule, unless the schedule is paused.

Invoked with `{}` by an operator, it seals whether paused or not. Invoked with `{"reseal": "2026-10-23T0130-0230"}`, it
rewrites the lost files of a run.

With more than 8 shards, a state machine seals each run in parts. It invokes this function with
`{"seal": {"run": "2026-10-23T0130-0230", "part": "202610230130-03"}}` for each part, and then with
`{"publish": "2026-10-23T0130-0230"}`.
"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.executions import Executions
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import Metric, count, is_tick, logger, observed
from quarterhour.aws.workers import Workers
from quarterhour.counters.store import CounterReader
from quarterhour.ledger.partitions import LedgerReader
from quarterhour.reports.plan import ReportSettings
from quarterhour.reports.reseal import Resealer
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.service import Reporter, ReportStores
from quarterhour.reports.store import CheckpointStore, PinStore, ProjectionStore, RunStore
from quarterhour.schedule.store import read_desired

env = Environment.of_process()
dynamodb = clients.dynamodb()
table = env.text("ENTITY_TABLE")
workers = Workers(env.integer("MAX_CONCURRENCY", minimum=1))
stores = ReportStores(
    CheckpointStore(dynamodb, table),
    RunStore(dynamodb, table),
    LedgerReader(dynamodb, env.text("LEDGER_TABLE"), workers),
    CounterReader(dynamodb, table, workers),
    PinStore(dynamodb, table, workers),
    ProjectionStore(dynamodb, table, workers),
    SealedFiles(clients.s3(), env.text("REPORT_BUCKET")),
    Executions(clients.stepfunctions(), env.text("SEALING_ARN")),
)
entities = EntityReader(dynamodb, table)
settings = ReportSettings(env.seconds("GRACE_SECONDS"), env.text("CODE_VERSION"), env.currency("BASE_CURRENCY"))
reporter = Reporter(stores, settings)
resealer = Resealer(stores)


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Seal all closed quarter-hours, or reseal a run; return what was sealed, and whether the time sufficed."""

    def seconds() -> float:
        return context.get_remaining_time_in_millis() / 1000

    if "reseal" in event:
        resealed = resealer.reseal(event["reseal"], seconds).as_dict()
        logger.info("resealed", **resealed)
        return resealed
    if "seal" in event:
        sealed = reporter.seal_part(**event["seal"])
        lines = {**event["seal"], "lines": sealed.lines if sealed else None}
        logger.info("sealed", **lines)
        return lines
    # A deployment may have enabled the paused schedule; until the watch has disabled it, its ticks do nothing.
    if is_tick(event) and read_desired(entities).paused:
        logger.info("paused")
        return {"paused": True}
    result = reporter.publish(event["publish"], seconds) if "publish" in event else reporter.run(seconds)
    count(Metric.QUARTER_HOURS_SEALED, result.sealed_quarter_hours)
    count(Metric.LINES_REPORTED, result.lines)
    count(Metric.COUNTER_DRIFT, result.drift)
    logger.info("reported", **result.as_dict())
    return result.as_dict()
