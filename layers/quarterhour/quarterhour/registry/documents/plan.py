"""Documents, the pure part: the draft in a request, the items of a new version, and the form that the API shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.aws.entity import Values
from quarterhour.model import exact_json, fields
from quarterhour.model.clock import iso_exact, iso_millis
from quarterhour.model.errors import ConflictError, FieldProblem
from quarterhour.model.fields import Fields
from quarterhour.registry.documents.keys import MAX_VERSION, Alias, latest_key, listing, metadata_key, version_key
from quarterhour.registry.documents.timeline import Start, Timeline, timeline_of, timeline_values, with_start

if TYPE_CHECKING:
    from quarterhour.registry.documents import api

MAX_CONTENT: Final = 200_000
"""Bytes of a document as canonical JSON; a transaction holds the content twice, as the latest and in the history."""
_BODY: Final = frozenset({"seen", "content"})
_SEEN: Final = "the version that was seen, a whole number, or 0 for a new document"
_ANYTHING: Final = f"any JSON of at most {MAX_CONTENT:,} bytes"


class Valid(NamedTuple):
    """A valid content: the instant from which it is valid, and the label that the timeline keeps of it.

    ``content``: the content in the form in which it is stored, ``None`` if it is stored as it was sent.
    ``aliases``: further names that no other document may have.
    """

    valid_from: datetime
    label: str = ""
    content: object = None
    aliases: frozenset[Alias] = frozenset()


def at_once(timeline: Timeline, new: Start, _now: datetime) -> Timeline:
    """Return a timeline with a new version, which applies from its start on, past or future."""
    return with_start(timeline, new)


class DocumentKind(NamedTuple):
    """A kind of document whose content has a schema.

    ``prefix``: of the names of its documents, with a colon at its end; without one, the name of its only document.
    ``is_name``: whether a document can have the rest of a name, and ``names``, what it can be. ``validate``: returns
    what a content is valid for, or every problem in it. ``timeline``: returns the timeline with a new version that is
    written at an instant; raises ``InvalidError`` if it may not follow. ``by_people``: whether people of finance write
    it, too.
    """

    prefix: str
    is_name: Callable[[str], bool]
    names: str
    validate: Callable[[object], Valid | tuple[FieldProblem, ...]]
    timeline: Callable[[Timeline, Start, datetime], Timeline] = at_once
    by_people: bool = False

    @property
    def name(self) -> str:
        """The kind's name: ``rate-card``."""
        return self.prefix.removesuffix(":")

    def covers(self, document: str) -> bool:
        """Return whether a document of this name is of this kind."""
        return document.startswith(self.prefix) if self.prefix.endswith(":") else document == self.prefix


DOCUMENT: Final = "document"
"""The kind of the documents without a schema."""


@dataclass(frozen=True)
class WrittenDocument:
    """A version to write as the successor of the version that its sender has seen (0 for a new document).

    ``content`` is canonical JSON. ``valid`` is ``None`` for a document without a schema.
    """

    document: str
    seen: int
    content: str
    kind: str = DOCUMENT
    valid: Valid | None = None
    timeline: Callable[[Timeline, Start, datetime], Timeline] = at_once

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the content; a retry has the same hash as the first try."""
        return sha256(self.content.encode()).hexdigest()

    @property
    def version(self) -> int:
        """The version that the draft becomes."""
        return self.seen + 1


def read_draft(document: str, body: Mapping[str, Any], kinds: Sequence[DocumentKind]) -> WrittenDocument:
    """Return the draft in a request's body; raise ``InvalidError`` with every problem in it."""
    outer = Fields(body)
    outer.report_unknown(_BODY)
    seen = outer.value("seen", _SEEN, _seen)
    content = outer.value("content", _ANYTHING, _canonical)
    kind = next((one for one in kinds if one.covers(document)), None)
    _check_name(document, kind, outer)
    valid = kind.validate(body["content"]) if kind and body.get("content") is not None else None
    if valid is not None and not isinstance(valid, Valid):
        outer.problems.extend(valid)
    fields.refuse(outer.problems, "a document's version as described")
    if kind and isinstance(valid, Valid):
        content = content if valid.content is None else exact_json.canonical(valid.content)
        return WrittenDocument(document, seen, content, kind.name, valid, kind.timeline)
    return WrittenDocument(document, seen, content)


def _check_name(document: str, kind: DocumentKind | None, outer: Fields) -> None:
    if kind and not kind.is_name(document.removeprefix(kind.prefix)):
        outer.problem("document", f"is {fields.shown(document)}, which matches nothing", kind.names)
    elif document != document.strip():
        outer.problem("document", f"is {fields.shown(document)}", "a name without a blank at either end")


def _seen(value: object) -> int | None:
    seen = fields.whole(value)
    return seen if seen is not None and seen < MAX_VERSION else None


def _canonical(value: object) -> str | None:
    try:
        text = exact_json.canonical(value)  # in ASCII: characters are bytes
    except ValueError:
        return None
    return text if len(text) <= MAX_CONTENT else None


def repeated(draft: WrittenDocument, existing: Values | None, latest: int) -> Values:
    """Return the existing version of the draft's number if it has the same content: then the draft is a retry.

    Raises ``ConflictError`` if its content differs, or if there is none because the draft's sender has seen a
    version that does not exist.
    """
    if existing and existing["sha256"] == draft.sha256:
        return existing
    problem = FieldProblem("seen", f"is {draft.seen}", f"{latest}, the latest version, once you have read it")
    raise ConflictError(f"{draft.document} has changed: its latest version is {latest}, not {draft.seen}", problem)


def new_version(
    draft: WrittenDocument, latest: Values | None, by: str, now: datetime, approved_by: str | None = None
) -> list[Values]:
    """Return the items of a new version: the latest, the one of the history, and for a new document its metadata.

    The latest version of a document with a schema also holds the timeline of all versions. ``approved_by``: the second
    person, if two had to agree.
    """
    version: Values = {
        "version": draft.version,
        "content": draft.content,
        "sha256": draft.sha256,
        "written_at": iso_millis(now),
        "written_by": by,
        **({"approved_by": approved_by} if approved_by else {}),
    }
    only_latest: Values = {}
    if draft.valid is not None:
        start = Start(draft.version, draft.valid.valid_from, draft.valid.label)
        timeline = draft.timeline(timeline_of(latest) if latest else (), start, now)
        version["valid_from"] = iso_exact(timeline[-1].valid_from)
        version |= {"label": draft.valid.label} if draft.valid.label else {}
        only_latest["timeline"] = timeline_values(timeline)
        if draft.valid.aliases:
            only_latest["aliases"] = [list(one) for one in sorted(draft.valid.aliases)]
    items = [
        {**latest_key(draft.document), **version, **only_latest},
        {**version_key(draft.document, draft.version), **version},
    ]
    if latest is None:
        items.append(first_metadata(draft, by, now))
    return items


def aliases_in(latest: Values | None) -> frozenset[Alias]:
    """Return the aliases of a document by its latest version, if it has one."""
    return frozenset(Alias(*one) for one in (latest or {}).get("aliases", ()))


def first_metadata(draft: WrittenDocument, by: str, now: datetime) -> Values:
    """Return the metadata of a new document."""
    written = {"kind": draft.kind, "created_at": iso_millis(now), "created_by": by}
    return {**metadata_key(draft.document), **listing(draft.kind, draft.document), **written}


def shown_version(document: str, values: Mapping[str, Any]) -> "api.DocumentVersion":
    """Return a version as the API shows it, without its content."""
    shown: api.DocumentVersion = {
        "document": document,
        "version": int(values["version"]),
        "sha256": values["sha256"],
        "written_at": values["written_at"],
        "written_by": values["written_by"],
    }
    if "approved_by" in values:
        shown["approved_by"] = values["approved_by"]
    if "valid_from" in values:
        shown["valid_from"] = values["valid_from"]
    return shown


def shown_metadata(document: str, values: Mapping[str, Any]) -> "api.DocumentMetadata":
    """Return a document's metadata as the API shows them."""
    created_at, created_by = values["created_at"], values["created_by"]
    return {"document": document, "kind": values["kind"], "created_at": created_at, "created_by": created_by}
