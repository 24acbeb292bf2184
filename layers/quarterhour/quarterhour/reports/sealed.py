"""Reading back what was sealed: how far, the runs, and their files, each held to the hash that it was sealed with."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from quarterhour import aws, control
from quarterhour.aws import Request
from quarterhour.errors import SealedFileError
from quarterhour.quarters import Quarter
from quarterhour.reports.keys import RUNS, lines_key, run_key
from quarterhour.reports.lines import read_lines, tally_lines
from quarterhour.reports.plan import Checkpoint, Content, Plan, Sealed

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client


def runs_request(table: str) -> Request:
    """Build the Query for the control items of all runs, in the order of time, strongly consistent."""
    return {
        "TableName": table,
        "KeyConditionExpression": "pk = :runs",
        "ExpressionAttributeValues": {":runs": {"S": RUNS}},
        "ConsistentRead": True,
    }


@dataclass(frozen=True, slots=True)
class SealedLedger:
    """The sealed files, and the control items that tell of them."""

    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    entity_table: str
    bucket: str

    def checkpoint(self) -> Checkpoint | None:
        """Return how far the reports have come; ``None`` before the first event."""
        values = self._entity(control.CHECKPOINT)
        if values is None:
            return None
        plan = values.get("plan")
        run, digest = values.get("previous", ("", ""))
        return Checkpoint(Quarter.parse(values["sealed_through"]), (run, digest), Plan.of(plan) if plan else None)

    def run(self, run: str) -> dict[str, Any] | None:
        """Return the control item of a run that is done; ``None`` where there is none."""
        return self._entity(run_key(run))

    def runs(self) -> Iterator[dict[str, Any]]:
        """Return the control items of all runs, the oldest first."""
        pages = aws.query_pages(self.dynamodb, runs_request(self.entity_table), aws.Workers(1))
        return (aws.from_item(item) for items in pages for item in items)

    def lines_through(self, last: Quarter) -> Iterator[dict[str, str]]:
        """Yield every sealed line, from the first quarter-hour to the given one."""
        for run in self.runs():
            for name, values in sorted(run["sealed"].items()):
                quarter = Quarter.parse(name)
                if quarter <= last:
                    with self.lines(quarter, Sealed.of(values)) as lines:
                        yield from lines

    @contextmanager
    def lines(self, quarter: Quarter, sealed: Sealed) -> Iterator[Iterator[dict[str, str]]]:
        """Give the lines of a sealed quarter-hour; raise ``SealedFileError`` where its file is not the one sealed."""
        with TemporaryFile() as file:
            digest = sha256()
            body = self.open(lines_key(quarter))
            while block := body.read(1 << 20):
                digest.update(block)
                file.write(block)
            if digest.hexdigest() != sealed.sha256:
                raise SealedFileError(f"{lines_key(quarter)} is not the file that was sealed")
            file.seek(0)
            yield read_lines(file)

    def content(self, quarter: Quarter, sealed: Sealed) -> Content:
        """Add up a sealed quarter-hour."""
        if not sealed.lines:
            return Content()
        with self.lines(quarter, sealed) as lines:
            return tally_lines(lines)

    def open(self, key: str) -> "StreamingBody":
        """Return an object's content as a stream; raise ``SealedFileError`` where it is not there."""
        try:
            return aws.persist(lambda: self.s3.get_object(Bucket=self.bucket, Key=key)["Body"], "S3")
        except ClientError as error:
            if aws.code_of(error) != "NoSuchKey":
                raise
            raise SealedFileError(f"{key} is gone") from error

    def _entity(self, key: Mapping[str, str]) -> dict[str, Any] | None:
        request = aws.get_item_request(self.entity_table, dict(key))
        item = aws.persist(lambda: self.dynamodb.get_item(**request), "the Entity table").get("Item")
        return aws.from_item(item) if item else None
