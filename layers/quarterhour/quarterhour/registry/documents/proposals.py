"""Proposals, the pure part: a version that a person wrote, which waits for a second person where two must agree.

A document has at most one open proposal: the one on top of its latest version about which nobody has decided.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.aws.entity import Values
from quarterhour.model import fields
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, FieldProblem
from quarterhour.model.fields import TEXT, Fields, shown
from quarterhour.registry.documents.keys import listing, proposal_key
from quarterhour.registry.documents.plan import WrittenDocument

if TYPE_CHECKING:
    from quarterhour.registry.documents import api

PROPOSAL: Final = "proposal"
"""The kind under which the open proposals of all documents are listed."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DECISION: Final = ("decision", "decided_by", "decided_at", "reason")


class Decision(StrEnum):
    """What a person decides about a proposal."""

    RELEASE = "release"
    """It becomes the next version of its document."""
    DISCARD = "discard"
    """It never does."""


class ProposalRequest(NamedTuple):
    """A decision about the proposal with a content of this hash, and why it is made."""

    decision: Decision
    sha256: str
    reason: str


def read_decision(body: Mapping[str, Any]) -> ProposalRequest:
    """Return the decision in a request's body; raise ``InvalidError`` with every problem in it."""
    read = Fields(body)
    read.report_unknown(frozenset({"decision", "sha256", "reason"}))
    decision = read.value("decision", " or ".join(Decision), fields.member(Decision))
    sha256 = read.value("sha256", "that of the proposal, 64 hexadecimal digits", _sha256)
    reason = read.value("reason", TEXT, fields.text)
    fields.refuse(read.problems, "decision, sha256 and reason")
    return ProposalRequest(decision, sha256, reason)


def _sha256(value: object) -> str | None:
    return value if isinstance(value, str) and _SHA256.fullmatch(value) else None


def proposal_of(draft: WrittenDocument, by: str, now: datetime) -> Values:
    """Return the item of the proposal that a draft becomes."""
    return {
        **proposal_key(draft.document),
        **listing(PROPOSAL, draft.document),
        "kind": PROPOSAL,
        "seen": draft.seen,
        "content": draft.content,
        "sha256": draft.sha256,
        "created_at": iso_millis(now),
        "created_by": by,
    }


def is_open(proposal: Values, latest: int) -> bool:
    """Return whether a proposal waits for a second person. ``latest``: the number of the document's latest version."""
    return "decision" not in proposal and proposal["seen"] == latest


def check_same(proposal: Values, draft: WrittenDocument) -> None:
    """Raise ``ConflictError`` if an open proposal has another content than a draft."""
    if proposal["sha256"] != draft.sha256:
        problem = FieldProblem("content", "is another one than proposed", "a decision about that one first")
        by = proposal["created_by"]
        raise ConflictError(f"{draft.document} has a proposal of {by}: release or discard it first", problem)


def planned_decision(document: str, proposal: Values, latest: int, request: ProposalRequest, by: str) -> bool:
    """Return whether a decision is to be made; ``False`` if the request is a retry of one that is made.

    Raises ``ConflictError`` if others have decided before, if the proposal is another one, if the document has changed
    since, or if the person who proposed it releases it.
    """
    if proposal["sha256"] != request.sha256:
        problem = FieldProblem("sha256", f"is {request.sha256}", f"{proposal['sha256']}, once you have read it")
        raise ConflictError(f"another version of {shown(document)} is proposed now", problem)
    if "decision" in proposal:
        made = proposal["decision"], proposal["decided_by"], proposal["reason"]
        if made == (request.decision, by, request.reason):
            return False
        done = "released" if proposal["decision"] == Decision.RELEASE else "discarded"
        raise ConflictError(f"the proposal for {shown(document)} was {done} before, by {proposal['decided_by']}")
    if request.decision is Decision.DISCARD:
        return True
    if proposal["created_by"] == by:
        problem = FieldProblem("decision", "is release, by the person who proposed it", "another person of finance")
        raise ConflictError(f"you proposed this version of {shown(document)}: ask another person of finance", problem)
    if not is_open(proposal, latest):
        problem = FieldProblem("decision", f"is release, on top of version {proposal['seen']}", "discard")
        raise ConflictError(f"{shown(document)} has changed since: its latest version is {latest}", problem)
    return True


def decided(proposal: Values, request: ProposalRequest, by: str, now: datetime) -> Values:
    """Return the item of a proposal after a decision; it is on no list any more."""
    made = dict(zip(_DECISION, (str(request.decision), by, iso_millis(now), request.reason), strict=True))
    return {**{name: value for name, value in proposal.items() if not name.startswith("gsi")}, **made}


def shown_proposal(document: str, values: Values) -> "api.DocumentProposal":
    """Return a proposal as the API shows it, without its content."""
    proposal: api.DocumentProposal = {
        "document": document,
        "seen": int(values["seen"]),
        "sha256": values["sha256"],
        "proposed_at": values["created_at"],
        "proposed_by": values["created_by"],
    }
    if "decision" in values:
        proposal["decided"] = {
            "decision": values["decision"],
            "by": values["decided_by"],
            "at": values["decided_at"],
            "reason": values["reason"],
        }
    return proposal
