"""Errors of clients of AWS in the product's own sentences."""

from pathlib import Path

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    InvalidRetryModeError,
    NoCredentialsError,
    NoRegionError,
)

from quarterhour_tools.aws_errors import sentence_of
from quarterhour_tools.cli import main


def answered(code: str, **more: str) -> ClientError:
    error = {"Code": code, "Message": "no", **more}
    return ClientError({"Error": error}, "ListObjectsV2")  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (answered("NoSuchBucket", BucketName="reports"), "there is no S3 bucket reports: is the stack deployed"),
        (answered("AccessDenied"), "you may not call ListObjectsV2: no"),
        (answered("ExpiredToken"), "AWS does not know these credentials, or they have expired: sign in again"),
        (answered("SlowDown"), "ListObjectsV2 was answered with SlowDown: no"),
        (EndpointConnectionError(endpoint_url="http://[::1]:1/x?list"), "nothing answers at http://[::1]:1: is it"),
        (ConnectTimeoutError(endpoint_url="https://s3.eu-west-1.amazonaws.com/"), "nothing answers at https://s3."),
        (NoCredentialsError(), "there are no credentials for AWS: sign in, or set AWS_PROFILE"),
        (NoRegionError(), "no region of AWS is chosen: set AWS_REGION, or name one in your profile"),
        (InvalidRetryModeError(provided_retry_mode="x", valid_modes=[]), "AWS cannot be called: Invalid value"),
    ],
)
def test_an_error_of_aws_says_what_to_do(error: Exception, sentence: str) -> None:
    said = sentence_of(error)
    assert said
    assert said.startswith(sentence)


def test_another_error_is_none_of_aws() -> None:
    assert sentence_of(ValueError("x")) is None


def test_a_command_says_that_nothing_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--url", "http://127.0.0.1:1"]
    for command in (["vat"], ["statements"], ["dac7", "--year", "2026", "--out", str(tmp_path / "x")]):
        assert main([*command, *arguments]) == 2
        said = capsys.readouterr().err
        assert said.startswith("quarterhour: nothing answers at ")
        assert "ListObjects" not in said
