"""The schedule's calls to EventBridge Scheduler and DynamoDB, and their request builders."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

from quarterhour.aws.entity import Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import NEW, put_request
from quarterhour.aws.items import Request
from quarterhour.aws.retries import with_retries
from quarterhour.ledger.postings.partitions import read_sealed_through
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.schedule.keys import DESIRED_KEY, FIRST_CHANGE, LAST_CHANGE, SCHEDULE
from quarterhour.reports.schedule.plan import DesiredSchedule, ScheduleChange, Setting

if TYPE_CHECKING:
    from mypy_boto3_scheduler import EventBridgeSchedulerClient

_READ_ONLY: Final = frozenset({"Arn", "CreationDate", "LastModificationDate", "ResponseMetadata"})
"""The fields that GetSchedule returns and UpdateSchedule refuses."""
_PAUSED: Final = "DISABLED"
_RUNNING: Final = "ENABLED"


@dataclass(frozen=True, slots=True)
class ActualSchedule:
    """The schedule in EventBridge Scheduler, with every field of the response of GetSchedule."""

    fields: Mapping[str, Any]

    @property
    def expression(self) -> str:
        """The schedule expression."""
        return str(self.fields["ScheduleExpression"])

    @property
    def paused(self) -> bool:
        """Whether the schedule is disabled."""
        return bool(self.fields["State"] == _PAUSED)

    @property
    def since(self) -> datetime:
        """The instant of the last change, from which a rate counts."""
        return cast("datetime", self.fields["LastModificationDate"])


def schedule_request(name: str) -> Request:
    """Build the GetSchedule of a schedule."""
    return {"Name": name}


def update_request(actual: ActualSchedule, setting: Setting) -> Request | None:
    """Build the UpdateSchedule that applies a setting; return ``None`` if the schedule already has it.

    UpdateSchedule replaces the whole schedule, so the request repeats all other fields.
    """
    read = {name: value for name, value in actual.fields.items() if name not in _READ_ONLY}
    updated = {
        **read,
        "ScheduleExpression": setting.expression,
        "ScheduleExpressionTimezone": "UTC",
        "State": _PAUSED if setting.paused else _RUNNING,
    }
    return updated if updated != read else None


def change_request(table: str, change: ScheduleChange) -> Request:
    """Build the transaction that writes a new desired schedule and its change, if no other change came first."""
    before = change.desired.version - 1
    condition = ("version = :before", {"before": before}) if before else (NEW, {})
    puts = [put_request(table, change.desired.as_values(), *condition), put_request(table, change.record)]
    return {"TransactItems": [{"Put": put} for put in puts]}


def read_desired(entities: EntityReader) -> DesiredSchedule:
    """Return the desired schedule, read with strong consistency."""
    values = entities.get(DESIRED_KEY)
    return DesiredSchedule.of(values) if values else DesiredSchedule()


@dataclass(frozen=True, slots=True)
class ScheduleStore:
    """Access to the actual schedule in EventBridge Scheduler, and the desired one in the Entity table."""

    scheduler: "EventBridgeSchedulerClient"
    name: str
    entities: EntityReader

    def desired(self) -> DesiredSchedule:
        """Return the desired schedule, read with strong consistency."""
        return read_desired(self.entities)

    def record(self, change: ScheduleChange) -> None:
        """Write a change and its desired schedule; raise ``ClientError`` if another change came first."""
        request = change_request(self.entities.table, change)
        with_retries(lambda: self.entities.client.transact_write_items(**request), "the Entity table")

    def changes(self, before: str | None, page_size: int) -> Iterator[Values]:
        """Yield the records of the changes before a sort key, newest first."""
        return self.entities.read(Range(SCHEDULE, FIRST_CHANGE, LAST_CHANGE, descending=True, after=before), page_size)

    def actual(self) -> ActualSchedule:
        """Return the schedule in EventBridge Scheduler."""
        request = schedule_request(self.name)
        return ActualSchedule(with_retries(lambda: self.scheduler.get_schedule(**request), "EventBridge Scheduler"))

    def update(self, request: Request) -> None:
        """Replace the schedule in EventBridge Scheduler."""
        with_retries(lambda: self.scheduler.update_schedule(**request), "EventBridge Scheduler")

    def sealed_through(self) -> QuarterHour | None:
        """Return the last sealed quarter-hour; ``None`` before the first event."""
        return read_sealed_through(self.entities)
