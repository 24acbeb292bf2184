"""Updates of a living stack: from every release to the template as it stands, and what a bad one would do."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy

import pytest

from tests.support.repository import ROOT
from tests.template.stack import Properties, parsed, translated
from tests.template.updates import LASTING, REGION, dangers, fixed, lasting

RELEASED = sorted((ROOT / "tests" / "template" / "released").glob("*.json"))

REPLACEABLE = {
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage",
    "AWS::Athena::NamedQuery",
    "AWS::Athena::WorkGroup",
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::Events::EventBusPolicy",
    "AWS::Events::Rule",
    "AWS::Glue::Database",
    "AWS::Glue::Table",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Role",
    "AWS::Lambda::Alias",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
    "AWS::SQS::QueuePolicy",
    "AWS::Scheduler::Schedule",
    "AWS::StepFunctions::StateMachine",
}
"""The kinds that an update may delete and make again, as they hold nothing."""

GIVEN_UP: dict[str, list[str]] = {}
"""What an update from each release gives up on purpose: names that changed, and the logs of functions that are gone."""


@pytest.fixture(scope="module", autouse=True)
def _region() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        yield


@pytest.fixture(scope="module")
def plain() -> Properties:
    """The template as it stands, as CloudFormation gets it."""
    return translated(parsed())


@pytest.fixture(scope="module")
def now(plain: Properties) -> Properties:
    """What lasts of the template as it stands."""
    return lasting(plain)


def updated(now: Properties, edit: Callable[[Properties], object]) -> list[str]:
    """Return what an update to the edited template would do."""
    document = deepcopy(parsed())
    edit(document)
    return dangers(now, lasting(translated(document)))


def test_a_stack_of_any_release_can_be_updated_and_loses_only_what_is_named_here(now: Properties) -> None:
    for path in RELEASED:
        released = json.loads(path.read_text("utf-8"))
        assert len(released["resources"]) >= 9
        assert dangers(released, now) == GIVEN_UP[path.stem], path.stem


def test_a_version_is_replaced_when_its_description_changes() -> None:
    assert "Description" in fixed("AWS::Lambda::Version")


def test_the_changelog_names_what_an_update_gives_up() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    for release, given_up in GIVEN_UP.items():
        since, _, _ = changelog.partition(f"\n## {release}")
        for danger in given_up:
            name, _, _ = danger.partition(" ")
            assert f"`{name}`" in since, release


def test_each_release_whose_data_are_kept_is_among_those_that_are_looked_at() -> None:
    kept = {path.parent.name for path in (ROOT / "tests" / "released").glob("*/README.md")}
    assert kept == GIVEN_UP.keys() == {path.stem for path in RELEASED}


def test_every_kind_of_resource_is_known_to_last_or_to_be_replaceable(plain: Properties) -> None:
    kinds = {resource["Type"] for resource in plain["Resources"].values()}
    assert kinds - LASTING.keys() - REPLACEABLE == set()


def test_the_stack_policy_bars_what_would_lose_data_and_nothing_else(plain: Properties) -> None:
    allow, deny = json.loads((ROOT / "stack-policy.json").read_text("utf-8"))["Statement"]
    assert (allow["Effect"], allow["Action"], allow["Resource"]) == ("Allow", "Update:*", "*")
    assert (deny["Effect"], deny["Action"], deny["Resource"]) == ("Deny", ["Update:Replace", "Update:Delete"], "*")
    resources = plain["Resources"].values()
    kept = {one["Type"] for one in resources if one.get("UpdateReplacePolicy") == "Retain"}
    assert set(deny["Condition"]["StringEquals"]["ResourceType"]) == kept - {"AWS::S3::BucketPolicy"}


# ---------------------------------------------------------------- what must be caught


def resource(document: Properties, name: str) -> Properties:
    found: Properties = document["Resources"][name]
    return found


def properties(document: Properties, name: str) -> Properties:
    found: Properties = document["Resources"][name]["Properties"]
    return found


def renamed(name: str) -> Callable[[Properties], object]:
    """Give a resource another logical id, wherever it is named."""

    def edit(document: Properties) -> None:
        text = json.dumps(document)
        for place in ('"%s": {', '["%s", ', '"Ref": "%s"', "${%s}", "${%s."):
            text = text.replace(place % name, place % f"{name}2")
        document.clear()
        document.update(json.loads(text))

    return edit


def without(name: str, *path: str) -> Callable[[Properties], object]:
    """Take a property or a policy away from a resource."""

    def edit(document: Properties) -> None:
        place = resource(document, name)
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return edit


def given(name: str, **values: object) -> Callable[[Properties], object]:
    """Set properties of a resource."""
    return lambda document: properties(document, name).update(values)


def index(name: str, partition: str = "pk", projection: str = "ALL") -> Properties:
    keys = [{"AttributeName": partition, "KeyType": "HASH"}]
    return {"IndexName": name, "KeySchema": keys, "Projection": {"ProjectionType": projection}}


def conditional(document: Properties) -> None:
    document.setdefault("Conditions", {})["IsProd"] = {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}
    resource(document, "ReportBucket")["Condition"] = "IsProd"


def on_the_other_stream(document: Properties) -> None:
    event = properties(document, "CountersFunction")["Events"]["LedgerStream"]["Properties"]
    event["Stream"] = {"Fn::GetAtt": ["EntityTable", "StreamArn"]}


def with_another_key(document: Properties) -> None:
    indexes = properties(document, "EntityTable")["GlobalSecondaryIndexes"]
    indexes[0]["KeySchema"][1]["AttributeName"] = "gsi2sk"


def ruled(**rule: object) -> Callable[[Properties], object]:
    """Give the bucket of the reports a rule for the lives of its files."""
    return given("ReportBucket", LifecycleConfiguration={"Rules": [{"Status": "Enabled", **rule}]})


def statements(document: Properties) -> list[Properties]:
    found: list[Properties] = properties(document, "ReportBucketPolicy")["PolicyDocument"]["Statement"]
    return found


def mapped(function: str, event: str, **values: object) -> Callable[[Properties], object]:
    """Set properties of how a stream comes to a function."""
    return lambda document: properties(document, function)["Events"][event]["Properties"].update(values)


def filtered(function: str, event: str, *patterns: str) -> Callable[[Properties], object]:
    """Let other records of a stream through to a function."""
    return mapped(function, event, FilterCriteria={"Filters": [{"Pattern": one} for one in patterns]})


BAD: dict[str, tuple[Callable[[Properties], object], str]] = {
    "a table renamed": (renamed("LedgerTable"), "LedgerTable is gone"),
    "a bucket renamed": (renamed("ReportBucket"), "ReportBucket is gone"),
    "a queue renamed": (renamed("ParkedQueue"), "ParkedQueue is gone"),
    "a function on a stream renamed": (renamed("CountersFunction"), "CountersFunctionLedgerStream is gone"),
    "the API renamed": (renamed("HttpApi"), "HttpApi is gone"),
    "a queue of another type": (
        lambda document: resource(document, "ParkedQueue").update(Type="AWS::Logs::LogGroup"),
        "ParkedQueue is no AWS::SQS::Queue any more",
    ),
    "a bucket for one stage alone": (conditional, "ReportBucket stands under another condition"),
    "a table given a name": (
        given("LedgerTable", TableName="ledger"),
        "LedgerTable would be replaced: its TableName changes",
    ),
    "a bucket given a name": (
        given("ReportBucket", BucketName="reports"),
        "ReportBucket would be replaced: its BucketName changes",
    ),
    "a queue given a name": (
        given("ParkedQueue", QueueName="parked"),
        "ParkedQueue would be replaced: its QueueName changes",
    ),
    "a log group given another name": (
        given("FunctionLogGroup", LogGroupName="/ingest"),
        "FunctionLogGroup would be replaced: its LogGroupName changes",
    ),
    "another key schema": (
        given("LedgerTable", KeySchema=[{"AttributeName": "quarter_hour", "KeyType": "HASH"}]),
        "LedgerTable would be replaced: its KeySchema changes",
    ),
    "a key of another type": (
        given("IdentityTable", AttributeDefinitions=[{"AttributeName": "event", "AttributeType": "B"}]),
        "IdentityTable would be replaced: its attribute event changes",
    ),
    "a local index": (
        given("LedgerTable", LocalSecondaryIndexes=[index("lsi1")]),
        "LedgerTable would be replaced: its LocalSecondaryIndexes changes",
    ),
    "another stream view": (
        given("LedgerTable", StreamSpecification={"StreamViewType": "KEYS_ONLY"}),
        "LedgerTable would get another stream: what the old one still holds is not delivered",
    ),
    "no stream": (
        without("EntityTable", "Properties", "StreamSpecification"),
        "EntityTable would get another stream: what the old one still holds is not delivered",
    ),
    "a mapping on another stream": (
        on_the_other_stream,
        "CountersFunctionLedgerStream would be replaced: its EventSourceArn changes",
    ),
    "another key of an index": (with_another_key, "EntityTable cannot be updated: its index gsi1 changes"),
    "both indexes dropped": (
        without("EntityTable", "Properties", "GlobalSecondaryIndexes"),
        "EntityTable cannot be updated: the indexes gsi1 and gsi2 come or go at once",
    ),
    "one index for another": (
        given("EntityTable", GlobalSecondaryIndexes=[index("gsi3")]),
        "EntityTable cannot be updated: the indexes gsi1 and gsi2 and gsi3 come or go at once",
    ),
    "deletion let through": (without("LedgerTable", "DeletionPolicy"), "LedgerTable has lost its DeletionPolicy"),
    "replacement let through": (
        without("ReportBucket", "UpdateReplacePolicy"),
        "ReportBucket has lost its UpdateReplacePolicy",
    ),
    "deletion protection off": (
        given("IdentityTable", DeletionProtectionEnabled=False),
        "IdentityTable has lost its DeletionProtectionEnabled",
    ),
    "recovery off": (
        without("EntityTable", "Properties", "PointInTimeRecoverySpecification"),
        "EntityTable has lost its PointInTimeRecoverySpecification",
    ),
    "versions off": (
        given("ReportBucket", VersioningConfiguration={"Status": "Suspended"}),
        "ReportBucket has lost its VersioningConfiguration",
    ),
    "items forgotten": (
        given("LedgerTable", TimeToLiveSpecification={"AttributeName": "expires_at", "Enabled": True}),
        "LedgerTable would forget items by their expires_at",
    ),
    "items forgotten by something else": (
        given("EntityTable", TimeToLiveSpecification={"AttributeName": "recorded_at", "Enabled": True}),
        "EntityTable would forget items by their recorded_at",
    ),
    "files forgotten": (
        ruled(Id="Forget", ExpirationInDays=30),
        "ReportBucket would forget files, or move them away, by its rule Forget",
    ),
    "files moved to where nobody reads them": (
        ruled(Id="Freeze", Transitions=[{"StorageClass": "DEEP_ARCHIVE", "TransitionInDays": 90}]),
        "ReportBucket would forget files, or move them away, by its rule Freeze",
    ),
    "old versions of files forgotten": (
        ruled(NoncurrentVersionExpiration={"NoncurrentDays": 1}),
        "ReportBucket would forget files, or move them away, by its rule without a name",
    ),
    "sealed files written over": (
        lambda document: statements(document).pop(1),
        "ReportBucketPolicy no longer says what SealedOnce did",
    ),
    "some sealed files written over": (
        lambda document: statements(document)[1]["Resource"].pop(),
        "ReportBucketPolicy no longer says what SealedOnce did",
    ),
    "files read without TLS": (
        lambda document: statements(document)[0]["Condition"].update(Bool={"aws:SecureTransport": True}),
        "ReportBucketPolicy no longer says what TlsOnly did",
    ),
    "a mapping switched off": (
        mapped("CountersFunction", "LedgerStream", Enabled=False),
        "CountersFunctionLedgerStream would be switched off: what its stream holds is lost after a day",
    ),
    "records passed over that have not one more thing": (
        filtered("CountersFunction", "LedgerStream", '{"eventName":["INSERT"],"dynamodb":{"Keys":{"x":{"S":["y"]}}}}'),
        "CountersFunctionLedgerStream would pass over records that it delivers now",
    ),
    "records of one kind passed over": (
        filtered(
            "SnapshotsFunction", "EntityStream", '{"eventName":["MODIFY"],"dynamodb":{"Keys":{"sk":{"S":["latest"]}}}}'
        ),
        "SnapshotsFunctionEntityStream would pass over records that it delivers now",
    ),
    "messages kept for less": (
        given("ParkedQueue", MessageRetentionPeriod=3600),
        "ParkedQueue keeps its messages for a shorter time",
    ),
    "an output dropped": (lambda document: document["Outputs"].pop("ApiUrl"), "ApiUrl is no longer among the outputs"),
    "a parameter dropped": (
        lambda document: document["Parameters"].pop("ThrottleRate"),
        "ThrottleRate is no longer among the parameters",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("edit", "message"), BAD.values(), ids=BAD)
def test_a_bad_update_is_found(now: Properties, edit: Callable[[Properties], object], message: str) -> None:
    assert message in updated(now, edit)


# ---------------------------------------------------------------- what must pass


def another_index(document: Properties) -> None:
    properties(document, "EntityTable")["GlobalSecondaryIndexes"].append(index("gsi3"))


def another_table(document: Properties) -> None:
    document["Resources"]["OrderTable"] = deepcopy(resource(document, "IdentityTable"))


GOOD: dict[str, Callable[[Properties], object]] = {
    "nothing changed": lambda _: None,
    "another table": another_table,
    "one more index": another_index,
    "one index less": lambda document: properties(document, "EntityTable")["GlobalSecondaryIndexes"].pop(),
    "more memory": given("IngestFunction", MemorySize=2048),
    "larger batches": mapped("CountersFunction", "LedgerStream", BatchSize=500),
    "more records": filtered("CountersFunction", "LedgerStream", '{"eventName":["INSERT","MODIFY"]}'),
    "records of another kind too": filtered(
        "CountersFunction", "LedgerStream", '{"eventName":["INSERT"]}', '{"eventName":["REMOVE"]}'
    ),
    "all records": mapped("CountersFunction", "LedgerStream", FilterCriteria={"Filters": []}),
    "a mapping said to be on": mapped("CountersFunction", "LedgerStream", Enabled=True),
    "items no longer forgotten": given(
        "EntityTable", TimeToLiveSpecification={"AttributeName": "expires_at", "Enabled": False}
    ),
    "unfinished uploads cleared up": ruled(AbortIncompleteMultipartUpload={"DaysAfterInitiation": 1}),
    "a rule that is not in force": ruled(ExpirationInDays=30, Status="Disabled"),
    "more files sealed": lambda document: statements(document)[1]["Resource"].append({"Fn::Sub": "arn:x"}),
    "one more thing denied": lambda document: statements(document).append(
        {"Sid": "Never", "Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObjectVersion", "Resource": "*"}
    ),
    "logs kept for longer": given("FunctionLogGroup", RetentionInDays=3653),
    "another schedule": lambda document: document["Parameters"]["ReportRate"].update(Default="rate(2 hours)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("edit", GOOD.values(), ids=GOOD)
def test_a_harmless_update_passes(now: Properties, edit: Callable[[Properties], object]) -> None:
    assert updated(now, edit) == []
