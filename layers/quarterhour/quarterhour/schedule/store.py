"""The schedule's calls to EventBridge Scheduler and DynamoDB, and the requests they make."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import ClientError

from quarterhour import aws, control
from quarterhour.aws import Request
from quarterhour.quarters import Quarter
from quarterhour.reading import EntityReader, Range, Values
from quarterhour.schedule.keys import FIRST_CHANGE, LAST_CHANGE, SCHEDULE, WANTED
from quarterhour.schedule.plan import Change, Setting, Wish

if TYPE_CHECKING:
    from mypy_boto3_scheduler import EventBridgeSchedulerClient

_TOLD_ONLY: Final = frozenset({"Arn", "CreationDate", "LastModificationDate", "ResponseMetadata"})
"""What GetSchedule tells and UpdateSchedule does not take."""
_PAUSED: Final = "DISABLED"
_RUNNING: Final = "ENABLED"


@dataclass(frozen=True, slots=True)
class Standing:
    """The schedule as the service has it: every field, as it was read."""

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


def update_request(standing: Standing, setting: Setting) -> Request | None:
    """Build the UpdateSchedule that makes a schedule do what is wanted; ``None`` where it does already.

    It replaces the whole schedule, so every other field is sent as it was read.
    """
    read = {name: value for name, value in standing.fields.items() if name not in _TOLD_ONLY}
    wanted = {
        **read,
        "ScheduleExpression": setting.expression,
        "ScheduleExpressionTimezone": "UTC",
        "State": _PAUSED if setting.paused else _RUNNING,
    }
    return wanted if wanted != read else None


def change_request(table: str, change: Change) -> Request:
    """Build the transaction that keeps a wish and the record of its change, if no other wish came between."""
    put: Request = {"TableName": table, "Item": aws.to_item(change.wish.as_values())}
    before = change.wish.version - 1
    if before:
        put["ConditionExpression"] = "version = :before"
        put["ExpressionAttributeValues"] = {":before": {"N": str(before)}}
    else:
        put["ConditionExpression"] = "attribute_not_exists(pk)"
    return {"TransactItems": [{"Put": put}, {"Put": {"TableName": table, "Item": aws.to_item(change.record)}}]}


def read_wish(entities: EntityReader) -> Wish:
    """Return what is wanted, strongly consistent."""
    values = entities.get(WANTED)
    return Wish.of(values) if values else Wish()


@dataclass(frozen=True, slots=True)
class ScheduleStore:
    """The schedule in EventBridge Scheduler, and what is wanted of it in the Entity table."""

    scheduler: "EventBridgeSchedulerClient"
    name: str
    entities: EntityReader

    def wish(self) -> Wish:
        """Return what is wanted, strongly consistent."""
        return read_wish(self.entities)

    def record(self, change: Change) -> bool:
        """Keep a change and what it makes; ``False`` where neither was kept, so read the wish again."""
        request = change_request(self.entities.table, change)
        try:
            aws.persist(lambda: self.entities.client.transact_write_items(**request), "the Entity table")
        except ClientError as error:
            if not aws.is_cancelled(error):
                raise
            return False
        return True

    def changes(self, before: str | None, page: int) -> Iterator[Values]:
        """Yield the records of changes, the newest first, from behind a sort key on."""
        return self.entities.read(Range(SCHEDULE, FIRST_CHANGE, LAST_CHANGE, falling=True, after=before), page)

    def standing(self) -> Standing:
        """Return the schedule as it stands."""
        request = schedule_request(self.name)
        return Standing(aws.persist(lambda: self.scheduler.get_schedule(**request), "EventBridge Scheduler"))

    def update(self, request: Request) -> None:
        """Replace the schedule."""
        aws.persist(lambda: self.scheduler.update_schedule(**request), "EventBridge Scheduler")

    def sealed_through(self) -> Quarter | None:
        """Return how far the reports have come; ``None`` before the first event."""
        values = self.entities.get(control.CHECKPOINT)
        return Quarter.parse(values["sealed_through"]) if values else None
