"""The client of the HTTP API: how it signs, and what it makes of answers that are none."""

from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from quarterhour_tools.errors import ToolError
from quarterhour_tools.target import remote as module
from quarterhour_tools.target.remote import Remote
from tests.support.signatures import KEYS, is_signed

Network = Callable[[Callable[[httpx.Request], httpx.Response]], None]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """Return a function that stands a handler in for the network."""
    return lambda answer: monkeypatch.setattr(httpx, "HTTPTransport", lambda **_: httpx.MockTransport(answer))


@pytest.mark.parametrize("content", [b"", b"<html>", b"\xff", b"[" * 100_000])
def test_an_answer_that_is_no_readable_json_is_an_error_with_a_message(network: Network, content: bytes) -> None:
    network(lambda _: httpx.Response(200, content=content))
    remote = Remote("http://127.0.0.1:9")
    with pytest.raises(ToolError, match="answered 200 without JSON"):
        remote.get("/me", {})
    with pytest.raises(ToolError, match="answered 200 without JSON"):
        remote.put("/schedule", {})


def test_a_request_that_fails_is_an_error_with_the_problem(network: Network) -> None:
    network(lambda _: httpx.Response(503, json={"detail": "the ledger is unavailable"}))
    with pytest.raises(ToolError, match="GET /events failed with 503: the ledger is unavailable"):
        Remote("http://127.0.0.1:1").get("/events", {"agency": "42"})


def test_a_server_that_does_not_answer_is_named(network: Network) -> None:
    def refused(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    network(refused)
    with pytest.raises(ToolError, match="GET http://host:1/events has no answer: connection refused"):
        Remote("http://host:1").get("/events", {"agency": "42"})


def test_an_answer_has_bounds_of_size_and_time(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * 1000

    network(lambda _: httpx.Response(200, content=endless()))
    monkeypatch.setattr(module, "_LARGEST_ANSWER", 5000)
    with pytest.raises(ToolError, match="the answer has more than 5,000 bytes"):
        Remote("http://127.0.0.1:9").get("/me", {})
    monkeypatch.setattr(module, "_LARGEST_ANSWER", 1 << 30)
    monkeypatch.setattr(module, "_TIMEOUT", 0)
    with pytest.raises(ToolError, match="the answer takes longer than 0 seconds"):
        Remote("http://127.0.0.1:9").get("/me", {})


def test_requests_to_a_deployment_are_signed_for_iam_in_its_region(network: Network) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"items": [{"index": 0, "verdict": "recorded"}]})

    network(answer)
    remote = Remote("https://q1h5.execute-api.eu-west-1.amazonaws.com", KEYS)
    remote.get("/events", {"agency": "Nord & Süd+"})
    remote.put("/held/a%252Fb/c", {})
    assert [one.id for one in remote.record([{"source": "shop", "id": "1"}])] == ["1"]
    for request in sent:
        assert is_signed(request), request.headers
        assert request.headers["x-amz-security-token"] == "token"
    assert dict(parse_qsl(urlsplit(str(sent[0].url)).query)) == {"agency": "Nord & Süd+"}
    assert [(one.method, one.url.raw_path.decode()) for one in sent[1:]] == [
        *(("PUT", "/held/a%252Fb/c"), ("POST", "/events")),
    ]
