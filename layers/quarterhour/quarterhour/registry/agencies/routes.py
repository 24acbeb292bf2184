"""The routes of the agencies: registering them, and reading their registrations."""

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quarterhour.aws.resources import Resources
from quarterhour.model import fields, instants
from quarterhour.model.errors import FieldProblem, InvalidError
from quarterhour.model.fields import Fields, printable
from quarterhour.registry.agencies.agency import AGENCIES
from quarterhour.registry.agencies.queries import AgencyQueries
from quarterhour.registry.agencies.responses import shown_agency
from quarterhour.registry.agencies.rows import AgencyFileError, AgencyRow, BadLine, read_rows
from quarterhour.registry.documents.keys import AGENCY_NAME, agency_document, agency_name
from quarterhour.registry.documents.plan import read_draft
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.registry.documents.service import DocumentService
from quarterhour.web import http, parameters
from quarterhour.web.access import Role, own_agency, people, staff
from quarterhour.web.bodies import MAX_FILE, file_content
from quarterhour.web.parameters import INSTANT, PAGE
from quarterhour.web.routing import Routes, Spellings

if TYPE_CHECKING:
    from quarterhour.registry.agencies import api


def read_file(body: Mapping[str, Any]) -> tuple[list[AgencyRow], list[BadLine]]:
    """Return the agencies of the file in a body, and its bad lines; raise ``InvalidError`` for another body or file."""
    read = Fields(body)
    read.report_unknown(frozenset({"file"}))
    content = read.value("file", f"the whole file in Base64, at most {MAX_FILE} bytes", file_content)
    fields.refuse(read.problems, "a file of agencies")
    try:
        return read_rows(io.BytesIO(content).readlines())
    except AgencyFileError as error:
        text = printable(error)
        raise InvalidError(text, FieldProblem("file", text, "what docs/csv.md describes")) from error


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
