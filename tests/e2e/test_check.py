"""`quarterhour check` on an emulator, and on what stands for a deployed stack: whole, failing, interrupted, killed."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest

from quarterhour.model.clock import ManualClock, SystemClock, iso_seconds
from quarterhour.notifications import requests
from quarterhour.notifications.subscription import Attempt, DeliveryOutcome
from quarterhour.notifications.webhook import WebhookSender
from quarterhour_tools.cli import main
from quarterhour_tools.emulator.direct import ACCOUNT
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.operations.check.plan import AGENCY, SOURCE
from tests.support.repository import ROOT
from tests.support.served import served, until
from tests.support.statement_parties import OWNER
from tests.support.system import START, World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RUN = "import sys; from quarterhour_tools.entry import main; sys.exit(main())"
FUNCTIONS = ("Report", "Statements")
ROW = re.compile(r'<tr[^>]*><th scope="row">(.*?)</th><td>(?:<span class="short">)?(\w+)')


class Passing(ManualClock):
    """A clock on which a pause passes almost at once."""

    def sleep(self, seconds: float) -> None:
        self.advance(timedelta(seconds=seconds))
        threading.Event().wait(0.005)


class Aws:
    """Stands for the clients of AWS: a stack with people's API, whose first period is this month."""

    def __init__(self, server: Server, world: World) -> None:
        self._server = server
        self._world = world

    def client(self, service: str, **_: object) -> Any:
        assert service in {"cloudformation", "lambda"}
        return self

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803 - AWS's own
        assert StackName == "quarterhour-dev"
        url = self._server.url
        people = url.replace("127.0.0.1", "localhost")
        outputs = {"ApiUrl": url, "PeopleApiUrl": people, **{f"{one}FunctionName": one for one in FUNCTIONS}}
        return {"Stacks": [{"Outputs": [{"OutputKey": key, "OutputValue": value} for key, value in outputs.items()]}]}

    def invoke(self, FunctionName: str, Payload: str) -> Any:  # noqa: N803 - AWS's own
        with self._server.turns.taken():
            answer = self._world.stack.invoke(FunctionName.lower(), json.loads(Payload))
        return {
            "Payload": io.BytesIO(json.dumps(answer).encode()),
            "ResponseMetadata": {"HTTPStatusCode": 200, "HTTPHeaders": {"x-amzn-requestid": "invoked"}},
        }


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "check.html"


@pytest.fixture
def checked() -> Iterator[tuple[Server, World, Passing]]:
    clock = Passing(START)
    parameters = {"release": "manual", "approvals": 2, "grace_days": 1}
    parameters |= {"Notifications": "webhooks-and-bus"}
    with served(clock, {"Stage": "checked", **parameters}) as (server, world):
        yield server, world, clock


def steps(page: Path) -> dict[str, str]:
    """Return the outcomes on a page by the titles of the steps."""
    return dict(ROW.findall(page.read_text().partition("<h2>Calls</h2>")[0]))


def left(server: Server, world: World) -> list[Decimal]:
    """Return the amount and the commission that are left of all checks, from the ledger."""
    with server.turns.taken():
        span = {"from_": "2026-10-01", "to": "2027-10-01"}
        found = world.all("/events", **span, source=SOURCE, agency=AGENCY)
    assert found
    return [sum((Decimal(one[name]) for one in found), Decimal()) for name in ("amount", "commission")]


def test_a_check_ends_with_nothing_left_and_its_statement_waits_for_a_second_person(
    checked: tuple[Server, World, Passing], page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, world, clock = checked
    run = ["check", "--url", server.url, "--out", str(page)]
    assert main(run) == 0
    passed = ["Agency registered", "Earlier checks cancelled out", "Events recorded", "Events sent again"]
    passed += ["Events counted", "Quarter-hour sealed", "Sealed files downloaded", "Console from outside"]
    passed += ["Notifications sent"]
    others = {
        "Callers without a signature": "skipped",
        "Statement released": "waiting",
        "Events cancelled out": "passed",
    }
    assert steps(page) == {**dict.fromkeys(passed, "passed"), **others}
    assert left(server, world) == [0, 0]
    out = capsys.readouterr().out
    assert "check again after 2026-11-02T00:00:00Z" in out
    assert f"10 passed, 1 waiting, 1 skipped; written to {page}" in out
    assert "the webhook has the outcome unknown_host, the bus has the event, after" in out
    assert "3 sales voided, 1 held event discarded" in out
    with server.turns.taken():
        assert [one["name"] for one in world.read("/subscriptions")["items"]] == ["bus"], "its subscription is gone"
    with server.turns.taken():
        world.write("/documents/owner", OWNER)
    clock.advance_to(datetime(2026, 11, 2, 0, 20, tzinfo=UTC))
    with server.turns.taken():
        world.drain()
        world.report()
        world.stack.invoke("statements", {})
    assert main([*run, "--wait", "1"]) == 1
    out = capsys.readouterr().out
    assert "Quarter-hour sealed: the quarter-hour is not over (after 1 minute)\n" in out
    assert (
        "Statement released: the release of 2026-10 is proposed: a second person must run "
        f"`quarterhour statements --release {AGENCY} --period 2026-10`\n"
    ) in out
    assert steps(page)["Quarter-hour sealed"] == "failed"
    assert left(server, world) == [0, 0]


def test_a_failing_step_of_a_deployed_stack_is_on_a_page_without_its_address(
    checked: tuple[Server, World, Passing],
    page: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server, world, clock = checked
    with server.turns.taken():
        world.change_settings(first_period="2026-10", periods_from=iso_seconds(clock.now() + timedelta(hours=1)))
    clock.advance(timedelta(hours=1))
    world.stack.anonymous = False
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLEEXAMPLE12")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setattr(boto3, "client", Aws(server, world).client)
    # The stack's API would be a receiver in the Internet: it answers 403 without a signature.
    monkeypatch.setattr(requests, "read_address", lambda text, **_: text)
    monkeypatch.setattr(WebhookSender, "send", lambda *_: Attempt(DeliveryOutcome.BAD_STATUS, 403))
    assert main(["check", "--stack", "quarterhour-dev", "--out", str(page), "--seal"]) == 1
    out = capsys.readouterr().out
    assert "the webhook has the outcome bad_status 403, the bus has the event" in out
    assert "2 APIs refused a caller without a signature" in out
    assert "4 events recorded, in 2026-09, which is on no statement" in out
    assert "Console from outside: connect-src lacks the host of sealed files\n" in out
    assert "the events are on no statement, as they count before 2026-10" in out
    assert "Invoke Report 200 invoked" in out
    world.stack.anonymous = True
    assert left(server, world) == [0, 0]
    text = page.read_text()
    assert "127.0.0.1" not in text
    assert "localhost" not in text
    assert "AKIA" not in text
    assert ACCOUNT not in text


def test_a_killed_check_is_cancelled_out_by_the_next_and_an_interrupted_one_by_itself(page: Path) -> None:
    with served(Passing(SystemClock().now()), {"Stage": "ended"}) as (server, world):
        command = [sys.executable, "-c", RUN, "check", "--url", server.url, "--out", str(page)]
        pipe = subprocess.PIPE
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'layers' / 'quarterhour'}"}

        def ended_by(number: signal.Signals) -> tuple[int, str, str]:
            with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as running:  # noqa: S603 - our own
                out = running.stdout
                assert out
                until(lambda: "Events recorded" in out.readline())
                os.kill(running.pid, number)
                rest, errors = running.communicate(timeout=60)
            return running.returncode, rest, errors

        code, _, _ = ended_by(signal.SIGKILL)
        assert code == -signal.SIGKILL
        assert left(server, world) == [Decimal("28.00"), Decimal("3.500")]
        code, rest, errors = ended_by(signal.SIGINT)
        assert code == 130
        assert errors.endswith("quarterhour: interrupted\n")
        assert "Events cancelled out: 3 sales voided: the amounts of the agency are 0\n" in rest
        found = steps(page)
        assert found["Earlier checks cancelled out"] == found["Events cancelled out"] == "passed"
        assert "interrupted" in found.values()
        assert left(server, world) == [0, 0]
