"""The routes of the accounts: their totals, their states, and the overview of all."""

from datetime import timedelta
from typing import Final

from quarterhour.aws.resources import Resources
from quarterhour.counters.keys import account_pk
from quarterhour.counters.overview import OverviewQueries
from quarterhour.counters.plan import Retention
from quarterhour.counters.queries import ACCOUNT_STATES, CounterQueries, Registered, with_registrations
from quarterhour.counters.spans import MAX_DAYS, RANGES, Spans, calendar_spans, day_spans
from quarterhour.model import clock, fields, instants
from quarterhour.model.instants import ALWAYS, DAY, MONTH
from quarterhour.model.periods import PERIOD, Period
from quarterhour.snapshots.layers import LAYERS
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.snapshots.requests import PARAMETERS as STATES
from quarterhour.snapshots.requests import states
from quarterhour.web import http, parameters
from quarterhour.web.access import IsVisible, Search, everyone, own_agency
from quarterhour.web.parameters import MOMENT, PAGE, Parameters, invalid, one_of
from quarterhour.web.routing import Routes, Spellings

_CHOICES: Final = {"period": ("period",), "range": ("range",), "from": ("from", "to")}
"""The parameters that say which spans an overview compares."""


def read(routes: Routes, resources: Resources, registered: Registered) -> None:
    """Register the reading routes."""
    _read_accounts(routes, resources, registered)
    _read_totals(routes, resources)
    _read_states(routes, resources)


def visibility(resources: Resources) -> IsVisible:
    """Return the function that returns whether an agency with an account exists and is visible to a caller."""
    return CounterQueries(resources.entities).is_visible


def search(resources: Resources) -> Search:
    """Return the search for accounts."""
    return CounterQueries(resources.entities).found


def _read_accounts(routes: Routes, resources: Resources, registered: Registered) -> None:
    counters = CounterQueries(resources.entities)
    overviews = OverviewQueries(counters, resources.workers, Retention(), registered)

    @routes.get("/accounts", allow=everyone, query=("agency", "currency", *PAGE))
    def accounts() -> http.Response:
        """Return the accounts, each with its lifetime totals."""
        query = routes.parameters()
        agency = routes.caller().requested_agency(query)
        currency = query.optional("currency", fields.CURRENCY, fields.currency_of_account, None)
        paging = query.paging()
        page = counters.accounts(agency, currency, paging, routes.seconds_left)
        return http.response(200, paging.body(with_registrations(page, registered)))

    @routes.get("/overview", allow=everyone, query=("period", "range", "from", "to", "agency", *PAGE))
    def overview() -> http.Response:
        """Return the accounts with their totals in a period or span and in the one before, and the sums of the days."""
        query = routes.parameters()
        if query.choose(_CHOICES, "agency", *PAGE) == "period":
            period = query.required("period", PERIOD, instants.month)
            agency = routes.caller().requested_agency(query)
            return http.response(200, overviews.page(period, agency, query.paging(), routes.seconds_left))
        spans = _spans(query)
        agency = routes.caller().requested_agency(query)
        return http.response(200, overviews.compared(spans, agency, query.paging(), routes.seconds_left))


def _read_totals(routes: Routes, resources: Resources) -> None:
    counters = CounterQueries(resources.entities)

    @routes.get("/accounts/<agency>/<currency>", allow=own_agency)
    def account_totals(agency: Spellings, currency: str) -> http.Response:
        """Return an account's lifetime totals."""
        return http.response(200, counters.totals(*counters.find(agency, parameters.decoded(currency))))

    @routes.get("/accounts/<agency>/<currency>/quarter-hours", allow=own_agency, query=("from", "to", *PAGE))
    def account_quarter_hours(agency: Spellings, currency: str) -> http.Response:
        """Return an account's totals per quarter-hour."""
        query = routes.parameters()
        start, end = query.span(MOMENT, instants.moment)
        paging = query.paging()
        account, _ = counters.find(agency, parameters.decoded(currency))
        return http.response(200, paging.body(counters.quarter_hours(account, start, end, paging)))

    @routes.get("/accounts/<agency>/<currency>/days", allow=own_agency, query=("from", "to", *PAGE))
    def account_days(agency: Spellings, currency: str) -> http.Response:
        """Return an account's totals per day."""
        query = routes.parameters()
        first, end = query.span(DAY, instants.day)
        paging = query.paging()
        account, _ = counters.find(agency, parameters.decoded(currency))
        return http.response(200, paging.body(counters.days(account, first, end, paging)))

    @routes.get("/accounts/<agency>/<currency>/periods", allow=own_agency, query=("from", "to", *PAGE))
    def account_periods(agency: Spellings, currency: str) -> http.Response:
        """Return an account's totals per period."""
        query = routes.parameters()
        first, end = query.span(MONTH, instants.month, (Period.of(ALWAYS[0]), Period.of(ALWAYS[1])))
        paging = query.paging()
        account, _ = counters.find(agency, parameters.decoded(currency))
        return http.response(200, paging.body(counters.periods(account, first, end, paging)))


def _read_states(routes: Routes, resources: Resources) -> None:
    counters, layers = CounterQueries(resources.entities), Layers(LAYERS)
    snapshots = SnapshotQueries(resources.entities, ACCOUNT_STATES)

    @routes.get("/accounts/<agency>/<currency>/snapshots", allow=own_agency, query=STATES)
    def account_snapshots(agency: Spellings, currency: str) -> http.Response:
        """Return an account's states in a layer: of a span or a day, the last ones, or the state at an instant."""

        def find() -> str:
            account, _ = counters.find(agency, parameters.decoded(currency))
            return account_pk(account)

        return http.response(200, states(routes.parameters(), layers, snapshots, find))

    @routes.get("/accounts/<agency>/<currency>/changes", allow=own_agency, query=PAGE)
    def account_changes(agency: Spellings, currency: str) -> http.Response:
        """Return an account's single changes, the newest first."""
        paging = routes.parameters().paging()
        account, _ = counters.find(agency, parameters.decoded(currency))
        return http.response(200, paging.body(snapshots.last(account_pk(account), layers.changes, paging)))

    @routes.get("/accounts/<agency>/<currency>/trend", allow=own_agency, query=("layer",))
    def account_trend(agency: Spellings, currency: str) -> http.Response:
        """Return an account's latest state, compared with its state in the window before."""
        query = routes.parameters()
        layer = query.optional("layer", layers.expected, layers.named, layers.shortest)
        _, latest = counters.find(agency, parameters.decoded(currency))
        return http.response(200, snapshots.trend(layer, latest))


def _spans(query: Parameters) -> Spans:
    """Return the spans that a request compares: those of a range, or from one day to before another."""
    if "range" in query.values:
        return query.required("range", one_of(RANGES), lambda name: calendar_spans(name, clock.now()))
    first, end = query.span(DAY, instants.day)
    if not timedelta() < end - first <= timedelta(days=MAX_DAYS):
        raise invalid("to", "is not after from, or too far from it", f"1 to {MAX_DAYS} days after from")
    return day_spans(first, end, clock.now())
