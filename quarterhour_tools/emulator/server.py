"""`quarterhour up`: the emulator with an HTTP server, and with streams and schedules on the machine's clock."""

import json
import re
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from quarterhour.model import clock
from quarterhour.model.fields import printable
from quarterhour.reports.keys import CONTENT_TYPES
from quarterhour_tools.emulator.engines import SERVICES
from quarterhour_tools.emulator.event_source import EventSource
from quarterhour_tools.emulator.http_api import Request, Response, message
from quarterhour_tools.emulator.stack import Stack


class Turns:
    """A lock for the thread that has waited longest; a plain lock mostly returns to the thread that released it."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._queue: deque[Lock] = deque()
        """The thread that has the turn, then the waiting threads; each waits for its own lock."""

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn, and hold it for the length of the block."""
        own = Lock()
        own.acquire()
        with self._guard:
            self._queue.append(own)
            if self._queue[0] is own:
                own.release()
        own.acquire()  # if others are ahead, the last of them releases it
        try:
            yield
        finally:
            with self._guard:
                self._queue.popleft()
                if self._queue:
                    self._queue[0].release()

    @property
    def waiting(self) -> int:
        """The number of threads that wait for a turn."""
        return max(0, len(self._queue) - 1)


HOST: Final = "127.0.0.1"

_SIGNED_FOR: Final = re.compile(r"AWS4-HMAC-SHA256 Credential=[^/]+/\d{8}/[^/]+/([\w-]+)/aws4_request\b.*")
_INVOCATION: Final = re.compile(r"/2015-03-31/functions/(\w+)/invocations")
_LARGEST_BODY: Final = 10_000_000
_LONGEST_LENGTH: Final = 20
"""Digits of a ``Content-Length``."""
_LONGEST_LINK: Final = timedelta(days=7)
_EARLIEST_LINK: Final = timedelta(minutes=15)
"""How far ahead of now a link may be signed; S3 has the same limits."""
_POLL_SECONDS: Final = 0.25
_RECORDS_A_TURN: Final = 20
"""The most records of a delivery. Each may be of another account, and then costs another transaction."""
_STOPS_WITHIN: Final = 0.02
"""Seconds until `serve` notices that it is to end; the base class takes half a second."""
_PAUSE_SECONDS: Final = 0.002
"""Between two deliveries: they hold Python's global lock almost always, and connections need it too."""
_SHOWN: Final = 120


class Server(ThreadingHTTPServer):
    """Answers requests. In the background it delivers streams, runs executions and fires schedules.

    One invocation runs at a time; a page of a list ends early if other requests wait for it.
    """

    daemon_threads = True
    request_queue_size = 128
    """Connections that wait to be accepted. A browser opens several at once; one too many is tried a second later."""

    def __init__(self, port: int, host: str = HOST) -> None:
        """Bind a port of this machine; 0 for any free port. Raises ``OSError`` if it cannot be bound."""
        super().__init__((host, port), _Handler)
        self._host = host
        self._stack: Stack | None = None
        self.turns = Turns()
        self._unanswered: set[int] = set()
        """The threads whose requests are not answered yet."""
        self._stopped = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in the base class
        """Print the traceback of an error; a client that closes its connection is not an error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://{self._host}:{self.server_port}"

    def serve(self, stack: Stack) -> None:
        """Serve a stack until ``stop`` is called or Ctrl-C is pressed."""
        self._stack = stack
        stack.others_wait = lambda: len(self._unanswered) > 1
        background = threading.Thread(target=self._work, args=(stack,), daemon=True)
        background.start()
        try:
            self.serve_forever(_STOPS_WITHIN)
        finally:
            self._stopped.set()
            background.join()
            self.server_close()

    @contextmanager
    def serving(self, stack: Stack) -> Iterator[None]:
        """Serve a stack in another thread for the length of the block."""
        thread = threading.Thread(target=self.serve, args=(stack,))
        thread.start()
        try:
            yield
        finally:
            self.stop()
            thread.join()

    def stop(self) -> None:
        """Make ``serve`` return; to be called from another thread."""
        self.shutdown()

    def answer(self, request: Request) -> Response:
        """Answer a request to the API, to a signed link of a sealed file, or to a service of the engine."""
        stack = self._stack
        if stack is None:
            return message(503, "not ready yet")
        with self._answering(), self.turns.taken():
            service = service_of(request)
            if service in SERVICES:
                return stack.engine.answer(service, request)
            prefix = f"/{stack.ref('ReportBucket')}/"
            if request.path.startswith(prefix):
                return _sealed_file(stack, unquote(request.path.removeprefix(prefix)), request)
            if (match := _INVOCATION.fullmatch(request.path)) and stack.is_machine(request):
                return _invoked(stack, match[1], request)
            return stack.request(request)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Count the request of this thread among those that wait."""
        self._unanswered.add(threading.get_ident())
        try:
            yield
        finally:
            self._unanswered.discard(threading.get_ident())

    def _work(self, stack: Stack) -> None:
        """Deliver the streams, run the executions and fire the schedules until the server stops."""
        last = clock.now()
        while not self._stopped.wait(_POLL_SECONDS):
            try:
                with self.turns.taken():
                    stack.read_streams(clock.now())
                for pump in stack.pumps:
                    self._drain(pump)
                with self.turns.taken():
                    stack.complete_executions()
                    now = clock.now()
                    for schedule in stack.schedules():
                        if schedule.fires_within(last, now):
                            _fire(stack, schedule.function)
                    last = now
            except Exception:  # noqa: BLE001 - the next round continues
                traceback.print_exc(file=sys.stderr)

    def _drain(self, pump: EventSource) -> None:
        """Deliver all batches that are due, few records in a turn: a request waits for these, not for all."""
        due = True
        while due and not self._stopped.wait(_PAUSE_SECONDS):
            with self.turns.taken():
                due = pump.deliver_next(clock.now(), _RECORDS_A_TURN)


def service_of(request: Request) -> str:
    """Return the AWS service that a request is signed for; empty if it is not signed."""
    headers = {name.lower(): value for name, value in request.headers}
    match = _SIGNED_FOR.fullmatch(headers.get("authorization", ""))
    return match[1] if match else ""


def _fire(stack: Stack, function: str) -> None:
    with suppress(Exception):  # the stack has printed it; the next firing continues the work, as in AWS
        stack.invoke(function, {})


def _invoked(stack: Stack, function: str, request: Request) -> Response:
    """Invoke a function by name, as Lambda's API does: functions for operators have no route."""
    if request.method != "POST" or function not in stack.functions:
        return message(404, f"there is no function {function}")
    try:
        answer = stack.invoke(function, json.loads(request.body or b"{}"))
    except Exception as error:  # noqa: BLE001 - Lambda returns any exception of a function in this form
        error_body = {"errorType": type(error).__name__, "errorMessage": str(error)}
        return Response(200, {"x-amz-function-error": "Unhandled"}, json.dumps(error_body).encode())
    return Response(200, {"content-type": "application/json"}, json.dumps(answer).encode())


def _sealed_file(stack: Stack, key: str, request: Request) -> Response:
    """Answer a signed link of the API. Its age is checked, but not its signature: only this machine is served."""
    query = parse_qs(request.query)
    try:
        signed = datetime.strptime(query["X-Amz-Date"][0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        valid = timedelta(seconds=int(query["X-Amz-Expires"][0]))
    except (KeyError, ValueError, OverflowError):
        return problem(403, "the link is not signed")
    # Links are signed by the machine's clock, even if the ledger uses another.
    age = clock.SystemClock().now() - signed
    if request.method != "GET" or not -_EARLIEST_LINK <= age <= valid <= _LONGEST_LINK:
        return problem(403, "the link is not valid any more, or for another method")
    if not key:
        return problem(404, "the link names no file")
    try:
        with stack.bucket.open(key) as file:
            content = file.read()
    except FileNotFoundError:
        return problem(404, f"there is no file {key}")
    kind = CONTENT_TYPES.get(key.rpartition(".")[2], "application/octet-stream")
    return Response(200, {"content-type": kind}, content)


def problem(status: int, detail: str) -> Response:
    """Return a response with problem details (RFC 9457)."""
    content = {"title": HTTPStatus(status).phrase, "status": status, "detail": printable(detail)}
    return Response(status, {"content-type": "application/problem+json"}, json.dumps(content).encode())


class _Handler(BaseHTTPRequestHandler):
    """Reads requests from a connection, and writes the responses to it."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "quarterhour"
    timeout = 60
    """Seconds that a connection may be idle or take for a request; each connection holds a thread."""
    wbufsize = -1
    """Buffered: the answer is sent in one piece, so that its thread waits once for Python's global lock, not twice."""

    def _handle(self) -> None:
        began = time.monotonic()
        path, _, query = self.path.partition("?")
        request = Request(self.command, path, query, tuple(self.headers.items()))
        if not path.startswith("/"):
            self.send_error(400, "the path does not begin with a slash")
            return
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal():
            self.send_error(411, "send the body with a Content-Length")
            return
        if len(length) > _LONGEST_LENGTH or (int(length) > _LARGEST_BODY and service_of(request) not in SERVICES):
            self.send_error(413, f"the body has more than {_LARGEST_BODY} bytes")
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True  # the client closed the connection before the end of the body
            return
        try:
            answer = self.server.answer(replace(request, body=body))
        except Exception:  # noqa: BLE001 - moto raises anything for what no AWS client sends
            traceback.print_exc(file=sys.stderr)
            answer = problem(500, "the request failed, and the log says why")
        self._send(answer)
        target = self.headers.get("X-Amz-Target") or f"{self.command} {self.path}"
        _log(target, f"{answer.status} {1000 * (time.monotonic() - began):.0f} ms")

    def handle_expect_100(self) -> bool:
        """Tell the client at once to send the body that it holds back."""
        continues = super().handle_expect_100()
        self.wfile.flush()
        return continues

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer an unreadable request with a problem (RFC 9457), and close the connection."""
        self.request_version = self.protocol_version  # the client's may be unreadable
        self.close_connection = True
        self._send(problem(code, explain or message or HTTPStatus(code).phrase))
        _log(self.requestline, str(code))

    def _send(self, answer: Response) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if "content-length" not in answer.headers:
            self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _handle  # noqa: N815 - the base class needs these names

    def log_message(self, *_: Any) -> None:  # noqa: ANN401
        """Print nothing: ``_handle`` prints each request when it is answered."""


def _log(request: str, result: str) -> None:
    print(printable(request, _SHOWN), result, file=sys.stderr)
