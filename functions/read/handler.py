"""Answers every GET of the API, and shows what files of others and of banks become. Its role can write nothing.

Each feature registers its routes in its ``routes.py``; those of no feature are here.
"""

import json
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.queues import QueueReader
from quarterhour.aws.telemetry import observed
from quarterhour.aws.workers import Workers
from quarterhour.counters import routes as counters
from quarterhour.counters.overview import OverviewQueries
from quarterhour.counters.plan import Retention
from quarterhour.counters.queries import ACCOUNT_STATES, CounterQueries
from quarterhour.customers.tokens import CustomerNames, by_name, vault_of
from quarterhour.file_formats.csv import routes as csv
from quarterhour.ledger.held import routes as held
from quarterhour.ledger.held.queries import HeldQueries
from quarterhour.ledger.reading import routes as ledger
from quarterhour.ledger.reading.queries import EventLookup, ExplanationQueries, LedgerQueries, StoryQueries
from quarterhour.ledger.rerating import routes as rerating
from quarterhour.ledger.rerating.queries import ReratingQueries
from quarterhour.messages import routes as threads
from quarterhour.messages.queries import ThreadQueries
from quarterhour.messages.subjects import Subjects
from quarterhour.model.settings import Environment, calendar_of, rounding_of
from quarterhour.notifications import routes as notifications
from quarterhour.notifications.queries import SubscriptionQueries
from quarterhour.orders import routes as orders
from quarterhour.orders.queries import OrderQueries
from quarterhour.registry.agencies import routes as agencies
from quarterhour.registry.agencies.agency import AGENCIES
from quarterhour.registry.agencies.queries import AgencyQueries
from quarterhour.registry.documents import routes as documents
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.registry.exchange_rates import routes as exchange_rates
from quarterhour.registry.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES
from quarterhour.registry.exchange_rates.queries import ExchangeRateQueries
from quarterhour.registry.owner import OWNERS
from quarterhour.registry.rate_cards import routes as rate_cards
from quarterhour.registry.rate_cards.queries import RateCardQueries
from quarterhour.registry.rate_cards.rate_card import RATE_CARDS
from quarterhour.registry.reconciliation.result import RESULTS
from quarterhour.reports import routes as reports
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.reports.projections import routes as sales
from quarterhour.reports.projections.queries import LocationQueries, ProductQueries
from quarterhour.reports.queries import ReportQueries
from quarterhour.reports.schedule import routes as schedule
from quarterhour.reports.schedule.expression import EXPECTED, checked
from quarterhour.reports.schedule.queries import OperationQueries
from quarterhour.reports.schedule.service import ScheduleReconciler
from quarterhour.reports.schedule.store import ScheduleStore
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import began
from quarterhour.search import routes as search
from quarterhour.search.queries import SearchQueries
from quarterhour.snapshots import routes as snapshots
from quarterhour.snapshots.layers import LAYERS, parse_layers
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.statements import routes as statements
from quarterhour.statements.queries import StatementQueries
from quarterhour.statements.receivables import routes as receivables
from quarterhour.statements.receivables.queries import ReceivableQueries
from quarterhour.statements.releases import routes as releases
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.queries import DraftQueries
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.status import routes as statement_status
from quarterhour.statements.status.queries import StatementStatusQueries
from quarterhour.statements.store import ProgressStore, plan_of_period
from quarterhour.web import http
from quarterhour.web.access import everyone
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.statements.receivables.bank_files import BankFiles

env = Environment.of_process()
dynamodb, s3 = clients.dynamodb(), clients.s3()
workers = Workers(env.integer("MAX_CONCURRENCY", minimum=1))
bucket = env.text("REPORT_BUCKET")
entities = EntityReader(dynamodb, env.text("ENTITY_TABLE"))
began_at = partial(began, entities)
rate = env.parsed("REPORT_RATE", EXPECTED, checked)
layers = Layers(env.parsed("SNAPSHOT_LAYERS", LAYERS, parse_layers))
queues = {
    "counters-parked": env.text("COUNTERS_PARKED_QUEUE_URL"),
    "snapshots-parked": env.text("SNAPSHOTS_PARKED_QUEUE_URL"),
    "billing-parked": env.text("BILLING_PARKED_QUEUE_URL"),
    "counters-dead-letters": env.text("COUNTERS_DEAD_LETTERS_QUEUE_URL"),
    "snapshots-dead-letters": env.text("SNAPSHOTS_DEAD_LETTERS_QUEUE_URL"),
    "billing-dead-letters": env.text("BILLING_DEAD_LETTERS_QUEUE_URL"),
    "report-dead-letters": env.text("REPORT_DEAD_LETTERS_QUEUE_URL"),
    "intake-parked": env.optional("INTAKE_PARKED_QUEUE_URL", "the URL of a queue", str),
    "notifications-dead-letters": env.optional("NOTIFICATION_DEAD_LETTERS_QUEUE_URL", "the URL of a queue", str),
    "intake-dead-letters": env.optional("INTAKE_DEAD_LETTERS_QUEUE_URL", "the URL of a queue", str),
}
"""The URLs of the queues by the names of their alarms; ``None`` for those that the deployment does not have."""

account_queries = CounterQueries(entities)
account_snapshots = SnapshotQueries(entities, ACCOUNT_STATES)
rate_snapshots = SnapshotQueries(entities, EXCHANGE_RATE_STATES)
document_queries = DocumentQueries(entities)
agency_queries = AgencyQueries(document_queries)
rate_card_queries = RateCardQueries(entities)
sealed_files = SealedFiles(s3, bucket)
archived = ArchivedPostings(sealed_files, workers)
events = EventLookup(dynamodb, env.text("IDENTITY_TABLE"), env.text("LEDGER_TABLE"), archived)
vault = vault_of(env, dynamodb, workers)
names = CustomerNames(vault) if vault else None
stored_as = names.stored_as if names else by_name
ledger_queries = LedgerQueries(dynamodb, env.text("LEDGER_TABLE"), entities, workers, began_at, archived, stored_as)
retention = Retention(env.days("QUARTER_HOUR_RETENTION_DAYS"), env.days("DAY_RETENTION_DAYS"))
statement_queries = StatementQueries(entities, s3, bucket, calendar_of(env), retention, began_at, rounding_of(env))
draft_queries = DraftQueries(
    ReleaseStore(dynamodb, entities.table, workers),
    DraftContexts(entities, cache(partial(plan_of_period, entities))),
    sealed_files,
    ProgressStore(dynamodb, entities.table),
    statement_queries,
    workers,
)
order_queries = OrderQueries(entities, stored_as)
receivable_queries = ReceivableQueries(entities, statement_queries, account_queries, workers)
reconciler = ScheduleReconciler(ScheduleStore(clients.scheduler(), env.text("SCHEDULE_NAME"), entities), rate)
operation = OperationQueries(
    QueueReader(clients.sqs(), {name: url for name, url in queues.items() if url}),
    entities,
    rate,
    env.seconds("GRACE_SECONDS"),
)

routes = Routes(env, names.revealed if names else None)
counters.read_totals(routes, account_queries, OverviewQueries(account_queries, workers, retention))
counters.read_states(routes, account_queries, account_snapshots, layers)
snapshots.read(routes, {snapshots.ACCOUNTS: account_snapshots, "exchange-rates": rate_snapshots}, layers)
reports.read(routes, ReportQueries(entities, s3, bucket), document_queries)
ledger.read_spans(routes, ledger_queries)
rerating.read(routes, ReratingQueries(ledger_queries, document_queries))
ledger.read_one(routes, events, ExplanationQueries(events, rate_card_queries), StoryQueries(events, entities, workers))
held.read(routes, HeldQueries(entities))
sales.read(routes, LocationQueries(entities), ProductQueries(entities))
statements.read(routes, statement_queries, account_queries)
receivables.read(routes, receivable_queries)
statement_status.read(routes, StatementStatusQueries(entities), statement_queries, receivable_queries, account_queries)
releases.read(routes, draft_queries)
notifications.read(routes, SubscriptionQueries(entities))
orders.read(routes, order_queries)
search.read(routes, SearchQueries(entities, events, account_queries, order_queries, workers))
documents.read(routes, document_queries, (AGENCIES, OWNERS, RATE_CARDS, RESULTS))
agencies.read(routes, agency_queries)
rate_cards.read(routes, rate_card_queries, agency_queries, document_queries)
exchange_rates.read(routes, ExchangeRateQueries(entities), rate_snapshots, layers)
threads.read(routes, ThreadQueries(entities), Subjects(events, entities, document_queries.may_read))
schedule.read(routes, reconciler, operation)
csv.read(routes)

DESCRIPTION: Final = Path(__file__).with_name("openapi.json")


@cache
def bank_files() -> "BankFiles":
    """Return what reads the files of a bank; no other request needs these modules."""
    from quarterhour.statements.receivables.bank_files import BankFiles  # noqa: PLC0415 - see above

    return BankFiles(receivable_queries, entities, events, workers, statement_queries.calendar.zone)


receivables.read_bank_files(routes, bank_files)


@routes.get("/me", allow=everyone)
def me() -> http.Response:
    """Return the caller: their name, their roles, and the agencies whose data they may see."""
    return http.response(200, routes.caller().described())


@routes.get("/openapi.json", allow=everyone)
def description() -> http.Response:
    """Return the OpenAPI document of all routes, which is this one."""
    return http.response(200, _description())


@cache
def _description() -> dict[str, Any]:
    described: dict[str, Any] = json.loads(DESCRIPTION.read_text("utf-8"))
    return described


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Return the response to a request."""
    return routes.handle(event, context)
