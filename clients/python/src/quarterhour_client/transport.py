"""HTTP: requests to the API, and how they are signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from quarterhour_client.plan import Answer, request_body

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from quarterhour_client.plan import Waiting

TIMEOUT = 30.0
"""Seconds for a request. The API answers within 29."""
_BATCH = {"content-type": "application/cloudevents-batch+json"}
_JSON = {"content-type": "application/json"}


class Bearer(httpx.Auth):
    """Sends a bearer token: a text, or what a function returns, which is called for each request."""

    def __init__(self, token: str | Callable[[], str]) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Set the header of the request."""
        token = self._token if isinstance(self._token, str) else self._token()
        request.headers["authorization"] = f"Bearer {token}"
        yield request


class Api:
    """The API at a URL. Threads may share it."""

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | None = None,
        timeout: float = TIMEOUT,
        connections: int = 1,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Raise ``ValueError`` if the URL is none of HTTP."""
        base = httpx.URL(url.rstrip("/"))
        if base.scheme not in {"http", "https"} or not base.host:
            raise ValueError(f"url is {url!r}; expected one such as https://api.example.com")
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._base = str(base)
        self._http = httpx.Client(auth=auth, timeout=timeout, limits=limits, transport=transport)

    def post_events(self, events: Sequence[Waiting], timeout: float | None = None) -> Answer:
        """Post a batch; raise ``httpx.HTTPError`` if there is no answer."""
        return self._request("POST", "/events", request_body(events), _BATCH, timeout)

    def request(self, method: str, path: str, body: bytes, timeout: float) -> Answer:
        """Send JSON; raise ``httpx.HTTPError`` if there is no answer."""
        return self._request(method, path, body, _JSON, timeout)

    def _request(self, method: str, path: str, body: bytes, headers: dict[str, str], timeout: float | None) -> Answer:
        limit = httpx.USE_CLIENT_DEFAULT if timeout is None else timeout
        response = self._http.request(method, self._base + path, content=body, headers=headers, timeout=limit)
        return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
