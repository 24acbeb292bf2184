"""The routes of the exchange rates: entering them, and reading them."""

from typing import TYPE_CHECKING

from quarterhour.aws.entity import Values
from quarterhour.aws.resources import Resources
from quarterhour.model import clock, instants
from quarterhour.registry.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES, read_request, shown
from quarterhour.registry.exchange_rates.keys import CODE, parse_code
from quarterhour.registry.exchange_rates.queries import ExchangeRateQueries
from quarterhour.registry.exchange_rates.service import ExchangeRateService
from quarterhour.registry.exchange_rates.store import ExchangeRateStore
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.snapshots.layers import LAYERS
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.snapshots.requests import LISTED, listed, states
from quarterhour.snapshots.requests import PARAMETERS as STATES
from quarterhour.web import http
from quarterhour.web.access import Role, everyone, people
from quarterhour.web.parameters import INSTANT, PAGE, decoded, parsed
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.registry.exchange_rates import api


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes."""
    rates, layers = ExchangeRateQueries(resources.entities), Layers(LAYERS)
    snapshots = SnapshotQueries(resources.entities, EXCHANGE_RATE_STATES)

    @routes.get("/exchange-rates", allow=everyone, query=PAGE)
    def all_rates() -> http.Response:
        """Return the exchange rates in force now, of all currencies."""
        paging = routes.parameters().paging()
        return http.response(200, paging.body(snapshots.latest(paging)))

    @routes.get("/exchange-rates/<currency>", allow=everyone, query=("at",))
    def one_rate(currency: str) -> http.Response:
        """Return the exchange rate in force now, or at an instant."""
        at = routes.parameters().optional("at", INSTANT, instants.instant, None)
        code = _code(currency)
        return _response(code, rates.in_force(code, at))

    @routes.get("/exchange-rates/<currency>/history", allow=everyone, query=LISTED)
    def rate_history(currency: str) -> http.Response:
        """Return the exchange rates entered as of instants in a span or on a day, or the last ones."""

        def known() -> str:
            code = _code(currency)
            rates.in_force(code)
            return code

        body = listed(
            routes.parameters(),
            lambda start, end, paging: rates.span(known(), start, end, paging),
            lambda paging: rates.last(known(), paging),
        )
        return http.response(200, body)

    @routes.get("/exchange-rates/<currency>/snapshots", allow=everyone, query=STATES)
    def rate_snapshots(currency: str) -> http.Response:
        """Return snapshots of an exchange rate in a layer: of a span or a day, the last, or that as of an instant."""

        def find() -> str:
            return str(rates.in_force(_code(currency))["pk"])

        return http.response(200, states(routes.parameters(), layers, snapshots, find))

    @routes.get("/exchange-rates/<currency>/trend", allow=everyone, query=("layer",))
    def rate_trend(currency: str) -> http.Response:
        """Return how the exchange rate in force compares with the one before its window, however old that is."""
        layer = routes.parameters().optional("layer", layers.expected, layers.named, layers.shortest)
        latest = rates.in_force(_code(currency))
        return http.response(200, snapshots.compared(layer, latest, rates.before_window(layer, latest)))


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing route."""
    store = ExchangeRateStore(resources.dynamodb, resources.entity_table)
    queries, settings = ExchangeRateQueries(resources.entities), SettingsReader.of(resources)

    @routes.put("/exchange-rates/<currency>", allow=people(Role.FINANCE))
    def enter_rate(currency: str) -> http.Response:
        """Put an exchange rate into force; return it, or the same rate as it was entered before."""
        code = _code(currency)
        rates = ExchangeRateService(queries, store, settings.settings().base_currency)
        values, is_new = rates.enter(code, read_request(routes.body(), clock.now()))
        return _response(code, values, 201 if is_new else 200)


def _code(currency: str) -> str:
    return parsed("currency", decoded(currency), CODE, parse_code)


def _response(currency: str, values: Values, status: int = 200) -> http.Response:
    rate: api.ExchangeRate = {"currency": currency, **shown(values)}
    return http.response(status, rate)
