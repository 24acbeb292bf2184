"""The routes of the held events."""

from quarterhour.aws.resources import Resources
from quarterhour.ledger.held.decision_service import HeldDecisionService
from quarterhour.ledger.held.queries import HeldQueries, HeldQuery, shown
from quarterhour.ledger.held.requests import read_body
from quarterhour.ledger.held.store import HeldStore
from quarterhour.ledger.keys import HeldStatus
from quarterhour.ledger.recording.held_event import HeldReason
from quarterhour.model import instants
from quarterhour.model.fields import NAME
from quarterhour.model.identifiers import Identity
from quarterhour.web import http, parameters
from quarterhour.web.access import Role, everyone, people
from quarterhour.web.parameters import MOMENT, PAGE, one_of
from quarterhour.web.routing import Routes


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading route."""
    held = HeldQueries(resources.entities)

    @routes.get("/held", allow=everyone, query=("status", "reason", "agency", "before", *PAGE))
    def held_events() -> http.Response:
        """Return the events that are held, or those that were discarded, the oldest first."""
        query = routes.parameters()
        status = query.optional("status", one_of(HeldStatus), HeldStatus, HeldStatus.HELD)
        reason = query.optional("reason", one_of(HeldReason), HeldReason, None)
        agency = routes.caller().requested_agency(query)
        before = query.optional("before", MOMENT, instants.moment, None)
        paging = query.paging()
        page = held.page(HeldQuery(status, agency, reason, before), paging, routes.caller())
        return http.response(200, paging.body(page))


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing route."""
    decisions = HeldDecisionService(HeldStore.of(resources))

    @routes.put("/held/<source>/<event>", allow=people(Role.FINANCE))
    def decide(source: str, event: str) -> http.Response:
        """Release a held event, which approves it if it needs a second person, or discard it."""
        caller = routes.caller()
        identity = Identity(_name("source", source), _name("event", event))
        held = decisions.decide(read_body(routes.body(), identity, caller.name))
        return http.response(200, shown(held, caller))


def _name(field: str, segment: str) -> str:
    return parameters.parsed(field, parameters.decoded(segment), NAME, parameters.name)
