"""The stores on an engine: the clients of the functions and the tables of the template."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.executions import Executions
from quarterhour.aws.items import to_item
from quarterhour.aws.tables import query_pages
from quarterhour.aws.workers import Workers
from quarterhour.counters.store import CounterReader, CounterStore
from quarterhour.ledger.held.store import HeldStore
from quarterhour.ledger.postings.partitions import LedgerReader
from quarterhour.ledger.postings.segments import SegmentKey, packed
from quarterhour.ledger.reading.queries import LedgerQueries
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.plan import NewSegment
from quarterhour.ledger.recording.segment_store import SegmentStore
from quarterhour.model.identifiers import Partition, Position
from quarterhour.model.instants import ALWAYS
from quarterhour.reports.schedule.store import ScheduleStore
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.service import ReportStores
from quarterhour.reports.store import CheckpointStore, PinStore, ProjectionStore, RunStore
from quarterhour.snapshots.store import SnapshotStore
from quarterhour_tools.emulator.engines import environment
from quarterhour_tools.emulator.stack import Stack, open_stack
from tests.support.builders import claim
from tests.support.customers import token

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_sqs import SQSClient


def alone(posting: Mapping[str, str]) -> NewSegment:
    """Return the segment of one posting, at the posting's position."""
    position = Position.parse(posting["position"])
    key = SegmentKey(Partition.parse(posting["quarter_hour"]), position.of_item)
    rows = [*[None] * (position.index or 0), posting]
    return NewSegment(key, packed(rows), {(posting["quarter_hour"], posting["position"]): claim()})


@dataclass(frozen=True, slots=True)
class Storage:
    """A deployment's tables, bucket and queues, with the stores of the functions."""

    stack: Stack
    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    sqs: "SQSClient"
    scheduler: "EventBridgeSchedulerClient"
    workers: Workers

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
    def claims(self) -> ClaimStore:
        return ClaimStore(self.dynamodb, self.identity_table, self.entity_table, self.workers)

    @property
    def segments(self) -> SegmentStore:
        return SegmentStore(self.dynamodb, self.ledger_table, self.entity_table, self.workers)

    @property
    def counters(self) -> CounterStore:
        return CounterStore(self.dynamodb, self.entity_table)

    @property
    def snapshots(self) -> SnapshotStore:
        return SnapshotStore(self.dynamodb, self.entity_table)

    @property
    def reports(self) -> ReportStores:
        table = self.entity_table
        return ReportStores(
            CheckpointStore(self.dynamodb, table),
            RunStore(self.dynamodb, table),
            LedgerReader(self.dynamodb, self.ledger_table, self.workers),
            CounterReader(self.dynamodb, table, self.workers).counted,
            PinStore(self.dynamodb, table, self.workers),
            ProjectionStore(self.dynamodb, table, self.workers),
            SealedFiles(self.s3, self.stack.ref("ReportBucket")),
            Executions(self.stack.engine.stepfunctions(), ""),
        )

    @property
    def held(self) -> HeldStore:
        return HeldStore(self.dynamodb, self.identity_table, self.entity_table, self.entities)

    @property
    def entities(self) -> EntityReader:
        return EntityReader(self.dynamodb, self.entity_table)

    @property
    def events(self) -> LedgerQueries:
        return LedgerQueries(self.dynamodb, self.ledger_table, self.entities, self.workers, lambda: ALWAYS[0], token)

    @property
    def schedule(self) -> ScheduleStore:
        return ScheduleStore(self.scheduler, self.stack.functions["watch"].environment["SCHEDULE_NAME"], self.entities)

    def write(self, values: dict[str, Any]) -> None:
        """Write an entity directly to the table."""
        self.dynamodb.put_item(TableName=self.entity_table, Item=to_item(values))

    def post(self, postings: Iterable[Mapping[str, str]]) -> None:
        """Append postings, each in a separate segment."""
        self.segments.append([alone(one) for one in postings], lambda _: True)

    def forget(self, pk: str) -> None:
        """Delete a partition of the Entity table."""
        query = {
            "TableName": self.entity_table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": pk}},
        }
        for items in query_pages(self.dynamodb, query, Workers(1)):
            for item in items:
                self.dynamodb.delete_item(TableName=self.entity_table, Key={"pk": item["pk"], "sk": item["sk"]})


@contextmanager
def opened(engine: str) -> Iterator[Storage]:
    """Deploy the template on an engine for the length of the block."""
    with open_stack(engine, virtual=True) as stack:
        with environment({"AWS_ENDPOINT_URL_DYNAMODB": stack.engine.dynamodb_url}):
            opened_clients = clients.dynamodb(), clients.s3(), clients.sqs(), clients.scheduler()
        yield Storage(stack, *opened_clients, Workers(1 if stack.engine.embedded else 4))
