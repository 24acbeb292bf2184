"""The routes of the agencies: registering them, and reading their registrations."""

from typing import TYPE_CHECKING

from quarterhour.aws.resources import Resources
from quarterhour.model import instants
from quarterhour.model.fields import printable
from quarterhour.registry.agencies.agency import AGENCIES
from quarterhour.registry.agencies.queries import AgencyQueries
from quarterhour.registry.agencies.requests import read_file
from quarterhour.registry.agencies.responses import shown_agency
from quarterhour.registry.documents.keys import AGENCY_NAME, agency_document, agency_name
from quarterhour.registry.documents.plan import read_draft
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.registry.documents.service import DocumentService
from quarterhour.web import http, parameters
from quarterhour.web.access import Role, own_agency, people, staff
from quarterhour.web.parameters import INSTANT, PAGE
from quarterhour.web.routing import Routes, Spellings

if TYPE_CHECKING:
    from quarterhour.registry.agencies import api


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes, and the one that shows what a file of agencies becomes; it writes nothing."""
    agencies = AgencyQueries(DocumentQueries(resources.entities))

    @routes.get("/agencies", allow=staff, query=PAGE)
    def list_agencies() -> http.Response:
        """Return the registered agencies, in the order of their names."""
        paging = routes.parameters().paging()
        return http.response(200, paging.body(agencies.registered(paging)))

    @routes.get("/agencies/<agency>", allow=own_agency, query=("at",))
    def one_agency(agency: Spellings) -> http.Response:
        """Return an agency's registration: the latest version, or the one in force at an instant."""
        at = routes.parameters().optional("at", INSTANT, instants.instant, None)
        name, values = agencies.agency(agency, at)
        return http.with_json(http.response(200, shown_agency(name, values)), "content", values["content"])

    @routes.post("/csv/agencies", allow=people(Role.FINANCE))
    def agencies_of_file() -> http.Response:
        """Return the agencies of a file, CSV or NDJSON, and its bad lines."""
        rows, bad = read_file(routes.body())
        body: api.AgenciesOfFile = {
            "items": [{"line": one.number, "agency": one.agency, "content": one.content} for one in rows],
            "bad": [{"line": one.number, "reason": printable(one.problem)} for one in bad],
        }
        return http.response(200, body)


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing route."""
    documents = DocumentService.of(resources)

    @routes.put("/agencies/<agency>", allow=people(Role.FINANCE))
    def register(agency: str) -> http.Response:
        """Write a new version of an agency's registration after the one that was seen; the first one registers it."""
        name = parameters.parsed("agency", parameters.decoded(agency), AGENCY_NAME, agency_name)
        draft = read_draft(agency_document(name), routes.body(), (AGENCIES,))
        values, is_new = documents.write(draft, routes.caller().name)
        return http.response(201 if is_new else 200, shown_agency(name, values))
