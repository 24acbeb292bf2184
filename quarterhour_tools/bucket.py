"""Sealed files by key, in an S3 bucket or in a folder."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from errno import ENOENT
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, cast

from botocore.exceptions import ClientError

from quarterhour.aws.retries import is_missing_object
from quarterhour.statements.keys import WORK
from quarterhour_tools.errors import ToolError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def prepare_folder(path: Path) -> None:
    """Make the folder that sealed files are to be written to.

    Raises ``ToolError`` or ``OSError`` if it is not empty or cannot be written.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ToolError(f"{path} is not empty: name a new folder")
    path.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=path):
        pass


class Objects(ABC):
    """Objects by key."""

    @abstractmethod
    def keys(self) -> list[str]:
        """Return all keys, sorted."""

    @abstractmethod
    def open(self, key: str) -> IO[bytes]:
        """Open an object; raise ``FileNotFoundError`` if it does not exist: ``strerror`` may say why."""

    def sealed(self, key: str, sha256: str, named_by: str) -> bytes:
        """Return the content of a sealed file, whose hash something names: its list, or another sealed file.

        Raises ``ToolError`` if the file is missing, or has another hash.
        """
        try:
            with self.open(key) as file:
                content = file.read()
        except FileNotFoundError as error:
            raise ToolError(f"{key} is listed and is missing") from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ToolError(f"{key} is not the file that was sealed: its SHA-256 differs from the {named_by}'s")
        return content

    def copy_to(self, folder: Path) -> None:
        """Write every object as a file below the folder, without those that only a run under way needs."""
        for key in self.keys():
            if key.startswith(WORK):
                continue
            file = folder / key
            file.parent.mkdir(parents=True, exist_ok=True)
            with self.open(key) as content:
                file.write_bytes(content.read())


class Bucket(Objects):
    """The objects of an S3 bucket."""

    def __init__(self, s3: "S3Client", name: str) -> None:
        self._s3 = s3
        self._name = name

    def keys(self) -> list[str]:
        """Return all keys, sorted."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._name)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def open(self, key: str) -> IO[bytes]:
        """Open an object; raise ``FileNotFoundError`` if it does not exist."""
        try:
            return cast("IO[bytes]", self._s3.get_object(Bucket=self._name, Key=key)["Body"])
        except ClientError as error:
            if not is_missing_object(error):
                raise
            raise FileNotFoundError(key) from error


class Folder(Objects):
    """The files of a folder, with the objects' keys as relative paths."""

    def __init__(self, path: Path) -> None:
        """Raise ``ToolError`` if the folder does not exist."""
        if not path.is_dir():
            raise ToolError(f"{path} is not a folder")
        self._path = path

    def keys(self) -> list[str]:
        """Return all keys, sorted."""
        return sorted(self._found())

    def open(self, key: str) -> IO[bytes]:
        """Open a file; raise ``FileNotFoundError`` with the reason if it is not a regular file of the folder."""
        path = self._path / key
        try:
            regular, exists = path.is_file(), path.exists()
        except OSError:  # a name that no file can have
            regular = exists = False
        if not regular:
            # A pipe or a device would never end.
            raise FileNotFoundError(ENOENT, "is not a regular file" if exists else "is missing", key)
        # A manifest may name a file outside the folder; it is not trusted.
        if not path.resolve().is_relative_to(self._path.resolve()):
            raise FileNotFoundError(ENOENT, "lies outside the folder", key)
        return path.open("rb")

    def _found(self) -> Iterator[str]:
        return (file.relative_to(self._path).as_posix() for file in self._path.rglob("*") if file.is_file())
