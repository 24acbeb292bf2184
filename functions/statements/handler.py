"""Makes the drafts of every period that is due, from sealed lines alone, and releases those that are decided.

A state machine, which the watch starts, invokes it with `{}` until nothing is due. It makes a large period in parts:
`{"collect": {"period": "2026-11", "day": "2026-11-03"}}` for each day, `{"add_up": "2026-11"}` to add up the accounts,
`{"write": {"period": "2026-11", "group": 3}}` for each group of accounts, and `{"publish": "2026-11"}`.

An operator may invoke it with `{}`, or with `{"period": "2026-11"}`, which fails if that period is not the next one.
Invoked with `{"reseal": "2026-11"}`, it rewrites the lost files of a sealed period and of the releases of its drafts;
`"from": 3` continues with a part of it.
"""

from decimal import Decimal
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.resources import Resources
from quarterhour.aws.telemetry import logger, observed
from quarterhour.model import clock
from quarterhour.model.identifiers import Account
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.statements.drafts.reseal import StatementResealer
from quarterhour.statements.drafts.service import DraftRunner
from quarterhour.statements.plan import StatementSettings, read_period
from quarterhour.statements.previews.unbilled import paid_since
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.reseal import PeriodResealer
from quarterhour.statements.releases.run import ReleaseRunner
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.status.store import StatementStatusStore
from quarterhour.statements.store import StatementStores

resources = Resources.of_process()
dynamodb, table, workers, entities = resources.dynamodb, resources.entity_table, resources.workers, resources.entities
stores = StatementStores.of(resources)
reader = SettingsReader.of(resources)


def releaser_of(settings: StatementSettings) -> ReleaseRunner:
    """Return what releases drafts by the settings of an invocation."""
    statuses, contexts = StatementStatusStore(dynamodb, entities), DraftContexts.of(resources)
    store = ReleaseStore(dynamodb, table, workers)

    def paid(account: Account) -> Decimal:
        return paid_since(entities, stores.progress.progress(), account)

    return ReleaseRunner(store, stores.files, statuses, contexts, settings, paid_since=paid)


@observed
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Make drafts and releases that are due, or run a step of a large period; return what was made and what is next."""

    def seconds() -> float:
        return context.get_remaining_time_in_millis() / 1000

    settings = StatementSettings.of(reader.settings(), clock.now())
    runner, releaser = DraftRunner(stores, settings), releaser_of(settings)
    if "reseal" in event:
        resealer = PeriodResealer(StatementResealer(stores, entities), releaser.writer, stores.files)
        resealed = resealer.reseal(event["reseal"], event.get("from", 0), seconds).as_dict()
        logger.info("resealed", **resealed)
        return resealed
    if "collect" in event:
        runner.collect(**event["collect"])
        return event
    if "add_up" in event:
        runner.add_up(event["add_up"])
        return event
    if "write" in event:
        runner.write(**event["write"])
        return event
    made = runner.publish(event["publish"]) if "publish" in event else runner.run(seconds, read_period(event))
    result = made.as_dict()
    if made.complete and "publish" not in event:
        released = releaser.run(seconds)
        result |= released.as_dict() | ({} if released.complete else {"next": "run"})
    logger.info("made", **result)
    return result
