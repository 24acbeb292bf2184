"""The routes of the documents: versions, metadata, permissions, and lists."""

from collections.abc import Callable, Sequence

from quarterhour.aws.entity import Values
from quarterhour.aws.resources import Resources
from quarterhour.registry.documents.keys import NAME, NUMBER, document_name, version_number
from quarterhour.registry.documents.permissions import check_writer, read_permissions
from quarterhour.registry.documents.plan import DOCUMENT, DocumentKind, read_draft, shown_version
from quarterhour.registry.documents.proposals import PROPOSAL, read_decision, shown_proposal
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.registry.documents.service import DocumentService
from quarterhour.web import http, parameters
from quarterhour.web.access import Role, everyone, machines, people, staff
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes


def read(routes: Routes, resources: Resources, kinds: Sequence[DocumentKind]) -> None:
    """Register the reading routes; ``kinds`` are the kinds of document whose content has a schema."""
    documents = DocumentQueries(resources.entities)
    _read_of_staff(routes, documents, kinds)

    def readable(document: str) -> str:
        """Return the name of a document that the caller may read."""
        name = _name(document)
        documents.check(name, routes.caller())
        return name

    @routes.get("/documents/<document>", allow=everyone)
    def latest(document: str) -> http.Response:
        """Return the latest version, with its content."""
        name = readable(document)
        return _shown(name, documents.latest(name))

    @routes.get("/documents/<document>/versions", allow=everyone, query=PAGE)
    def versions(document: str) -> http.Response:
        """Return the versions, the newest first, without their contents."""
        paging = routes.parameters().paging()
        return http.response(200, paging.body(documents.versions(readable(document), paging)))

    @routes.get("/documents/<document>/versions/<version>", allow=everyone)
    def one_version(document: str, version: str) -> http.Response:
        """Return a version, with its content."""
        number = parameters.parsed("version", parameters.decoded(version), NUMBER, version_number)
        name = readable(document)
        return _shown(name, documents.version(name, number))

    @routes.get("/documents/<document>/metadata", allow=everyone)
    def metadata(document: str) -> http.Response:
        """Return the document's metadata."""
        return http.response(200, documents.metadata(readable(document)))


def _read_of_staff(routes: Routes, documents: DocumentQueries, kinds: Sequence[DocumentKind]) -> None:
    lists = {name: name for name in (DOCUMENT, PROPOSAL, *(kind.name for kind in kinds))}

    @routes.get("/documents", allow=staff, query=("kind", *PAGE))
    def list_documents() -> http.Response:
        """Return the documents of a kind, in the order of their names."""
        query = routes.parameters()
        kind = query.required("kind", parameters.one_of(lists), lambda text: parameters.among(lists, text))
        paging = query.paging()
        return http.response(200, paging.body(documents.of_kind(kind, paging)))

    @routes.get("/documents/<document>/proposal", allow=staff)
    def proposal(document: str) -> http.Response:
        """Return the last proposal of a version, with its content, and the decision about it."""
        name = _name(document)
        values = documents.proposal(name)
        return http.with_json(http.response(200, shown_proposal(name, values)), "content", values["content"])

    @routes.get("/documents/<document>/permissions", allow=staff)
    def permitted(document: str) -> http.Response:
        """Return the document's permissions."""
        return http.response(200, documents.permissions(_name(document)).as_dict())


def write(routes: Routes, resources: Resources, kinds: Sequence[DocumentKind], needs_two: Callable[[], bool]) -> None:
    """Register the writing routes.

    ``kinds``: the kinds of document whose content has a schema. ``needs_two``: whether two people must agree.
    """
    documents = DocumentService.of(resources)

    @routes.put("/documents/<document>", allow=people(Role.FINANCE))
    def write(document: str) -> http.Response:
        """Write a new version after the one that was seen; the first version creates the document.

        People of finance write documents of some kinds only; where two must agree, they propose a version. What is
        proposed waits though a machine writes the same.
        """
        name, caller = _name(document), routes.caller()
        check_writer(name, caller, kinds)
        draft = read_draft(name, routes.body(), kinds)
        if needs_two():
            proposed = documents.waiting(draft) if caller.is_machine else documents.proposal(draft, caller.name)
            if proposed:
                return http.response(202, shown_proposal(name, proposed))
        values, is_new = documents.write(draft, caller.name)
        return http.response(201 if is_new else 200, shown_version(draft.document, values))

    @routes.put("/documents/<document>/proposal", allow=people(Role.FINANCE))
    def decide(document: str) -> http.Response:
        """Release a proposal, which writes the version, or discard it."""
        name = _name(document)
        values = documents.decide(name, read_decision(routes.body()), routes.caller().name, kinds)
        return http.response(200, shown_proposal(name, values))

    @routes.put("/documents/<document>/permissions", allow=machines)
    def permit(document: str) -> http.Response:
        """Replace the document's permissions: the agencies and people who may read it."""
        permissions = read_permissions(routes.body())
        documents.permit(_name(document), permissions, routes.caller().name)
        return http.response(200, permissions.as_dict())


def _name(document: str) -> str:
    return parameters.parsed("document", parameters.decoded(document), NAME, document_name)


def _shown(document: str, values: Values) -> http.Response:
    return http.with_json(http.response(200, shown_version(document, values)), "content", values["content"])
