"""A template and its nested applications as one document."""

from pathlib import Path
from textwrap import dedent

import pytest

from quarterhour_tools.emulator.document import Properties, read_document
from quarterhour_tools.errors import ToolError

CORE = """
    Parameters:
      Stage: {Type: String, Default: dev}
      Option: {Type: String, Default: "off"}
      Bus: {Type: String, Default: ""}
    Conditions:
      Opts: !Equals [!Ref Option, "on"]
      Staged: !Not [!Equals [!Ref Stage, ""]]
    Globals:
      Function: {Timeout: 10, Environment: {Variables: {SHARED: core, STAGE: !Ref Stage}}}
    Resources:
      Bucket: {Type: AWS::S3::Bucket, DependsOn: [Own, Extra]}
      Own:
        Type: AWS::Serverless::Function
        Properties:
          CodeUri: functions/own/
          Timeout: 20
          Environment: {Variables: {QUEUE: !If [Opts, !GetAtt Extra.Outputs.QueueUrl, ""]}}
      Extra:
        Type: AWS::Serverless::Application
        Condition: Opts
        Properties:
          Location: options/extra/template.yaml
          Parameters:
            Stage: !Ref Stage
            Bus: !Ref Bus
            Table: !Ref Things
            TableArn: !GetAtt Things.Arn
            Folder: !Sub "${Stage}/files"
      Things: {Type: AWS::DynamoDB::Table}
    Outputs:
      Queue: {Condition: Opts, Value: !Sub "at ${Extra.Outputs.QueueUrl}, ${Extra.Outputs.QueueArn} in ${Stage}"}
"""
EXTRA = """
    Parameters:
      Stage: {Type: String}
      Bus: {Type: String}
      Table: {Type: String}
      TableArn: {Type: String}
      Folder: {Type: String}
      Limit: {Type: Number, Default: 5}
    Conditions:
      Staged: !Not [!Equals [!Ref Stage, ""]]
      Buses: !Not [!Equals [!Ref Bus, ""]]
    Globals:
      Function: {Environment: {Variables: {SHARED: extra}}}
    Resources:
      Queue: {Type: AWS::SQS::Queue}
      Rule: {Type: AWS::Events::Rule, Condition: Buses, Properties: {EventBusName: !Ref Bus}}
      Taking:
        Type: AWS::Serverless::Function
        Properties:
          CodeUri: ../../functions/taking/
          Environment:
            Variables: {TABLE: !Ref Table, ARN: !Sub "${TableArn}/${Queue.Arn}/${Folder}/${Limit}/${AWS::Region}"}
      Machine:
        Type: AWS::Serverless::StateMachine
        Properties:
          Name: night
          Type: STANDARD
          Role: mine
          DefinitionUri: night.asl.json
          DefinitionSubstitutions: {Of: !Ref Table}
    Outputs:
      QueueUrl: {Value: !Ref Queue}
      QueueArn: {Value: !GetAtt Queue.Arn}
"""


def read(folder: Path, core: str = CORE, extra: str = EXTRA) -> Properties:
    (folder / "options" / "extra").mkdir(parents=True)
    (folder / "template.yaml").write_text(dedent(core), "utf-8")
    (folder / "options" / "extra" / "template.yaml").write_text(dedent(extra), "utf-8")
    (folder / "options" / "extra" / "night.asl.json").write_text('{"StartAt": "${Of}"}', "utf-8")
    return read_document(folder / "template.yaml")


def test_each_function_has_the_globals_of_its_own_template_under_its_own_settings(tmp_path: Path) -> None:
    resources = read(tmp_path)["Resources"]
    assert resources["Own"]["Properties"]["Timeout"] == 20
    assert resources["Own"]["Properties"]["Environment"]["Variables"].keys() == {"SHARED", "STAGE", "QUEUE"}
    assert resources["Taking"]["Properties"]["Environment"]["Variables"].keys() == {"SHARED", "TABLE", "ARN"}
    assert resources["Taking"]["Properties"]["Environment"]["Variables"]["SHARED"] == "extra"


def test_paths_lead_from_the_templates_folder(tmp_path: Path) -> None:
    resources = read(tmp_path)["Resources"]
    assert [resources[name]["Properties"]["CodeUri"] for name in ("Own", "Taking")] == [
        "functions/own",
        "functions/taking",
    ]


def test_a_nested_resource_stands_in_the_applications_place_under_its_condition(tmp_path: Path) -> None:
    document = read(tmp_path)
    assert list(document["Resources"]) == ["Bucket", "Own", "Queue", "Rule", "Taking", "Machine", "Things"]
    conditions = {name: one.get("Condition") for name, one in document["Resources"].items()}
    assert (conditions["Queue"], conditions["Rule"], conditions["Own"]) == ("Opts", "Buses", None)
    assert document["Conditions"]["Buses"] == {
        "Fn::And": [{"Condition": "Opts"}, {"Fn::Not": [{"Fn::Equals": [{"Ref": "Bus"}, ""]}]}]
    }


def test_parameters_are_what_the_application_is_given(tmp_path: Path) -> None:
    taking = read(tmp_path)["Resources"]["Taking"]["Properties"]["Environment"]["Variables"]
    assert taking["TABLE"] == {"Ref": "Things"}
    assert taking["ARN"] == {"Fn::Sub": "${Things.Arn}/${Queue.Arn}/${Stage}/files/5/${AWS::Region}"}


def test_outputs_are_what_they_stand_for(tmp_path: Path) -> None:
    document = read(tmp_path)
    variables = document["Resources"]["Own"]["Properties"]["Environment"]["Variables"]
    assert variables["QUEUE"] == {"Fn::If": ["Opts", {"Ref": "Queue"}, ""]}
    assert document["Outputs"]["Queue"]["Value"] == {"Fn::Sub": "at ${Queue}, ${Queue.Arn} in ${Stage}"}


def test_what_depends_on_an_application_depends_on_all_that_is_in_it(tmp_path: Path) -> None:
    assert read(tmp_path)["Resources"]["Bucket"]["DependsOn"] == ["Own", "Queue", "Rule", "Taking", "Machine"]


def test_a_state_machine_has_the_definition_of_its_file(tmp_path: Path) -> None:
    machine = read(tmp_path)["Resources"]["Machine"]
    assert machine["Type"] == "AWS::StepFunctions::StateMachine"
    assert machine["Properties"] == {
        "StateMachineName": "night",
        "StateMachineType": "STANDARD",
        "RoleArn": "mine",
        "DefinitionString": {"Fn::Sub": '{"StartAt": "${Things}"}'},
    }


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("Queue: {Type", "Own: {Type"), "the resource Own is in two templates"),
        (('[!Equals [!Ref Stage, ""]]', '[!Equals [!Ref Stage, "x"]]'), "another condition Staged"),
        (("Folder: {Type: String}", "Other: {Type: String, Default: x}"), "no parameter Folder, which Extra gives it"),
    ],
)
def test_templates_that_do_not_fit_together_are_refused(tmp_path: Path, edit: tuple[str, str], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        read(tmp_path, extra=EXTRA.replace(*edit))
