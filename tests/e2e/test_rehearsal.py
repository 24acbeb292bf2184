"""The deployment rehearsed: `sam deploy` against moto, then the whole system on what came out of it."""

import json
import os
from base64 import b64decode
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from gzip import decompress
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pytest
from botocore.exceptions import ClientError

from quarterhour.model.clock import ManualClock, using
from quarterhour.model.errors import SettingsError
from quarterhour.model.identifiers import Account
from quarterhour.proof.reports import verify
from quarterhour_tools.bucket import Bucket
from tests.e2e.rehearsal import SAM, Deployed, clear, deploy, deploy_with, endpoint, sam_deploy
from tests.support.repository import ROOT
from tests.template.day import PARAMETERS, live_through
from tests.template.stack import Properties, overrides, parsed, translated
from tests.template.test_options import ON

pytestmark = pytest.mark.slow

LEFT_OUT = {
    "AWS::ApiGatewayV2::Api",
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage",
    "AWS::Athena::NamedQuery",
    "AWS::Athena::WorkGroup",
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::Events::EventBusPolicy",
    "AWS::Glue::Database",
    "AWS::Glue::Table",
    "AWS::Lambda::Alias",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
    "AWS::S3::BucketPolicy",
    "AWS::SQS::QueuePolicy",
    "AWS::Scheduler::Schedule",
}
"""What moto makes nothing of: rules in tests/template hold these kinds to what they must be."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with endpoint() as url:
        yield url


@pytest.fixture
def url(server: str) -> str:
    """An endpoint on which nothing stands yet."""
    clear(server)
    return server


@pytest.fixture
def _sam() -> None:
    if not SAM.is_file():
        message = "nothing was rehearsed: the SAM CLI is missing; make validate sets it up"
        if os.environ.get("CI"):
            pytest.fail(message, pytrace=False)
        pytest.skip(message)


@pytest.fixture
def clock() -> Iterator[ManualClock]:
    manual = ManualClock(datetime(2026, 10, 23, 1, 40, tzinfo=UTC))
    with using(manual):
        yield manual


Rehearse = Callable[[Deployed, ManualClock, pytest.MonkeyPatch], object]


def every_call(deployed: Deployed, clock: ManualClock, patch: pytest.MonkeyPatch) -> None:
    """Have every function make every call that it has."""
    live_through(deployed.world(clock, patch))


def pipeline(deployed: Deployed, clock: ManualClock, patch: pytest.MonkeyPatch, day: str = "") -> dict[str, Any]:
    """Record a day's events, let the streams deliver them, report them, and read; return what was answered."""
    world = deployed.world(clock, patch)
    pumps = deployed.pumps(world)

    def ask(sample: str, **path: str) -> Any:
        answer = world.sample(sample, **path)
        assert answer["statusCode"] == 200, answer
        return json.loads(answer["body"])

    recorded = world.run("ingest", batch(day))
    assert recorded["statusCode"] == 202, recorded
    busy = True
    while busy:
        busy = False
        for pump in pumps:
            pump.read(clock.now())
            busy = bool(pump.deliver(clock.now() + timedelta(minutes=1))) or busy
    clock.advance(timedelta(hours=1))
    sealed = world.sample("report-schedule")
    return {
        "account": ask("read-account", agency="42", currency="GBP"),
        "snapshots": ask("read-account-snapshots")["items"],
        "runs": ask("read-reports")["items"],
        "report": ask("read-report", run=sealed["runs"][0]),
        "proof": verify(*opened(deployed)),
        "page": world.sample("console-page") if "console" in deployed.functions else None,
    }


def batch(day: str) -> Properties:
    """Return the sample of a request, of a source of the day's own."""
    sample: Properties = json.loads((ROOT / "events" / "ingest-batch.json").read_text("utf-8"))
    events = [{**one, "source": f"{one['source']}{day}"} for one in json.loads(sample["body"])]
    return {**sample, "body": json.dumps(events)}


def opened(deployed: Deployed) -> tuple[Any, list[str]]:
    """Return what opens the sealed files, and their keys."""
    bucket = Bucket(boto3.client("s3"), deployed.names["ReportBucket"])
    return bucket.open, bucket.keys()


@pytest.mark.usefixtures("_sam", "url")
def test_every_call_of_every_function_finds_what_it_needs(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed = sam_deploy("default", tmp_path, PARAMETERS)
    every_call(deployed, clock, monkeypatch)

    resources = translated(parsed())["Resources"]
    assert {resources[name]["Type"] for name in resources.keys() - deployed.names.keys()} <= LEFT_OUT


@pytest.mark.usefixtures("_sam")
def test_the_pipeline_runs_on_the_tables_streams_queues_and_bucket_of_the_stack(
    tmp_path: Path, url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Beside the other stage, as in one account.
    dev, prod = (sam_deploy(config, tmp_path) for config in ("default", "prod"))
    assert set(dev.names.values()) & set(prod.names.values()) == set()
    for config, stack in (("default", dev), ("prod", prod)):
        overridden = overrides(config)
        assert {name: stack.parameters[name] for name in overridden} == overridden

    result = pipeline(prod, clock, monkeypatch)

    sums = {name: Decimal(result["account"][name]) for name in ("events", "gross", "refunds", "commission")}
    assert list(sums.values()) == [2, Decimal("129.90"), Decimal("-12.99"), Decimal("14.61375")]
    assert result["snapshots"]
    assert [run["counters"] for run in result["runs"]] == ["verified"]
    assert (result["proof"].lines, result["proof"].problems) == (4, [])
    assert result["proof"].accounts[Account("42", "GBP")].commission == sums["commission"]
    links = [text for text in json.dumps(result["report"]).split('"') if text.startswith(url)]
    assert links
    for link in links:
        with urlopen(link) as answer:  # noqa: S310 - our own
            assert answer.read()
    assert opened(dev)[1] == []
    page = result["page"]
    assert page["statusCode"] == 200
    assert b"app.js" in decompress(b64decode(page["body"]))
    assert prod.names["ReportBucket"] in page["headers"]["content-security-policy"]


@pytest.mark.usefixtures("url")
@pytest.mark.parametrize("options", [(), *combinations(ON, 1), tuple(ON)], ids=" ".join)
def test_the_pipeline_runs_with_each_option_alone_and_with_all(
    options: tuple[str, ...], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = pipeline(deploy_with(turned_on(options)), clock, monkeypatch)
    assert [run["counters"] for run in result["runs"]] == ["verified"]
    assert (result["proof"].lines, result["proof"].problems) == (4, [])


@pytest.mark.usefixtures("url")
@pytest.mark.parametrize("option", list(ON))
def test_an_option_that_is_turned_on_and_off_and_on_again_loses_nothing(
    option: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, options in enumerate(((), (option,), (), (option,)), 1):
        deployed = deploy_with(turned_on(options), update=day > 1)
        result = pipeline(deployed, clock, monkeypatch, f"-{day}")
        assert {run["counters"] for run in result["runs"]} == {"verified"}
        assert (result["proof"].lines, result["proof"].problems) == (4 * day, [])
        assert [Decimal(result["account"][name]) for name in ("events", "gross")] == [2 * day, day * Decimal("129.90")]


def turned_on(options: tuple[str, ...]) -> dict[str, str]:
    """Return the parameters with which these options are on, and no others."""
    return {name: text for option in options for name, text in ON[option].items()}


# ---------------------------------------------------------------- what a template may lack


def variable(function: str, name: str, value: object) -> Callable[[Properties], object]:
    """Give a function's variable another value."""
    return lambda document: document["Resources"][function]["Properties"]["Environment"]["Variables"].update(
        {name: value}
    )


def table(name: str, **values: object) -> Callable[[Properties], object]:
    """Set properties of a table."""
    return lambda document: document["Resources"][name]["Properties"].update(values)


def without_index(document: Properties) -> None:
    document["Resources"]["EntityTable"]["Properties"]["GlobalSecondaryIndexes"].pop(0)


def without_stream(document: Properties) -> None:
    del document["Resources"]["EntityTable"]["Properties"]["StreamSpecification"]


LACKS: dict[str, tuple[Callable[[Properties], object], Rehearse, str]] = {
    "a variable": (variable("ReportFunction", "LEDGER_TABLE", ""), every_call, "LEDGER_TABLE is not set"),
    "the right table": (
        variable("IngestFunction", "LEDGER_TABLE", {"Ref": "EntityTable"}),
        every_call,
        "Missing the key pk",
    ),
    "the right queue": (
        variable("CountersFunction", "PARKED_QUEUE_URL", {"Ref": "DeadLetterQueue"}),
        every_call,
        "poison stays",
    ),
    "a bucket": (variable("ReadFunction", "REPORT_BUCKET", "none-such"), pipeline, "NoSuchBucket"),
    "an index": (without_index, every_call, "index"),
    "the images in a stream": (
        table("LedgerTable", StreamSpecification={"StreamViewType": "KEYS_ONLY"}),
        pipeline,
        "404",
    ),
    "a stream": (without_stream, pipeline, "CreateStack"),
}


@pytest.mark.usefixtures("url")
@pytest.mark.parametrize(("edit", "rehearse", "message"), LACKS.values(), ids=LACKS)
def test_a_template_that_lacks_something_fails(
    edit: Callable[[Properties], object],
    rehearse: Rehearse,
    message: str,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = deepcopy(parsed())
    edit(document)
    with pytest.raises((AssertionError, ClientError, SettingsError), match=message):
        rehearse(deploy(document), clock, monkeypatch)


@pytest.mark.usefixtures("url")
def test_an_untouched_template_fails_in_nothing(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    result = pipeline(deploy(parsed()), clock, monkeypatch)
    assert [run["counters"] for run in result["runs"]] == ["verified"]
    assert (result["proof"].lines, result["proof"].problems) == (4, [])
