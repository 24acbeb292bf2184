"""The routes of the exchange rates: stating one, and reading what was stated."""

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import observed
from quarterhour.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES, read_statement, shown
from quarterhour.exchange_rates.keys import CODE, code
from quarterhour.exchange_rates.queries import ExchangeRateQueries
from quarterhour.exchange_rates.service import ExchangeRateService
from quarterhour.exchange_rates.store import ExchangeRateStore
from quarterhour.model import clock, instants
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import NotFoundError
from quarterhour.snapshots.layers import LAYERS, parse_layers
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.snapshots.requests import LISTED, listed, states
from quarterhour.snapshots.requests import PARAMETERS as STATES
from quarterhour.web import http
from quarterhour.web.access import everyone, machines
from quarterhour.web.parameters import INSTANT, PAGE, decoded, invalid, parsed
from quarterhour.web.routing import Routes

env = Environment.of_process()
entities = EntityReader(clients.dynamodb(), env.text("ENTITY_TABLE"))
rates = ExchangeRateQueries(entities)
snapshots = SnapshotQueries(entities, EXCHANGE_RATE_STATES)
layers = Layers(env.parsed("SNAPSHOT_LAYERS", LAYERS, parse_layers))
base = env.currency("BASE_CURRENCY")
service = ExchangeRateService(rates, ExchangeRateStore(entities.client, entities.table), base)
routes = Routes(env)


@routes.put("/exchange-rates/<currency>", allow=machines)
def state_rate(currency: str) -> http.Response:
    """Put a rate into force; answer the one that is, or was as of the instant stated."""
    of = _code(currency)
    if of == base:
        raise invalid("currency", f"is {of}, which is the base currency", "another: a unit of it is always worth one")
    values, is_new = service.state(of, read_statement(routes.body(), clock.now()))
    return _answer(of, values, 201 if is_new else 200)


@routes.get("/exchange-rates", allow=everyone, query=PAGE)
def all_rates() -> http.Response:
    """Answer the rates in force now, of all currencies."""
    paging = routes.parameters().paging()
    return http.response(200, paging.body(snapshots.latest(paging)))


@routes.get("/exchange-rates/<currency>", allow=everyone, query=("at",))
def one_rate(currency: str) -> http.Response:
    """Answer the rate in force now, or at an instant."""
    at = routes.parameters().optional("at", INSTANT, instants.instant, None)
    of = _code(currency)
    if at is None:
        return _answer(of, _latest(of))
    values = rates.as_of(of, at)
    if values is None:
        raise NotFoundError(f"no rate of {of} was stated as of {iso_millis(at)} or before")
    return _answer(of, values)


@routes.get("/exchange-rates/<currency>/history", allow=everyone, query=LISTED)
def rate_history(currency: str) -> http.Response:
    """Answer the rates that were ever stated: as of instants in a span or on a day, or the last ones."""

    def known() -> str:
        of = _code(currency)
        _latest(of)
        return of

    found = listed(
        routes.parameters(),
        lambda start, end, paging: rates.span(known(), start, end, paging),
        lambda paging: rates.last(known(), paging),
    )
    return http.response(200, found)


@routes.get("/exchange-rates/<currency>/snapshots", allow=everyone, query=STATES)
def rate_snapshots(currency: str) -> http.Response:
    """Answer a rate in a layer: of a span or a day, the last ones, or the one as of an instant."""
    asked = routes.parameters()
    return http.response(200, states(asked, layers, snapshots, lambda: str(_latest(_code(currency))["pk"])))


@routes.get("/exchange-rates/<currency>/trend", allow=everyone, query=("layer",))
def rate_trend(currency: str) -> http.Response:
    """Answer how the rate in force compares with that before its own window, however long ago that was stated."""
    layer = routes.parameters().optional("layer", layers.expected, layers.named, layers.shortest)
    latest = _latest(_code(currency))
    return http.response(200, snapshots.compared(layer, latest, rates.before_window(layer, latest)))


def _code(currency: str) -> str:
    return parsed("currency", decoded(currency), CODE, code)


def _latest(currency: str) -> Values:
    values = rates.latest(currency)
    if values is None:
        raise NotFoundError(f"no rate of {currency} was ever stated")
    return values


def _answer(currency: str, values: Values, status: int = 200) -> http.Response:
    return http.response(status, {"currency": currency, **shown(values)})


@observed
@http.answered
def handler(event: dict[str, object], context: LambdaContext) -> http.Response:
    """Answer a request about exchange rates."""
    return routes.handle(event, context)
