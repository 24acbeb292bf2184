"""Sealed files opened by key: a missing file and an unreadable file give different errors."""

import os
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from quarterhour_tools.bucket import Bucket, Folder


class _Failing:
    """An S3 client whose every read fails with one error."""

    def __init__(self, code: str) -> None:
        self._code = code

    def get_object(self, **_: str) -> Any:
        raise ClientError({"Error": {"Code": self._code, "Message": "no"}}, "GetObject")


@pytest.mark.parametrize("code", ["NoSuchKey", "404"])
def test_an_object_that_is_not_there_is_missing(code: str) -> None:
    with pytest.raises(FileNotFoundError, match="a/b"):
        Bucket(_Failing(code), "sealed").open("a/b")  # type: ignore[arg-type] # all that it calls


@pytest.mark.parametrize("code", ["AccessDenied", "NoSuchBucket", "SlowDown", "InternalError"])
def test_an_object_that_cannot_be_read_is_not_called_missing(code: str) -> None:
    with pytest.raises(ClientError, match=code):
        Bucket(_Failing(code), "sealed").open("a/b")  # type: ignore[arg-type] # all that it calls


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder with a file, a pipe, and links to a file outside and to nothing."""
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "file").write_bytes(b"content")
    (tmp_path / "secret").write_bytes(b"secret")
    (inside / "link").symlink_to(tmp_path / "secret")
    (inside / "dangling").symlink_to("nowhere")
    os.mkfifo(inside / "pipe")
    return Folder(inside)


def test_a_file_of_the_folder_is_opened(folder: Folder) -> None:
    with folder.open("file") as file:
        assert file.read() == b"content"


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("link", "lies outside the folder"),
        ("../secret", "lies outside the folder"),
        ("pipe", "is not a regular file"),
        ("sub", "is not a regular file"),
        ("dangling", "is missing"),
        ("none", "is missing"),
        ("a" * 5000, "is missing"),
        ("nul\0", "is missing"),
    ],
)
def test_what_is_no_file_of_the_folder_is_refused_with_the_reason(folder: Folder, key: str, problem: str) -> None:
    with pytest.raises(FileNotFoundError) as refused:
        folder.open(key)
    assert refused.value.strerror == problem
