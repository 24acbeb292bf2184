"""The storage code on an engine: each store, with the clients that the functions have, on the template's tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from local.engines import DYNAMODB_LOCAL, environment
from local.stack import Stack, open_stack
from quarterhour import aws
from quarterhour.counters.store import CounterStore
from quarterhour.ledger.queries import LedgerQueries
from quarterhour.ledger.store import LedgerStore
from quarterhour.reading import EntityReader
from quarterhour.reports.store import ReportStore
from quarterhour.schedule.store import ScheduleStore
from quarterhour.snapshots.store import SnapshotStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_sqs import SQSClient

ON_DYNAMODB_LOCAL = pytest.mark.engine(DYNAMODB_LOCAL)

only_dynamodb_local = pytest.mark.parametrize(
    "engine", [pytest.param(DYNAMODB_LOCAL, marks=ON_DYNAMODB_LOCAL)], indirect=True
)
"""For what moto does wrong: DynamoDB Local alone decides, and the test says why."""


@dataclass(frozen=True, slots=True)
class Storage:
    """A deployment's tables, bucket and queues, as the functions reach them."""

    stack: Stack
    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    sqs: "SQSClient"
    scheduler: "EventBridgeSchedulerClient"
    workers: aws.Workers

    @property
    def identity_table(self) -> str:
        return self.stack.ref("IdentityTable")

    @property
    def ledger_table(self) -> str:
        return self.stack.ref("LedgerTable")

    @property
    def entity_table(self) -> str:
        return self.stack.ref("EntityTable")

    @property
    def ledger(self) -> LedgerStore:
        return LedgerStore(self.dynamodb, self.identity_table, self.ledger_table, self.entity_table, self.workers)

    @property
    def counters(self) -> CounterStore:
        return CounterStore(self.dynamodb, self.entity_table)

    @property
    def snapshots(self) -> SnapshotStore:
        return SnapshotStore(self.dynamodb, self.entity_table)

    @property
    def reports(self) -> ReportStore:
        bucket = self.stack.ref("ReportBucket")
        return ReportStore(self.dynamodb, self.s3, self.entity_table, bucket, self.ledger_table, self.workers)

    @property
    def entities(self) -> EntityReader:
        return EntityReader(self.dynamodb, self.entity_table)

    @property
    def events(self) -> LedgerQueries:
        return LedgerQueries(self.dynamodb, self.ledger_table, self.entities, self.workers)

    @property
    def schedule(self) -> ScheduleStore:
        return ScheduleStore(self.scheduler, self.stack.functions["watch"].environment["SCHEDULE_NAME"], self.entities)

    def write(self, values: dict[str, Any]) -> None:
        """Write an entity past all stores."""
        self.dynamodb.put_item(TableName=self.entity_table, Item=aws.to_item(values))

    def forget(self, pk: str) -> None:
        """Delete a partition of the Entity table."""
        wanted = {
            "TableName": self.entity_table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": pk}},
        }
        for items in aws.query_pages(self.dynamodb, wanted, aws.Workers(1)):
            for item in items:
                self.dynamodb.delete_item(TableName=self.entity_table, Key={"pk": item["pk"], "sk": item["sk"]})


@contextmanager
def opened(engine: str) -> Iterator[Storage]:
    """Deploy the template on an engine for the length of the block."""
    with open_stack(engine, virtual=True) as stack:
        with environment({"AWS_ENDPOINT_URL_DYNAMODB": stack.engine.dynamodb_url}):
            clients = aws.dynamodb(), aws.s3(), aws.sqs(), aws.scheduler()
        yield Storage(stack, *clients, aws.Workers(4 if stack.engine.concurrent else 1))
