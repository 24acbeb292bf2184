"""A client of the HTTP API of a deployment or an emulator, whose requests are signed for IAM."""

import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote, urlsplit

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.exceptions import HTTPClientError
from botocore.httpsession import URLLib3Session
from urllib3.exceptions import HTTPError

from quarterhour.model.errors import FieldProblem, in_words
from quarterhour_tools.errors import ToolError

Json = Any
"""Any JSON value."""
Answered = Callable[[str, int, Mapping[str, str]], None]
"""Is called with a call, such as ``GET /accounts``, and with the status and the headers of its answer."""
IN_LEDGER: Final = frozenset({"recorded", "duplicate"})
"""The verdicts of an event that is in the ledger."""

_SERVICE: Final = "execute-api"
_LOCAL: Final = Credentials("local", "local")
"""For an emulator: it checks no signature, but may require one."""
_AT_ONCE: Final[Any] = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
"""Without it, the body of a request waits 40 ms for the receipt of its headers, which comes late."""
_TIMEOUT: Final = 35
"""Seconds. API Gateway answers within 30."""
_LARGEST_ANSWER: Final = 16 << 20
"""Bytes. Lambda's limit is 6 MB."""
_PIECE: Final = 1 << 16


def _unobserved(_call: str, _status: int, _headers: Mapping[str, str]) -> None:
    """Do nothing."""


def segment(name: str) -> str:
    """Return a name as one segment of a path: encoded twice, because API Gateway decodes the path once."""
    return quote(quote(name, safe=""), safe="")


def reasons(item: Mapping[str, Any]) -> str:
    """Return in one line why an event of a response is not in the ledger, or what it waits for."""
    problems = item.get("errors") or item.get("held", {}).get("problems", [])
    return in_words(FieldProblem(**one) for one in problems)


def failure(method: str, path: str, status: int, answer: Json) -> str:
    """Return the message of a request that failed: with the detail of the problem, or with all of another answer."""
    detail = answer.get("detail", answer) if isinstance(answer, dict) else answer
    return f"{method} {path} failed with {status}: {detail}"


class NoAnswerError(ToolError):
    """There was no whole answer to a request; whether it took effect is unknown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer to a request, not parsed; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Remote:
    """The HTTP API at an address."""

    def __init__(self, url: str, credentials: Credentials | None = None, connections: int = 1) -> None:
        """Take the address, the credentials for AWS (``None`` for an emulator), and how many requests at a time."""
        self.url = url.rstrip("/")
        self.answered: Answered = _unobserved
        """Is called with each answer to a request that the methods parse."""
        self._credentials = credentials
        self._http = URLLib3Session(timeout=_TIMEOUT, max_pool_connections=connections, socket_options=_AT_ONCE)

    @classmethod
    def deployed(cls, url: str, connections: int = 1) -> "Remote":
        """Return a deployment's API; raise ``ToolError`` if the machine has no credentials for AWS."""
        credentials = boto3.Session().get_credentials()
        if credentials is None:
            raise ToolError("there are no credentials for AWS to sign requests with")
        return cls(url, credentials, connections)

    def get(self, path: str, parameters: dict[str, str]) -> Json:
        """Send a GET and return the JSON of the response; raise ``ToolError`` if it fails."""
        status, answer = self._send(AWSRequest("GET", self.url + path, params=parameters))
        if status != 200:  # noqa: PLR2004 - HTTP's own
            raise ToolError(failure("GET", path, status, answer))
        return answer

    def pages(self, path: str, parameters: dict[str, str]) -> Iterator[Json]:
        """Yield the items of a list, page by page; raise ``ToolError`` if a page cannot be read."""
        page = self.get(path, parameters)
        yield from page["items"]
        while page["next"] is not None:
            page = self.get(path, {**parameters, "next": page["next"]})
            yield from page["items"]

    def post(self, path: str, content_type: str, body: Json) -> tuple[int, Json]:
        """Send a POST and return the status and the JSON of the response."""
        headers = {"content-type": content_type}
        return self._send(AWSRequest("POST", self.url + path, headers, json.dumps(body).encode()))

    def exchange(self, path: str, content_type: str, body: bytes) -> Answer:
        """Send a POST and return the answer as it comes, whatever it is; may be called by several threads.

        Raises ``NoAnswerError`` if there is no whole answer in time, or one that is too large.
        """
        request = AWSRequest("POST", self.url + path, {"content-type": content_type}, body, stream_output=True)
        self._sign(request)
        try:
            response = self._http.send(request.prepare())
            try:
                content = _content(response.raw)
            finally:
                response.raw.release_conn()
        except (HTTPClientError, NoConnectionError, HTTPError, OSError) as error:
            raise NoAnswerError(str(error)) from error
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, headers, content)

    def put(self, path: str, body: Json) -> tuple[int, Json]:
        """Send a PUT and return the status and the JSON of the response."""
        return self.send("PUT", path, body)

    def send(self, method: str, path: str, body: Json = None) -> tuple[int, Json]:
        """Send a request with a JSON body, or none, and return the status and the JSON of the response."""
        if body is None:
            return self._send(AWSRequest(method, self.url + path))
        headers = {"content-type": "application/json"}
        return self._send(AWSRequest(method, self.url + path, headers, json.dumps(body).encode()))

    def _sign(self, request: AWSRequest) -> None:
        # https://<id>.execute-api.<region>.amazonaws.com
        region = urlsplit(self.url).netloc.split(".")[2] if self._credentials else "local"
        SigV4Auth(self._credentials or _LOCAL, _SERVICE, region).add_auth(request)

    def _send(self, request: AWSRequest) -> tuple[int, Json]:
        self._sign(request)
        response = self._http.send(request.prepare())
        self.answered(f"{request.method} {urlsplit(str(request.url)).path}", response.status_code, response.headers)
        try:
            # Figures in the content of a document stay exact.
            return response.status_code, json.loads(response.content, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            raise ToolError(f"{self.url} answered {response.status_code} without JSON") from error


def _content(raw: Any) -> bytes:  # noqa: ANN401 - urllib3's response, which botocore does not type
    """Read a body within the limits of time and size: a server may send bytes for ever."""
    content, end = bytearray(), time.monotonic() + _TIMEOUT
    while piece := raw.read1(_PIECE):
        content += piece
        if len(content) > _LARGEST_ANSWER:
            raise NoAnswerError(f"the answer has more than {_LARGEST_ANSWER:,} bytes")
        if time.monotonic() > end:
            raise NoAnswerError(f"the answer takes longer than {_TIMEOUT} seconds")
    return bytes(content)
