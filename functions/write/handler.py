"""Answers every POST, PUT and DELETE of the API, but not POST /events, which is ingest's.

Each feature registers its routes in its ``routes.py``.
"""

from functools import cache, partial
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.executions import Executions
from quarterhour.aws.telemetry import observed
from quarterhour.aws.workers import Workers
from quarterhour.customers.tokens import CustomerNames, CustomerTokens, vault_of
from quarterhour.ledger.held import routes as held
from quarterhour.ledger.held.decision_service import HeldDecisionService
from quarterhour.ledger.held.store import HeldStore
from quarterhour.ledger.reading.queries import EventLookup
from quarterhour.messages import routes as threads
from quarterhour.messages.service import ThreadService
from quarterhour.messages.store import ThreadStore
from quarterhour.messages.subjects import Subjects
from quarterhour.model.settings import Environment, calendar_of
from quarterhour.notifications import routes as notifications
from quarterhour.notifications.secrets import SecretStore
from quarterhour.notifications.store import NotificationStore
from quarterhour.notifications.subscription_service import SubscriptionService
from quarterhour.orders import routes as orders
from quarterhour.orders.service import OrderService
from quarterhour.orders.store import OrderStore
from quarterhour.registry.agencies import routes as agencies
from quarterhour.registry.agencies.agency import AGENCIES
from quarterhour.registry.documents import routes as documents
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.registry.documents.service import DocumentService
from quarterhour.registry.documents.store import DocumentStore
from quarterhour.registry.exchange_rates import routes as exchange_rates
from quarterhour.registry.exchange_rates.queries import ExchangeRateQueries
from quarterhour.registry.exchange_rates.service import ExchangeRateService
from quarterhour.registry.exchange_rates.store import ExchangeRateStore
from quarterhour.registry.owner import OWNERS
from quarterhour.registry.rate_cards.rate_card import RATE_CARDS
from quarterhour.registry.reconciliation.result import RESULTS
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.reports.schedule import routes as schedule
from quarterhour.reports.schedule.expression import EXPECTED, checked
from quarterhour.reports.schedule.service import ScheduleReconciler
from quarterhour.reports.schedule.store import ScheduleStore
from quarterhour.reports.store import CheckpointStore, began
from quarterhour.statements.releases import routes as releases
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.service import ReleaseService
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.starting import StatementStarter
from quarterhour.statements.status import routes as statement_status
from quarterhour.statements.status.service import StatementStatusService
from quarterhour.statements.status.store import StatementStatusStore
from quarterhour.statements.store import ProgressStore, plan_of_period
from quarterhour.web import http
from quarterhour.web.routing import Routes

env = Environment.of_process()
dynamodb = clients.dynamodb()
table = env.text("ENTITY_TABLE")
entities = EntityReader(dynamodb, table)
identity_table = env.text("IDENTITY_TABLE")
workers = Workers(env.integer("MAX_CONCURRENCY", minimum=1))
events = EventLookup(dynamodb, identity_table, env.text("LEDGER_TABLE"), ArchivedPostings.of(env, workers))

order_store = OrderStore(dynamodb, clients.dynamodb_once(), table, workers)
document_service = DocumentService(entities, DocumentStore(dynamodb, table))
rate_service = ExchangeRateService(
    ExchangeRateQueries(entities), ExchangeRateStore(dynamodb, table), env.currency("BASE_CURRENCY")
)
schedule_store = ScheduleStore(clients.scheduler(), env.text("SCHEDULE_NAME"), entities)

vault = vault_of(env, dynamodb, workers)
routes = Routes(env, CustomerNames(vault).revealed if vault else None)
orders.write(routes, OrderService(order_store, CustomerTokens(vault) if vault else None))
documents.write(routes, document_service, (AGENCIES, OWNERS, RATE_CARDS, RESULTS))
agencies.write(routes, document_service)
exchange_rates.write(routes, rate_service)
threads.write(
    routes,
    ThreadService(ThreadStore(dynamodb, table)),
    Subjects(events, entities, DocumentQueries(entities).may_read),
)
schedule.write(routes, ScheduleReconciler(schedule_store, env.parsed("REPORT_RATE", EXPECTED, checked)))
release_store = ReleaseStore(dynamodb, table, workers)
releases.write(
    routes,
    ReleaseService(
        release_store,
        DraftContexts(entities, cache(partial(plan_of_period, entities))),
        env.integer("RELEASE_APPROVALS", minimum=1) > 1,
    ),
    StatementStarter(
        CheckpointStore(dynamodb, table),
        ProgressStore(dynamodb, table),
        Executions(clients.stepfunctions(), env.text("STATEMENTS_ARN")),
        calendar_of(env),
        partial(began, entities),
        release_store.due_release,
    ),
)
held.write(routes, HeldDecisionService(HeldStore(dynamodb, identity_table, table, entities)))
statement_status.write(routes, StatementStatusService(StatementStatusStore(dynamodb, entities), events))
notifications.write(
    routes,
    SubscriptionService(
        NotificationStore(dynamodb, entities),
        SecretStore(clients.ssm(), env.text("SECRETS_PATH")),
        env.text("NOTIFICATIONS") == "on",
    ),
    # Only the emulator sets this: no address of the deployment's own network is allowed on AWS.
    local=bool(env.variables.get("QUARTERHOUR_LOCAL_RECEIVERS")),
)


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Return the response to a request."""
    return routes.handle(event, context)
