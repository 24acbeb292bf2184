"""What the README shows and says to run, and the demo's whole output; and requests that are signed as AWS does it."""

import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from quarterhour_tools.cli import main
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import open_stack
from tests.support.repository import ROOT

KEY = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "EXAMPLEKEY", "AWS_REGION": "eu-west-1"}
README = (ROOT / "README.md").read_text("utf-8")
DEMO = Path(__file__).with_name("demo_output.txt").read_text("utf-8").strip().splitlines()
DEPLOY = README.partition("## Deploy")[2].partition("\n## ")[0]
RUNBOOKS = (ROOT / "docs" / "runbooks.md").read_text("utf-8")
FIRST_EVENT, FIRST_REPORT = re.findall(r"```sh\n(.*?)```", DEPLOY, re.DOTALL)[1:3]
(SHELL,) = re.findall(r"^api\(\) \{.*?\}$", RUNBOOKS, re.DOTALL | re.MULTILINE)
"""The helper with which operators sign requests."""

LINES = 10
"""How many lines the demo prints without its details; with them, they are the first line and the last ones."""
PACKED = re.compile(r"[\d,]+  [0-9a-f]{12}…")
"""The size of a packed file and its hash: another build of zlib may pack otherwise."""


def demo_output() -> list[str]:
    """Return the lines that the README says the demo prints."""
    (output,) = re.findall(r"```\n(A day of a made-up marketplace.*?)```", README, re.DOTALL)
    return str(output).strip().splitlines()


def without_sizes(lines: list[str]) -> list[str]:
    """Return lines of the demo's output, whatever packed its files."""
    return [PACKED.sub("", line).rstrip() for line in lines]


@pytest.mark.slow
def test_the_demo_prints_what_it_must(tmp_path: Path) -> None:
    run = "import sys; from quarterhour_tools.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["demo", "--details", "--out", "build/demo"]
    ended = subprocess.run(  # noqa: S603
        [sys.executable, "-c", run, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert without_sizes(ended.stdout.strip().splitlines()) == without_sizes(DEMO)


def test_the_readme_shows_all_that_the_demo_prints_without_its_details() -> None:
    shown = demo_output()
    assert len(shown) == LINES
    assert shown == [DEMO[0], *DEMO[1 - LINES :]]


@pytest.mark.slow
def test_the_commands_for_a_file_do_what_the_readme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"`quarterhour ((?:csv|replay|verify) [^`]+)`", README)
    assert [one.split()[0] for one in commands] == ["csv", "replay", "verify"]
    for command in commands:
        arguments, _, file = command.partition(" > ")
        assert main(arguments.split()) == 0
        output = capsys.readouterr().out
        if file:
            Path(file).write_text(output, "utf-8")


def signature(request: Request) -> str:
    """Return the signature that a request must have by what its own header says that it signs."""
    headers = {name.lower(): value for name, value in request.headers}
    signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    url = f"http://{headers['host']}{request.path}" + (f"?{request.query}" if request.query else "")
    aws = AWSRequest(request.method, url, {name: headers[name] for name in signed}, request.body)
    aws.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(
        Credentials(KEY["AWS_ACCESS_KEY_ID"], KEY["AWS_SECRET_ACCESS_KEY"]), "execute-api", KEY["AWS_REGION"]
    )
    return str(auth.signature(auth.string_to_sign(aws, auth.canonical_request(aws)), aws))


@pytest.mark.parametrize("token", ["", "FwoGZXIvYXdzE/+=="], ids=["a user's key", "a role's key"])
def test_an_operator_signs_requests_with_the_helper_of_the_runbooks(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which("curl"):
        pytest.skip("no requests were sent: there is no curl")
    sent: list[Request] = []
    server = Server(0)
    with open_stack("embedded") as stack:
        plain = stack.request

        def listening(request: Request) -> Response:
            sent.append(request)
            return plain(request)

        monkeypatch.setattr(stack, "request", listening)
        thread = threading.Thread(target=server.serve, args=(stack,))
        thread.start()
        try:
            script = f"{SHELL}\napi {server.url}/reports\napi -X PUT {server.url}/schedule -d '{{\"paused\": true}}'"
            variables = {**KEY, **({"AWS_SESSION_TOKEN": token} if token else {}), "PATH": "/usr/bin:/bin"}
            ended = subprocess.run(  # noqa: S603 - the README's own words
                ["/bin/sh", "-euc", script], env=variables, capture_output=True, text=True, check=False
            )
        finally:
            server.stop()
            thread.join()

    assert (ended.returncode, ended.stderr) == (0, "")
    assert [f"{one.method} {one.path}" for one in sent] == ["GET /reports", "PUT /schedule"]
    for request in sent:
        headers = {name.lower(): value for name, value in request.headers}
        assert headers["authorization"].endswith(f"Signature={signature(request)}")
        assert headers.get("x-amz-security-token", "") == token


def test_the_first_event_and_the_first_report_need_the_command_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    making, _, sending = FIRST_EVENT.partition("quarterhour ")
    asking = re.findall(r"^quarterhour (.+)$", FIRST_REPORT, re.MULTILINE)
    assert [one.split()[0] for one in asking] == ["sql", "verify"]
    subprocess.run(["/bin/sh", "-euc", making.partition("\n")[2]], check=True, cwd=tmp_path)  # noqa: S603
    monkeypatch.chdir(tmp_path)
    server = Server(0)
    with open_stack("embedded") as stack:
        thread = threading.Thread(target=server.serve, args=(stack,))
        thread.start()
        try:
            for expected in ("1 recorded", "1 duplicate"):
                Path("events.ndjson.receipts").unlink(missing_ok=True)
                assert main([*sending.strip().replace("--stack quarterhour-dev", f"--url {server.url}").split()]) == 0
                said = capfd.readouterr()
                assert expected in said.out + said.err
        finally:
            server.stop()
            thread.join()
