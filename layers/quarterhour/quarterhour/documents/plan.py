"""Documents, the pure part: what a request wants to write, the items that a new version makes, and what is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

from quarterhour import fields, jsontext
from quarterhour.clock import iso_exact, iso_millis
from quarterhour.documents.keys import MAX_VERSION, is_rate_card, latest_key, metadata_key, version_key
from quarterhour.errors import ConflictError, FieldProblem
from quarterhour.fields import Fields
from quarterhour.ratecards.card import RateCard, read_card
from quarterhour.ratecards.force import Start, timeline_of, timeline_values, with_start
from quarterhour.reading import Values

MAX_CONTENT: Final = 200_000
"""Bytes of a document as canonical JSON; two of its versions and their keys are written in one transaction."""
_BODY: Final = frozenset({"seen", "content"})
_SEEN: Final = "the version that was seen, a whole number, or 0 for a new document"
_ANYTHING: Final = f"any JSON of at most {MAX_CONTENT:,} bytes"


@dataclass(frozen=True)
class Draft:
    """A version that somebody wants to write on top of the one that they have seen (0: none).

    ``content`` is canonical JSON; ``card`` what it says, where the document is a rate card.
    """

    document: str
    seen: int
    content: str
    card: RateCard | None

    @cached_property
    def sha256(self) -> str:
        """The hash of the content: what a retry must repeat to be one."""
        return sha256(self.content.encode()).hexdigest()

    @property
    def version(self) -> int:
        """The version that it is to be."""
        return self.seen + 1


def read_draft(document: str, body: Mapping[str, Any]) -> Draft:
    """Read the body of a request; raise ``InvalidError`` that tells every problem in it at once."""
    outer = Fields(body)
    outer.no_others(_BODY)
    seen = outer.value("seen", _SEEN, _seen)
    content = outer.value("content", _ANYTHING, _canonical)
    card = None
    if is_rate_card(document) and content is not None:
        read = read_card(body["content"])
        if isinstance(read, RateCard):
            card = read
        else:
            outer.problems.extend(read)
    fields.refuse(outer.problems, "a document's version as described")
    return Draft(document, seen, content, card)


def _seen(value: object) -> int | None:
    seen = fields.whole(value)
    return seen if seen is not None and seen < MAX_VERSION else None


def _canonical(value: object) -> str | None:
    try:
        text = jsontext.canonical(value)  # in ASCII: characters are bytes
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
    """Return the items that make the draft the newest version: the latest, the history's, and with the first metadata.

    The latest version of a rate card also holds from when on each version is in force.
    """
    version: Values = {
        "version": draft.version,
        "content": draft.content,
        "sha256": draft.sha256,
        "written_at": iso_millis(now),
        "written_by": by,
    }
    starts: Values = {}
    if draft.card is not None:
        version["valid_from"] = iso_exact(draft.card.valid_from)
        timeline = with_start(timeline_of(latest) if latest else (), Start(draft.version, draft.card.valid_from))
        starts["timeline"] = timeline_values(timeline)
    items = [
        {**latest_key(draft.document), **version, **starts},
        {**version_key(draft.document, draft.version), **version},
    ]
    if latest is None:
        items.append(first_metadata(draft, by, now))
    return items


def first_metadata(draft: Draft, by: str, now: datetime) -> Values:
    """Return what is told of a new document as a whole."""
    kind = "document" if draft.card is None else "rate card"
    return {**metadata_key(draft.document), "kind": kind, "created_at": iso_millis(now), "created_by": by}


def shown_version(document: str, values: Mapping[str, Any]) -> Values:
    """Return a version as it is shown, without its content."""
    names = ("sha256", "written_at", "written_by")
    shown = {"document": document, "version": int(values["version"]), **{name: values[name] for name in names}}
    return {**shown, "valid_from": values["valid_from"]} if "valid_from" in values else shown


def shown_metadata(document: str, values: Mapping[str, Any]) -> Values:
    """Return a document's metadata as they are shown."""
    return {"document": document, **{name: values[name] for name in ("kind", "created_at", "created_by")}}
