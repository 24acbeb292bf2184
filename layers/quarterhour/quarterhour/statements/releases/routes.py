"""The routes of drafts and releases."""

from typing import TYPE_CHECKING, Final

from quarterhour.aws.resources import Resources
from quarterhour.model import instants
from quarterhour.model.fields import CURRENCY, NAME, currency_of_account
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import PERIOD, Period
from quarterhour.statements.releases.queries import DraftQueries
from quarterhour.statements.releases.requests import read_decision
from quarterhour.statements.releases.service import ReleaseService
from quarterhour.statements.starting import StatementStarter
from quarterhour.web import http, parameters
from quarterhour.web.access import Role, people, staff
from quarterhour.web.parameters import PAGE, among, one_of
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.statements.api import StartedRun
    from quarterhour.statements.releases import api

_PREVIEW: Final = {"true": True, "false": False}


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes."""
    queries = DraftQueries.of(resources, routes.seconds_left)

    @routes.get("/drafts", allow=staff, query=("period", "agency", "preview", *PAGE))
    def list_drafts() -> http.Response:
        """Return the drafts without a statement, by period and account, with the checks that they do not pass."""
        query = routes.parameters()
        period = query.optional("period", PERIOD, instants.month, None)
        agency = query.optional("agency", NAME, parameters.name, None)
        previewed = query.optional("preview", one_of(_PREVIEW), lambda name: among(_PREVIEW, name), default=False)
        paging = query.paging()
        return http.response(200, paging.body(queries.drafts(period, agency, paging, previewed=previewed)))

    @routes.get("/drafts/<agency>/<currency>/<period>", allow=staff)
    def draft(agency: str, currency: str, period: str) -> http.Response:
        """Return a draft with its decisions, its checks, and the statement that it would be now."""
        return http.response(200, queries.draft(*_draft(agency, currency, period)))

    @routes.get("/releases", allow=staff, query=PAGE)
    def list_releases() -> http.Response:
        """Return the releases, the newest first."""
        paging = routes.parameters().paging()
        return http.response(200, paging.body(queries.releases(paging)))


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing routes."""
    service, starter = ReleaseService.of(resources), StatementStarter.of(resources)

    @routes.post("/statement-runs", allow=people(Role.FINANCE))
    def start() -> http.Response:
        """Start what is due, without waiting for the next tick: the drafts of a period, or a release."""
        period, release = starter.start()
        started: StartedRun = {"period": str(period) if period else None, "release": release}
        return http.response(200, started)

    @routes.put("/drafts/<agency>/<currency>/<period>", allow=people(Role.FINANCE))
    def decide(agency: str, currency: str, period: str) -> http.Response:
        """Release a draft, hold it back, or cancel its statement, after the decisions that were seen."""
        request = read_decision(routes.body())
        decided = service.decide(*_draft(agency, currency, period), request, routes.caller())
        shown: api.DraftDecisions = {
            "state": decided.state,
            "decisions": [one.as_dict() for one in decided.decisions],
        }
        return http.response(200, shown)


def _draft(agency: str, currency: str, period: str) -> tuple[Period, Account]:
    name = parameters.parsed("agency", parameters.decoded(agency), NAME, parameters.name)
    code = parameters.parsed("currency", parameters.decoded(currency), CURRENCY, currency_of_account)
    return parameters.parsed("period", parameters.decoded(period), PERIOD, instants.month), Account(name, code)
