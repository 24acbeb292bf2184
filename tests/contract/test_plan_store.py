"""A fixed plan on an engine: one at a time at each position, finished only by who carries it out."""

from typing import Any

import pytest

from quarterhour.aws.plan_store import PlanStore, Revision
from quarterhour.model.errors import OvertakenError
from tests.contract.storage import Storage

OURS = {"planned_at": "2026-10-23T02:32:00.000Z", "parts": 2}
THEIRS = {"planned_at": "2026-10-23T02:40:00.000Z", "parts": 3}


@pytest.fixture
def plans(storage: Storage, own: str) -> PlanStore:
    return PlanStore(storage.dynamodb, storage.entity_table, {"pk": "CONTROL", "sk": own}, "through")


def held(plans: PlanStore) -> dict[str, Any]:
    """Return the attributes of the item beside its key."""
    return {name: value for name, value in (plans.read() or {}).items() if name not in plans.key}


def at(plans: PlanStore, position: Revision) -> None:
    """Finish a plan, so that the item has a position."""
    plans.save(THEIRS, None)
    plans.finish(THEIRS, None, {"through": position, "sha256": "f0"})


def test_before_the_first_plan_there_is_no_item(plans: PlanStore) -> None:
    assert plans.read() is None


def test_a_stored_plan_is_not_replaced(plans: PlanStore) -> None:
    plans.save(OURS, None)
    plans.save(THEIRS, None)
    assert held(plans) == {"plan": OURS}


@pytest.mark.parametrize(("position", "after"), [("2026-10", "2026-11"), (9, 10)])
def test_a_finished_plan_makes_room_for_the_next_at_its_position(
    plans: PlanStore, position: Revision, after: Revision
) -> None:
    at(plans, position)
    assert held(plans) == {"through": position, "sha256": "f0"}
    plans.save(OURS, position)
    plans.finish(OURS, position, {"through": after, "sha256": "e1"})
    assert held(plans) == {"through": after, "sha256": "e1"}


@pytest.mark.parametrize("position", [None, 8, 10])
def test_a_plan_of_another_position_is_not_stored(plans: PlanStore, position: Revision | None) -> None:
    at(plans, 9)
    plans.save(OURS, position)
    assert held(plans) == {"through": 9, "sha256": "f0"}


def test_finishing_again_changes_nothing_even_while_the_next_plan_is_under_way(plans: PlanStore) -> None:
    at(plans, 9)
    plans.save(OURS, 9)
    plans.finish(THEIRS, None, {"through": 9, "sha256": "e1"})
    assert held(plans) == {"through": 9, "sha256": "f0", "plan": OURS}


@pytest.mark.parametrize("under_way", [None, THEIRS])
def test_finishing_a_plan_that_is_not_under_way_is_an_error(plans: PlanStore, under_way: dict[str, Any] | None) -> None:
    at(plans, 9)
    if under_way:
        plans.save(under_way, 9)
    before = held(plans)
    with pytest.raises(OvertakenError, match="the plan for 10"):
        plans.finish(OURS, 9, {"through": 10, "sha256": "e1"})
    assert held(plans) == before
