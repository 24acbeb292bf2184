"""The routes of documents and agencies: versions, metadata, permissions, and lists."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.agencies.agency import AGENCIES
from quarterhour.agencies.plan import shown_agency
from quarterhour.agencies.queries import AgencyQueries
from quarterhour.aws import clients
from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import observed
from quarterhour.documents.keys import (
    AGENCY_NAME,
    NAME,
    NUMBER,
    agency_document,
    agency_name,
    document_name,
    version_number,
)
from quarterhour.documents.permissions import check_writer, read_permissions
from quarterhour.documents.plan import DOCUMENT, read_draft, shown_version
from quarterhour.documents.queries import DocumentQueries
from quarterhour.documents.service import DocumentService
from quarterhour.documents.store import DocumentStore
from quarterhour.model import clock, instants
from quarterhour.rate_cards.queries import RateCardQueries
from quarterhour.rate_cards.rate_card import RATE_CARDS, rate_card_of
from quarterhour.statements.owner import OWNERS
from quarterhour.web import http, parameters
from quarterhour.web.access import Role, everyone, machines, own_agency, people, staff
from quarterhour.web.parameters import INSTANT, PAGE
from quarterhour.web.routing import Routes

env = Environment.of_process()
dynamodb = clients.dynamodb()
table = env.text("ENTITY_TABLE")
entities = EntityReader(dynamodb, table)
documents = DocumentQueries(entities)
agencies = AgencyQueries(documents)
rate_cards = RateCardQueries(entities)
service = DocumentService(entities, DocumentStore(dynamodb, table))
routes = Routes(env)

KINDS = (AGENCIES, OWNERS, RATE_CARDS)
"""The kinds of document whose content has a schema."""
LISTS = {name: name for name in (DOCUMENT, *(kind.name for kind in KINDS))}
"""The names of all kinds of document."""


@routes.get("/documents", allow=staff, query=("kind", *PAGE))
def list_documents() -> http.Response:
    """Return the documents of a kind, in the order of their names."""
    query = routes.parameters()
    kind = query.required("kind", parameters.one_of(LISTS), lambda text: parameters.among(LISTS, text))
    paging = query.paging()
    return http.response(200, paging.body(documents.of_kind(kind, paging)))


@routes.put("/documents/<document>", allow=people(Role.FINANCE))
def write(document: str) -> http.Response:
    """Write a new version after the one that was seen; the first version creates the document.

    People of finance write rate cards only.
    """
    name, caller = _name(document), routes.caller()
    check_writer(name, caller)
    draft = read_draft(name, routes.body(), KINDS)
    values, is_new = service.write(draft, caller.name)
    return http.response(201 if is_new else 200, shown_version(draft.document, values))


@routes.get("/documents/<document>", allow=everyone)
def latest(document: str) -> http.Response:
    """Return the latest version, with its content."""
    name = _readable(document)
    return _shown(name, documents.latest(name))


@routes.get("/documents/<document>/versions", allow=everyone, query=PAGE)
def versions(document: str) -> http.Response:
    """Return the versions, the newest first, without their contents."""
    paging = routes.parameters().paging()
    return http.response(200, paging.body(documents.versions(_readable(document), paging)))


@routes.get("/documents/<document>/versions/<version>", allow=everyone)
def one_version(document: str, version: str) -> http.Response:
    """Return a version, with its content."""
    number = parameters.parsed("version", parameters.decoded(version), NUMBER, version_number)
    name = _readable(document)
    return _shown(name, documents.version(name, number))


@routes.get("/documents/<document>/metadata", allow=everyone)
def metadata(document: str) -> http.Response:
    """Return the document's metadata."""
    return http.response(200, documents.metadata(_readable(document)))


@routes.put("/documents/<document>/permissions", allow=machines)
def permit(document: str) -> http.Response:
    """Replace the document's permissions: the agencies and people who may read it."""
    permissions = read_permissions(routes.body())
    service.permit(_name(document), permissions, routes.caller().name)
    return http.response(200, permissions.as_dict())


@routes.get("/documents/<document>/permissions", allow=staff)
def permitted(document: str) -> http.Response:
    """Return the document's permissions."""
    return http.response(200, documents.permissions(_name(document)).as_dict())


@routes.put("/agencies/<agency>", allow=people(Role.FINANCE))
def register(agency: str) -> http.Response:
    """Write a new version of an agency's registration after the one that was seen; the first one registers it."""
    name = parameters.parsed("agency", parameters.decoded(agency), AGENCY_NAME, agency_name)
    values, is_new = service.write(read_draft(agency_document(name), routes.body(), KINDS), routes.caller().name)
    return http.response(201 if is_new else 200, shown_agency(name, values))


@routes.get("/agencies", allow=staff, query=PAGE)
def list_agencies() -> http.Response:
    """Return the registered agencies, in the order of their names."""
    paging = routes.parameters().paging()
    return http.response(200, paging.body(agencies.registered(paging)))


@routes.get("/agencies/<agency>", allow=own_agency, query=("at",))
def one_agency(agency: tuple[str, ...]) -> http.Response:
    """Return an agency's registration: the latest version, or the one in force at an instant."""
    at = routes.parameters().optional("at", INSTANT, instants.instant, None)
    name, values = agencies.agency(agency, at)
    return http.with_json(http.response(200, shown_agency(name, values)), "content", values["content"])


@routes.get("/agencies/<agency>/rate-cards", allow=own_agency, query=("at",))
def rate_cards_in_force(agency: tuple[str, ...]) -> http.Response:
    """Return the rate cards in force for an agency, in the order of precedence: those that the caller may read."""
    now, caller = clock.now(), routes.caller()
    at = routes.parameters().optional("at", INSTANT, instants.instant, now)
    in_force = rate_cards.in_force(agencies.registered_name(agency), at, now)
    readable = [(document, values) for document, values in in_force if documents.may_read(document, caller)]
    return http.response(200, {"items": [_shown_rate_card(document, values) for document, values in readable]})


def _shown_rate_card(document: str, values: Values) -> Values:
    return {**shown_version(document, values), "rules": [rule.as_dict() for rule in rate_card_of(values).rules]}


def _name(document: str) -> str:
    return parameters.parsed("document", parameters.decoded(document), NAME, document_name)


def _readable(document: str) -> str:
    """Return the name of a document that the caller may read."""
    name = _name(document)
    documents.check(name, routes.caller())
    return name


def _shown(document: str, values: Values) -> http.Response:
    return http.with_json(http.response(200, shown_version(document, values)), "content", values["content"])


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Return the response to a request for documents."""
    return routes.handle(event, context)
