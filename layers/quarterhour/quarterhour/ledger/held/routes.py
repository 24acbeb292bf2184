"""The route of the held events."""

from quarterhour.ledger.held.held_event import HeldReason
from quarterhour.ledger.held.keys import HeldStatus
from quarterhour.ledger.held.queries import HeldQueries, HeldQuery
from quarterhour.model import instants
from quarterhour.web import http
from quarterhour.web.access import everyone
from quarterhour.web.parameters import MOMENT, PAGE, one_of
from quarterhour.web.routing import Routes


def read(routes: Routes, held: HeldQueries) -> None:
    """Register the reading route."""

    @routes.get("/held", allow=everyone, query=("status", "reason", "agency", "before", *PAGE))
    def held_events() -> http.Response:
        """Return the events that are held, or those that operators have discarded, the oldest first."""
        query = routes.parameters()
        status = query.optional("status", one_of(HeldStatus), HeldStatus, HeldStatus.HELD)
        reason = query.optional("reason", one_of(HeldReason), HeldReason, None)
        agency = routes.caller().requested_agency(query)
        before = query.optional("before", MOMENT, instants.moment, None)
        paging = query.paging()
        page = held.page(HeldQuery(status, agency, reason, before), paging, routes.caller())
        return http.response(200, paging.body(page))
