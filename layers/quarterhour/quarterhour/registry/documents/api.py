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
    approved_by: NotRequired[str]
    """The second person, if two had to agree."""
    valid_from: NotRequired[Instant]
    """For a rate card or an agency: the start of its validity."""


class DocumentContent(DocumentVersion):
    """A version of a document."""

    content: Any


class ProposalDecision(TypedDict):
    """A decision about a proposal."""

    decision: Literal["release", "discard"]
    by: str
    at: Instant
    reason: str


class DocumentProposal(TypedDict):
    """A version that a person wrote where two must agree. It is none until another person of finance releases it."""

    document: str
    seen: Count
    """The version on top of which it is written."""
    sha256: Sha256
    proposed_at: Instant
    proposed_by: str
    decided: NotRequired[ProposalDecision]
    """Missing while it waits."""


class ProposalContent(DocumentProposal):
    """A proposal with its content."""

    content: Any


class ProposalDecisionRequest(TypedDict):
    """A decision about a proposal."""

    decision: Literal["release", "discard"]
    """`release` writes the version, under both names; `discard` is final: it is never written."""
    sha256: Sha256
    """The hash of the proposal that the person has seen."""
    reason: Text


class DocumentMetadata(TypedDict):
    """The data of a document as a whole."""

    document: str
    kind: Literal["document", "rate-card", "agency", "owner", "reconciliation", "settings", "proposal"]
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
