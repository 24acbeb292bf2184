"""The GET routes: accounts, overview, snapshots, reports, ledger events, locations, caller, and OpenAPI document."""

import json
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import observed
from quarterhour.aws.workers import Workers
from quarterhour.counters.keys import account_pk
from quarterhour.counters.overview import OverviewQueries
from quarterhour.counters.queries import ACCOUNT_STATES, CounterQueries, read_currency
from quarterhour.documents.keys import report
from quarterhour.documents.queries import DocumentQueries
from quarterhour.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES
from quarterhour.ledger.held.held_event import HeldReason
from quarterhour.ledger.held.keys import HeldStatus
from quarterhour.ledger.held.queries import HeldQueries, HeldQuery
from quarterhour.ledger.queries import EventLookup, ExplanationQueries, LedgerQueries, StoryQueries
from quarterhour.ledger.requests import EVENTS, SOURCE_EVENTS, event_filter, source_span
from quarterhour.locations.keys import read_place
from quarterhour.locations.plan import MAX_LEVELS, levels
from quarterhour.locations.queries import LocationQueries
from quarterhour.model import fields, instants
from quarterhour.model.fields import NAME
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.instants import DAY, MONTH
from quarterhour.model.periods import PERIOD, Period
from quarterhour.rate_cards.queries import RateCardQueries
from quarterhour.reports.keys import is_run_id
from quarterhour.reports.queries import ReportQueries, no_run
from quarterhour.reports.store import began
from quarterhour.snapshots.layers import LAYERS, parse_layers
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.snapshots.requests import PARAMETERS as STATES
from quarterhour.snapshots.requests import states
from quarterhour.web import http, parameters
from quarterhour.web.access import everyone, own_agency, staff
from quarterhour.web.parameters import MOMENT, PAGE, among, one_of
from quarterhour.web.routing import Routes

env = Environment.of_process()
dynamodb = clients.dynamodb()
entities = EntityReader(dynamodb, env.text("ENTITY_TABLE"))
counters = CounterQueries(entities)
snapshots = SnapshotQueries(entities, ACCOUNT_STATES)
kinds = {"accounts": snapshots, "exchange-rates": SnapshotQueries(entities, EXCHANGE_RATE_STATES)}
layers = Layers(env.parsed("SNAPSHOT_LAYERS", LAYERS, parse_layers))
documents = DocumentQueries(entities)
reports = ReportQueries(entities, clients.s3(), env.text("REPORT_BUCKET"))
workers = Workers(env.integer("MAX_CONCURRENCY", minimum=1))
ledger = LedgerQueries(dynamodb, env.text("LEDGER_TABLE"), entities, workers, partial(began, entities))
overviews = OverviewQueries(counters, workers)
locations = LocationQueries(entities)
lookup = EventLookup(dynamodb, env.text("IDENTITY_TABLE"), env.text("LEDGER_TABLE"))
explanations = ExplanationQueries(lookup, RateCardQueries(entities))
held = HeldQueries(entities)
stories = StoryQueries(lookup, entities, workers)
routes = Routes(env)

DESCRIPTION: Final = Path(__file__).with_name("openapi.json")

Names = tuple[str, ...]
"""The possible spellings of a name in the path, as far as the caller may see what they name."""


@routes.get("/accounts", allow=everyone, query=("agency", "currency", *PAGE))
def accounts() -> http.Response:
    """Return the accounts, each with its lifetime totals."""
    query = routes.parameters()
    agency = routes.caller().requested_agency(query)
    currency = query.optional("currency", fields.CURRENCY, read_currency, None)
    paging = query.paging()
    return _ok(paging.body(counters.accounts(agency, currency, paging, routes.seconds_left)))


@routes.get("/overview", allow=everyone, query=("period", "agency", *PAGE))
def overview() -> http.Response:
    """Return the accounts with their totals in a period and the one before, and the sums of their days."""
    query = routes.parameters()
    period = query.required("period", PERIOD, instants.month)
    agency = routes.caller().requested_agency(query)
    return _ok(overviews.page(period, agency, query.paging(), routes.seconds_left))


@routes.get("/accounts/<agency>/<currency>", allow=own_agency)
def account_totals(agency: Names, currency: str) -> http.Response:
    """Return an account's lifetime totals."""
    return _ok(counters.totals(*_account(agency, currency)))


@routes.get("/accounts/<agency>/<currency>/quarter-hours", allow=own_agency, query=("from", "to", *PAGE))
def account_quarter_hours(agency: Names, currency: str) -> http.Response:
    """Return an account's totals per quarter-hour."""
    query = routes.parameters()
    start, end = query.span(MOMENT, instants.moment)
    paging = query.paging()
    account, _ = _account(agency, currency)
    return _ok(paging.body(counters.quarter_hours(account, start, end, paging)))


@routes.get("/accounts/<agency>/<currency>/days", allow=own_agency, query=("from", "to", *PAGE))
def account_days(agency: Names, currency: str) -> http.Response:
    """Return an account's totals per day."""
    query = routes.parameters()
    first, end = query.span(DAY, instants.day)
    paging = query.paging()
    account, _ = _account(agency, currency)
    return _ok(paging.body(counters.days(account, first, end, paging)))


@routes.get("/accounts/<agency>/<currency>/periods", allow=own_agency, query=("from", "to", *PAGE))
def account_periods(agency: Names, currency: str) -> http.Response:
    """Return an account's totals per period."""
    query = routes.parameters()
    first, end = query.span(MONTH, instants.month, (Period.of(instants.ALWAYS[0]), Period.of(instants.ALWAYS[1])))
    paging = query.paging()
    account, _ = _account(agency, currency)
    return _ok(paging.body(counters.periods(account, first, end, paging)))


@routes.get("/accounts/<agency>/<currency>/snapshots", allow=own_agency, query=STATES)
def account_snapshots(agency: Names, currency: str) -> http.Response:
    """Return an account's states in a layer: of a span or a day, the last ones, or the state at an instant."""
    query = routes.parameters()
    return _ok(states(query, layers, snapshots, lambda: account_pk(_account(agency, currency)[0])))


@routes.get("/accounts/<agency>/<currency>/changes", allow=own_agency, query=PAGE)
def account_changes(agency: Names, currency: str) -> http.Response:
    """Return an account's single changes, the newest first."""
    paging = routes.parameters().paging()
    account, _ = _account(agency, currency)
    return _ok(paging.body(snapshots.last(account_pk(account), layers.changes, paging)))


@routes.get("/accounts/<agency>/<currency>/trend", allow=own_agency, query=("layer",))
def account_trend(agency: Names, currency: str) -> http.Response:
    """Return an account's latest state, compared with its state in the window before."""
    query = routes.parameters()
    layer = query.optional("layer", layers.expected, layers.named, layers.shortest)
    _, latest = _account(agency, currency)
    return _ok(snapshots.trend(layer, latest))


@routes.get("/windows/<layer>/<start>", allow=staff, query=("kind", *PAGE))
def window(layer: str, start: str) -> http.Response:
    """Return all accounts, or exchange rates, that changed in a window, with their states at its end."""
    query = routes.parameters()
    with_windows = parameters.parsed("layer", parameters.decoded(layer), layers.expected_windows, layers.with_windows)
    at = parameters.parsed("start", parameters.decoded(start), MOMENT, instants.moment)
    kind = query.optional("kind", one_of(kinds), lambda name: among(kinds, name), snapshots)
    paging = query.paging()
    return _ok(kind.window(with_windows, at, paging))


@routes.get("/reports", allow=staff, query=("date", *PAGE))
def report_runs() -> http.Response:
    """Return the report runs, the newest first."""
    query = routes.parameters()
    day = query.optional("date", DAY, instants.day, None)
    paging = query.paging()
    return _ok(paging.body(reports.runs(day, paging)))


@routes.get("/reports/<run>", allow=everyone)
def report_run(run: str) -> http.Response:
    """Return a report run with its manifest and links to its files, to callers who may read it."""
    name = parameters.decoded(run)
    if not (is_run_id(name) and documents.may_read(report(name), routes.caller())):
        raise no_run(name)
    return _ok(reports.run(name))


@routes.get("/events", allow=everyone, query=EVENTS)
def events() -> http.Response:
    """Return the events recorded in a span, in the order of their positions."""
    query = routes.parameters()
    start, end = query.span(MOMENT, instants.moment)
    only = event_filter(query, routes.caller())
    paging = query.paging()
    return _ok(paging.body(ledger.events(start, end, only, paging, routes.seconds_left, routes.caller())))


@routes.get("/events/<source>/<event>", allow=everyone)
def recorded_event(source: str, event: str) -> http.Response:
    """Return a recorded event with its receipt."""
    return _ok(lookup.event(_identities(source, event), routes.caller()))


@routes.get("/events/<source>/<event>/explain", allow=everyone)
def explanation(source: str, event: str) -> http.Response:
    """Return the explanation of an event's commission: its commission terms, and the steps that compute it."""
    return _ok(explanations.explain(_identities(source, event), routes.caller()))


@routes.get("/held", allow=everyone, query=("status", "reason", "agency", "before", *PAGE))
def held_events() -> http.Response:
    """Return the events that are held, or those that operators have discarded, the oldest first."""
    query = routes.parameters()
    status = query.optional("status", one_of(HeldStatus), HeldStatus, HeldStatus.HELD)
    reason = query.optional("reason", one_of(HeldReason), HeldReason, None)
    agency = routes.caller().requested_agency(query)
    before = query.optional("before", MOMENT, instants.moment, None)
    paging = query.paging()
    return _ok(paging.body(held.page(HeldQuery(status, agency, reason, before), paging, routes.caller())))


@routes.get("/events/<source>/<event>/story", allow=everyone, query=PAGE)
def story(source: str, event: str) -> http.Response:
    """Return a sale and everything that refers to it, as the ledger applied it, with the commission after each."""
    return _ok(stories.story(_identities(source, event), routes.caller(), routes.parameters().paging()))


@routes.get("/sources/<source>/events", allow=staff, query=SOURCE_EVENTS)
def source_events(source: str) -> http.Response:
    """Return the events of a source recorded in a span, after an instant, or before one, in the order of time."""
    query = routes.parameters()
    name = parameters.parsed("source", parameters.decoded(source), NAME, parameters.name)
    start, end = source_span(query)
    paging = query.paging()
    return _ok(paging.body(ledger.events(start, end, {"source": name}, paging, routes.seconds_left, routes.caller())))


@routes.get("/locations", allow=staff, query=("from", "to", "level", *PAGE))
def sales_everywhere() -> http.Response:
    """Return the sales of each day, by country or by the places at a deeper level."""
    return _sales("")


@routes.get("/locations/<place>", allow=staff, query=("from", "to", "level", *PAGE))
def sales_at_a_place(place: str) -> http.Response:
    """Return the sales of each day at a place and within it, in total or by the places at a deeper level."""
    return _sales(parameters.parsed("place", parameters.decoded(place), fields.PLACE, read_place))


@routes.get("/me", allow=everyone)
def me() -> http.Response:
    """Return the caller: their name, their roles, and the agencies whose data they may see."""
    return _ok(routes.caller().described())


@routes.get("/openapi.json", allow=everyone)
def description() -> http.Response:
    """Return the OpenAPI document of all routes, which is this one."""
    return _ok(_description())


@cache
def _description() -> dict[str, Any]:
    described: dict[str, Any] = json.loads(DESCRIPTION.read_text("utf-8"))
    return described


def _sales(place: str) -> http.Response:
    query = routes.parameters()
    span = query.span(DAY, instants.day)
    least = max(1, levels(place))
    level = query.whole("level", least, MAX_LEVELS, least)
    paging = query.paging()
    return _ok(paging.body(locations.sales(place, level, span, paging)))


def _identities(source: str, event: str) -> Iterator[Identity]:
    """Return the identities that the variables of a path can mean."""
    sources, ids = parameters.names("source", source), parameters.names("event", event)
    return (Identity(source_, id_) for source_ in sources for id_ in ids)


def _account(agency: Names, currency: str) -> tuple[Account, Values]:
    return counters.find(agency, parameters.decoded(currency))


def _ok(body: dict[str, Any]) -> http.Response:
    return http.response(200, body)


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Return the response to a request."""
    return routes.handle(event, context)
