"""Sending a file from the command line to a running stack, on good days and on bad ones."""

import gzip
import io
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.cli import main
from quarterhour_tools.emulator.http_api import Request
from tests.support import misbehaving
from tests.support.events import Cloud, refund, sale
from tests.support.misbehaving import reset, response
from tests.support.system import World, opened
from tests.support.tables import ledger

RUN = "import sys; from quarterhour_tools.entry import main; sys.exit(main())"


def write(file: Path, events: list[Any]) -> str:
    file.write_bytes(b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in events))
    return str(file)


def sales(number: int) -> list[Cloud]:
    return [sale(f"s{at}", f"{at}.25") for at in range(number)]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with opened() as deployed:
        yield deployed


def serving(world: World) -> AbstractContextManager[str]:
    """Have the system answer over HTTP, one request at a time; nothing runs in the background."""
    lock = threading.Lock()

    def reply(connection: socket.socket, request: bytes) -> None:
        head, _, body = request.partition(b"\r\n\r\n")
        first, *rows = head.decode().split("\r\n")
        method, path, _ = first.split(" ")
        headers = tuple((name, value) for name, _, value in (row.partition(": ") for row in rows))
        with lock:
            found = world.stack.request(Request(method, path, headers=headers, body=body))
        connection.sendall(response(str(found.status), found.body, found.headers["content-type"]))

    return misbehaving.serving(reply)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return tmp_path / "events.ndjson"


def send(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any], str]:
    """Run the command; return its exit code, the object that it prints, and its messages."""
    code = main(["send", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    assert captured.out, captured.err
    return code, json.loads(captured.out), captured.err


def counts(**given: int) -> dict[str, Any]:
    names = ("recorded", "duplicate", "held", "conflict", "rejected", "unavailable")
    found: dict[str, Any] = {name: given.get(name, 0) for name in names}
    bad = found["conflict"] + found["rejected"] + found["unavailable"]
    return {"sent": sum(found.values()), **found, "complete": not bad}


def test_a_file_is_recorded_once_and_every_line_has_its_verdict(
    world: World, events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        events, [*sales(700), b"", refund("r", "-1", of="none"), sale("s0", "7"), b"no json", b"{}", sale("s1", "1.25")]
    )
    with serving(world) as url:
        first = send(capsys, events, "--url", url, "--at-once", 1)  # in the order of the file: one line is a conflict
        assert send(capsys, events, "--url", url)[:2] == first[:2], "the second run finds everything sent"
        events.with_name("events.ndjson.receipts").unlink()
        code, again, _ = send(capsys, events, "--url", url, "--at-once", 1)
        assert (code, again["duplicate"], again["recorded"], again["held"]) == (1, 701, 0, 1)
    code, printed, errors = first
    assert (code, printed) == (
        1,
        counts(recorded=700, duplicate=1, held=1, conflict=1, rejected=2) | {"complete": False},
    )
    assert "line 703: conflict: id" in errors
    assert "line 704: rejected: line is not JSON: Expecting value at character 1" in errors
    assert "line 705: rejected: specversion is missing" in errors
    assert "events.ndjson.receipts has the verdict of each line" in errors
    assert sum(item["id"].startswith("s") for item in ledger(world)) == 700


def test_a_compressed_file_and_standard_input_are_sent_too(
    world: World, events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"".join(json.dumps(sale(f"z{at}", "1")).encode() + b"\r\n" for at in range(3))
    (packed := events.with_suffix(".gz")).write_bytes(gzip.compress(b"\xef\xbb\xbf" + content))
    with serving(world) as url:
        assert send(capsys, packed, "--url", url)[:2] == (0, counts(recorded=3))
        for more, found in (((), counts(duplicate=3)), (("--receipts", events), counts(duplicate=3))):
            for _ in range(2):
                monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
                assert send(capsys, "-", "--url", url, *more)[:2] == (0, found)
    assert len(events.read_bytes().splitlines()) == 5, "the second run with receipts has added none"


def test_an_empty_file_is_complete_and_a_truncated_one_is_not(
    world: World, events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events.write_bytes(b"")
    (packed := events.with_suffix(".gz")).write_bytes(
        gzip.compress(b"".join(json.dumps(sale(f"t{at}", "1")).encode() + b"\n" for at in range(900)))[:-200]
    )
    with serving(world) as url:
        assert main(["send", str(events), "--url", url]) == 0
        assert "complete: there is no event" in capsys.readouterr().out
        code, printed, errors = send(capsys, packed, "--url", url)
    assert (code, printed["complete"], printed["sent"]) == (1, False, printed["recorded"])
    assert 0 < printed["recorded"] < 900
    assert f"what follows line {printed['recorded']} cannot be read: Compressed file ended" in errors


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["none.ndjson", "--url", "http://127.0.0.1:1"], "none.ndjson: No such file"),
        ([".", "--url", "http://127.0.0.1:1"], "is not a regular file"),
        (
            ["events.ndjson", "--url", "localhost:8080"],
            "which does not begin with http:// or https://: expected an address such as",
        ),
        (["events.ndjson", "--url", "http://[::1"], "--url is"),
        (["events.ndjson", "--url", "http://127.0.0.1:1/?stage=1"], "--url has a user, a query or a fragment"),
        (["events.ndjson", "--url", "http://127.0.0.1:1", "--receipts", "."], "name another one with --receipts"),
    ],
)
def test_what_cannot_be_sent_is_said_at_once(
    events: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    problem: str,
) -> None:
    write(events, sales(1))
    monkeypatch.chdir(events.parent)
    assert main(["send", *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_a_password_in_the_address_is_refused_and_written_nowhere(
    events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(events, sales(1))
    assert main(["send", str(events), "--url", "http://ann:secret@127.0.0.1:1"]) == 2
    assert "secret" not in capsys.readouterr().err
    assert list(events.parent.iterdir()) == [events]


@pytest.mark.parametrize("option", [["--at-once", "0"], ["--at-once", "x"], ["--give-up-after", "9" * 5000]])
def test_an_option_out_of_range_is_refused(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["send", "-", "--url", "http://127.0.0.1:1", *option])
    assert "expected a whole number, 1 to" in capsys.readouterr().err


# ---------------------------------------------------------------- bad days


def hang(_connection: socket.socket, _request: bytes) -> None:
    threading.Event().wait(5)


def drip(connection: socket.socket, _request: bytes) -> None:
    """Answer without end: never silent for long, and never done."""
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
    for _ in range(50):
        connection.sendall(b" ")
        threading.Event().wait(0.1)


def half(connection: socket.socket, _request: bytes) -> None:
    connection.sendall(response("202 Accepted", b'{"items": [{"index": 0, "verdict": "recorded"}]}')[:-9])
    connection.close()


def answering(status: str, *more: str) -> misbehaving.Reply:
    return lambda connection, _: connection.sendall(response(status, b"<html>\x1b[31mno</html>", "text/html", *more))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (hang, "hangs"),
        (drip, "hangs"),
        (half, "had no answer"),
        (lambda connection, _: reset(connection), "had no answer"),
        (answering("200 OK"), "was answered with 200: <html> [31mno</html>"),
        (answering("429 Too Many Requests", "retry-after: 3600"), "was answered with 429"),
    ],
)
def test_a_server_that_never_recovers_ends_sending_in_time(
    events: Path, capsys: pytest.CaptureFixture[str], reply: misbehaving.Reply, problem: str
) -> None:
    write(events, sales(2))
    with misbehaving.serving(reply) as url:
        code, printed, errors = send(capsys, events, "--url", url, "--give-up-after", 1)
    assert (code, printed) == (1, counts(unavailable=2))
    assert f"lines 1 to 2: unavailable: request {problem}" in errors
    assert "no line got a verdict for 1 seconds: nothing more was sent" in errors
    assert "the same command sends what is missing" in errors
    assert "\x1b" not in errors


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        ("401 Unauthorized", "use credentials with execute-api:Invoke"),
        ("403 Forbidden", "use credentials with execute-api:Invoke"),
        ("404 Not Found", "is this the address of Quarterhour's API?"),
        ("301 Moved Permanently", "is this the address of Quarterhour's API?"),
        ("413 Content Too Large", "is this the address of Quarterhour's API?"),
    ],
)
def test_a_server_that_refuses_the_sender_ends_sending_at_once_with_what_to_do(
    events: Path, capsys: pytest.CaptureFixture[str], status: str, advice: str
) -> None:
    write(events, sales(2))
    with misbehaving.serving(answering(status, "location: http://127.0.0.1:1/")) as url:
        code, printed, errors = send(capsys, events, "--url", url)
    assert (code, printed) == (1, {**counts(), "complete": False})
    assert f"POST /events was answered with {status[:3]}" in errors
    assert advice in errors


@pytest.mark.slow
def test_faults_on_the_way_and_kills_of_the_sender_change_no_sum(world: World, events: Path) -> None:
    """5 % of the requests are dropped, reset or answered with half an answer; the sender is killed twice."""
    number, chance = 6000, random.Random(7)  # noqa: S311 - reproducible, not secret
    write(events, [sale(f"f{at}", f"{at}.01", agency="faults") for at in range(number)])
    taken = [0]

    with serving(world) as server:

        def reply(connection: socket.socket, request: bytes) -> None:
            fault = chance.choice(["drop", "reset", "half"]) if chance.random() < 0.05 else ""
            if fault == "drop":
                return reset(connection)
            answer = misbehaving.forwarded(server, request)
            taken[0] += 1
            if fault == "reset":
                return reset(connection)
            connection.sendall(answer[: len(answer) // 2] if fault else answer)
            return connection.close() if fault else None

        with misbehaving.serving(reply) as url:
            command = [sys.executable, "-c", RUN, "send", str(events), "--url", url, "--json", "--at-once", "2"]
            for kill in (2, 6):
                with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:  # noqa: S603 - our own
                    while running.poll() is None and taken[0] < kill:
                        threading.Event().wait(0.02)
                    running.kill()
            ended = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603 - our own
    printed = json.loads(ended.stdout)
    assert (ended.returncode, printed["complete"], printed["sent"]) == (0, True, number), ended.stderr
    assert printed["recorded"] + printed["duplicate"] == number
    amounts = [Decimal(item["amount"]) for item in ledger(world) if item["agency"] == "faults"]
    assert (len(amounts), sum(amounts)) == (number, sum(Decimal(f"{at}.01") for at in range(number)))


def test_an_interrupt_says_how_to_go_on(events: Path) -> None:
    write(events, sales(3))
    came, ended = threading.Event(), threading.Event()

    def reply(_connection: socket.socket, _request: bytes) -> None:
        came.set()
        ended.wait(60)

    with misbehaving.serving(reply) as url:
        command = [sys.executable, "-c", RUN, "send", str(events), "--url", url, "--json"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as running:  # noqa: S603 - our own
            assert came.wait(30)
            os.kill(running.pid, signal.SIGINT)
            out, errors = running.communicate(timeout=50)
        ended.set()
    assert running.returncode == 130
    assert json.loads(out) == {**counts(), "complete": False}
    assert "interrupted: run the same command again to go on" in errors
    assert errors.endswith("quarterhour: interrupted\n")
    assert "Traceback" not in errors


def test_a_hundred_reasons_are_shown_and_the_others_counted(
    world: World, events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(events, [b"bad %d" % at for at in range(1500)])
    with serving(world) as url:
        assert main(["send", str(events), "--url", url]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("1,500 lines: 0 recorded, 0 duplicate, 0 held, 0 conflict, 1,500 rejected, 0 unav")
    assert "lines 1 to 100: rejected: line is not JSON" in captured.err
    assert "... and 1,400 more lines" in captured.err
    assert "no line is an event: `quarterhour csv` converts CSV files" in captured.err
