"""The document routes: versions, metadata and permissions."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws import clients
from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.settings import Environment
from quarterhour.aws.telemetry import observed
from quarterhour.documents.keys import NAME, NUMBER, document_name, version_number
from quarterhour.documents.permissions import read_permissions
from quarterhour.documents.plan import read_draft, shown_version
from quarterhour.documents.queries import DocumentQueries
from quarterhour.documents.service import DocumentService
from quarterhour.documents.store import DocumentStore
from quarterhour.rate_cards.rate_card import RATE_CARDS
from quarterhour.web import http, parameters
from quarterhour.web.access import everyone, machines
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes

env = Environment.of_process()
dynamodb = clients.dynamodb()
table = env.text("ENTITY_TABLE")
entities = EntityReader(dynamodb, table)
documents = DocumentQueries(entities)
service = DocumentService(entities, DocumentStore(dynamodb, table))
routes = Routes(env)

KINDS = (RATE_CARDS,)
"""The kinds of document whose content has a schema."""


@routes.put("/documents/<document>", allow=machines)
def write(document: str) -> http.Response:
    """Write a new version after the one that was seen; the first version creates the document."""
    draft = read_draft(_name(document), routes.body(), KINDS)
    values, is_new = service.write(draft, routes.caller().name)
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


@routes.get("/documents/<document>/permissions", allow=machines)
def permitted(document: str) -> http.Response:
    """Return the document's permissions."""
    return http.response(200, documents.permissions(_name(document)).as_dict())


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
