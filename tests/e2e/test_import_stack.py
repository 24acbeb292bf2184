"""Importing and sending to a deployed stack: CloudFormation names its API, and every request is signed for IAM."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from quarterhour_tools.cli import main
from quarterhour_tools.emulator.http_api import Request
from tests.e2e.test_import import history, recorded, write
from tests.support.signatures import KEYS, is_signed
from tests.support.system import World, opened

STACK = "quarterhour-dev"
API = "https://q1h5.execute-api.eu-west-1.amazonaws.com"


IN_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": KEYS.access_key,
    "AWS_SECRET_ACCESS_KEY": KEYS.secret_key,
    "AWS_SESSION_TOKEN": str(KEYS.token),
}


class Deployed:
    """Stands for AWS: a stack with outputs, and its API, which answers the requests that carry a right signature."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.outputs = {"ApiUrl": API}
        self.answered: list[str] = []

    def client(self, service: str) -> Any:
        assert service == "cloudformation"
        return self

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803 - AWS's own
        assert StackName == STACK
        return {"Stacks": [{"Outputs": [{"OutputKey": key, "OutputValue": url} for key, url in self.outputs.items()]}]}

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert str(request.url).startswith(API)
        assert is_signed(request), "API Gateway would answer 403"
        path, _, query = request.url.raw_path.decode().partition("?")
        headers = tuple((name, value) for name, value in request.headers.items() if name == "content-type")
        answer = self._world.stack.request(Request(request.method, path, query, headers, request.content))
        self.answered.append(f"{request.method} {path}")
        return httpx.Response(answer.status, headers=answer.headers, content=answer.body)


@pytest.fixture
def world() -> Iterator[World]:
    with opened() as deployed:
        yield deployed


@pytest.fixture
def aws(world: World, monkeypatch: pytest.MonkeyPatch) -> Deployed:
    """A deployed stack, and a machine that has keys for it in its environment, and nowhere else."""
    deployed = Deployed(world)
    monkeypatch.setattr(boto3, "client", deployed.client)
    monkeypatch.setattr(httpx, "HTTPTransport", lambda **_: httpx.MockTransport(deployed.answer))
    nowhere = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), os.devnull)
    for name, value in {**IN_ENVIRONMENT, **nowhere, "AWS_EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(name, value)
    return deployed


@pytest.fixture
def file(tmp_path: Path) -> str:
    return write(tmp_path / "history.ndjson", history())


def run(file: str) -> int:
    return main(["import", file, "--stack", STACK, "--zone", "Europe/London"])


def test_a_history_is_recorded_once_by_signed_requests(
    world: World, aws: Deployed, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(file) == 0
    assert "all 5 events are in the ledger" in capsys.readouterr().out
    assert recorded(world) == ["a", "b", "c", "opening", "p"]
    assert aws.answered.count("POST /events") == 1
    assert run(file) == 0, "the progress is that of this stack"
    assert aws.answered.count("POST /events") == 1
    aws.outputs = {"ApiUrl": API.replace("q1h5", "p2k7")}
    assert run(file) == 2, "the stack was deleted, and another one has its name"
    assert "another deployment" in capsys.readouterr().err


def test_a_file_is_sent_by_signed_requests_and_its_receipts_are_of_this_stack(
    world: World, aws: Deployed, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert main(["send", file, "--stack", STACK]) == 0
        assert "5 lines: 5 recorded" in capsys.readouterr().out
    assert recorded(world) == ["a", "b", "c", "opening", "p"]
    assert aws.answered == ["POST /events"]
    aws.outputs = {"ApiUrl": API.replace("q1h5", "p2k7")}
    assert main(["send", file, "--stack", STACK]) == 2
    assert f"has the receipts of another deployment, {API}" in capsys.readouterr().err


def test_a_stack_that_is_not_quarterhours_is_named(
    world: World, aws: Deployed, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.outputs = {"WebsiteUrl": "https://example.com"}
    assert run(file) == 2
    assert f"the stack {STACK} has no ApiUrl" in capsys.readouterr().err
    assert recorded(world) == []


@pytest.mark.usefixtures("aws")
def test_a_machine_without_keys_sends_nothing(
    world: World, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in IN_ENVIRONMENT:
        monkeypatch.delenv(name)
    assert run(file) == 2
    assert "there are no credentials for AWS" in capsys.readouterr().err
    assert recorded(world) == []
