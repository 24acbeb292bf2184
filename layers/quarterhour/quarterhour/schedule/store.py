"""The schedule's calls to EventBridge Scheduler and DynamoDB, and the requests they send."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

from quarterhour.aws.entity import CHECKPOINT_KEY, Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Request, to_item
from quarterhour.aws.retries import with_retries
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.schedule.keys import DESIRED_KEY, FIRST_CHANGE, LAST_CHANGE, SCHEDULE
from quarterhour.schedule.plan import Change, DesiredSchedule, Setting

if TYPE_CHECKING:
    from mypy_boto3_scheduler import EventBridgeSchedulerClient

_READ_ONLY: Final = frozenset({"Arn", "CreationDate", "LastModificationDate", "ResponseMetadata"})
"""The fields that GetSchedule returns and UpdateSchedule refuses."""
_PAUSED: Final = "DISABLED"
_RUNNING: Final = "ENABLED"


@dataclass(frozen=True, slots=True)
class ActualSchedule:
    """The schedule as EventBridge Scheduler has it: every field, as it was read."""

    fields: Mapping[str, Any]

    @property
    def expression(self) -> str:
        """When it fires."""
        return str(self.fields["ScheduleExpression"])

    @property
    def paused(self) -> bool:
        """Whether it does not fire at all."""
        return bool(self.fields["State"] == _PAUSED)

    @property
    def since(self) -> datetime:
        """When it was last changed; a rate counts from then."""
        return cast("datetime", self.fields["LastModificationDate"])


def schedule_request(name: str) -> Request:
    """Build the GetSchedule of a schedule."""
    return {"Name": name}


def update_request(actual: ActualSchedule, setting: Setting) -> Request | None:
    """Build the UpdateSchedule that gives a schedule a setting; ``None`` where it has that already.

    UpdateSchedule replaces the whole schedule, so every other field is sent as it was read.
    """
    read = {name: value for name, value in actual.fields.items() if name not in _READ_ONLY}
    updated = {
        **read,
        "ScheduleExpression": setting.expression,
        "ScheduleExpressionTimezone": "UTC",
        "State": _PAUSED if setting.paused else _RUNNING,
    }
    return updated if updated != read else None


def change_request(table: str, change: Change) -> Request:
    """Build the transaction that writes a desired schedule and its change, unless another change was faster."""
    put: Request = {"TableName": table, "Item": to_item(change.desired.as_values())}
    before = change.desired.version - 1
    if before:
        put["ConditionExpression"] = "version = :before"
        put["ExpressionAttributeValues"] = {":before": {"N": str(before)}}
    else:
        put["ConditionExpression"] = "attribute_not_exists(pk)"
    return {"TransactItems": [{"Put": put}, {"Put": {"TableName": table, "Item": to_item(change.record)}}]}


def read_desired(entities: EntityReader) -> DesiredSchedule:
    """Return the desired schedule, strongly consistent."""
    values = entities.get(DESIRED_KEY)
    return DesiredSchedule.of(values) if values else DesiredSchedule()


@dataclass(frozen=True, slots=True)
class ScheduleStore:
    """The actual schedule in EventBridge Scheduler, and the desired one in the Entity table."""

    scheduler: "EventBridgeSchedulerClient"
    name: str
    entities: EntityReader

    def desired(self) -> DesiredSchedule:
        """Return the desired schedule, strongly consistent."""
        return read_desired(self.entities)

    def record(self, change: Change) -> None:
        """Write a change and the schedule it desires; raise ``ClientError`` where another change was faster."""
        request = change_request(self.entities.table, change)
        with_retries(lambda: self.entities.client.transact_write_items(**request), "the Entity table")

    def changes(self, before: str | None, page: int) -> Iterator[Values]:
        """Yield the records of the changes before a sort key, the newest first."""
        return self.entities.read(Range(SCHEDULE, FIRST_CHANGE, LAST_CHANGE, falling=True, after=before), page)

    def actual(self) -> ActualSchedule:
        """Return the schedule as the service has it."""
        request = schedule_request(self.name)
        return ActualSchedule(with_retries(lambda: self.scheduler.get_schedule(**request), "EventBridge Scheduler"))

    def update(self, request: Request) -> None:
        """Replace the schedule."""
        with_retries(lambda: self.scheduler.update_schedule(**request), "EventBridge Scheduler")

    def sealed_through(self) -> QuarterHour | None:
        """Return the last sealed quarter-hour; ``None`` before the first event."""
        values = self.entities.get(CHECKPOINT_KEY)
        return QuarterHour.parse(values["sealed_through"]) if values else None
