"""template.yaml as the emulator reads it."""

from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest

from quarterhour_tools.emulator.document import parse
from quarterhour_tools.emulator.template import Route, Template, Timer, table_request
from quarterhour_tools.errors import ToolError
from tests.support.repository import ROOT

SMALL = """
    Parameters:
      Rate: {Type: String, Default: rate(1 hour), AllowedPattern: '^rate\\(.+\\)$', ConstraintDescription: a rate.}
      Shards: {Type: Number, Default: 1, MinValue: 1, MaxValue: 4}
      Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}
    Resources:
      Ledger:
        Type: AWS::DynamoDB::Table
        Properties:
          KeySchema: [{AttributeName: pk, KeyType: HASH}]
          AttributeDefinitions: [{AttributeName: pk, AttributeType: S}]
          BillingMode: PAY_PER_REQUEST
          DeletionProtectionEnabled: true
          StreamSpecification: {StreamViewType: NEW_IMAGE}
      Dead: {Type: AWS::SQS::Queue}
      Layer: {Type: AWS::Serverless::LayerVersion, Properties: {ContentUri: layers/one}}
      Counting:
        Type: AWS::Serverless::Function
        Properties:
          CodeUri: functions/count
          Handler: handler.handler
          Timeout: 120
          MemorySize: 512
          Environment:
            Variables:
              STAGE: !Ref Stage
              TABLE: !Ref Ledger
              SHARDS: !Ref Shards
              ARN: !Sub 'x:${Ledger.Arn}:${Stage}:${AWS::Region}'
              N: 3
          Events:
            Stream:
              Type: DynamoDB
              Properties:
                Stream: !GetAtt Ledger.StreamArn
                StartingPosition: TRIM_HORIZON
                BatchSize: 7
                MaximumBatchingWindowInSeconds: 5
                FunctionResponseTypes: [ReportBatchItemFailures]
                BisectBatchOnFunctionError: true
                MaximumRetryAttempts: 2
                DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Dead.Arn}}
                FilterCriteria: {Filters: [{Pattern: '{"eventName":["INSERT"]}'}]}
            Get: {Type: HttpApi, Properties: {Method: get, Path: '/a/{b}'}}
            Often: {Type: ScheduleV2, Properties: {ScheduleExpression: !Ref Rate}}
"""


def small(**parameters: str | int) -> Template:
    return Template(parse(dedent(SMALL)), Path("/there"), parameters)


def attribute(resource: str, name: str) -> str:
    return f"{name} of {resource}"


def test_a_function_has_its_settings_with_the_values_of_parameters() -> None:
    function = small(Shards=3).functions(attribute)["count"]
    assert function.code == Path("/there/functions/count")
    assert (function.timeout, function.memory) == (timedelta(minutes=2), 512)
    assert function.environment == {
        "STAGE": "dev",
        "TABLE": "Ref of Ledger",
        "SHARDS": "3",
        "ARN": "x:Arn of Ledger:dev:us-east-1",
        "N": "3",
    }


def test_routes_schedules_and_mappings_are_a_functions_events() -> None:
    function = small(Rate="rate(2 hours)").functions(attribute)["count"]
    assert function.routes == (Route("GET", "/a/{b}"),)
    assert [timer.expression for timer in function.schedules] == ["rate(2 hours)"]
    (mapping,) = function.mappings
    assert (mapping.stream, mapping.dead_letters) == ("StreamArn of Ledger", "Arn of Dead")
    assert (mapping.batch_size, mapping.window) == (7, timedelta(seconds=5))
    assert (mapping.bisect, mapping.retries, mapping.record_age, mapping.reports_failures) == (True, 2, None, True)
    assert mapping.filters == ({"eventName": ["INSERT"]},)


def test_a_table_is_created_without_what_only_matters_in_the_cloud() -> None:
    (properties,) = small().resources("AWS::DynamoDB::Table").values()
    assert table_request("mine", properties) == {
        "TableName": "mine",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    }


def test_layers_are_found() -> None:
    assert small().layers() == [Path("/there/layers/one")]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Rate": "hourly"}, "Rate cannot be 'hourly': a rate."),
        ({"Shards": 5}, "Shards cannot be '5'"),
        ({"Shards": "many"}, "Shards cannot be 'many'"),
        ({"Stage": "test"}, "dev, prod"),
        ({"Shard": 1}, "no parameter Shard"),
    ],
)
def test_a_parameter_that_a_deployment_would_refuse_is_refused(parameters: dict[str, str | int], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        small(**parameters)


def test_an_unknown_intrinsic_function_is_refused() -> None:
    with pytest.raises(ToolError, match="Fn::Split"):
        small().resolve({"Fn::Split": [",", "a,b"]}, attribute)


def test_the_real_template_gives_all_functions() -> None:
    template = Template.load(ROOT / "template.yaml")
    functions = template.functions(attribute)
    assert {"ingest", "counters", "snapshots", "report", "read"} <= set(functions)
    assert functions["report"].schedules == (Timer("quarterhour-dev-report", "rate(1 hour)"),)
    assert [mapping.stream for mapping in functions["counters"].mappings] == ["StreamArn of LedgerTable"]
    assert Route("POST", "/events") in functions["ingest"].routes


def test_a_missing_template_says_where_to_run(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="clone"):
        Template.load(tmp_path / "template.yaml")
