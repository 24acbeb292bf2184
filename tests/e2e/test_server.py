"""The API over HTTP on this machine."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from types import SimpleNamespace
from typing import Any, cast
from urllib.request import Request, urlopen

import pytest
from cloudevents.core.bindings.http import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.http_api import Response
from quarterhour_tools.emulator.server import HOST, Server
from quarterhour_tools.emulator.stack import Stack, open_stack
from quarterhour_tools.replay.replay import replaying
from tests.e2e.sales import START, day, event, lines
from tests.support.served import answered, call, until


@pytest.fixture
def up() -> Iterator[tuple[Server, Stack]]:
    server = Server(0)
    with open_stack("embedded", s3_url=server.url) as stack, server.serving(stack):
        yield server, stack


@pytest.mark.slow
def test_an_event_is_recorded_and_comes_to_the_counters_by_itself(up: tuple[Server, Stack]) -> None:
    server, _ = up
    status, answer = call(f"{server.url}/events", event(1, None, agency="a/b ü"))
    assert (status, answer["counts"]) == (202, {"recorded": 1})
    path = f"{server.url}/accounts/a%252Fb%20%C3%BC/GBP"
    account = until(lambda: (answer := call(path))[0] == 200 and answer[1])
    assert (account["events"], account["gross"]) == (1, "1.50")


def test_an_event_of_the_sdk_goes_over_the_wire_in_every_mode(up: tuple[Server, Stack]) -> None:
    server, _ = up

    def send(headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        return answered(Request(f"{server.url}/events", body, headers))  # noqa: S310 - our own

    attributes = {"id": "№ 1", "source": "shop", "type": "sale.recorded", "subject": "Zoë & Söhne", "note": '100 % "ü"'}
    sent = CloudEvent({**attributes, "datacontenttype": "application/json"}, event(1, None)["data"])
    for message, verdict in ((to_binary_event(sent), "recorded"), (to_structured_event(sent), "duplicate")):
        status, answer = send(message.headers, message.body)
        assert (status, answer["counts"]) == (202, {verdict: 1})
    binary = to_binary_event(sent)
    status, answer = send({**binary.headers, "ce-note": "x" * 8000}, binary.body)
    assert (status, answer["items"][0]["errors"][0]["field"]) == (422, "attributes")
    assert send({**binary.headers, "ce-note": "x" * 70_000}, binary.body)[0] == 431
    status, answer = send({**binary.headers, "ce-note": "\u20ac".encode().decode("latin-1")}, binary.body)
    assert (status, answer["items"][0]["errors"][0]["field"]) == (422, "ce-note")


def test_a_page_ends_early_if_another_request_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quarterhour_tools.emulator.context.PAGE_SECONDS", -1)
    server, manual = Server(0), ManualClock(START)
    with clock.using(manual), open_stack("embedded", s3_url=server.url, virtual=True) as stack, server.serving(stack):
        for number in range(3):
            assert call(f"{server.url}/events", event(number, None))[0] == 202
            manual.advance_to(START + timedelta(minutes=15 * (number + 1)))
        url = f"{server.url}/events?from=2026-01-01&to=2099-01-01"
        pages: list[Any] = []
        threads = [threading.Thread(target=lambda: pages.append(call(url)[1])) for _ in range(2)]
        with server.turns.taken():
            for one in threads:
                one.start()
            until(lambda: server.turns.waiting >= len(threads))
        for one in threads:
            one.join()
        short, whole = sorted(pages, key=lambda one: len(one["items"]))
        assert short["next"]
        assert whole["next"] is None
        rest = list(short["items"])
        while short["next"]:
            short = call(f"{url}&next={short['next']}")[1]
            rest += short["items"]
    assert [one["id"] for one in rest] == [one["id"] for one in whole["items"]]
    assert len(rest) == 3


def test_the_schedule_fires_when_its_time_has_come() -> None:
    server, manual = Server(0), ManualClock(START)
    with clock.using(manual), open_stack("embedded", s3_url=server.url, virtual=True) as stack, server.serving(stack):
        assert call(f"{server.url}/events", event(1, None))[0] == 202
        manual.advance_to(START + timedelta(hours=1))
        listed = until(lambda: call(f"{server.url}/reports")[1]["items"])
    assert len(listed) == 1
    assert listed[0]["lines"] == 1


def test_a_schedule_that_is_changed_is_honoured_at_once() -> None:
    server, manual = Server(0), ManualClock(START)
    with clock.using(manual), open_stack("embedded", s3_url=server.url, virtual=True) as stack, server.serving(stack):
        url = f"{server.url}/schedule"

        def put(**body: Any) -> Any:
            status, answer = call(url, body, "application/json", "PUT")
            assert status == 200
            return answer

        def runs(hours: float) -> int:
            ticked = len(watched)
            manual.advance_to(START + timedelta(hours=hours))
            until(lambda: len(watched) > ticked)
            return len(call(f"{server.url}/reports")[1]["items"])

        watched: list[Any] = []
        invoke = stack.invoke

        def watching(name: str, event_: Any, seconds: float | None = None) -> Any:
            answer = invoke(name, event_, seconds)
            if name == "watch":
                watched.append(answer)
            return answer

        stack.invoke = watching  # type: ignore[method-assign] # to know when a round is done
        assert call(f"{server.url}/events", event(1, None))[0] == 202
        put(paused=True)
        assert runs(3) == 0
        firing = START + timedelta(hours=5)
        put(expression=f"cron({firing.minute} {firing.hour} * * ? *)", paused=False)
        assert (runs(4), runs(5.5)) == (0, 1)


def test_unknown_routes_and_large_bodies_get_an_error(up: tuple[Server, Stack]) -> None:
    server, _ = up
    assert call(f"{server.url}/nothing")[0] == 404
    assert call(f"{server.url}/reports", {"a": 1})[0] == 404
    for length in ("999999999", "9" * 5000):
        assert status_of(server, "Content-Length", length) == 413
    assert status_of(server, "Transfer-Encoding", "chunked") == 411


def signed(server: Server, method: str, target: str, body: bytes = b"") -> tuple[int, Any]:
    """Send a request that is signed for DynamoDB, with a target that no client would send; return the response."""
    scope = "Credential=x/20261023/us-east-1/dynamodb/aws4_request"
    with closing(HTTPConnection(HOST, server.server_port, timeout=20)) as connection:
        connection._validate_path = lambda _: None  # type: ignore[attr-defined] # a client that checks nothing
        headers = {"Authorization": f"AWS4-HMAC-SHA256 {scope}", "X-Amz-Target": "DynamoDB_20120810.GetItem"}
        connection.request(method, target, body, headers)
        with connection.getresponse() as answer:
            return answer.status, json.loads(answer.read())


def test_a_request_that_an_aws_service_cannot_read_is_answered(up: tuple[Server, Stack]) -> None:
    for body in (b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"TableName": 1}'):
        status, _ = signed(up[0], "POST", "/", body)
        assert 400 <= status <= 500, body[:20]


def test_no_request_is_passed_on_to_another_host(up: tuple[Server, Stack]) -> None:
    with socket.create_server((HOST, 0)) as elsewhere:
        elsewhere.settimeout(0)
        for target in ("@{}/", ":x@{}/", "http://{}/"):
            status, problem = signed(up[0], "GET", target.format(f"{HOST}:{elsewhere.getsockname()[1]}"))
            assert (status, problem["detail"]) == (400, "the path does not begin with a slash")
        with pytest.raises(BlockingIOError):
            elsewhere.accept()


def status_of(server: Server, name: str, value: str) -> int:
    """Return what the head of a request alone is answered with."""
    with closing(HTTPConnection("127.0.0.1", server.server_port)) as connection:
        connection.putrequest("POST", "/events")
        connection.putheader(name, value)
        connection.endheaders()
        with connection.getresponse() as answer:
            return answer.status


def test_a_client_that_holds_its_body_back_sees_that_it_may_send_it(up: tuple[Server, Stack]) -> None:
    body = json.dumps(event(1)).encode()
    head = f"POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n"
    with socket.create_connection((HOST, up[0].server_port), timeout=20) as connection:
        connection.sendall(f"{head}Content-Type: application/cloudevents+json\r\n\r\n".encode())
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(1000).startswith(b"HTTP/1.1 202 ")


def test_links_that_the_api_signs_open_the_sealed_files(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(0)
    with open_stack("embedded", s3_url=server.url, virtual=True) as stack, replaying(stack) as tested:
        tested.play(lines(day()))
        tested.finish()
        with server.serving(stack):
            _, listed = call(f"{server.url}/reports")
            run = listed["items"][0]["run"]
            _, report = call(f"{server.url}/reports/{run}")
            links = [value for value in json.dumps(report).split('"') if value.startswith(server.url)]
            assert links
            for link in links:
                with urlopen(link) as answer:  # noqa: S310 - our own
                    assert answer.read()
            bare, _, signature = links[0].partition("?")
            assert call(bare)[0] == 403
            assert call(bare + "?X-Amz-Date=20200101T000000Z&X-Amz-Expires=60")[0] == 403
            today = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
            for date, seconds in (
                *((today, seconds) for seconds in ("", "9" * 400, "999999999999", "604801", "-1", "1e3", "nan")),
                *((date, "60") for date in ("20991231T000000Z", "99991231T235959Z", "00010101T000000Z", "")),
                ("99991231T235959Z", "9" * 5000),
            ):
                assert call(f"{bare}?X-Amz-Date={date}&X-Amz-Expires={seconds}")[0] == 403, (date, seconds)
            assert call(links[0].replace("?", "x?"))[0] == 404
            for key in ("", "%00", "a" * 2000, "%FF"):
                status, problem = call(f"{server.url}/{stack.ref('ReportBucket')}/{key}?{signature}")
                assert (status, problem["status"]) == (404, 404)
            assert "Traceback" not in capsys.readouterr().err


def operator(*arguments: str) -> tuple[int, str]:
    """Run a command in another process, as moto would take the calls of this one."""
    command = [sys.executable, "-c", "from quarterhour_tools.cli import main; raise SystemExit(main())", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.slow
def test_the_operator_reaches_a_stack_that_is_up(up: tuple[Server, Stack]) -> None:
    server, _ = up
    nothing = "0 days and 0 accounts checked, 0 counters repaired\n"
    assert operator("rebuild", "--all", "--url", server.url) == (0, nothing)
    unparked = "snapshots: 0 applied, 0 kept\ncounters: 0 applied, 0 kept\nbilling: 0 applied, 0 kept\n"
    assert operator("unpark", "--url", server.url) == (0, unparked)
    code, output = operator("rebuild", "42", "--url", server.url)
    assert (code, "write AGENCY#CURRENCY" in output) == (2, True)
    for sealed, problem in (
        ("yesterday", "is not a run or a month"),
        ("2020-01-01T0000-0015", "there is no run"),
        ("2020-01", "2020-01 is not sealed"),
    ):
        code, output = operator("reseal", sealed, "--url", server.url)
        assert (code, problem in output) == (2, True)


CLIENTS = """
import sys, boto3
url, name = sys.argv[1:]
own = {"endpoint_url": url, "region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "x"}
dynamodb, s3, sqs = (boto3.client(service, **own) for service in ("dynamodb", "s3", "sqs"))
dynamodb.put_item(TableName=name + "IdentityTable", Item={"event": {"S": "é"}})
print(dynamodb.get_item(TableName=name + "IdentityTable", Key={"event": {"S": "é"}})["Item"])
content = bytes(range(256)) * 50_000
s3.put_object(Bucket=name + "reportbucket", Key="a/b=ü", Body=content, ContentEncoding="gzip", IfNoneMatch="*")
print(s3.get_object(Bucket=name + "reportbucket", Key="a/b=ü")["Body"].read() == content)
print(s3.head_object(Bucket=name + "reportbucket", Key="a/b=ü")["ContentLength"])
try:
    s3.put_object(Bucket=name + "reportbucket", Key="a/b=ü", Body=b"", IfNoneMatch="*")
except s3.exceptions.ClientError as error:
    print(error.response["Error"]["Code"])
sqs.send_message(QueueUrl=name + "ParkedQueue", MessageBody="parked")
print(sqs.receive_message(QueueUrl=name + "ParkedQueue")["Messages"][0]["Body"])
"""


def test_aws_clients_elsewhere_reach_the_tables_the_bucket_and_the_queues(up: tuple[Server, Stack]) -> None:
    server, stack = up
    command = [sys.executable, "-c", CLIENTS, server.url, stack.ref("IdentityTable").removesuffix("IdentityTable")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    expected = ["{'event': {'S': 'é'}}", "True", "12800000", "PreconditionFailed", "parked"]
    assert (ended.stdout.splitlines(), ended.stderr) == (expected, "")


EXECUTION = """
import sys, time, boto3
own = {"region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "x"}
states = boto3.client("stepfunctions", endpoint_url=sys.argv[1], **own)
started = states.start_execution(stateMachineArn=sys.argv[2], name="by-hand", input="{}")["executionArn"]
while (execution := states.describe_execution(executionArn=started))["status"] == "RUNNING":
    time.sleep(0.1)
print(execution["status"], execution["output"])
"""


def test_an_execution_that_is_started_elsewhere_runs_on_the_stack(up: tuple[Server, Stack]) -> None:
    server, _ = up
    arn = "arn:aws:states:us-east-1:123456789012:stateMachine:quarterhour-dev-statements"
    command = [sys.executable, "-c", EXECUTION, server.url, arn]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    status, output = ended.stdout.split(" ", 1)
    assert (status, json.loads(output)["next"], ended.stderr) == ("SUCCEEDED", "done", "")


def test_an_engine_of_ones_own_may_name_all_as_sam_local_does() -> None:
    with open_stack("embedded", plain=True) as stack:
        names = {"IdentityTable", "LedgerTable", "EntityTable", "ReportBucket"}
        assert {name: stack.ref(name) for name in names} == {name: name for name in names}
        assert stack.ref("ParkedQueue").endswith("/ParkedQueue")
        assert stack.invoke("report", {})["sealed_quarter_hours"] == 0


class _Pump:
    """Delivers twice, the first time until somebody waits; notes what happens when."""

    def __init__(self, server: Server, order: list[str]) -> None:
        self._server = server
        self._order = order
        self.began = threading.Event()

    def deliver_next(self, _: datetime, most: int) -> bool:
        assert most < 100
        if len(self._order) >= 3:
            return False
        self._order.append("delivery")
        self.began.set()
        if len(self._order) == 1:
            until(lambda: self._server.turns.waiting)
        return True


def test_a_request_waits_for_one_delivery_and_not_for_all() -> None:
    server, order = Server(0), list[str]()
    pump = _Pump(server, order)

    def answered(_: object) -> Response:
        order.append("request")
        return Response(200, {}, b"{}")

    stack = SimpleNamespace(pumps=[pump], schedules=list, ref=str, request=answered, read_streams=str)
    with server.serving(cast("Stack", stack)):
        assert pump.began.wait(20)
        assert call(f"{server.url}/reports") == (200, {})
        until(lambda: len(order) == 3)
    assert order == ["delivery", "request", "delivery"]
