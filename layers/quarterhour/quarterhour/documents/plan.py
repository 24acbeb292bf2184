"""Documents, the pure part: what a request wants to write, the items that a new version makes, and what is shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, NamedTuple

from quarterhour.aws.entity import Values
from quarterhour.documents.keys import MAX_VERSION, latest_key, metadata_key, version_key
from quarterhour.documents.timeline import Start, timeline_of, timeline_values, with_start
from quarterhour.model import exact_json, fields
from quarterhour.model.clock import iso_exact, iso_millis
from quarterhour.model.errors import ConflictError, FieldProblem
from quarterhour.model.fields import Fields

MAX_CONTENT: Final = 200_000
"""Bytes of a document as canonical JSON; two of its versions and their keys are written in one transaction."""
_BODY: Final = frozenset({"seen", "content"})
_SEEN: Final = "the version that was seen, a whole number, or 0 for a new document"
_ANYTHING: Final = f"any JSON of at most {MAX_CONTENT:,} bytes"


class Kind(NamedTuple):
    """A kind of document whose content has a schema.

    ``prefix`` begins the names of its documents. ``validate`` returns the instant from which a content is valid, or
    every problem in it.
    """

    name: str
    prefix: str
    validate: Callable[[object], datetime | tuple[FieldProblem, ...]]


@dataclass(frozen=True)
class Draft:
    """A version that somebody wants to write as the successor of the version they have seen (0: none).

    ``content`` is canonical JSON. ``valid_from`` is ``None`` for a document without a schema.
    """

    document: str
    seen: int
    content: str
    kind: str = "document"
    valid_from: datetime | None = None

    @cached_property
    def sha256(self) -> str:
        """The hash of the content: what a retry must repeat to be one."""
        return sha256(self.content.encode()).hexdigest()

    @property
    def version(self) -> int:
        """The version that it is to be."""
        return self.seen + 1


def read_draft(document: str, body: Mapping[str, Any], kinds: Sequence[Kind]) -> Draft:
    """Read the body of a request; raise ``InvalidError`` that names every problem in it."""
    outer = Fields(body)
    outer.no_others(_BODY)
    seen = outer.value("seen", _SEEN, _seen)
    content = outer.value("content", _ANYTHING, _canonical)
    kind = next((one for one in kinds if document.startswith(one.prefix)), None)
    valid = kind.validate(body["content"]) if kind and content is not None else None
    if isinstance(valid, tuple):
        outer.problems.extend(valid)
    fields.refuse(outer.problems, "a document's version as described")
    if kind and isinstance(valid, datetime):
        return Draft(document, seen, content, kind.name, valid)
    return Draft(document, seen, content)


def _seen(value: object) -> int | None:
    seen = fields.whole(value)
    return seen if seen is not None and seen < MAX_VERSION else None


def _canonical(value: object) -> str | None:
    try:
        text = exact_json.canonical(value)  # in ASCII: characters are bytes
    except ValueError:
        return None
    return text if len(text) <= MAX_CONTENT else None


def repeated(draft: Draft, standing: Values | None, latest: int) -> Values:
    """Return the version that stands in the draft's place, which must be the same: then the draft is a retry.

    Raises ``ConflictError`` where another one stands there, or (``None``) none can yet.
    """
    if standing and standing["sha256"] == draft.sha256:
        return standing
    problem = FieldProblem("seen", f"is {draft.seen}", f"{latest}, the latest version, once you have read it")
    raise ConflictError(f"{draft.document} has changed: its latest version is {latest}, not {draft.seen}", problem)


def new_version(draft: Draft, latest: Values | None, by: str, now: datetime) -> list[Values]:
    """Return the items that make a draft the newest version: the latest, the history's, with the first one metadata.

    The latest version of a document with a schema also holds the instant from which each version is in force.
    """
    version: Values = {
        "version": draft.version,
        "content": draft.content,
        "sha256": draft.sha256,
        "written_at": iso_millis(now),
        "written_by": by,
    }
    starts: Values = {}
    if draft.valid_from is not None:
        version["valid_from"] = iso_exact(draft.valid_from)
        timeline = with_start(timeline_of(latest) if latest else (), Start(draft.version, draft.valid_from))
        starts["timeline"] = timeline_values(timeline)
    items = [
        {**latest_key(draft.document), **version, **starts},
        {**version_key(draft.document, draft.version), **version},
    ]
    if latest is None:
        items.append(first_metadata(draft, by, now))
    return items


def first_metadata(draft: Draft, by: str, now: datetime) -> Values:
    """Return the metadata of a new document."""
    return {**metadata_key(draft.document), "kind": draft.kind, "created_at": iso_millis(now), "created_by": by}


def shown_version(document: str, values: Mapping[str, Any]) -> Values:
    """Return a version as it is shown, without its content."""
    names = ("sha256", "written_at", "written_by")
    shown = {"document": document, "version": int(values["version"]), **{name: values[name] for name in names}}
    return {**shown, "valid_from": values["valid_from"]} if "valid_from" in values else shown


def shown_metadata(document: str, values: Mapping[str, Any]) -> Values:
    """Return a document's metadata as they are shown."""
    return {"document": document, **{name: values[name] for name in ("kind", "created_at", "created_by")}}
