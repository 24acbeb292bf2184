"""Reads the files of the inbox bucket, and writes their results."""

import gzip
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import ClientError, IncompleteReadError
from urllib3.exceptions import HTTPError

from quarterhour.aws.retries import NETWORK_ERRORS, code_of, is_missing_object, with_retries
from quarterhour.intake.chunks import Content
from quarterhour.intake.file_result import FileResult, FileVersion
from quarterhour.intake.keys import UnreadableError, map_key, result_key, seen_key
from quarterhour.model.errors import UnavailableError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import GetObjectRequestTypeDef

MAX_UNPACKED: Final = 2_000_000_000
"""The most bytes that a gzip file may hold: each part unpacks it from its beginning."""
_BLOCK: Final = 1 << 20
_REPLACED: Final = frozenset({"PreconditionFailed", "412"})
_BROKEN: Final = (*NETWORK_ERRORS, IncompleteReadError, HTTPError)


class ReplacedError(Exception):
    """The file has another content by now, or is gone."""


class InboxStore:
    """The inbox bucket."""

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self.bucket = bucket
        """The bucket's name."""

    @contextmanager
    def opened(self, file: FileVersion, offset: int, *, is_gzip: bool) -> Iterator[Content]:
        """Open the content of a file from an offset on; that of gzip is unpacked.

        Raises ``ReplacedError``, also in the block ``UnreadableError`` for gzip that is none or is cut off, and
        ``UnavailableError`` if S3 stops sending.
        """
        request = content_request(self.bucket, file, 0 if is_gzip else offset)
        try:
            body = with_retries(lambda: self._client.get_object(**request)["Body"], "S3")
        except ClientError as error:
            if code_of(error) == "InvalidRange":  # the part before has ended where the file does
                yield BytesIO()
                return
            if not is_missing_object(error) and code_of(error) not in _REPLACED:
                raise
            raise ReplacedError from error
        try:
            yield _unpacked(body, offset) if is_gzip else cast("Content", body)
        except EOFError as error:
            raise UnreadableError("the gzip file is cut off: upload the whole file again") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise UnreadableError(f"is not a whole gzip file: {error}") from error
        except _BROKEN as error:
            raise UnavailableError("S3 stopped sending a file") from error
        finally:
            body.close()

    def map(self, name: str) -> str | None:
        """Return the text of a map of the deployment's own; ``None`` if there is none."""
        content = self._content(map_key(name))
        return None if content is None else content.decode(errors="replace")

    def result(self, file: FileVersion) -> FileResult | None:
        """Return the result of a content of a file; ``None`` if there is none yet."""
        content = self._content(result_key(file.key, file.etag))
        return None if content is None else FileResult.parse(content)

    def put(self, result: FileResult) -> None:
        """Write the result of a file."""
        key, content = result_key(result.file.key, result.file.etag), result.as_json()
        with_retries(
            lambda: self._client.put_object(Bucket=self.bucket, Key=key, Body=content, ContentType="application/json"),
            "S3",
        )

    def fetch_seen(self, result: FileResult, path: Path) -> None:
        """Write what the parts so far have seen of the rows of a file to a path; nothing before the first part."""
        if not result.part:
            return
        content = with_retries(lambda: self._client.get_object(Bucket=self.bucket, Key=_seen_key(result)), "S3")
        with path.open("wb") as file:
            shutil.copyfileobj(content["Body"], file)

    def put_seen(self, result: FileResult, path: Path) -> None:
        """Keep what the parts so far have seen of the rows of a file."""

        def write() -> None:
            with path.open("rb") as file:
                self._client.put_object(Bucket=self.bucket, Key=_seen_key(result), Body=file)

        with_retries(write, "S3")

    def _content(self, key: str) -> bytes | None:
        def read() -> bytes:
            return self._client.get_object(Bucket=self.bucket, Key=key)["Body"].read()

        try:
            return with_retries(read, "S3")
        except ClientError as error:
            if not is_missing_object(error):
                raise
            return None


def _seen_key(result: FileResult) -> str:
    return seen_key(result.file.key, result.file.etag, result.file.upload, result.part)


def content_request(bucket: str, file: FileVersion, offset: int) -> "GetObjectRequestTypeDef":
    """Build the GetObject of a file from an offset on, on the condition that its content is still the same."""
    request: GetObjectRequestTypeDef = {"Bucket": bucket, "Key": file.key, "IfMatch": f'"{file.etag}"'}
    return {**request, "Range": f"bytes={offset}-"} if offset else request


def _unpacked(body: Any, offset: int) -> Content:  # noqa: ANN401 - botocore's stream has no common type
    """Return the unpacked content behind an offset, up to the largest size."""
    stream = gzip.GzipFile(fileobj=body)
    left = offset
    while left and (block := stream.read(min(_BLOCK, left))):
        left -= len(block)
    return _Bounded(stream, MAX_UNPACKED - offset)


class _Bounded:
    """A stream that must not have more bytes than are left."""

    def __init__(self, stream: gzip.GzipFile, left: int) -> None:
        self._stream = stream
        self._left = left

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; raise ``UnreadableError`` behind the last one that is allowed."""
        block = self._stream.read(size)
        self._left -= len(block)
        if self._left < 0:
            raise UnreadableError(f"holds more than {MAX_UNPACKED:,} bytes: upload it unpacked, or in several files")
        return block
