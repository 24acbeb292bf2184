"""The GET routes: accounts, their counters and snapshots, windows, reports, and the ledger's events."""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError as NoRouteError
from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws, http, parameters
from quarterhour.counters.queries import CounterQueries
from quarterhour.errors import NotFoundError, RequestError
from quarterhour.ledger.keys import Account
from quarterhour.ledger.queries import LedgerQueries
from quarterhour.parameters import DAY, INSTANT, MOMENT, NAME, Parameters
from quarterhour.reading import EntityReader, Values
from quarterhour.reports.queries import ReportQueries
from quarterhour.settings import Environment
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.telemetry import logger

env = Environment.of_process()
dynamodb = aws.dynamodb()
entities = EntityReader(dynamodb, env.text("ENTITY_TABLE"))
counters = CounterQueries(entities)
snapshots = SnapshotQueries(entities)
layers = Layers(env.layers("SNAPSHOT_LAYERS"))
reports = ReportQueries(entities, aws.s3(), env.text("REPORT_BUCKET"))
workers = aws.Workers(env.integer("MAX_CONCURRENCY", least=1))
ledger = LedgerQueries(dynamodb, env.text("LEDGER_TABLE"), entities, workers)
app = APIGatewayHttpResolver()

PAGE = ("limit", "next")
SNAPSHOTS = {"from": ("from", "to", *PAGE), "at": ("at",), "last": ("last", "next"), "date": ("date", *PAGE)}


@app.get("/accounts/<agency>/<currency>")
def account_totals(agency: str, currency: str) -> Response[str]:
    """Answer an account's lifetime totals."""
    _asked()
    return _answer(counters.totals(*_account(agency, currency)))


@app.get("/accounts/<agency>/<currency>/quarters")
def account_quarters(agency: str, currency: str) -> Response[str]:
    """Answer an account's totals per quarter-hour."""
    asked = _asked("from", "to", *PAGE)
    start, end = asked.span(MOMENT, parameters.moment)
    paging = asked.paging()
    account, _ = _account(agency, currency)
    return _answer(paging.body(counters.quarters(account, start, end, paging)))


@app.get("/accounts/<agency>/<currency>/days")
def account_days(agency: str, currency: str) -> Response[str]:
    """Answer an account's totals per day."""
    asked = _asked("from", "to", *PAGE)
    first, end = asked.span(DAY, parameters.day)
    paging = asked.paging()
    account, _ = _account(agency, currency)
    return _answer(paging.body(counters.days(account, first, end, paging)))


@app.get("/accounts/<agency>/<currency>/snapshots")
def account_snapshots(agency: str, currency: str) -> Response[str]:
    """Answer an account's states in a layer: of a span or a day, the last ones, or the one as of an instant."""
    asked = _asked("layer", "from", "to", "at", "last", "date", *PAGE)
    layer = asked.required("layer", layers.expected, layers.named)
    match asked.choose(SNAPSHOTS, "layer"):
        case "at":
            at = asked.required("at", INSTANT, parameters.instant)
            account, _ = _account(agency, currency)
            return _answer(snapshots.at(account, layer, at))
        case "last":
            paging = asked.paging("last")
            account, _ = _account(agency, currency)
            return _answer(paging.body(snapshots.last(account, layer, paging)))
        case "date":
            start = asked.required("date", DAY, parameters.midnight)
            end = start + timedelta(days=1)
        case _:
            start, end = asked.span(MOMENT, parameters.moment)
    paging = asked.paging()
    account, _ = _account(agency, currency)
    return _answer(paging.body(snapshots.span(account, layer, start, end, paging)))


@app.get("/accounts/<agency>/<currency>/trend")
def account_trend(agency: str, currency: str) -> Response[str]:
    """Answer how an account's latest state compares with the window before its own."""
    asked = _asked("layer")
    layer = asked.optional("layer", layers.expected, layers.named, layers.shortest)
    account, latest = _account(agency, currency)
    return _answer(snapshots.trend(account, layer, latest))


@app.get("/windows/<layer>/<start>")
def window(layer: str, start: str) -> Response[str]:
    """Answer all accounts that changed in a window, as they stood at its end."""
    asked = _asked(*PAGE)
    wanted = parameters.parsed("layer", parameters.plain(layer), layers.expected_windows, layers.with_windows)
    at = parameters.parsed("start", parameters.plain(start), MOMENT, parameters.moment)
    paging = asked.paging()
    return _answer(snapshots.window(wanted, at, paging))


@app.get("/reports")
def report_runs() -> Response[str]:
    """Answer the report runs, the newest first."""
    paging = _asked(*PAGE).paging()
    return _answer(paging.body(reports.runs(paging)))


@app.get("/reports/<run>")
def report_run(run: str) -> Response[str]:
    """Answer a run with its manifest and links to its files."""
    _asked()
    return _answer(reports.run(parameters.plain(run)))


@app.get("/events")
def events() -> Response[str]:
    """Answer the events recorded in a span, in the order of their positions."""
    asked = _asked("from", "to", "agency", *PAGE)
    start, end = asked.span(MOMENT, parameters.moment)
    agency = asked.optional("agency", NAME, parameters.name, None)
    paging = asked.paging()
    return _answer(paging.body(ledger.events(start, end, agency, paging)))


def problem(error: RequestError) -> Response[str]:
    """Answer a request that cannot be served as it stands."""
    return _response(http.problem(error))


def no_route(_error: NoRouteError) -> Response[str]:
    """Answer a request that no route takes."""
    event = app.current_event
    return problem(NotFoundError(f"there is no route {event.http_method} {parameters.shown(event.path)}"))


app.exception_handler(RequestError)(problem)
app.not_found(no_route)


def _asked(*names: str) -> Parameters:
    """Return the request's parameters, which must be of these names."""
    event = app.current_event
    asked = Parameters(event.path, event.query_string_parameters)
    asked.allow(*names)
    return asked


def _account(agency: str, currency: str) -> tuple[Account, Values]:
    return counters.find(parameters.spellings(agency), parameters.plain(currency))


def _answer(body: dict[str, Any]) -> Response[str]:
    return _response(http.response(200, body))


def _response(response: http.Response) -> Response[str]:
    return Response(response["statusCode"], headers=response["headers"], body=response["body"])


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Answer a reading request."""
    return app.resolve(parameters.routed(event), context)
