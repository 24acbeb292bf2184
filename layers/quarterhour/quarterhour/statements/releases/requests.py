"""The body of a decision about a draft."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from quarterhour.model import fields
from quarterhour.model.fields import TEXT, Fields


class Desired(StrEnum):
    """What a person wants to do with a draft."""

    RELEASE = "release"
    HOLD = "hold"
    CANCEL = "cancel"
    """Cancel its statement."""


_DESIRED: Final = f"one of {', '.join(Desired)}"
_SEEN: Final = "the number of decisions that was seen, a whole number, or 0 for none"


class DraftRequest(NamedTuple):
    """A request to decide about a draft. ``seen``: the number of decisions that its sender has seen."""

    desired: Desired
    reason: str
    seen: int


def read_decision(body: Mapping[str, Any]) -> DraftRequest:
    """Return the decision in a request's body; raise ``InvalidError`` with every problem in it."""
    outer = Fields(body)
    outer.report_unknown(frozenset({"decision", "reason", "seen"}))
    desired = outer.value("decision", _DESIRED, fields.member(Desired))
    reason = outer.value("reason", TEXT, fields.text, optional=desired is Desired.RELEASE)
    seen = outer.value("seen", _SEEN, fields.whole)
    fields.refuse(outer.problems, "decision, reason and seen")
    return DraftRequest(desired, reason or "", seen)
