"""Decisions about drafts, pure: what each state allows, and the agreement of a second person."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from quarterhour.model.errors import ConflictError, FieldProblem
from quarterhour.model.fields import shown
from quarterhour.statements.drafts.draft import DraftDecision, DraftItem, DraftState
from quarterhour.statements.releases.checks import Check, unconfirmed
from quarterhour.statements.releases.requests import Desired, DraftRequest

HELD: Final = "held"
"""The check that a release lifts."""
_WITHOUT_STATEMENT: Final = frozenset({DraftState.NEW, DraftState.OPEN, DraftState.HELD, DraftState.PROPOSED})
_FROM: Final[Mapping[Desired, frozenset[DraftState]]] = {
    Desired.RELEASE: _WITHOUT_STATEMENT,
    Desired.HOLD: _WITHOUT_STATEMENT,
    Desired.CANCEL: frozenset({DraftState.RELEASED, DraftState.CANCEL_PROPOSED}),
}
"""The states in which each decision can be made."""
_FIRST: Final = {Desired.RELEASE: DraftState.PROPOSED, Desired.CANCEL: DraftState.CANCEL_PROPOSED}
_FINAL: Final = {
    Desired.RELEASE: DraftState.RELEASING,
    Desired.HOLD: DraftState.HELD,
    Desired.CANCEL: DraftState.CANCELLING,
}
_WHY: Final[Mapping[DraftState, str]] = {
    DraftState.RELEASING: "is being released: cancel its statement afterwards",
    DraftState.RELEASED: "is released: cancel its statement",
    DraftState.CANCEL_PROPOSED: "is released, and a second person must agree to cancel its statement",
    DraftState.CANCELLING: "is being cancelled: release or hold it afterwards",
}


class Decider(NamedTuple):
    """Who decides, and when (ISO 8601). ``needs_two``: whether a second person must agree to release or cancel."""

    name: str
    at: str
    needs_two: bool


def name_of(draft: DraftItem) -> str:
    """Return the name of a draft, as a message shows it."""
    return f"the draft of {shown(draft.account.agency)} in {draft.account.currency} for {draft.period}"


def planned_decision(
    draft: DraftItem,
    request: DraftRequest,
    decider: Decider,
    failed: Callable[[], Sequence[Check]],
) -> DraftItem | None:
    """Return the draft after a decision; ``None`` if the request is a retry of one that is made.

    ``failed`` returns the checks that keep the draft from being released. Raises ``ConflictError`` if others have
    decided since, if the state does not allow the decision, or if a check failed.
    """
    number = len(draft.decisions)
    if request.seen != number:
        made = draft.decisions[request.seen] if request.seen < number else None
        if (
            made
            and (made.by, made.reason) == (decider.name, request.reason)
            and made.state in _results(request.desired)
        ):
            return None
        problem = FieldProblem("seen", f"is {request.seen}", f"{number}, once you have read the decisions")
        raise ConflictError(f"{name_of(draft)} has {number} decisions, not {request.seen}", problem)
    if draft.state not in _FROM[request.desired]:
        why = _WHY.get(draft.state, "has no statement to cancel")
        problem = FieldProblem("decision", f"is {request.desired}", _expected(draft.state))
        raise ConflictError(f"{name_of(draft)} {why}", problem)
    releasing = request.desired is Desired.RELEASE
    if releasing and (found := [one for one in unconfirmed(failed(), request.reason) if one.name != HELD]):
        raise ConflictError(
            f"{name_of(draft)} cannot be released yet",
            *(FieldProblem(one.name, "failed", one.message) for one in found),
        )
    state = _FINAL[request.desired]
    if decider.needs_two and request.desired in _FIRST:
        first = _FIRST[request.desired]
        if draft.state is not first:
            state = first
        elif draft.decisions[-1].by == decider.name:
            problem = FieldProblem("decision", f"is {request.desired}, by the first person again", "a second person")
            raise ConflictError(f"{name_of(draft)}: a second person must agree", problem)
    return draft.decided(DraftDecision(state, decider.name, decider.at, request.reason))


def refused(draft: DraftItem, found: Sequence[Check], by: str, at: str) -> DraftItem:
    """Return a draft whose release is refused for failed checks: open, or held if it was before it was to be released.

    ``by`` and ``at``: who refuses it, and when (ISO 8601).
    """
    before = (one.state for one in reversed(draft.decisions))
    state = next((one for one in before if one in {DraftState.OPEN, DraftState.HELD}), DraftState.OPEN)
    reason = f"not released: {'; '.join(one.message for one in found)}"
    return draft.decided(DraftDecision(state, by, at, reason))


def _results(desired: Desired) -> set[DraftState]:
    return {_FINAL[desired], _FIRST.get(desired, _FINAL[desired])}


def _expected(state: DraftState) -> str:
    return " or ".join(desired for desired, states in _FROM.items() if state in states) or "none now"
