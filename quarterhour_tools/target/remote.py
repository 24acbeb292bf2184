"""A client of the HTTP API of a deployment or an emulator, whose requests are signed for IAM."""

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, cast
from urllib.parse import quote, urlencode, urlsplit
from weakref import finalize

import boto3
import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from quarterhour_client import Event, RefusedError, Result, Sender, Verdict
from quarterhour_client.transport import Api

from quarterhour.model.errors import FieldProblem, in_words
from quarterhour_tools.errors import ToolError

Json = Any
"""Any JSON value."""
Answered = Callable[[str, int, Mapping[str, str]], None]
"""Is called with a call, such as ``GET /accounts``, and with the status and the headers of its answer."""
IN_LEDGER: Final = frozenset({Verdict.RECORDED, Verdict.DUPLICATE})
"""The verdicts of an event that is in the ledger."""
WITHIN: Final = 30.0
"""Seconds in which events are sent again while the ledger is unavailable."""

_SERVICE: Final = "execute-api"
_LOCAL: Final = Credentials("local", "local")
"""For an emulator: it checks no signature, but may require one."""
_TIMEOUT: Final = 35
"""Seconds. API Gateway answers within 30."""
_LARGEST_ANSWER: Final = 16 << 20
"""Bytes. Lambda's limit is 6 MB."""


def _unobserved(_call: str, _status: int, _headers: Mapping[str, str]) -> None:
    """Do nothing."""


def segment(name: str) -> str:
    """Return a name as one segment of a path: encoded twice, because API Gateway decodes the path once."""
    return quote(quote(name, safe=""), safe="")


def reasons(result: Result) -> str:
    """Return in one line why an event is not in the ledger, or what it waits for."""
    return in_words(FieldProblem(*one) for one in result.problems)


def as_item(result: Result) -> dict[str, Json]:
    """Return the outcome of an event as the API shows it; a line that is no event has no identity."""
    item = {name: text for name, text in (("source", result.source), ("id", result.id)) if text}
    item |= {"verdict": result.verdict.value}
    problems = [one._asdict() for one in result.problems]
    more = {
        "receipt": result.receipt,
        "before_first_period": result.before_first_period,
        "held": {"reason": result.held, "problems": problems} if result.held else None,
        "errors": problems if not result.held else None,
    }
    return item | {name: value for name, value in more.items() if value}


def failure(method: str, path: str, status: int, answer: Json) -> str:
    """Return the message of a request that failed: with the detail of the problem, or with all of another answer."""
    detail = answer.get("detail", answer) if isinstance(answer, dict) else answer
    return f"{method} {path} failed with {status}: {detail}"


class SigV4(httpx.Auth):
    """Signs requests to API Gateway in a region."""

    requires_request_body = True

    def __init__(self, credentials: Credentials, region: str) -> None:
        self._credentials = credentials
        self._region = region

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Set the headers of the signature. Only the host is signed beside them: a proxy may change other headers."""
        signed = AWSRequest(request.method, str(request.url), {"host": request.url.netloc.decode()}, request.content)
        SigV4Auth(self._credentials, _SERVICE, self._region).add_auth(signed)
        request.headers.update(dict(signed.headers.items()))
        yield request


class _Bounded(httpx.BaseTransport):
    """Sends requests, and reads each answer within the limits of time and size: a server may send bytes for ever."""

    def __init__(self, connections: int, *, verify: bool) -> None:
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._transport = httpx.HTTPTransport(verify=verify, limits=limits)
        self.answered: Answered = _unobserved

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the whole answer; raise ``httpx.HTTPError`` if there is none."""
        end = time.monotonic() + _TIMEOUT
        response = self._transport.handle_request(request)
        content = bytearray()
        try:
            for piece in cast("httpx.SyncByteStream", response.stream):
                content += piece
                if len(content) > _LARGEST_ANSWER:
                    raise httpx.ReadError(f"the answer has more than {_LARGEST_ANSWER:,} bytes")
                if time.monotonic() > end:
                    raise httpx.ReadTimeout(f"the answer takes longer than {_TIMEOUT} seconds")
        finally:
            response.close()
        path = request.url.raw_path.partition(b"?")[0].decode()
        self.answered(f"{request.method} {path}", response.status_code, response.headers)
        return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(bytes(content)))

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()


class Remote:
    """The HTTP API at an address. Threads may share it."""

    def __init__(self, url: str, credentials: Credentials | None = None, connections: int = 1) -> None:
        """Take the address, the credentials for AWS (``None`` for an emulator), and how many requests at a time."""
        self.url = url.rstrip("/")
        # https://<id>.execute-api.<region>.amazonaws.com
        region = urlsplit(self.url).netloc.split(".")[2] if credentials else "local"
        self._auth = SigV4(credentials or _LOCAL, region)
        # Without TLS there is nothing to verify, and loading the certificates would take 60 ms.
        self._transport = _Bounded(connections, verify=not self.url.lower().startswith("http://"))
        finalize(self, self._transport.close)  # a command ends with the process
        self._http = httpx.Client(
            auth=self._auth, transport=self._transport, timeout=_TIMEOUT, headers={"accept-encoding": "identity"}
        )
        self.events = Api(self.url, auth=self._auth, timeout=_TIMEOUT, transport=self._transport)
        """Posts events, for a sender that decides by itself what to send again."""

    @classmethod
    def deployed(cls, url: str, connections: int = 1) -> "Remote":
        """Return a deployment's API; raise ``ToolError`` if the machine has no credentials for AWS."""
        credentials = boto3.Session().get_credentials()
        if credentials is None:
            raise ToolError("there are no credentials for AWS to sign requests with")
        return cls(url, credentials, connections)

    def observe(self, answered: Answered) -> None:
        """Have a function called with each answer to a request."""
        self._transport.answered = answered

    def record(self, events: Sequence[Mapping[str, Any]]) -> list[Result]:
        """Send events, and return the outcome of each, in their order.

        What is unavailable is sent again for a while; its verdict is ``unavailable`` after that. Raises ``ToolError``
        if the API refuses the sender.
        """
        sender = Sender(self.url, auth=self._auth, timeout=_TIMEOUT, transport=self._transport)
        bodies = [Event(one["source"], one["id"], json.dumps(one).encode()) for one in events]
        try:
            return sender.send(bodies, within=WITHIN)
        except RefusedError as error:
            raise ToolError(str(error)) from error

    def get(self, path: str, parameters: Mapping[str, str]) -> Json:
        """Send a GET and return the JSON of the response; raise ``ToolError`` if it fails."""
        query = urlencode(parameters, quote_via=quote)
        status, answer = self.send("GET", f"{path}?{query}" if query else path)
        if status != 200:  # noqa: PLR2004 - HTTP's own
            raise ToolError(failure("GET", path, status, answer))
        return answer

    def pages(self, path: str, parameters: Mapping[str, str]) -> Iterator[Json]:
        """Yield the items of a list, page by page; raise ``ToolError`` if a page cannot be read."""
        page = self.get(path, parameters)
        yield from page["items"]
        while page["next"] is not None:
            page = self.get(path, {**parameters, "next": page["next"]})
            yield from page["items"]

    def put(self, path: str, body: Json) -> tuple[int, Json]:
        """Send a PUT and return the status and the JSON of the response."""
        return self.send("PUT", path, body)

    def send(self, method: str, path: str, body: Json = None) -> tuple[int, Json]:
        """Send a request with a JSON body, or none, and return the status and the JSON of the response."""
        if body is None:
            return self.exchange(method, path)
        return self.exchange(method, path, "application/json", json.dumps(body).encode())

    def exchange(
        self, method: str, path: str, content_type: str | None = None, body: bytes | None = None
    ) -> tuple[int, Json]:
        """Send a request, and return the status and the JSON of the response.

        Raises ``ToolError`` if there is no whole answer in time, or one that is no JSON: whether the request took
        effect is unknown then.
        """
        headers = {"content-type": content_type} if content_type else None
        try:
            response = self._http.request(method, self.url + path, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise ToolError(f"{method} {self.url}{path.partition('?')[0]} has no answer: {error}") from error
        try:
            # Figures in the content of a document stay exact.
            return response.status_code, json.loads(response.content, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            raise ToolError(f"{self.url} answered {response.status_code} without JSON") from error
