"""Reading back what was sealed: how far, the runs, and their files, each held to the hash that it was sealed with."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from itertools import groupby
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from quarterhour import aws, control
from quarterhour.aws import Request
from quarterhour.errors import SealedFileError
from quarterhour.ledger.keys import Account
from quarterhour.quarters import Quarter
from quarterhour.reports.keys import MANIFEST, RUNS, lines_key, run_bounds, run_key, run_prefix, runs_between
from quarterhour.reports.lines import read_lines, tally_lines
from quarterhour.reports.manifest import accounts_of, hexdigest
from quarterhour.reports.plan import Checkpoint, Content, Plan, Sealed
from quarterhour.totals import Totals

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

Run = dict[str, Any]
"""The control item of a run that is done."""

_MANIFESTS_AT_ONCE: Final = 32
"""So many are in memory at a time: each names all accounts of its run."""


def runs_request(table: str, first: date, last: date) -> Request:
    """Build the Query for the control items of the runs of some days, in the order of time, strongly consistent."""
    lowest, highest = runs_between(first, last)
    return {
        "TableName": table,
        "KeyConditionExpression": "pk = :runs AND sk BETWEEN :first AND :last",
        "ExpressionAttributeValues": {":runs": {"S": RUNS}, ":first": {"S": lowest}, ":last": {"S": highest}},
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

    def run(self, run: str) -> Run | None:
        """Return the control item of a run that is done; ``None`` where there is none."""
        return self._entity(run_key(run))

    def days(self, first: date, last: Quarter) -> Iterator[tuple[date, list[Run]]]:
        """Yield the days from one to that of a quarter-hour, each with its runs up to there, the oldest first."""
        if first > last.day:
            return
        pages = aws.query_pages(self.dynamodb, runs_request(self.entity_table, first, last.day), aws.Workers(1))
        runs = (aws.from_item(item) for items in pages for item in items)
        # A run that crashed right before it moved the checkpoint stands there too.
        sealed = (run for run in runs if run_bounds(run["sk"])[1] <= last.end)
        for day, some in groupby(sealed, lambda run: run_bounds(run["sk"])[0].date()):
            yield day, list(some)

    def accounts(self, runs: Sequence[Run], workers: aws.Workers) -> Iterator[tuple[Run, dict[Account, Totals]]]:
        """Yield runs, each with what its manifest says of every account.

        Raises ``SealedFileError`` where a manifest is not the one sealed.
        """
        for some in aws.chunks(runs, _MANIFESTS_AT_ONCE):
            yield from zip(some, workers.map(self._accounts, some), strict=True)

    def _accounts(self, run: Run) -> dict[Account, Totals]:
        key = run_prefix(run["sk"]) + MANIFEST
        content = aws.persist(lambda: self.open(key).read(), "S3")
        if hexdigest(content) != run["manifest_sha256"]:
            raise SealedFileError(f"{key} is not the file that was sealed")
        return accounts_of(json.loads(content))

    def lines_of(self, runs: Iterable[Run]) -> Iterator[dict[str, str]]:
        """Yield every line of some runs."""
        for run in runs:
            for name, values in sorted(run["sealed"].items()):
                with self.lines(Quarter.parse(name), Sealed.of(values)) as lines:
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
