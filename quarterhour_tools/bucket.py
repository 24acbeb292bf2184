"""Sealed files, wherever they lie: in a stack's bucket or in a folder, opened by key."""

from collections.abc import Iterator
from errno import ENOENT
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from botocore.exceptions import ClientError

from quarterhour.aws.retries import code_of
from quarterhour_tools.errors import ToolError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_MISSING: Final = frozenset({"NoSuchKey", "404"})
"""The codes of S3 where there is no such object: its own, and that of an answer without a body."""


class Bucket:
    """The objects of a bucket."""

    def __init__(self, s3: "S3Client", name: str) -> None:
        self._s3 = s3
        self._name = name

    def keys(self) -> list[str]:
        """Return all keys, in their order."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._name)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def open(self, key: str) -> IO[bytes]:
        """Open an object; raise ``FileNotFoundError`` where it is not there."""
        try:
            return cast("IO[bytes]", self._s3.get_object(Bucket=self._name, Key=key)["Body"])
        except ClientError as error:
            if code_of(error) not in _MISSING:
                raise
            raise FileNotFoundError(key) from error

    def copy_to(self, folder: Path) -> None:
        """Write all objects as files."""
        for key in self.keys():
            file = folder / key
            file.parent.mkdir(parents=True, exist_ok=True)
            with self.open(key) as content:
                file.write_bytes(content.read())


class Folder:
    """The files of a folder, named as the objects were."""

    def __init__(self, path: Path) -> None:
        """Raise ``LocalError`` where there is no such folder."""
        if not path.is_dir():
            raise ToolError(f"{path} is no folder")
        self._path = path

    def keys(self) -> list[str]:
        """Return all keys, in their order."""
        return sorted(self._found())

    def open(self, key: str) -> IO[bytes]:
        """Open a file; raise ``FileNotFoundError``, with the reason, where it is no regular file of the folder."""
        path = self._path / key
        try:
            regular, exists = path.is_file(), path.exists()
        except OSError:  # a name that no file can have
            regular = exists = False
        if not regular:
            # A pipe or a device would never end.
            raise FileNotFoundError(ENOENT, "is no regular file" if exists else "is missing", key)
        # A manifest is not to be believed when it names a file elsewhere.
        if not path.resolve().is_relative_to(self._path.resolve()):
            raise FileNotFoundError(ENOENT, "lies outside the folder", key)
        return path.open("rb")

    def _found(self) -> Iterator[str]:
        return (file.relative_to(self._path).as_posix() for file in self._path.rglob("*") if file.is_file())
