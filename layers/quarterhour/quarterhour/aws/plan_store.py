"""The store of a fixed plan: one at a time, stored before its work begins, and finished only by who carries it out.

A control item of the Entity table holds a position (how far the finished plans got) and, while work is under way, its
plan. Each position has one plan at most. So an invocation that stops at any call is completed by the next one, exactly
as it was planned.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity import Key, Values
from quarterhour.aws.expressions import set_all, update_request
from quarterhour.aws.items import Request, from_item
from quarterhour.aws.tables import conditional_write, get_item
from quarterhour.model.errors import OvertakenError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the Entity table"
_PLAN: Final = "plan"

Revision = str | int
"""How far the finished plans got: a quarter-hour, a period, a number. It only rises."""


@dataclass(frozen=True, slots=True)
class PlanStore:
    """The control item with this key. ``position``: the attribute that holds the position.

    The item's ``plan`` is a mapping with its ``planned_at``; the item may hold more attributes.
    """

    client: "DynamoDBClient"
    table: str
    key: Key
    position: str

    def read(self) -> Values | None:
        """Return the item, read with strong consistency; ``None`` if there is none."""
        item = get_item(self.client, self.table, self.key)
        return from_item(item) if item else None

    def save(self, plan: Mapping[str, Any], at: Revision | None) -> None:
        """Store a plan if none is under way, and if the position is ``at``; ``None``: there is no position yet.

        Otherwise another invocation was faster. So the caller reads the item again, and carries out the plan in it.
        """
        self.move({_PLAN: plan}, at)

    def move(self, done: Mapping[str, Any], at: Revision | None) -> None:
        """Set attributes, such as a new position, if no plan is under way, and if the position is ``at``."""
        self._write(move_request(self, done, at))

    def finish(self, plan: Mapping[str, Any], at: Revision | None, done: Mapping[str, Any]) -> None:
        """Set the attributes ``done``, the new position among them, and remove the plan, if it is the one under way.

        ``at``: the position at which the plan was stored. A plan that is finished already stays so. Raises
        ``OvertakenError`` if the plan is not the one under way.
        """
        if self._write(finish_request(self, plan, at, done)):
            return
        reached = (self.read() or {}).get(self.position)
        if reached is None or reached < done[self.position]:
            raise OvertakenError(f"the plan for {done[self.position]} is not the one under way")

    def _write(self, request: Request) -> bool:
        return conditional_write(lambda: self.client.update_item(**request), _TABLE).applied


def move_request(store: PlanStore, done: Mapping[str, Any], at: Revision | None) -> Request:
    """Build the UpdateItem that sets attributes, if the position has not moved and no plan is under way."""
    return _update_request(store, at, set_all(done), done, f"attribute_not_exists(#{_PLAN})")


def finish_request(store: PlanStore, plan: Mapping[str, Any], at: Revision | None, done: Mapping[str, Any]) -> Request:
    """Build the UpdateItem that moves the position and removes the plan, if it is the one under way."""
    given = {**done, "planned_at": plan["planned_at"]}
    return _update_request(store, at, f"{set_all(done)} REMOVE #{_PLAN}", given, f"#{_PLAN}.planned_at = :planned_at")


def _update_request(
    store: PlanStore, at: Revision | None, update: str, values: Mapping[str, Any], condition: str
) -> Request:
    """Build an UpdateItem with values on a condition, and if the position is ``at``."""
    moved = f"attribute_not_exists(#{store.position})" if at is None else f"#{store.position} = :at"
    given = values if at is None else {**values, "at": at}
    return update_request(store.table, store.key, update, f"{moved} AND {condition}", given)
