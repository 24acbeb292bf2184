"""The sealed files in the bucket: created once, never changed, checked against their sealed hash when read."""

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from io import BytesIO
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Self

from botocore.exceptions import ClientError

from quarterhour.aws.items import chunks
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import code_of, is_missing_object, with_retries
from quarterhour.aws.workers import Workers
from quarterhour.ledger.postings.segments import LedgerKey, PostingValues
from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.model.totals import PeriodTotals
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.reports.keys import CONTENT_TYPES, MANIFEST, Part, run_prefix, totals_prefix
from quarterhour.reports.lines import postings_in, read_lines
from quarterhour.reports.manifest import periods_of
from quarterhour.reports.part_totals import pack, unpack
from quarterhour.reports.plan import PartTotals, Run, SealedFile

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_s3 import S3Client

_MANIFESTS_AT_ONCE: Final = 32
"""Manifests in memory at a time: each holds all accounts of its run."""


_IN_MEMORY: Final = 1 << 20
"""Bytes of a copy in memory; a larger one is on disk."""


class SealedPart(NamedTuple):
    """The sealed file of a part, and the totals of its lines, in pieces."""

    file: SealedFile
    totals: Iterable[PartTotals]


@dataclass(frozen=True, slots=True)
class SealedFiles:
    """The sealed files in the report bucket."""

    client: "S3Client"
    bucket: str

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the files in the report bucket of a function's environment."""
        return cls(resources.s3, resources.env.text("REPORT_BUCKET"))

    def create(self, key: str, content: IO[bytes] | bytes, digest: str) -> bool:
        """Create an object that must never change; return whether it is new.

        Raises ``SealedFileError`` if an object with other bytes exists.
        """

        def put() -> None:
            if not isinstance(content, bytes):
                content.seek(0)
            self.client.put_object(
                Bucket=self.bucket,
                Key=key,
                Body=content,
                ContentType=CONTENT_TYPES[key.rpartition(".")[2]],
                IfNoneMatch="*",
            )

        try:
            with_retries(put, "S3")
        except ClientError as error:
            if code_of(error) != "PreconditionFailed":
                raise
            if stream_digest(self.open(key)) != digest:
                raise SealedFileError(f"{key} is sealed with other bytes than the ledger gives now") from error
            return False
        return True

    def open(self, key: str) -> "StreamingBody":
        """Return an object's content as a stream; raise ``SealedFileError`` if there is none."""
        try:
            return with_retries(lambda: self.client.get_object(Bucket=self.bucket, Key=key)["Body"], "S3")
        except ClientError as error:
            if not is_missing_object(error):
                raise
            raise SealedFileError(f"{key} is gone") from error

    def exists(self, key: str) -> bool:
        """Return whether there is an object."""
        return self._size(key) is not None

    @contextmanager
    def copied(self, key: str) -> Iterator[IO[bytes]]:
        """Open a copy of an object, on disk if it is large; raise ``SealedFileError`` if there is none."""
        with SpooledTemporaryFile(_IN_MEMORY) as file:
            copyfileobj(self.open(key), file)
            file.seek(0)
            yield file

    def create_part_totals(self, part: Part, sealed: SealedFile, totals: PartTotals) -> None:
        """Create the object of a part's totals, after its lines: it records that the part is sealed."""
        content = pack(sealed, totals)
        self.create(part.totals_key, content, hexdigest(content))

    def totals_of(self, day: date) -> set[str]:
        """Return the keys of the totals of a day's sealed parts."""
        keys: set[str] = set()
        request: Any = {"Bucket": self.bucket, "Prefix": totals_prefix(day)}
        while True:
            page = with_retries(partial(self.client.list_objects_v2, **request), "S3")
            keys |= {one["Key"] for one in page.get("Contents", [])}
            if not page["IsTruncated"]:
                return keys
            request = {**request, "ContinuationToken": page["NextContinuationToken"]}

    def has_lines(self, part: Part, sealed: SealedFile) -> bool:
        """Return whether the lines of a sealed part exist, with their size."""
        return self._size(part.lines_key) == sealed.size

    def part_totals(self, part: Part) -> SealedPart:
        """Return a sealed part.

        Raises ``SealedFileError`` if its totals are missing, and here or from the pieces if they are damaged.
        """
        content = with_retries(lambda: self.open(part.totals_key).read(), "S3")
        with _undamaged(part.totals_key):
            sealed, pieces = unpack(BytesIO(content))

        def checked() -> Iterator[PartTotals]:
            with _undamaged(part.totals_key):
                yield from pieces

        return SealedPart(sealed, checked())

    @contextmanager
    def checked(self, part: Part, sealed: SealedFile) -> Iterator[IO[bytes]]:
        """Open the file of a sealed part; raise ``SealedFileError`` if it is not the sealed one."""
        with SpooledTemporaryFile(_IN_MEMORY) as file:
            if stream_digest(self.open(part.lines_key), copy=file) != sealed.sha256:
                raise SealedFileError(f"{part.lines_key} is not the file that was sealed")
            file.seek(0)
            yield file

    @contextmanager
    def lines(self, part: Part, sealed: SealedFile) -> Iterator[Iterator[dict[str, str]]]:
        """Open the lines of a sealed part; raise ``SealedFileError`` if the file is not the sealed one."""
        with self.checked(part, sealed) as file:
            yield read_lines(file)

    def postings_in(self, part: Part, items: Container[LedgerKey]) -> list[PostingValues]:
        """Return the postings of a sealed part that are in the ledger items with these keys, in order.

        Raises ``SealedFileError`` if the file is gone or damaged.
        """
        with self.copied(part.lines_key) as file, _undamaged(part.lines_key, "restore its version"):
            return list(postings_in(file, items))

    def lines_of(self, runs: Iterable[Run]) -> Iterator[dict[str, str]]:
        """Yield every line of the runs."""
        for run in runs:
            for name, values in sorted(run["sealed"].items()):
                with self.lines(Part.parse(name), SealedFile.of(values)) as lines:
                    yield from lines

    def accounts(self, runs: Sequence[Run], workers: Workers) -> Iterator[tuple[Run, dict[Account, PeriodTotals]]]:
        """Yield each run with the totals by period of the accounts in its manifest.

        Raises ``SealedFileError`` if a manifest is not the sealed one.
        """
        for some in chunks(runs, _MANIFESTS_AT_ONCE):
            yield from zip(some, workers.map(self._accounts, some), strict=True)

    def _accounts(self, run: Run) -> dict[Account, PeriodTotals]:
        return periods_of(self.manifest(run))

    def manifest(self, run: Run) -> dict[str, Any]:
        """Return the manifest of a run; raise ``SealedFileError`` if it is not the sealed one."""
        key = run_prefix(run["sk"]) + MANIFEST
        content = with_retries(lambda: self.open(key).read(), "S3")
        if hexdigest(content) != run["manifest_sha256"]:
            raise SealedFileError(f"{key} is not the file that was sealed")
        manifest: dict[str, Any] = json.loads(content)
        return manifest

    def _size(self, key: str) -> int | None:
        """Return the size of an object; ``None`` if there is none."""
        try:
            return with_retries(lambda: self.client.head_object(Bucket=self.bucket, Key=key)["ContentLength"], "S3")
        except ClientError as error:
            if not is_missing_object(error):
                raise
            return None


@contextmanager
def _undamaged(key: str, remedy: str = "delete it and seal its part again") -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise SealedFileError(f"{key} is damaged: {remedy} ({error})") from error
