"""The routes of the exchange rates: stating one, and reading what was stated."""

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour import aws, clock, http, parameters
from quarterhour.access import everyone, machines
from quarterhour.clock import iso_millis
from quarterhour.errors import NotFoundError
from quarterhour.parameters import INSTANT, PAGE, invalid, parsed, plain
from quarterhour.rates.keys import CODE, code
from quarterhour.rates.rate import RATE_STATES, read_statement, shown
from quarterhour.rates.store import RateStore
from quarterhour.reading import EntityReader, Values
from quarterhour.routing import Routes
from quarterhour.settings import Environment
from quarterhour.snapshots.asked import LISTED, listed, states
from quarterhour.snapshots.asked import PARAMETERS as STATES
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.telemetry import observed

env = Environment.of_process()
entities = EntityReader(aws.dynamodb(), env.text("ENTITY_TABLE"))
rates = RateStore(entities)
snapshots = SnapshotQueries(entities, RATE_STATES)
layers = Layers(env.layers("SNAPSHOT_LAYERS"))
base = env.currency("BASE_CURRENCY")
routes = Routes(env)


@routes.put("/rates/<currency>", allow=machines)
def state_rate(currency: str) -> http.Response:
    """Put a rate into force; answer the one that is, or was as of the instant stated."""
    of = _code(currency)
    if of == base:
        raise invalid("currency", f"is {of}, which is the base currency", "another: a unit of it is always worth one")
    values, is_new = rates.state(of, read_statement(routes.body(), clock.now()), base)
    return _answer(of, values, 201 if is_new else 200)


@routes.get("/rates", allow=everyone, query=PAGE)
def all_rates() -> http.Response:
    """Answer the rates in force now, of all currencies."""
    paging = routes.parameters().paging()
    return http.response(200, paging.body(snapshots.latest(paging)))


@routes.get("/rates/<currency>", allow=everyone, query=("at",))
def one_rate(currency: str) -> http.Response:
    """Answer the rate in force now, or at an instant."""
    at = routes.parameters().optional("at", INSTANT, parameters.instant, None)
    of = _code(currency)
    if at is None:
        return _answer(of, _latest(of))
    values = rates.as_of(of, at)
    if values is None:
        raise NotFoundError(f"no rate of {of} was stated as of {iso_millis(at)} or before")
    return _answer(of, values)


@routes.get("/rates/<currency>/history", allow=everyone, query=LISTED)
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


@routes.get("/rates/<currency>/snapshots", allow=everyone, query=STATES)
def rate_snapshots(currency: str) -> http.Response:
    """Answer a rate in a layer: of a span or a day, the last ones, or the one as of an instant."""
    asked = routes.parameters()
    return http.response(200, states(asked, layers, snapshots, lambda: str(_latest(_code(currency))["pk"])))


@routes.get("/rates/<currency>/trend", allow=everyone, query=("layer",))
def rate_trend(currency: str) -> http.Response:
    """Answer how the rate in force compares with that before its own window, however long ago that was stated."""
    layer = routes.parameters().optional("layer", layers.expected, layers.named, layers.shortest)
    latest = _latest(_code(currency))
    return http.response(200, snapshots.compared(layer, latest, rates.before(layer, latest)))


def _code(currency: str) -> str:
    return parsed("currency", plain(currency), CODE, code)


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
    """Answer a request about rates."""
    return routes.handle(event, context)
