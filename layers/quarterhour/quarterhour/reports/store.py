"""The reports' calls to DynamoDB and S3, and the requests they make."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import IO, Any, Final

from botocore.exceptions import ClientError

from quarterhour import aws, control
from quarterhour.aws import Item, Request
from quarterhour.clock import MILLISECOND
from quarterhour.counters.keys import account_of, partition_of, quarter_key
from quarterhour.errors import OvertakenError, SealedFileError
from quarterhour.ledger.keys import Account, Partition
from quarterhour.quarters import Quarter
from quarterhour.rates.keys import stated_until
from quarterhour.rates.rate import Rate
from quarterhour.reading import EntityReader
from quarterhour.reports.base import Pins, as_list, pins_of
from quarterhour.reports.keys import PENDING, pins_key
from quarterhour.reports.plan import Checkpoint, Plan, Sealed
from quarterhour.reports.sealed import SealedLedger
from quarterhour.totals import Totals

_ITEMS_IN_MEMORY: Final = 10_000
_FEWEST_A_PAGE: Final = 100


def partition_request(table: str, partition: Partition, page: int) -> Request:
    """Build the Query that reads a ledger partition in order, strongly consistent."""
    return {
        "TableName": table,
        "KeyConditionExpression": "quarter_hour = :partition",
        "ExpressionAttributeValues": {":partition": {"S": str(partition)}},
        "ConsistentRead": True,
        "Limit": page,
    }


def fix_request(table: str, at: Checkpoint, plan: Plan) -> Request:
    """Build the UpdateItem that fixes a plan: only where the checkpoint has not moved and no plan stands."""
    return _checkpoint_update(
        table,
        "SET #plan = :plan",
        "sealed_through = :at AND attribute_not_exists(#plan)",
        {":plan": plan.as_dict(), ":at": str(at.sealed_through)},
    )


def progress_request(table: str, plan: Plan, sealed: Sequence[Sealed]) -> Request:
    """Build the UpdateItem that notes how far a plan has come: only while it is the one under way."""
    return _checkpoint_update(
        table,
        "SET #plan.sealed = :sealed",
        "#plan.planned_at = :planned_at",
        {":sealed": [one.as_list() for one in sealed], ":planned_at": plan.planned_at},
    )


def finish_request(table: str, plan: Plan, manifest_sha256: str) -> Request:
    """Build the UpdateItem that moves the checkpoint and clears the plan, in one: only from where the plan began."""
    return _checkpoint_update(
        table,
        "SET sealed_through = :last, #previous = :previous REMOVE #plan",
        "sealed_through = :before AND #plan.planned_at = :planned_at",
        {
            ":last": str(plan.last),
            ":previous": [plan.run, manifest_sha256],
            ":before": str(plan.first.previous),
            ":planned_at": plan.planned_at,
        },
    )


def _checkpoint_update(table: str, update: str, condition: str, values: dict[str, Any]) -> Request:
    names = {name: name.removeprefix("#") for name in ("#plan", "#previous") if name in update + condition}
    return {
        "TableName": table,
        "Key": aws.to_item(dict(control.CHECKPOINT)),
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": aws.to_item(values),
    }


def pin_request(table: str, quarter: Quarter, base: str, pins: Pins) -> Request:
    """Build the PutItem that pins rates, if none are pinned, and tells of those that are."""
    return {
        "TableName": table,
        "Item": aws.to_item({**pins_key(quarter, base), "rates": as_list(pins)}),
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def pending_request(table: str) -> Request:
    """Build the Query for the runs whose counters have not caught up yet."""
    return {
        "TableName": table,
        "IndexName": "gsi1",
        "KeyConditionExpression": "gsi1pk = :pending",
        "ExpressionAttributeValues": {":pending": {"S": PENDING}},
    }


@dataclass(frozen=True, slots=True)
class ReportStore(SealedLedger):
    """What was sealed, and beside it the ledger that is still to be."""

    ledger_table: str
    workers: aws.Workers

    def shards(self) -> int:
        """Return the highest number of ledger shards ever used."""
        values = self._entity(control.SHARDS)
        return int(values["shards"]) if values else 1

    def fix(self, at: Checkpoint, plan: Plan) -> None:
        """Fix a plan, unless another run was faster: then its plan stands."""
        self._update(fix_request(self.entity_table, at, plan))

    def progress(self, plan: Plan, sealed: Sequence[Sealed]) -> None:
        """Note how far a plan has come, unless another run has finished it."""
        self._update(progress_request(self.entity_table, plan, sealed))

    def finish(self, plan: Plan, manifest_sha256: str) -> None:
        """Move the checkpoint and clear the plan; raise ``OvertakenError`` where the plan is not the one under way."""
        if self._update(finish_request(self.entity_table, plan, manifest_sha256)):
            return
        at = self.checkpoint()
        if at is None or at.sealed_through < plan.last:
            raise OvertakenError(f"the plan of run {plan.run} is not the one under way")

    def read(self, partitions: Sequence[Partition]) -> Iterator[Item]:
        """Return the events of a quarter-hour's partitions, read side by side, in the order of their positions."""
        page = max(_FEWEST_A_PAGE, _ITEMS_IN_MEMORY // len(partitions))
        streams = [
            (item for items in pages for item in items)
            for pages in [
                aws.query_pages(self.dynamodb, partition_request(self.ledger_table, partition, page), self.workers)
                for partition in partitions
            ]
        ]
        return heapq.merge(*streams, key=lambda item: item["position"]["S"])

    def counted(self, keys: Iterable[tuple[Account, Partition]]) -> dict[tuple[Account, Partition], Totals]:
        """Return what the quarter-hour counters say for each account and partition that has one.

        They may be a moment old: that looks like a stream that lags, and is looked at again.
        """
        wanted = [quarter_key(account, partition) for account, partition in keys]
        items = aws.get_items(self.dynamodb, self.entity_table, wanted, self.workers, consistent=False)
        return {
            (account_of(item["pk"]["S"]), partition_of(item["sk"]["S"])): Totals.of(aws.from_item(item))
            for item in items
        }

    def create(self, key: str, content: IO[bytes] | bytes, digest: str) -> bool:
        """Create an object that must never change; tell whether it was not there yet.

        Raises ``SealedFileError`` where another stands in its place.
        """

        def put() -> None:
            if not isinstance(content, bytes):
                content.seek(0)
            self.s3.put_object(Bucket=self.bucket, Key=key, Body=content, IfNoneMatch="*")

        try:
            aws.persist(put, "S3")
        except ClientError as error:
            if aws.code_of(error) != "PreconditionFailed":
                raise
            if self._digest(key) != digest:
                raise SealedFileError(f"{key} is sealed with other bytes than the ledger gives now") from error
            return False
        return True

    def settle(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Write what follows from sealed lines and stands at a place of its own: however often, it is the same."""
        items = [aws.to_item(dict(values)) for values in entries]
        aws.put_items(self.dynamodb, self.entity_table, items, self.workers, lambda: True)

    def rate(self, currency: str, before: datetime, base: str) -> Rate | None:
        """Return the rate of a currency that was in force right before an instant; ``None`` where there was none."""
        entities = EntityReader(self.dynamodb, self.entity_table)
        values = next(entities.read(stated_until(currency, before - MILLISECOND), 1), None)
        rate = Rate.of(values) if values else None
        return rate if rate and rate.base == base else None

    def pinned(self, quarter: Quarter, base: str) -> dict[str, Rate | None]:
        """Return the rates that are pinned for a quarter-hour; none where it needs none."""
        values = self._entity(pins_key(quarter, base))
        return pins_of(values["rates"], base) if values else {}

    def pin(self, quarter: Quarter, base: str, pins: Pins) -> Pins:
        """Pin the rates of a quarter-hour, unless some are pinned: those stand for ever. Returns those that stand."""
        try:
            aws.persist(
                lambda: self.dynamodb.put_item(**pin_request(self.entity_table, quarter, base, pins)),
                "the Entity table",
            )
        except ClientError as error:
            if not aws.is_failed_condition(error):
                raise
            standing: Any = error.response
            return pins_of(aws.from_item(standing["Item"])["rates"], base)
        return pins

    def keep_run(self, values: Mapping[str, Any]) -> None:
        """Write a run's control item."""
        item = aws.to_item(dict(values))
        aws.persist(lambda: self.dynamodb.put_item(TableName=self.entity_table, Item=item), "the Entity table")

    def pending_runs(self) -> list[dict[str, Any]]:
        """Return the control items of the runs whose counters have not caught up yet, the oldest first."""
        pages = aws.query_pages(self.dynamodb, pending_request(self.entity_table), aws.Workers(1))
        return [aws.from_item(item) for items in pages for item in items]

    def _digest(self, key: str) -> str:
        digest = sha256()
        body = self.open(key)
        while block := body.read(1 << 20):
            digest.update(block)
        return digest.hexdigest()

    def _update(self, request: Request) -> bool:
        try:
            aws.persist(lambda: self.dynamodb.update_item(**request), "the Entity table")
        except ClientError as error:
            if not aws.is_failed_condition(error):
                raise
            return False
        return True
