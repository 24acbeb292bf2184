"""Seals the statements of every period that is due: what each account owes, from sealed lines alone.

A state machine, which the watch starts, invokes it with `{}` until no period is due. It runs a large period in parts:
`{"collect": {"period": "2026-11", "day": "2026-11-03"}}` for each day, `{"number": "2026-11"}`,
`{"write": {"period": "2026-11", "group": 3}}` for each group of accounts, and `{"publish": "2026-11"}`.

An operator may invoke it with `{}`, or with `{"period": "2026-11"}`, which fails if that period is not the next one.
Invoked with `{"reseal": "2026-11"}`, it rewrites the lost files of a sealed period; `"from": 3` continues with a group.
"""

from functools import partial
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment, calendar_of, rounding_of
from quarterhour.aws.telemetry import Metric, count, logger, observed
from quarterhour.aws.workers import Workers
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import CheckpointStore, PinStore, ProjectionStore, RunStore, began
from quarterhour.statements.plan import StatementSettings, read_period
from quarterhour.statements.reseal import StatementResealer
from quarterhour.statements.service import StatementRunner
from quarterhour.statements.store import PartyReader, ProgressStore, StatementStores

env = Environment.of_process()
dynamodb = clients.dynamodb()
table = env.text("ENTITY_TABLE")
workers = Workers(env.integer("MAX_CONCURRENCY", minimum=1))
entities = EntityReader(dynamodb, table)
stores = StatementStores(
    CheckpointStore(dynamodb, table),
    RunStore(dynamodb, table),
    PinStore(dynamodb, table, workers),
    ProjectionStore(dynamodb, table, workers),
    SealedFiles(clients.s3(), env.text("REPORT_BUCKET")),
    ProgressStore(dynamodb, table),
    PartyReader(entities),
    workers,
    partial(began, entities),
)
settings = StatementSettings(
    calendar_of(env),
    env.text("BUSINESS_TIME_ZONE"),
    env.text("CODE_VERSION"),
    env.currency("BASE_CURRENCY"),
    (env.text("STATEMENT_NUMBER_PREFIX"), env.text("CREDIT_NOTE_NUMBER_PREFIX")),
    rounding_of(env),
    env.integer("ACCEPTANCE_DAYS"),
)
runner = StatementRunner(stores, settings)
resealer = StatementResealer(stores, entities)


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Seal every period that is due, or run a step of a large one; return what was sealed and what is next."""

    def seconds() -> float:
        return context.get_remaining_time_in_millis() / 1000

    if "reseal" in event:
        resealed = resealer.reseal(event["reseal"], event.get("from", 0), seconds).as_dict()
        logger.info("resealed", **resealed)
        return resealed
    if "collect" in event:
        runner.collect(**event["collect"])
        return event
    if "number" in event:
        runner.number(event["number"])
        return event
    if "write" in event:
        runner.write(**event["write"])
        return event
    result = runner.publish(event["publish"]) if "publish" in event else runner.run(seconds, read_period(event))
    count(Metric.STATEMENTS_SEALED, result.statements)
    logger.info("sealed", **result.as_dict())
    return result.as_dict()
