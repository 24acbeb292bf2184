"""The route of the receivables."""

from quarterhour.model import instants
from quarterhour.model.instants import DAY
from quarterhour.receivables.queries import ReceivableQueries
from quarterhour.web import http
from quarterhour.web.access import everyone
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes


def read(routes: Routes, receivables: ReceivableQueries) -> None:
    """Register the reading route."""

    @routes.get("/receivables", allow=everyone, query=("agency", "on", *PAGE))
    def list_receivables() -> http.Response:
        """Return the accounts with something open: their statements, how long these have been due, and totals."""
        query = routes.parameters()
        agency = routes.caller().requested_agency(query)
        on = query.optional("on", DAY, instants.day, receivables.today())
        return http.response(200, receivables.page(agency, on, query.paging(), routes.seconds_left))
