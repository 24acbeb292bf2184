"""Decisions about drafts: what each state allows, retries, and the agreement of a second person."""

from decimal import Decimal
from itertools import product

import pytest

from quarterhour.model.errors import ConflictError, InvalidError
from quarterhour.statements.drafts.draft import DraftDecision, DraftItem, DraftState
from quarterhour.statements.releases.checks import Check, Level
from quarterhour.statements.releases.decisions import Decider, planned_decision
from quarterhour.statements.releases.requests import Desired, DraftRequest, read_decision
from tests.support.cases import cases
from tests.support.drafts import AT, decision, draft_item

RELEASE, HOLD, CANCEL = Desired.RELEASE, Desired.HOLD, Desired.CANCEL
WITHOUT_STATEMENT = (DraftState.NEW, DraftState.OPEN, DraftState.HELD, DraftState.PROPOSED)
BY_ONE: dict[tuple[DraftState, Desired], DraftState] = {
    **{(state, RELEASE): DraftState.RELEASING for state in WITHOUT_STATEMENT},
    **{(state, HOLD): DraftState.HELD for state in WITHOUT_STATEMENT},
    (DraftState.RELEASED, CANCEL): DraftState.CANCELLING,
    (DraftState.CANCEL_PROPOSED, CANCEL): DraftState.CANCELLING,
}
"""The state that a decision gives, by the state before; all others are refused."""
BY_TWO: dict[tuple[DraftState, Desired], DraftState] = {
    **BY_ONE,
    **{(state, RELEASE): DraftState.PROPOSED for state in WITHOUT_STATEMENT if state is not DraftState.PROPOSED},
    (DraftState.RELEASED, CANCEL): DraftState.CANCEL_PROPOSED,
}
"""The same, if a second person must agree; ``ann`` has made the decision before, ``bob`` makes this one."""
REFUSED = {
    DraftState.NEW: "has no statement to cancel",
    DraftState.OPEN: "has no statement to cancel",
    DraftState.HELD: "has no statement to cancel",
    DraftState.PROPOSED: "has no statement to cancel",
    DraftState.RELEASING: "is being released: cancel its statement afterwards",
    DraftState.RELEASED: "is released: cancel its statement",
    DraftState.CANCEL_PROPOSED: "is released, and a second person must agree to cancel its statement",
    DraftState.CANCELLING: "is being cancelled: release or hold it afterwards",
}
ORDER = Check("order", Level.FAILED, "the draft of 2026-09 comes first: release it")


def drafted(state: DraftState) -> DraftItem:
    """Return a draft in a state that ``ann`` gave it."""
    return draft_item(state=state, decisions=[decision(state, "ann", "looked at")])


def decide(  # noqa: PLR0913 - the facts of a decision
    draft: DraftItem,
    desired: Desired,
    by: str = "bob",
    reason: str = "checked",
    seen: int | None = None,
    *failed: Check,
    needs_two: bool = False,
) -> DraftItem | None:
    request = DraftRequest(desired, reason, len(draft.decisions) if seen is None else seen)
    return planned_decision(draft, request, Decider(by, AT, needs_two), lambda: failed)


@cases(("needs_two", "table"), [(False, BY_ONE), (True, BY_TWO)], ids=["by one", "by two"])
@cases(("state", "desired"), [*product(DraftState, Desired)])
def test_a_state_allows_what_the_table_says(
    state: DraftState, desired: Desired, *, needs_two: bool, table: dict[tuple[DraftState, Desired], DraftState]
) -> None:
    draft = drafted(state)
    if (state, desired) not in table:
        with pytest.raises(ConflictError, match=REFUSED[state]) as refused:
            decide(draft, desired, needs_two=needs_two)
        assert refused.value.problems[0].field == "decision"
        return
    decided = decide(draft, desired, needs_two=needs_two)
    assert decided
    made = DraftDecision(table[state, desired], "bob", AT, "checked")
    assert (decided.state, decided.decisions) == (made.state, (*draft.decisions, made))


@pytest.mark.parametrize(("state", "desired"), [(DraftState.PROPOSED, RELEASE), (DraftState.CANCEL_PROPOSED, CANCEL)])
def test_the_person_who_proposes_cannot_agree(state: DraftState, desired: Desired) -> None:
    with pytest.raises(ConflictError, match="a second person must agree"):
        decide(drafted(state), desired, "ann", needs_two=True)
    assert decide(drafted(state), desired, "ann", needs_two=False)


def test_a_held_draft_needs_two_again_after_it_was_proposed() -> None:
    draft = drafted(DraftState.PROPOSED)
    held = decide(draft, HOLD, "ann", needs_two=True)
    assert held
    proposed = decide(held, RELEASE, "bob", needs_two=True)
    assert proposed
    assert proposed.state is DraftState.PROPOSED


@pytest.mark.parametrize("needs_two", [False, True])
@pytest.mark.parametrize("desired", [RELEASE, HOLD])
def test_a_retry_of_a_decision_changes_nothing(desired: Desired, *, needs_two: bool) -> None:
    draft = drafted(DraftState.OPEN)
    decided = decide(draft, desired, needs_two=needs_two)
    assert decided
    assert decide(decided, desired, seen=1, needs_two=needs_two) is None
    later = decided.decided(decision(DraftState.HELD, "release", "later"))
    assert decide(later, desired, seen=1, needs_two=needs_two) is None, "also after others"


@pytest.mark.parametrize(
    ("desired", "by", "reason", "seen"),
    [
        (HOLD, "bob", "checked", 1),
        (RELEASE, "eve", "checked", 1),
        (RELEASE, "bob", "another reason", 1),
        (RELEASE, "bob", "checked", 0),
        (RELEASE, "bob", "checked", 7),
    ],
)
def test_a_decision_after_others_than_were_seen_is_refused(desired: Desired, by: str, reason: str, seen: int) -> None:
    decided = decide(drafted(DraftState.OPEN), RELEASE)
    assert decided
    with pytest.raises(ConflictError, match=f"has 2 decisions, not {seen}") as refused:
        decide(decided, desired, by, reason, seen)
    (problem,) = refused.value.problems
    assert (problem.field, problem.expected) == ("seen", "2, once you have read the decisions")


def test_a_failed_check_keeps_a_draft_from_being_released_and_is_named() -> None:
    with pytest.raises(ConflictError, match="the draft of '42' in GBP for 2026-10 cannot be released yet") as refused:
        decide(drafted(DraftState.OPEN), RELEASE, "bob", "", None, ORDER)
    (problem,) = refused.value.problems
    assert (problem.field, problem.problem, problem.expected) == ("order", "failed", ORDER.message)


def test_a_release_lifts_a_hold_and_a_hold_or_a_cancellation_needs_no_check() -> None:
    held = Check("held", Level.FAILED, "it is held: looked at")
    assert decide(drafted(DraftState.HELD), RELEASE, "bob", "", None, held)
    assert decide(drafted(DraftState.OPEN), HOLD, "bob", "why", None, ORDER)
    assert decide(drafted(DraftState.RELEASED), CANCEL, "bob", "why", None, ORDER)


# ---------------------------------------------------------------- the request


def test_a_request_is_read() -> None:
    assert read_decision({"decision": "release", "seen": Decimal(0)}) == DraftRequest(RELEASE, "", 0)
    held = {"decision": "hold", "reason": "a typo", "seen": Decimal(2)}
    assert read_decision(held) == DraftRequest(HOLD, "a typo", 2)


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({}, {"decision", "reason", "seen"}),
        ({"decision": "release"}, {"seen"}),
        ({"decision": "hold", "seen": Decimal(0)}, {"reason"}),
        ({"decision": "cancel", "seen": Decimal(0), "reason": ""}, {"reason"}),
        ({"decision": "pay", "seen": Decimal(-1), "reason": "x"}, {"decision", "seen"}),
        ({"decision": ["release"], "seen": "1"}, {"decision", "reason", "seen"}),
        ({"decision": "release", "seen": Decimal("0.5")}, {"seen"}),
        ({"decision": "release", "seen": Decimal(0), "force": True}, {"force"}),
    ],
)
def test_a_request_names_every_field_that_is_wrong(body: dict[str, object], problems: set[str]) -> None:
    with pytest.raises(InvalidError) as refused:
        read_decision(body)
    assert {one.field for one in refused.value.problems} == problems
