"""Connections to the API on this machine that do not behave: none prints a trace or holds a thread for ever."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from quarterhour_tools.emulator import server as module
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.server import Server

if TYPE_CHECKING:
    from quarterhour_tools.emulator.stack import Stack

HELLO = b"GET /hello HTTP/1.1\r\nHost: here\r\n\r\n"


@contextmanager
def serving(answer: Callable[[Request], Response]) -> Iterator[Server]:
    """Serve a stack that does nothing, with these answers; wait at the end until each connection has ended."""
    server = Server(0)
    server.answer = answer  # type: ignore[assignment, method-assign] # in place of the functions
    idle = cast("Stack", SimpleNamespace(pumps=[], schedules=list, read_streams=str, complete_executions=list))
    thread = threading.Thread(target=server.serve, args=(idle,))
    before = set(threading.enumerate())
    thread.start()
    try:
        yield server
        for one in set(threading.enumerate()) - before - {thread}:
            if "process_request_thread" in one.name:
                one.join(20)
                assert not one.is_alive()
    finally:
        server.stop()
        thread.join()


def hello(_: Request) -> Response:
    return Response(200, {"content-type": "text/plain"}, b"hello")


def sent(server: Server, content: bytes) -> bytes:
    """Send bytes; return all that is answered, until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.sendall(content)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_client_that_goes_away_before_its_answer_prints_no_trace(capfd: pytest.CaptureFixture[str]) -> None:
    requested, gone = threading.Event(), threading.Event()

    def late(_: Request) -> Response:
        requested.set()
        gone.wait(20)
        return Response(200, {}, b"x" * 50_000_000)

    with serving(late) as server:
        connection = socket.create_connection(("127.0.0.1", server.server_port))
        connection.sendall(HELLO)
        requested.wait(20)
        # Reset, as a process that was killed leaves it.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        gone.set()
    assert "Traceback" not in capfd.readouterr().err


def test_a_request_whose_body_ends_early_is_not_carried_out() -> None:
    carried_out: list[Request] = []

    def noted(request: Request) -> Response:
        carried_out.append(request)
        return hello(request)

    with serving(noted) as server, socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.sendall(b"POST /events HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1000) == b""
    assert not carried_out


@pytest.mark.parametrize(
    "content", [b"", b"GET /hello HT", HELLO[:-2], b"POST /events HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf"]
)
def test_an_idle_or_half_sent_connection_is_dropped(
    content: bytes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module._Handler, "timeout", 0.2)
    with serving(hello) as server:
        assert sent(server, content) == b""
    assert capfd.readouterr().err == ""


def test_a_connection_that_is_idle_after_an_answer_is_dropped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._Handler, "timeout", 0.2)
    with serving(hello) as server:
        assert sent(server, HELLO).endswith(b"\r\n\r\nhello")


def test_connections_are_not_kept_for_ever() -> None:
    assert module._Handler.timeout


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + b"".join(b"x-%d: 1\r\n" % n for n in range(200)) + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nx: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (b"BREW / HTTP/1.1\r\n\r\n", 501),
        (b"\x1b[2J\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\n\r\n", 505),
        (b"POST / HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
    ],
)
def test_a_request_that_cannot_be_read_is_answered_as_a_problem(
    content: bytes, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(hello) as server:
        head, _, body = sent(server, content).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/problem+json" in head.lower()
    problem: dict[str, Any] = json.loads(body)
    assert (problem["status"], set(problem)) == (status, {"title", "status", "detail"})
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith(f" {status}")
    assert line.isprintable()
    assert len(line) < 200
