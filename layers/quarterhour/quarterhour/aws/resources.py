"""What a function works with: its settings, and its clients of AWS. Each room takes from it what it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.workers import CALLS_AT_A_TIME, Workers
from quarterhour.model.settings import Environment

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_ssm import SSMClient

T = TypeVar("T")


@dataclass(frozen=True)
class Resources:
    """The resources of one function. Each is made, and its setting is read, when it is first used.

    A handler uses all that it needs while it starts, so that a wrong setting stops it there.
    """

    env: Environment

    @classmethod
    def of_process(cls) -> Self:
        """Return the resources that the environment of this process names."""
        return cls(Environment.of_process())

    def shared(self, make: Callable[[EntityReader], T]) -> T:
        """Return what is made of the reader of the Entity table: one for all rooms."""
        if make not in self._shared:
            self._shared[make] = make(self.entities)
        found: T = self._shared[make]
        return found

    @cached_property
    def _shared(self) -> dict[Callable[[EntityReader], Any], Any]:
        return {}

    @cached_property
    def workers(self) -> Workers:
        """The threads for concurrent calls; an engine that runs in one thread allows one."""
        return Workers(int(self.env.variables.get("QUARTERHOUR_WORKERS", CALLS_AT_A_TIME)))

    @cached_property
    def dynamodb(self) -> "DynamoDBClient":
        """The client of DynamoDB."""
        return clients.dynamodb()

    @cached_property
    def s3(self) -> "S3Client":
        """The client of S3."""
        return clients.s3()

    @cached_property
    def sqs(self) -> "SQSClient":
        """The client of SQS."""
        return clients.sqs()

    @cached_property
    def ssm(self) -> "SSMClient":
        """The client of Systems Manager."""
        return clients.ssm()

    @cached_property
    def entity_table(self) -> str:
        """The name of the Entity table."""
        return self.env.text("ENTITY_TABLE")

    @cached_property
    def entities(self) -> EntityReader:
        """The reader of the Entity table."""
        return EntityReader(self.dynamodb, self.entity_table)
