"""The requests and responses about documents, as types."""

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Count, Instant, Name, Sha256, Text, constrained
from quarterhour.registry.documents.permissions import MOST


class DocumentVersion(TypedDict):
    """A version of a document, without its content."""

    document: str
    version: Count
    sha256: Sha256
    """The hash of the content as canonical JSON."""
    written_at: Instant
    written_by: str
    valid_from: NotRequired[Instant]
    """For a rate card or an agency: the start of its validity."""


class DocumentContent(DocumentVersion):
    """A version of a document."""

    content: Any


class DocumentMetadata(TypedDict):
    """The data of a document as a whole."""

    document: str
    kind: Literal["document", "rate-card", "agency", "owner", "reconciliation"]
    created_at: Instant
    created_by: str


class Readers(TypedDict):
    """The agencies and people who may read a document; machines and staff always may."""

    agencies: list[Name]
    people: list[Text]
    """The subjects (`sub`) of their tokens."""


Names = Annotated[list[Name], constrained(maxItems=MOST)]


class SentReaders(TypedDict):
    """The agencies and people who may read a document; machines and staff always may."""

    agencies: Names
    """The agencies whose people may read it."""
    people: Annotated[list[Text], constrained(maxItems=MOST)]
    """The subjects (`sub`) of their tokens."""
