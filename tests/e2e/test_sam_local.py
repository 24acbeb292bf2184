"""What a deployment ships, in Lambda's own containers, on a stack's tables, by the commands of docs/local.md."""

import gzip
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from csv import DictReader
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import boto3
import pytest
from botocore.config import Config

from quarterhour.aws.items import Item, bytes_of, to_item
from quarterhour.aws.tables import put_items_request
from quarterhour.ledger.keys import recorded_key
from quarterhour.ledger.postings.segments import PostingValues, postings_of, segment_of
from quarterhour.ledger.recording.segment_store import first_checkpoint_request
from quarterhour.model.clock import SystemClock, iso_millis, iso_seconds
from quarterhour.model.identifiers import Identity, Position
from quarterhour.model.periods import Calendar, Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.proof.reports import verify
from quarterhour.reports.keys import Part
from quarterhour_tools.bucket import Bucket
from quarterhour_tools.emulator.template import Template
from tests.e2e.sales import event, totals
from tests.support.agencies import OWNER
from tests.support.events import refund
from tests.support.repository import ROOT
from tests.template.stack import function_of

PAGE: Final = (ROOT / "docs" / "local.md").read_text("utf-8")
IMAGE: Final = "public.ecr.aws/lambda/python:3.13-x86_64"
HOST: Final = "172.17.0.1"
"""Where containers reach this machine."""

pytestmark = [pytest.mark.slow, pytest.mark.allow_hosts(["127.0.0.1", HOST])]

FUNCTIONS: Final = {
    Path(properties["CodeUri"]).name: logical
    for logical, properties in Template.load(ROOT / "template.yaml").resources("AWS::Serverless::Function").items()
}
FIRST: Final = (
    "ingest-batch",
    "report-schedule",
    "write-schedule",
    "write-message",
    "write-order",
    "write-exchange-rate",
    "write-document",
    "write-document-permissions",
    "write-agency",
)
"""What the other samples find something of."""
LATER: Final = (
    ("write-order-status", "statements-period"),  # after the list of open orders
    tuple(f"statements-{step}" for step in ("collect", "add-up", "publish", "reseal", "run", "write")),
    ("write-statement-status", "write-dispute"),  # while nothing is resolved
    (
        *("read-account-balance", "read-disputes", "read-draft", "read-drafts", "read-periods", "read-receivables"),
        *("read-releases", "read-search", "read-statement", "read-statements"),
        "write-statement-run",  # nothing is due
    ),
    ("write-dispute-resolution", "watch-tick"),
    ("write-draft",),  # cancels the statement
)
"""The steps after all others: of closed months, and what ends something that others find."""
OFF: Final = re.compile(
    r"console-|intake-|connections-|notify-|(read|write)-(subscription|connection)|repair-(forg|move)"
)
"""Samples of options, whose functions get no layer from `sam local`, and of the vault, whose secrets it lacks."""
SAMPLES: Final = {path.stem for path in (ROOT / "events").iterdir() if not OFF.match(path.stem)}
STEPS: Final = (FIRST, sorted(SAMPLES.difference(FIRST, *LATER)), *LATER)
"""The samples in the order in which they are sent; those of one step at once, each function's one after another."""
CLOSED: Final = frozenset(sample for step in LATER[2:] for sample in step)
"""The samples of closed months."""
PLACES: Final = {
    "read-messages-person": {3: "run"},
    **{key: {2: "run"} for key in ["read-report", "read-report-person"]},
    **{key: {4: "period"} for key in ["read-draft", "read-statement", "write-draft"]},
    **{key: {4: "period"} for key in ["write-statement-status", "write-dispute"]},
    "write-dispute-resolution": {4: "period", 7: "event"},
    "read-window": {3: "start"},
}
"""Which parts of the path of a request stand for something of this machine."""
STATUSES: Final = {
    "ingest-batch": 202,
    "ingest-one": 202,
    "ingest-binary": 202,
    "ingest-held": 202,
    "ingest-bad": 422,
    "write-order": 201,
    "write-document": 201,
    "write-agency": 201,
    "write-exchange-rate": 201,
    "write-message": 201,
    "write-dispute": 201,
    # Nobody has let that person see it.
    "read-messages-person": 403,
    # A page for staff.
    "read-operations-person": 403,
    "read-report-person": 404,
    # One person decides here, so nothing is proposed.
    "read-document-proposal": 404,
    "write-document-proposal": 404,
}
"""What requests are answered with; all others with 200."""


HELD: Final = ("CRN-0046:1", "CRN-0047:1", "CRN-0048:1", "CRN-0049:1")
"""Events that are held: those that samples release or discard, and one that stays."""


@dataclass(frozen=True)
class Machine:
    """A machine with a stack that is up and a build of the template beside it.

    In the quarter-hours ``closing`` and ``earlier``, which are over and not sealed yet, the ledger holds some
    ``postings``. The first is the last one of a month that no event can belong to any more.
    """

    folder: Path
    url: str
    environment: Mapping[str, str]
    closing: QuarterHour
    earlier: QuarterHour

    @property
    def closed(self) -> Period:
        """The last month that can be sealed."""
        return Period.of(self.closing.start)

    def run(self, command: str) -> str:
        """Run a command of the page to its end, and return what it prints."""
        ended = subprocess.run(  # noqa: S603 - our own
            shlex.split(command), cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return ended.stdout

    def invoke(self, function: str, sample: str) -> Any:
        """Invoke a function with a sample in a new container."""
        command = documented("sam local invoke IngestFunction --config-env local -e events/ingest-one.json")
        own = command.replace("IngestFunction", FUNCTIONS[function]).replace("ingest-one", sample)
        return json.loads(self.run(own))

    @contextmanager
    def serving(self, command: str) -> Iterator[str]:
        """Run a command of the page that serves until it is stopped, and give its URL."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with process(f"{command} --port {port}", self.folder, self.environment):
            until(lambda: answers(port))
            yield f"http://127.0.0.1:{port}"

    def client(self, service: Any) -> Any:
        """Return an AWS client of the stack's tables, bucket or queues."""
        return client(service, self.url)


def client(service: Any, url: str) -> Any:
    own = boto3.Session(aws_access_key_id="local", aws_secret_access_key="local", region_name="us-east-1")  # noqa: S106
    return own.client(service, endpoint_url=url, config=Config(read_timeout=900, retries={"total_max_attempts": 1}))


def documented(command: str) -> str:
    assert command in PAGE
    return command


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def until(probe: Callable[[], Any]) -> Any:
    """Call a probe repeatedly until it returns something."""
    for _ in range(600):
        if answer := probe():
            return answer
        threading.Event().wait(0.2)
    raise TimeoutError


@contextmanager
def process(command: str, folder: Path, environment: Mapping[str, str]) -> Iterator[Any]:
    """Run a command beside the test, in its own session, and stop it as Ctrl-C does: so it removes its containers."""
    started = subprocess.Popen(  # noqa: S603 - our own
        shlex.split(command),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with started:
        try:
            yield started
        finally:
            started.send_signal(signal.SIGINT)
            try:
                started.wait(60)
            except subprocess.TimeoutExpired:  # the SAM CLI can hang at its end, when all is answered
                started.kill()


def missing() -> str:
    """Return what `sam local` lacks here; empty where it lacks nothing."""
    if not (ROOT / ".venv-sam" / "bin" / "sam").exists():
        return "the SAM CLI is not there (make sam)"
    if not shutil.which("python3.13", path=path()):
        return "python3.13, the functions' runtime, is not there"
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True, check=False).returncode:  # noqa: S603
        return "no Docker engine answers"
    if subprocess.run([docker, "image", "inspect", IMAGE], capture_output=True, check=False).returncode:  # noqa: S603
        return f"the engine has no {IMAGE} (docker pull, or .ci/lambda-image)"
    with socket.socket() as probe:
        try:
            probe.bind((HOST, 0))
        except OSError:
            return f"containers reach this machine elsewhere than on {HOST}"
    return ""


def path() -> str:
    """Return where the commands are looked for: in both environments, and where Python 3.13 is."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    folders = [ROOT / ".venv-sam" / "bin", Path(sys.executable).parent, *pyenv.glob("3.13.*/bin")]
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])


def sample_of(name: str) -> Any:
    """Return what a sample sends."""
    return json.loads((ROOT / "events" / f"{name}.json").read_text("utf-8"))


def closing_quarter_hour(now: datetime) -> QuarterHour:
    """Return the last quarter-hour of the last month whose cut-off is over, in the template's own terms."""
    grace = Calendar().grace_days
    calendar = Calendar(UTC, grace)
    return QuarterHour.at(calendar.starts(calendar.earliest_open(now))).previous


def postings(quarter_hour: QuarterHour) -> list[PostingValues]:
    """Return the postings of a sample as if they had been recorded in another quarter-hour, one of each request."""
    moved = []
    for record in sample_of("counters-batch")["Records"]:
        for posting in postings_of(record["dynamodb"]["NewImage"]):
            # The ingest's own are recorded too.
            identity = Identity(posting["source"], f"{quarter_hour}-{posting['id']}")
            position = Position.of(identity.hash, quarter_hour.start).at(0)
            place = {"quarter_hour": f"{quarter_hour}#00", "position": str(position)}
            moved.append({**posting, **place, "recorded_at": iso_millis(quarter_hour.start), "id": identity.id})
    return moved


def with_bytes(item: Item) -> Item:
    """Return an item with its binary attribute as boto3 takes it."""
    return {**item, "events": {"B": bytes_of(item["events"])}}


def claim(posting: PostingValues) -> Item:
    """Return what readers take of the claim of a posting: its place in the ledger."""
    place = {name: posting[name] for name in ("quarter_hour", "position")}
    return to_item({"event": f"{posting['source']}#{posting['id']}", **place})


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    if lack := missing():
        pytest.skip(f"sam local was not tested: {lack}")
    folder = tmp_path_factory.mktemp("clone")
    for name in ("functions", "layers", "options", "events", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    # A slow machine is no fault of a function's; and the stack's own watch seals no month before a sample does.
    template = re.sub(r"\bTimeout: \d+", "Timeout: 900", (ROOT / "template.yaml").read_text("utf-8"))
    template = template.replace("ScheduleExpression: rate(15 minutes)", "ScheduleExpression: rate(1 day)")
    (folder / "template.yaml").write_text(template, "utf-8")
    now = SystemClock().now()
    closing, earlier = closing_quarter_hour(now - timedelta(hours=1)), QuarterHour.at(now - timedelta(hours=1))
    rate = folder / "events" / "write-exchange-rate.json"  # a window's snapshot is kept for a month
    rate.write_text(rate.read_text("utf-8").replace("2026-10-22T14:15:00Z", iso_seconds(earlier.start)), "utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment = {**kept, "PATH": path(), "SAM_CLI_TELEMETRY": "0", "SAM_SKIP_PULL_IMAGE": "1"}
    up = documented(f".venv/bin/quarterhour up --host {HOST}").removeprefix(".venv/bin/")
    with process(f"{up} --port 0", folder, environment) as stack:
        address = re.search(rf"http://{HOST}:(\d+)", stack.stdout.readline())
        assert address, "the stack did not come up"
        settings = (ROOT / "samconfig.toml").read_text("utf-8")
        (folder / "samconfig.toml").write_text(settings.replace(":8080", f":{address[1]}"), "utf-8")
        machine = Machine(folder, address[0], environment, closing, earlier)
        machine.run(documented("sam build --config-env local"))
        dynamodb = machine.client("dynamodb")
        dynamodb.put_item(**first_checkpoint_request("EntityTable", closing.previous))
        recorded = [*postings(closing), *postings(earlier)]
        dynamodb.batch_write_item(
            **put_items_request("LedgerTable", [with_bytes(segment_of([one])) for one in recorded])
        )
        for quarter_hour in (closing, earlier):
            dynamodb.put_item(TableName="EntityTable", Item=to_item(recorded_key(quarter_hour)))
        dynamodb.batch_write_item(**put_items_request("IdentityTable", [claim(one) for one in recorded]))
        agency = sample_of("write-agency")  # by its cut-off, the month has what its statements need
        parties = {agency["rawPath"]: agency["body"], "/documents/owner": {"seen": 0, "content": OWNER}}
        for place, content in parties.items():
            assert call(f"{machine.url}{place}", content, method="PUT")[0] == 201
        held = [refund(id_, "-1.00", of="not sent") | {"source": "https://shop.example"} for id_ in HELD]
        kind = "application/cloudevents-batch+json"
        assert verdicts(call(f"{machine.url}/events", held, kind)) == (202, {"held": len(HELD)})
        yield machine


def test_every_function_answers_its_samples_in_lambdas_container(
    machine: Machine, record_property: Callable[[str, object], None]
) -> None:
    answered: dict[str, Any] = {}
    with machine.serving(documented("sam local start-lambda --config-env local")) as url:
        service = client("lambda", url)

        def ask(function: str, samples: Sequence[str]) -> list[Any]:
            run = answered["report-schedule"]["runs"][0] if answered else ""
            return [invoke(service, function, of_here(sample, machine, run)) for sample in samples]

        for step in STEPS:
            answered |= at_once(ask, step)
            until(
                lambda: (
                    has_state(machine, "RATE#GBP", hour(machine))
                    and has_state(machine, "ACCOUNT#42#GBP", hour(machine))
                )
            )
    assert {sample: answer for sample, answer in answered.items() if not is_right(sample, answer)} == {}
    record_property("sam local", f"{len(answered)} samples are answered in containers")


def at_once(ask: Callable[[str, Sequence[str]], list[Any]], step: Iterable[str]) -> dict[str, Any]:
    """Return the answers to the samples of a step; ask two functions at a time, as half of it is waiting."""
    functions: dict[str, list[str]] = {}
    for sample in step:
        functions.setdefault(function_of(sample), []).append(sample)
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(ask, functions.keys(), functions.values())
        return {
            sample: answer
            for samples, of_function in zip(functions.values(), answers, strict=True)
            for sample, answer in zip(samples, of_function, strict=True)
        }


def has_state(machine: Machine, pk: str, start: str) -> bool:
    """Whether an entity has a state in the window of an hour: a snapshot, or the latest."""
    keys = [{"pk": {"S": pk}, "sk": {"S": sk}} for sk in (f"1h#{start}", "latest")]
    answer = machine.client("dynamodb").batch_get_item(RequestItems={"EntityTable": {"Keys": keys}})
    hour = start.removesuffix("00:00Z")
    return any(item["last_updated"]["S"].startswith(hour) for item in answer["Responses"]["EntityTable"])


def hour(machine: Machine) -> str:
    """Return the hour that the postings of the machine's ledger are of."""
    return iso_seconds(machine.earlier.start.replace(minute=0))


def of_here(sample: str, machine: Machine, run: str) -> Any:
    """Return what a sample sends, asking for what stands here: of this quarter-hour, this run, and now."""
    event = json.loads((machine.folder / "events" / f"{sample}.json").read_text("utf-8"))
    if sample in ("statements-period", "statements-reseal"):
        return dict.fromkeys(event, str(machine.closed))
    if "reseal" in event:
        return {"reseal": run}
    query = event.get("queryStringParameters") or {}
    quarter_hour, now = machine.earlier, SystemClock().now()
    if sample == "read-account-periods":
        query |= {"from": str(Period.of(quarter_hour.day)), "to": str(Period.of(now.date()).next)}
    elif sample.startswith("read-") and "from" in query and not sample.endswith("orders"):
        days = {"from": str(quarter_hour.day), "to": str(quarter_hour.day + timedelta(days=1))}
        instants = {"from": iso_seconds(quarter_hour.start), "to": iso_seconds(quarter_hour.end)}
        query |= instants if "T" in query["from"] else days
    query |= {"at": iso_millis(now)} if "at" in query else {}
    query |= {"rate_card": "rate-card:42", "agency": "42"} if "rate_card" in query else {}
    closed = sample in CLOSED
    query |= {"period": str(machine.closed if closed else Period.of(now.date()))} if "period" in query else {}
    line = f"{machine.closing}-INV-1001:1"
    here = {"run": run, "start": hour(machine), "period": str(machine.closed), "event": line}
    if sample in PLACES:
        parts = event["rawPath"].split("/")
        for place, name in PLACES[sample].items():
            parts[place] = here[name]
        event["rawPath"] = "/".join(parts)
        event["pathParameters"]["proxy"] = event["rawPath"][1:]
    changed = {"write-dispute": {"id": line}, "write-agency": {"seen": 1}}.get(sample)
    if changed:
        event["body"] = json.dumps(json.loads(event["body"]) | changed)
    return {**event, "rawQueryString": urlencode(query)} if query else event


def invoke(service: Any, function: str, event: Any) -> Any:
    payload = json.dumps(event).encode()
    return json.loads(service.invoke(FunctionName=FUNCTIONS[function], Payload=payload)["Payload"].read())


def is_right(sample: str, answer: Any) -> bool:
    """Whether a request got the status that it should and found something, or a batch or an operator no failure."""
    if "statusCode" in answer:
        found = json.loads(answer["body"]).get("items", "one thing")
        return bool(answer["statusCode"] == STATUSES.get(sample, 200) and found)
    return "errorType" not in answer and not answer.get("batchItemFailures")


def test_a_report_from_lambdas_container_seals_what_the_ledger_holds(machine: Machine) -> None:
    assert machine.invoke("report", "report-schedule")["complete"]
    bucket = Bucket(machine.client("s3"), "ReportBucket")
    assert verify(bucket.open, bucket.keys()).problems == []
    with bucket.open(Part(machine.earlier).lines_key) as file:
        lines = list(DictReader(gzip.decompress(file.read()).decode().splitlines()))
    figures = ("position", "id", "amount", "commission")
    assert [[line[name] for name in figures] for line in lines] == sorted(
        [one[name] for name in figures] for one in postings(machine.earlier)
    )


def test_requests_to_the_api_in_lambdas_container_come_to_the_ledger_and_the_counters(machine: Machine) -> None:
    sales = [event(n, None, amount, agency="Nord") for n, amount in enumerate(["10.00", "0.005", "-3.25", "7"])]
    with machine.serving(documented("sam local start-api --config-env local")) as url:
        one, batch = "application/cloudevents+json", "application/cloudevents-batch+json"
        assert verdicts(call(f"{url}/events", sales[0], one)) == (202, {"recorded": 1})
        assert verdicts(call(f"{url}/events", sales[0], one)) == (202, {"duplicate": 1})
        assert verdicts(call(f"{url}/events", sales, batch)) == (202, {"duplicate": 1, "recorded": 3})
        status, kind, problem = call(f"{url}/events", "{", one)
        assert (status, kind, problem["status"]) == (400, "application/problem+json", 400)
        assert call(f"{url}/accounts/Nord/XYZ")[:2] == (404, "application/problem+json")
        expected = totals(sales)["Nord#GBP"]
        account = until(lambda: counted(call(f"{url}/accounts/Nord/GBP"), len(sales)))
        day = account["last_updated"][:10]
        _, _, listed = call(f"{url}/events?from={day}T00:00:00Z&to={day}T23:59:59Z&agency=Nord")
    assert {name: Decimal(account[name]) for name in expected} == expected
    assert {one["id"] for one in listed["items"]} == {one["id"] for one in sales}
    # And read without any of the product's code:
    segments = [one for one in machine.client("dynamodb").scan(TableName="LedgerTable")["Items"] if "events" in one]
    columns = [json.loads(zlib.decompress(one["events"]["B"])) for one in segments]
    figures = ("agency", "id", "commission")
    rows = [row for one in columns for row in zip(*(one[name] for name in figures), strict=True)]
    recorded = [(id_, Decimal(commission)) for agency, id_, commission in rows if agency == "Nord"]
    assert sorted(id_ for id_, _ in recorded) == sorted(one["id"] for one in sales)
    assert sum(commission for _, commission in recorded) == expected["commission"]
    claims = machine.client("dynamodb").scan(TableName="IdentityTable")["Items"]
    assert {one["event"]["S"] for one in claims} >= {f"{one['source']}#{one['id']}" for one in sales}


def call(url: str, body: Any = None, kind: str = "application/json", method: str | None = None) -> tuple[int, str, Any]:
    """Send a request; return status, content type and what is read from the answer."""
    content = body if isinstance(body, str) or body is None else json.dumps(body)
    request = Request(url, content.encode() if content else None, {"content-type": kind}, method=method)  # noqa: S310 - our own
    try:
        with urlopen(request) as answer:  # noqa: S310 - our own
            return answer.status, answer.headers["content-type"], json.loads(answer.read())
    except HTTPError as error:
        with error:
            return error.code, error.headers["content-type"], json.loads(error.read())


def verdicts(answer: tuple[int, str, Any]) -> tuple[int, Any]:
    return answer[0], answer[2]["counts"]


def counted(answer: tuple[int, str, Any], events: int) -> Any:
    return answer[2] if answer[0] == 200 and answer[2]["events"] == events else None
