"""Functions restored from a snapshot of their initialized state, which SnapStart takes once for many processes."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from quarterhour.aws import clients
from quarterhour.model.clock import iso_seconds
from quarterhour_tools.emulator.context import Context
from quarterhour_tools.emulator.loading import load
from quarterhour_tools.emulator.template import Template
from tests.support.repository import ROOT
from tests.support.system import World
from tests.support.tables import items, ledger
from tests.template.calls import LAMBDA
from tests.template.stack import attribute, parsed


def test_the_initialization_reads_no_clock_and_opens_no_connection() -> None:
    functions = [one for one in Template(parsed(), ROOT).functions(attribute).values() if one.routes]
    kept = {**LAMBDA, "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
    environments = {str(one.code / "handler.py"): {**kept, **one.environment} for one in functions}
    command = [sys.executable, "-m", "tests.support.initialization"]
    ended = subprocess.run(  # noqa: S603 - our own
        command, input=json.dumps(environments), capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert json.loads(ended.stdout) == {path: [] for path in environments}


def test_the_first_request_after_a_restore_prepares_the_ledger_for_its_own_time(world: World) -> None:
    initialized = load(world.stack.functions["ingest"], "snapshot")
    assert items(world, "EntityTable") == []

    world.clock.advance(timedelta(days=3))
    event = json.loads((ROOT / "events" / "ingest-one.json").read_text("utf-8"))
    answer = initialized.handler(event, Context("ingest", 1024, "restored", time.monotonic() + 30))

    assert answer["statusCode"] == 202
    (recorded,) = ledger(world)
    assert recorded["quarter_hour"].startswith("202610260130")
    controls = {item["sk"]: item for item in items(world, "EntityTable") if item["pk"] == "CONTROL"}
    assert controls.keys() == {"shards", "checkpoint", "recorded#202610260130"}
    assert controls["checkpoint"]["sealed_through"] == "202610260115"


class Credentials(BaseHTTPRequestHandler):
    """Lambda's own endpoint, from which a function with SnapStart gets its credentials."""

    answers: list[dict[str, str]]

    def do_GET(self) -> None:
        """Return the next credentials."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(self.answers.pop(0)).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        """Log nothing."""


def credentials(name: str, lifetime: timedelta) -> dict[str, str]:
    """Return credentials as Lambda answers them."""
    expiration = iso_seconds(datetime.now(UTC) + lifetime)
    return {"AccessKeyId": name, "SecretAccessKey": "secret", "Token": "token", "Expiration": expiration}


@pytest.fixture
def endpoint() -> Iterator[str]:
    """The URL of Lambda's endpoint, whose first credentials are about to expire."""
    Credentials.answers = [credentials("SNAPSHOT", timedelta(seconds=1)), credentials("RESTORED", timedelta(hours=6))]
    with HTTPServer(("127.0.0.1", 0), Credentials) as server:
        Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_restored_client_signs_with_credentials_of_its_own_time(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint)
    session = clients.session.__wrapped__()
    monkeypatch.setattr(clients, "session", lambda: session)
    signatures = []

    def sent(request: AWSPreparedRequest, **_: object) -> Any:
        signatures.append(str(request.headers["Authorization"]))
        nothing: Any = SimpleNamespace(stream=lambda: [b"{}"])
        headers: Any = {}
        return AWSResponse(request.url, 200, headers, nothing)

    client = clients.dynamodb()
    assert [one["AccessKeyId"] for one in Credentials.answers] == ["RESTORED"], "the others are in the snapshot"
    client.meta.events.register("before-send.dynamodb", sent)
    client.list_tables()
    assert ["Credential=RESTORED/" in one for one in signatures] == [True]
