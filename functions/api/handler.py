"""The GET routes: accounts, counters, snapshots, windows, reports, the ledger's events; and the description of all."""

import json
from datetime import timedelta
from functools import cache
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
from quarterhour.counters.queries import ACCOUNT_STATES, CounterQueries
from quarterhour.documents.keys import report
from quarterhour.documents.queries import DocumentQueries
from quarterhour.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES
from quarterhour.ledger.queries import EventLookup, ExplanationQueries, LedgerQueries
from quarterhour.locations.keys import read_place
from quarterhour.locations.plan import MOST_LEVELS, levels
from quarterhour.locations.queries import LocationQueries
from quarterhour.model import fields, instants
from quarterhour.model.fields import NAME
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.instants import ALWAYS, DAY
from quarterhour.reports.keys import is_run_id
from quarterhour.reports.queries import ReportQueries, no_run
from quarterhour.snapshots.layers import LAYERS, parse_layers
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.snapshots.requests import PARAMETERS as STATES
from quarterhour.snapshots.requests import states
from quarterhour.web import http, parameters
from quarterhour.web.access import everyone, machines, own_agency
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
workers = Workers(env.integer("MAX_CONCURRENCY", least=1))
ledger = LedgerQueries(dynamodb, env.text("LEDGER_TABLE"), entities, workers)
locations = LocationQueries(entities)
lookup = EventLookup(dynamodb, env.text("IDENTITY_TABLE"), env.text("LEDGER_TABLE"))
explanations = ExplanationQueries(lookup, entities)
routes = Routes(env)

DESCRIPTION: Final = Path(__file__).with_name("openapi.json")
SOURCE_EVENTS = {"from": ("from", "to", *PAGE), "after": ("after", *PAGE), "before": ("before", *PAGE)}

Names = tuple[str, ...]
"""The spellings that a name in the path can have, of which the caller may see."""


@routes.get("/accounts/<agency>/<currency>", allow=own_agency)
def account_totals(agency: Names, currency: str) -> http.Response:
    """Answer an account's lifetime totals."""
    return _answer(counters.totals(*_account(agency, currency)))


@routes.get("/accounts/<agency>/<currency>/quarter-hours", allow=own_agency, query=("from", "to", *PAGE))
def account_quarter_hours(agency: Names, currency: str) -> http.Response:
    """Answer an account's totals per quarter-hour."""
    asked = routes.parameters()
    start, end = asked.span(MOMENT, instants.moment)
    paging = asked.paging()
    account, _ = _account(agency, currency)
    return _answer(paging.body(counters.quarter_hours(account, start, end, paging)))


@routes.get("/accounts/<agency>/<currency>/days", allow=own_agency, query=("from", "to", *PAGE))
def account_days(agency: Names, currency: str) -> http.Response:
    """Answer an account's totals per day."""
    asked = routes.parameters()
    first, end = asked.span(DAY, instants.day)
    paging = asked.paging()
    account, _ = _account(agency, currency)
    return _answer(paging.body(counters.days(account, first, end, paging)))


@routes.get("/accounts/<agency>/<currency>/snapshots", allow=own_agency, query=STATES)
def account_snapshots(agency: Names, currency: str) -> http.Response:
    """Answer an account's states in a layer: of a span or a day, the last ones, or the one as of an instant."""
    asked = routes.parameters()
    return _answer(states(asked, layers, snapshots, lambda: account_pk(_account(agency, currency)[0])))


@routes.get("/accounts/<agency>/<currency>/changes", allow=own_agency, query=PAGE)
def account_changes(agency: Names, currency: str) -> http.Response:
    """Answer an account's single changes, the newest first."""
    paging = routes.parameters().paging()
    account, _ = _account(agency, currency)
    return _answer(paging.body(snapshots.last(account_pk(account), layers.changes, paging)))


@routes.get("/accounts/<agency>/<currency>/trend", allow=own_agency, query=("layer",))
def account_trend(agency: Names, currency: str) -> http.Response:
    """Answer how an account's latest state compares with the window before its own."""
    asked = routes.parameters()
    layer = asked.optional("layer", layers.expected, layers.named, layers.shortest)
    _, latest = _account(agency, currency)
    return _answer(snapshots.trend(layer, latest))


@routes.get("/windows/<layer>/<start>", allow=machines, query=("kind", *PAGE))
def window(layer: str, start: str) -> http.Response:
    """Answer all accounts, or rates, that changed in a window, as they stood at its end."""
    asked = routes.parameters()
    wanted = parameters.parsed("layer", parameters.plain(layer), layers.expected_windows, layers.with_windows)
    at = parameters.parsed("start", parameters.plain(start), MOMENT, instants.moment)
    kind = asked.optional("kind", one_of(kinds), lambda name: among(kinds, name), snapshots)
    paging = asked.paging()
    return _answer(kind.window(wanted, at, paging))


@routes.get("/reports", allow=machines, query=PAGE)
def report_runs() -> http.Response:
    """Answer the report runs, the newest first."""
    paging = routes.parameters().paging()
    return _answer(paging.body(reports.runs(paging)))


@routes.get("/reports/<run>", allow=everyone)
def report_run(run: str) -> http.Response:
    """Answer a run with its manifest and links to its files, to people who may read it."""
    name = parameters.plain(run)
    if not (is_run_id(name) and documents.may_read(report(name), routes.caller())):
        raise no_run(name)
    return _answer(reports.run(name))


@routes.get("/events", allow=everyone, query=("from", "to", "agency", *PAGE))
def events() -> http.Response:
    """Answer the events recorded in a span, in the order of their positions."""
    asked = routes.parameters()
    start, end = asked.span(MOMENT, instants.moment)
    agency = routes.caller().narrowed(asked.optional("agency", NAME, parameters.name, None))
    paging = asked.paging()
    return _answer(paging.body(ledger.events(start, end, agency, paging)))


@routes.get("/events/<source>/<event>/explain", allow=everyone)
def explanation(source: str, event: str) -> http.Response:
    """Answer how the commission of an event came about."""
    sources, ids = parameters.names("source", source), parameters.names("event", event)
    possible = (Identity(one, other) for one in sources for other in ids)
    return _answer(explanations.explain(possible, routes.caller()))


@routes.get("/sources/<source>/events", allow=machines, query=("from", "to", "after", "before", *PAGE))
def source_events(source: str) -> http.Response:
    """Answer the events of a source recorded in a span, after an instant, or before one, in the order of time."""
    asked = routes.parameters()
    name = parameters.parsed("source", parameters.plain(source), NAME, parameters.name)
    start, end = ALWAYS
    match asked.choose(SOURCE_EVENTS):
        case "after":
            start = asked.required("after", MOMENT, instants.moment) + timedelta.resolution
        case "before":
            end = asked.required("before", MOMENT, instants.moment)
        case _:
            start, end = asked.span(MOMENT, instants.moment)
    paging = asked.paging()
    return _answer(paging.body(ledger.of_source(name, start, end, paging)))


@routes.get("/locations", allow=machines, query=("from", "to", "level", *PAGE))
def sales_everywhere() -> http.Response:
    """Answer what was sold on each day, by country or at a deeper level."""
    return _sales("")


@routes.get("/locations/<place>", allow=machines, query=("from", "to", "level", *PAGE))
def sales_at_a_place(place: str) -> http.Response:
    """Answer what was sold at a place and below it on each day, as a whole or by the places at a deeper level."""
    return _sales(parameters.parsed("place", parameters.plain(place), fields.PLACE, read_place))


@routes.get("/openapi.json", allow=everyone)
def description() -> http.Response:
    """Answer the description of all routes, of whatever function: this document."""
    return _answer(_description())


@cache
def _description() -> dict[str, Any]:
    described: dict[str, Any] = json.loads(DESCRIPTION.read_text("utf-8"))
    return described


def _sales(place: str) -> http.Response:
    asked = routes.parameters()
    span = asked.span(DAY, instants.day)
    least = max(1, levels(place))
    level = asked.whole("level", least, MOST_LEVELS, least)
    paging = asked.paging()
    return _answer(paging.body(locations.sales(place, level, span, paging)))


def _account(agency: Names, currency: str) -> tuple[Account, Values]:
    return counters.find(agency, parameters.plain(currency))


def _answer(body: dict[str, Any]) -> http.Response:
    return http.response(200, body)


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Answer a reading request."""
    return routes.handle(event, context)
