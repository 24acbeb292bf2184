"""The decisions about drafts, as types."""

from typing_extensions import TypedDict

from quarterhour.model.api import Instant
from quarterhour.statements.drafts.draft import DraftState


class DraftDecision(TypedDict):
    """A decision about a draft: the state that it gave, who made it, when and why."""

    state: DraftState
    by: str
    """`release` if a release itself made it."""
    at: Instant
    reason: str
