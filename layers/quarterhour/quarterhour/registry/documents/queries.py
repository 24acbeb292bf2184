"""Reading documents: the latest version, the versions of the history, metadata and permissions; as known before."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity import Key, Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.model import exact_json
from quarterhour.model.clock import iso_exact, parse_iso
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import shown
from quarterhour.registry.documents.keys import (
    MAX_VERSION,
    document_name,
    document_pk,
    latest_key,
    listed_range,
    metadata_key,
    permissions_key,
    proposal_key,
    version_key,
    version_of,
    version_sk,
)
from quarterhour.registry.documents.permissions import Permissions, may_read
from quarterhour.registry.documents.plan import shown_metadata, shown_version
from quarterhour.registry.documents.timeline import Start, timeline_of, version_at, with_start
from quarterhour.web.access import Caller
from quarterhour.web.paging import Paging, within

if TYPE_CHECKING:
    from quarterhour.registry.documents import api
    from quarterhour.registry.documents.timeline import Timeline
    from quarterhour.web.paging import Page

_FIRST: Final = version_sk(1)
_LAST: Final = version_sk(MAX_VERSION)
_VERSIONS: Final = 100
"""The versions of a page of the history, which is read whole."""


@dataclass(frozen=True, slots=True)
class DocumentQueries:
    """Reads documents for callers who may read them.

    For other callers the error is that of a document that does not exist, so errors reveal no names.
    """

    entities: EntityReader

    def may_read(self, document: str, caller: Caller) -> bool:
        """Return whether a caller may read a document, existing or not; for the marketplace, without a read."""
        return caller.is_of_marketplace or may_read(self.permissions(document), caller)

    def check(self, document: str, caller: Caller) -> None:
        """Raise ``NotFoundError`` if a caller may not read a document."""
        if not self.may_read(document, caller):
            raise _missing(document)

    def latest(self, document: str) -> Values:
        """Return the latest version; raise ``NotFoundError`` if there is no such document."""
        return self._found(document, latest_key(document))

    def version(self, document: str, version: int) -> Values:
        """Return a version of the history; raise ``NotFoundError`` if there is none."""
        return self._found(document, version_key(document, version))

    def in_force(self, document: str, latest: Values, at: datetime) -> Values:
        """Return the version in force at an instant; raise ``NotFoundError`` if there is none.

        ``latest``: the latest version of the document, which has a schema.
        """
        version = version_at(timeline_of(latest), at)
        if version is None:
            raise NotFoundError(f"{shown(document)} was not in force yet at {iso_exact(at)}")
        return latest if version == int(latest["version"]) else self.version(document, version)

    def of_kind(self, kind: str, paging: Paging) -> "Page[api.DocumentMetadata]":
        """Return a page of the metadata of all documents of a kind, in the order of their names."""
        return paging.cut(
            self.listed(kind, paging),
            lambda values: shown_metadata(values["gsi1sk"], values),
            lambda one: one["gsi1sk"],
        )

    def listed(self, kind: str, paging: Paging) -> Iterator[Values]:
        """Yield the metadata of all documents of a kind from the start of a page on, in the order of their names."""
        after = paging.start(document_name, None)
        entries = self.entities.read_index(listed_range(kind, after), paging.limit + 2)
        return (values for values in entries if values["gsi1sk"] != after)

    def versions(self, document: str, paging: Paging) -> "Page[api.DocumentVersion]":
        """Return a page of the versions, the newest first; raise ``NotFoundError`` if there is no such document."""
        after = paging.start(lambda version: within(_FIRST, version_sk(int(version)), _LAST), None)
        history = Range(document_pk(document), _FIRST, _LAST, descending=True, after=after)
        entries = self.entities.read(history, paging.limit + 1)
        page = paging.cut(
            entries, lambda values: shown_version(document, values), lambda values: str(version_of(values["sk"]))
        )
        if paging.place is None and not page.items:
            raise _missing(document)
        return page

    def metadata(self, document: str) -> "api.DocumentMetadata":
        """Return a document's metadata; raise ``NotFoundError`` if there is no such document."""
        return shown_metadata(document, self._found(document, metadata_key(document)))

    def proposal(self, document: str) -> Values:
        """Return the last proposal of a version of a document; raise ``NotFoundError`` if there was none."""
        return self._found(document, proposal_key(document))

    def permissions(self, document: str) -> Permissions:
        """Return the permissions of a document: those of nobody if they were never written."""
        return Permissions.of(self.entities.get(permissions_key(document)))

    def _found(self, document: str, key: Key) -> Values:
        values = self.entities.get(key)
        if values is None:
            raise _missing(document)
        return values


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """The versions of a document that are known. ``content_of``: returns that of a version, as JSON.

    ``version``: the number of the newest one; 0 without one.
    """

    timeline: "Timeline"
    content_of: Callable[[int], str | None]
    version: int = 0

    def content(self, at: datetime) -> Any | None:  # noqa: ANN401 - JSON is any value
        """Return the content in force at an instant; ``None`` if there was none."""
        return self.content_of_version(version_at(self.timeline, at))

    def content_of_version(self, version: int | None) -> Any | None:  # noqa: ANN401 - JSON is any value
        """Return the content of a version; ``None`` if there is no such version."""
        content = None if version is None else self.content_of(version)
        return None if content is None else exact_json.parse(content)


@dataclass(frozen=True, slots=True)
class KnownDocuments:
    """Reads documents with a schema as they were known: a later version changes nothing that is read.

    ``known``: the instant until which a version was written, or the number of the newest version.
    """

    entities: EntityReader
    known: datetime | int

    def document(self, document: str) -> "KnownDocument":
        """Return a document, without versions if it does not exist."""
        return self._known(document, self.entities.get(latest_key(document)))

    def documents(self, documents: Iterable[str]) -> dict[str, "KnownDocument"]:
        """Return each document, without versions if it does not exist."""
        names = list(documents)
        latest = {values["pk"]: values for values in self.entities.get_many([latest_key(name) for name in names])}
        return {name: self._known(name, latest.get(document_pk(name))) for name in names}

    def _known(self, document: str, latest: Values | None) -> "KnownDocument":
        if latest is None:
            return KnownDocument((), lambda _: None)
        if not self._is_known(latest):
            return self._known_by_history(document)
        number = int(latest["version"])

        def content_of(version: int) -> str | None:
            values = latest if version == number else self.entities.get(version_key(document, version))
            return values["content"] if values else None

        return KnownDocument(timeline_of(latest), content_of, number)

    def _is_known(self, values: Values) -> bool:
        if isinstance(self.known, datetime):
            return parse_iso(values["written_at"]) <= self.known
        return int(values["version"]) <= self.known

    def _known_by_history(self, document: str) -> "KnownDocument":
        """Return a document by the versions known, of which the latest one is not the last that was written."""
        timeline: Timeline = ()
        contents: dict[int, str] = {}
        for values in self.entities.read(Range(document_pk(document), _FIRST, _LAST), _VERSIONS):
            if self._is_known(values):
                version = int(values["version"])
                timeline = with_start(timeline, Start(version, parse_iso(values["valid_from"])))
                contents[version] = values["content"]
        return KnownDocument(timeline, contents.get, max(contents, default=0))


def _missing(document: str) -> NotFoundError:
    return NotFoundError(f"there is no document {shown(document)}, or no such version of it, that you may read")
