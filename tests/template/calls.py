"""What the functions really call and write, recorded while the whole system runs on the embedded engine."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import timedelta
from importlib.util import module_from_spec, spec_from_file_location
from io import StringIO
from logging import StreamHandler
from types import ModuleType, SimpleNamespace
from typing import Any, Final, NamedTuple

import boto3
import pytest

from quarterhour.aws import clients
from quarterhour.aws.telemetry import logger, metrics
from quarterhour.model.clock import ManualClock, iso_millis
from quarterhour.model.settings import Environment
from quarterhour.web.routing import Operation
from quarterhour_tools.emulator.delivery import attribute_as_json
from quarterhour_tools.emulator.dynamodb.statements import Insertion, parsed
from quarterhour_tools.emulator.http_api import path_parameters, template_path
from quarterhour_tools.emulator.schedules import create_request
from quarterhour_tools.emulator.template import Function, Route, Template, table_request
from tests.support.builders import change_record
from tests.support.repository import ROOT
from tests.template.stack import Properties, Stack, function_of

REGION: Final = "us-east-1"
"""That of the embedded engine, which answers in this one without HTTP requests."""
LAMBDA = {"AWS_DEFAULT_REGION": REGION, "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
"""What Lambda itself puts into a function's environment, as far as a client asks for it."""
BUCKETS = {"report-bucket": "ReportBucket", "inbox-bucket": "InboxBucket"}
"""The logical ids of the buckets by their names."""
ROLE = "arn:aws:iam::123456789012:role/SealingRole"
SEALED = ("ledger/", "reports/", "statements/", "totals/")
TRANSACTION = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}


class Call(NamedTuple):
    """One thing done to one resource, as IAM sees it; ``keys`` are the partition keys of the items concerned."""

    action: str
    resource: str
    keys: tuple[str, ...] = ()


def calls_of(service: str, operation: str, request: dict[str, Any]) -> Iterator[Call]:
    """Yield what a request needs permission for."""
    match service, operation:
        case "s3", "ListObjectsV2":
            yield Call("s3:ListBucket", BUCKETS[request["Bucket"]])
        case "s3", _:
            if operation == "PutObject" and request["Key"].startswith(SEALED):
                assert request["IfNoneMatch"] == "*", "the bucket's policy takes a sealed file only so"
            action = "GetObject" if operation == "HeadObject" else operation
            yield Call(f"s3:{action}", f"{BUCKETS[request['Bucket']]}/{request['Key']}")
        case "ssm" | "events", _:
            for name in named(request):
                yield Call(f"{service}:{operation}", f"arn:aws:{service}:{REGION}:none:{name}")
        case "sqs", _:
            # A batch needs the permission of its single operation.
            yield Call(f"sqs:{operation.removesuffix('Batch')}", request["QueueUrl"].rpartition("/")[2])
        case "stepfunctions", _:
            yield Call(f"states:{operation}", request.get("stateMachineArn") or request["executionArn"])
        case "scheduler", _:
            yield Call(f"scheduler:{operation}", f"arn:aws:scheduler:{REGION}:none:schedule/default/{request['Name']}")
            if operation == "UpdateSchedule":
                yield Call("iam:PassRole", request["Target"]["RoleArn"].rpartition("/")[2])
        case _:
            yield from calls_on_tables(operation, request)


def named(request: dict[str, Any]) -> list[str]:
    """Return the parameters that a request to Systems Manager names, or the buses of one to EventBridge."""
    parameters = request.get("Names") or [request[name] for name in ("Name",) if name in request]
    buses = (one["EventBusName"] for one in request.get("Entries", ()))
    return [*(f"parameter{one}" for one in parameters), *(f"event-bus/{one}" for one in buses)]


def calls_on_tables(operation: str, request: dict[str, Any]) -> Iterator[Call]:
    """Yield what a request to DynamoDB needs permission for."""
    match operation:
        case "TransactWriteItems":
            writes = [write for item in request["TransactItems"] for write in item.items()]
            # AWS does not document whether IAM gets each write's own key or all keys, so all must be permitted.
            for kind, table in {(kind, write["TableName"]) for kind, write in writes}:
                of_table = (write.get("Key") or write["Item"] for _, write in writes if write["TableName"] == table)
                yield Call(f"dynamodb:{TRANSACTION[kind]}", table, tuple(map(leading, of_table)))
        case "BatchGetItem" | "BatchWriteItem":
            for table, part in request["RequestItems"].items():
                items = part["Keys"] if operation == "BatchGetItem" else [one["PutRequest"]["Item"] for one in part]
                yield Call(f"dynamodb:{operation}", table, tuple(map(leading, items)))
        case "BatchExecuteStatement":
            for one in map(parsed, request["Statements"]):
                action = "PartiQLInsert" if isinstance(one, Insertion) else "PartiQLUpdate"
                yield Call(f"dynamodb:{action}", one.table, (leading(one.item),))
        case "Query":
            name = request["KeyConditionExpression"].split("=")[1].split()[0]
            index = f"/index/{request['IndexName']}" if "IndexName" in request else ""
            key = str(request["ExpressionAttributeValues"][name]["S"])
            yield Call("dynamodb:Query", request["TableName"] + index, (key,))
        case _:
            key = leading(request.get("Key") or request["Item"])
            yield Call(f"dynamodb:{operation}", request["TableName"], (key,))


def leading(item: dict[str, Any]) -> str:
    """Return an item's partition key; a claim holds a quarter_hour too, which is not its key."""
    return str(next(item[name] for name in ("event", "pk", "quarter_hour") if name in item)["S"])


def redirected(event: Properties, operations: Iterable[Operation], path: Mapping[str, str]) -> Properties:
    """Return a request with other values of some variables of its path, as the API sends it."""
    given = event["rawPath"].split("/")
    parts = next(
        parts
        for parts in (template_path(one.rule).split("/") for one in operations)
        if len(parts) == len(given)
        and all(part == one or part.startswith("{") for part, one in zip(parts, given, strict=True))
    )
    filled = [path.get(part.strip("{}"), one) for part, one in zip(parts, given, strict=True)]
    raw, routed = "/".join(filled), event["routeKey"].partition(" ")[2]
    return {**event, "rawPath": raw, "pathParameters": path_parameters(Route("", routed), raw.replace("%", "%25"))}


class Watched(Mapping[str, str]):
    """Variables that record which of them were read."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables
        self.requested: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.requested.add(name)
        return self.variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)


def started(function: Function, patch: pytest.MonkeyPatch) -> tuple[ModuleType, set[str]]:
    """Import a function's handler as Lambda does before it keeps the process, with all of its routes.

    Return it and the variables that it read.
    """
    variables = Watched({"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start", **function.environment})
    patch.setattr(Environment, "of_process", lambda: Environment(variables))
    for name, text in LAMBDA.items():
        patch.setenv(name, text)
    spec = spec_from_file_location(f"started_{function.name}", function.code / "handler.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, variables.requested


@dataclass(slots=True)
class World:
    """The deployed system on a clock set by hand; what each function calls and writes is kept."""

    clock: ManualClock
    names: dict[str, str] = field(default_factory=dict)
    """What ``!Ref`` gives for a table, a bucket or a queue, by logical id."""
    functions: dict[str, ModuleType] = field(default_factory=dict)
    calls: dict[str, set[Call]] = field(default_factory=dict)
    environments: dict[str, Mapping[str, str]] = field(default_factory=dict)
    logs: dict[str, StringIO] = field(default_factory=dict)
    """What each function wrote: log lines and metrics."""
    running: str = ""
    _clients: dict[str, Any] = field(default_factory=dict)

    def build(self, template: Template, stack: Stack, patch: pytest.MonkeyPatch) -> None:
        """Make the stack's tables, bucket and queues, and start its functions."""
        metrics.clear_metrics()  # a test of a service alone leaves what no handler has published
        own = clients.session.__wrapped__()
        session = boto3.Session(botocore_session=own, region_name=REGION)
        session.events.register("provide-client-params.*.*", self._record)
        session.events.register("after-call.s3.GetObject", self._record_missing)
        patch.setattr(clients, "session", lambda: own)
        patch.setattr(boto3, "DEFAULT_SESSION", session)
        for name, properties in stack.of("AWS::DynamoDB::Table").items():
            self._client("dynamodb").create_table(**table_request(name, properties))
            self.names[name] = name
        for name, logical in BUCKETS.items():
            self._client("s3").create_bucket(Bucket=name)
            self.names[logical] = name
        states = self._client("stepfunctions")
        machines = {
            f"{name.upper()}_ARN": states.create_state_machine(
                name=f"quarterhour-dev-{name}", definition="{}", roleArn=ROLE
            )["stateMachineArn"]
            for name in ("sealing", "rebuilding", "statements")
        }
        for name in stack.of("AWS::SQS::Queue"):
            self.names[name] = self._client("sqs").create_queue(QueueName=name)["QueueUrl"]

        def attribute(name: str, _: str) -> str:
            return self.names.get(name, name)

        for function in template.functions(attribute).values():
            known = {name: arn for name, arn in machines.items() if name in function.environment}
            self.start(replace(function, environment={**function.environment, **known}), patch)

    def start(self, function: Function, patch: pytest.MonkeyPatch) -> None:
        """Start a function in its environment."""
        self.functions[function.name], _ = started(function, patch)
        self.environments[function.name] = function.environment
        self.calls[function.name] = set()
        self.logs[function.name] = StringIO()

    def run(self, name: str, event: Properties, milliseconds: int = 900_000) -> Any:
        """Invoke a function that has so much time left."""
        context = SimpleNamespace(
            aws_request_id=f"{name}-{self.clock.now().isoformat()}",
            function_name=name,
            memory_limit_in_mb=1024,
            invoked_function_arn=f"arn:aws:lambda:{REGION}:123456789012:function:{name}",
            get_remaining_time_in_millis=lambda: milliseconds,
        )
        self.running = name
        try:
            with self._logging(name):
                return self.functions[name].handler(event, context)
        finally:
            self.running = ""

    def sample(self, name: str, **path: str) -> Any:
        """Invoke a function with its sample event; ``path`` replaces variables of the path."""
        event, function = json.loads((ROOT / "events" / f"{name}.json").read_text("utf-8")), function_of(name)
        if path:
            event = redirected(event, self.functions[function].routes.operations, path)
        return self.run(function, event)

    def stream(self, name: str, *images: Properties) -> Any:
        """Invoke a function with the images of new items."""
        records = [
            {
                "eventID": f"{name}-{number}",
                "eventName": "INSERT",
                "dynamodb": {"SequenceNumber": f"{number:030d}", "NewImage": image, "Keys": image},
            }
            for number, image in enumerate(images, 1)
        ]
        return self.run(name, {"Records": records})

    def leave_windows(self, states: list[Properties]) -> Any:
        """Invoke the snapshots with changes a month later of items that hold a current state."""
        records = [
            change_record(
                number, one, {**one, "last_updated": {"S": iso_millis(self.clock.now() + timedelta(days=31))}}
            )
            for number, one in enumerate(states, 1)
        ]
        return self.run("snapshots", {"Records": records})

    def park(self, by: str, image: Properties, name: str = "INSERT") -> None:
        """Put the image of a new item, or of a changed one (``MODIFY``), into the queue of parked records."""
        record = {"eventName": name, "dynamodb": {"SequenceNumber": "7", "NewImage": image, "Keys": image}}
        message = json.dumps({"by": by, "reason": "not understood", "record": record})
        self._client("sqs").send_message(QueueUrl=self.names["ParkedQueue"], MessageBody=message)

    def deploy_schedule(self) -> None:
        """Make the reports' schedule as a deployment does, in place of an existing one."""
        scheduler = self._client("scheduler")
        name = self.environments["watch"]["SCHEDULE_NAME"]
        if any(one["Name"] == name for one in scheduler.list_schedules()["Schedules"]):
            scheduler.delete_schedule(Name=name)
        role = "arn:aws:iam::123456789012:role/ScheduleRole"
        scheduler.create_schedule(**create_request(name, "rate(1 hour)", "report", role))

    def items(self, table: str) -> list[Properties]:
        """Return all items of a table, as a stream record holds them."""
        items = self._client("dynamodb").scan(TableName=self.names[table])["Items"]
        return [{name: attribute_as_json(value) for name, value in item.items()} for item in items]

    def put(self, table: str, item: Properties) -> None:
        """Restore an item."""
        self._client("dynamodb").put_item(TableName=self.names[table], Item=item)

    def remove(self, table: str, key: Properties) -> None:
        """Delete an item."""
        self._client("dynamodb").delete_item(TableName=self.names[table], Key=key)

    def without_sealed_lines(self) -> AbstractContextManager[None]:
        """Lose all sealed lines for the length of the block."""
        return self._without("ledger/")

    def without_totals(self) -> AbstractContextManager[None]:
        """Lose the totals of all sealed parts for the length of the block."""
        return self._without("totals/")

    @contextmanager
    def _without(self, prefix: str) -> Iterator[None]:
        s3, bucket = self._client("s3"), self.names["ReportBucket"]
        lost = {}
        for found in s3.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]:
            lost[found["Key"]] = s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
            s3.delete_object(Bucket=bucket, Key=found["Key"])
        yield
        for key, content in lost.items():
            s3.put_object(Bucket=bucket, Key=key, Body=content)

    def send(self, queue: str, body: Properties) -> None:
        """Send a message to a queue."""
        self._client("sqs").send_message(QueueUrl=self.names[queue], MessageBody=json.dumps(body))

    def upload(self, key: str, content: bytes) -> Properties:
        """Upload a file to the inbox, and return the notification of S3."""
        bucket = self.names["InboxBucket"]
        etag = self._client("s3").put_object(Bucket=bucket, Key=key, Body=content)["ETag"].strip('"')
        sample: Properties = json.loads((ROOT / "events" / "intake-file.json").read_text("utf-8"))
        (record,) = sample["Records"]
        body = json.loads(record["body"])
        (notice,) = body["Records"]
        notice["s3"] |= {"bucket": {"name": bucket}, "object": {"key": key, "eTag": etag, "sequencer": etag}}
        return {"Records": [{**record, "body": json.dumps(body)}]}

    def store(self, key: str, content: bytes) -> None:
        """Put a file into the bucket of the reports."""
        self._client("s3").put_object(Bucket=self.names["ReportBucket"], Key=key, Body=content)

    def lose(self, *keys: str) -> None:
        """Delete files of the bucket."""
        for key in keys:
            self._client("s3").delete_object(Bucket=self.names["ReportBucket"], Key=key)

    def pass_time(self, **span: float) -> None:
        """Move the clock on."""
        self.clock.advance(timedelta(**span))

    def _client(self, service: str) -> Any:
        """Return the client of a service; making one takes longer than a call."""
        if service not in self._clients:
            self._clients[service] = boto3.client(service)  # type: ignore[call-overload]
        return self._clients[service]

    @contextmanager
    def _logging(self, name: str) -> Iterator[None]:
        """Let all that is logged be the function's, as in a separate process with its own environment."""
        own = self.environments[name]
        metrics.service, metrics.namespace = own["POWERTOOLS_SERVICE_NAME"], own["POWERTOOLS_METRICS_NAMESPACE"]
        handler = logger.registered_handler
        assert isinstance(handler, StreamHandler)
        before = handler.setStream(self.logs[name])
        try:
            with redirect_stdout(self.logs[name]):
                yield
        finally:
            handler.setStream(before)

    def written(self, name: str) -> list[Properties]:
        """Return the lines that a function wrote; each must be JSON."""
        return [json.loads(line) for line in self.logs[name].getvalue().splitlines()]

    def _record(self, params: dict[str, Any], model: Any, **_: object) -> None:
        if self.running:
            self.calls[self.running].update(calls_of(model.service_model.service_name, model.name, params))

    def _record_missing(self, parsed: dict[str, Any], **_: object) -> None:
        if self.running and parsed.get("Error", {}).get("Code") == "NoSuchKey":
            bucket = "InboxBucket" if self.running == "intake" else "ReportBucket"
            self.calls[self.running].add(Call("s3:ListBucket", bucket))  # without it S3 would say 403
