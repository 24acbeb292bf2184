"""A template deployed in this process, with functions that return their input."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from quarterhour.reports.schedule.expression import parse
from quarterhour_tools.emulator.document import parse as parse_template
from quarterhour_tools.emulator.engines import Engine, open_engine
from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.emulator.template import Template
from quarterhour_tools.errors import ToolError

TEMPLATE = """
    Parameters:
      Greeting: {Type: String, Default: hello}
    Resources:
      Things:
        Type: AWS::DynamoDB::Table
        Properties:
          KeySchema: [{AttributeName: pk, KeyType: HASH}]
          AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
          BillingMode: PAY_PER_REQUEST
          StreamSpecification: {StreamViewType: NEW_IMAGE}
      Parked: {Type: AWS::SQS::Queue}
      Files: {Type: AWS::S3::Bucket}
      Telling:
        Type: AWS::Serverless::Function
        Properties:
          CodeUri: telling/
          Handler: handler.handler
          Timeout: 7
          MemorySize: 256
          Environment:
            Variables:
              THINGS: !Ref Things
              PARKED: !Ref Parked
              FILES: !Ref Files
              GREETING: !Ref Greeting
              ROLE: !GetAtt Somebody.Arn
          Events:
            Get: {Type: HttpApi, Properties: {Method: GET, Path: '/things/{thing}'}}
            Put: {Type: HttpApi, Properties: {Method: PUT, Path: '/things/{thing}'}}
            Stream: {Type: DynamoDB, Properties: {Stream: !GetAtt Things.StreamArn, StartingPosition: TRIM_HORIZON}}
            Often: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 hour)}}
"""
HANDLER = """
    import os
    import boto3
    ENV = dict(os.environ)
    CALLS = []
    CLIENT = boto3.client("dynamodb")

    print("a first line")

    def handler(event, context):
        print("a log line")
        CALLS.append(event)
        if event == "fail" or event.get("pathParameters") == {"thing": "fail"}:
            raise ValueError("as asked")
        return {
            "env": ENV,
            "calls": len(CALLS),
            "tables": CLIENT.list_tables()["TableNames"],
            "thing": event.get("pathParameters"),
            "name": context.function_name,
            "memory": context.memory_limit_in_mb,
            "arn": context.invoked_function_arn,
            "request": context.aws_request_id,
            "left": context.get_remaining_time_in_millis(),
        }
"""


@pytest.fixture
def engine() -> Iterator[Engine]:
    with open_engine() as engine:
        yield engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "telling").mkdir()
    (tmp_path / "telling" / "handler.py").write_text(dedent(HANDLER))
    return tmp_path


def deploy(folder: Path, engine: Engine, *, anonymous: bool = True, **parameters: str) -> Stack:
    return Stack(Template(parse_template(dedent(TEMPLATE)), folder, parameters), engine, anonymous=anonymous)


def invoked(stack: Stack, **event: Any) -> dict[str, Any]:
    answer: dict[str, Any] = stack.invoke("telling", event)
    return answer


def test_a_function_has_the_templates_environment_and_nothing_of_the_machines(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("OTHER", "of the machine")
    with open_engine() as engine:
        stack = deploy(folder, engine, Greeting="hi")
        env = invoked(stack)["env"]
    assert os.environ["AWS_PROFILE"] == "production"
    assert (env["THINGS"], env["FILES"], env["PARKED"]) == (
        stack.ref("Things"),
        stack.ref("Files"),
        stack.ref("Parked"),
    )
    assert env["GREETING"] == "hi"
    assert env["ROLE"].endswith("Somebody-Arn")
    assert (env["AWS_ACCESS_KEY_ID"], env["AWS_REGION"]) == ("local", "us-east-1")
    assert not {"AWS_PROFILE", "OTHER"} & env.keys()
    assert os.environ["OTHER"] == "of the machine"


def test_a_function_reaches_the_engine_and_gets_its_limits(folder: Path, engine: Engine) -> None:
    stack = deploy(folder, engine)
    got = invoked(stack)
    assert got["tables"] == [stack.ref("Things")]
    assert (got["name"], got["memory"]) == ("telling", 256)
    assert got["arn"].endswith(":function:telling")
    assert stack.invoke("telling", {}, seconds=1)["left"] <= 1000 < got["left"] <= 7000


def test_a_function_lives_on_between_invocations_until_a_cold_start(folder: Path, engine: Engine) -> None:
    stack = deploy(folder, engine)
    first, second = invoked(stack), invoked(stack)
    assert (first["calls"], second["calls"]) == (1, 2)
    assert first["request"] != second["request"]
    stack.cold_start("telling")
    assert invoked(stack)["calls"] == 1


def test_two_stacks_in_one_process_do_not_mix(folder: Path, engine: Engine) -> None:
    one, two = deploy(folder, engine, Greeting="one"), deploy(folder, engine, Greeting="two")
    assert invoked(one)["env"]["GREETING"] == "one"
    assert invoked(two)["env"]["GREETING"] == "two"
    assert (invoked(one)["calls"], one.ref("Things") == two.ref("Things")) == (2, False)


def test_the_output_of_a_function_is_not_printed(
    folder: Path, engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    deploy(folder, engine).start()
    invoked(deploy(folder, engine))
    template = Template(parse_template(dedent(TEMPLATE)), folder)
    Stack(template, engine, logs=sys.stderr).invoke("telling", {})
    assert capsys.readouterr() == ("", "a first line\na log line\n")


def test_a_request_goes_to_the_function_of_its_route(folder: Path, engine: Engine) -> None:
    answer = deploy(folder, engine).request(Request("GET", "/things/a%2Fb"))
    assert answer.status == 200
    assert answer.json()["thing"] == {"thing": "a/b"}


@pytest.mark.parametrize(
    ("request_", "status", "word"),
    [
        (Request("GET", "/other"), 404, "Not Found"),
        (Request("GET", "/things"), 404, "Not Found"),
        (Request("DELETE", "/things/1"), 404, "Not Found"),
        (Request("GET", "/things/fail"), 500, "Internal Server Error"),
    ],
)
def test_a_request_without_a_function_gets_json(
    folder: Path, engine: Engine, request_: Request, status: int, word: str
) -> None:
    answer = deploy(folder, engine).request(request_)
    assert (answer.status, word in answer.json()["message"]) == (status, True)


def test_a_failing_function_raises_for_its_caller(folder: Path, engine: Engine) -> None:
    with pytest.raises(ValueError, match="as asked"):
        deploy(folder, engine).invoke("telling", {"pathParameters": {"thing": "fail"}})


def test_mappings_and_schedules_are_there(folder: Path, engine: Engine) -> None:
    stack = deploy(folder, engine)
    assert len(stack.pumps) == 1
    (schedule,) = stack.schedules()
    assert (schedule.function, schedule.enabled) == ("telling", True)
    assert schedule.expression == parse("rate(1 hour)")


def test_a_function_without_code_is_an_error(folder: Path, engine: Engine) -> None:
    (folder / "telling" / "handler.py").unlink()
    with pytest.raises(ToolError, match="the function telling has no"):
        deploy(folder, engine).invoke("telling", {})


def test_dropping_a_stack_deletes_its_tables(folder: Path, engine: Engine) -> None:
    stack = deploy(folder, engine)
    stack.drop()
    assert engine.dynamodb().list_tables()["TableNames"] == []


@pytest.mark.parametrize(
    ("header", "status"),
    [("", 401), ("Basic eDp5", 401), ("Bearer x", 403), ("AWS4-HMAC-SHA256 Credential=x/1/r/execute-api/…", 200)],
)
def test_a_stack_without_anonymous_requests_takes_those_that_are_signed(
    folder: Path, engine: Engine, header: str, status: int
) -> None:
    stack = deploy(folder, engine, anonymous=False)
    headers = (("Authorization", header),) if header else ()
    assert stack.request(Request("GET", "/things/1", headers=headers)).status == status
