"""The routes of the statements: of periods and balances, and those of the folders in here."""

from quarterhour.aws.resources import Resources
from quarterhour.model import instants
from quarterhour.statements.lookup import StatementLookup
from quarterhour.statements.previews.queries import PreviewQueries
from quarterhour.statements.receivables import routes as receivables
from quarterhour.statements.releases import routes as releases
from quarterhour.statements.status import routes as status
from quarterhour.web import http, parameters
from quarterhour.web.access import IsVisible, Search, everyone, own_agency
from quarterhour.web.parameters import INSTANT, PAGE
from quarterhour.web.routing import Routes, Spellings


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes."""
    receivables.read(routes, resources)
    status.read(routes, resources)
    releases.read(routes, resources)
    previews = PreviewQueries.of(resources, routes.seconds_left)

    @routes.get("/accounts/<agency>/<currency>/balance", allow=own_agency, query=("at",))
    def account_balance(agency: Spellings, currency: str) -> http.Response:
        """Return an account's balance: the closing balance of its last statement, and what is on no statement yet.

        Without ``at``, the balance now; with it, the balance as of the start of that quarter-hour.
        """
        at = routes.parameters().optional("at", INSTANT, instants.instant, None)
        account, _ = previews.counters.find(agency, parameters.decoded(currency))
        return http.response(200, previews.balance(account, at))

    @routes.get("/periods", allow=everyone, query=PAGE)
    def periods() -> http.Response:
        """Return the periods, the newest first: those that are not sealed yet, then the sealed ones."""
        paging = routes.parameters().paging()
        return http.response(200, paging.body(previews.statements.periods(paging, routes.caller())))


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing routes."""
    status.write(routes, resources)
    releases.write(routes, resources)


def visibility(resources: Resources) -> IsVisible:
    """Return the function that returns whether a statement exists and is visible to a caller."""
    return StatementLookup(resources.entities).is_visible


def search(resources: Resources) -> Search:
    """Return the search for statements."""
    return StatementLookup(resources.entities).found
