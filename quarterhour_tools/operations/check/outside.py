"""Requests from outside: without a signature, as a browser or a stranger sends them."""

from collections.abc import Mapping
from hashlib import sha256
from typing import IO, Final, NamedTuple
from urllib.parse import urlsplit

import urllib3

from quarterhour_tools.errors import ToolError
from quarterhour_tools.target.remote import Answered

_SECONDS: Final = 35
_PIECE: Final = 1 << 16
_MOST_SHOWN: Final = 1 << 20
"""Bytes of a body that is kept in memory."""


class Page(NamedTuple):
    """An answer: its status, its headers in lower case, and the beginning of its body."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Outside:
    """Sends requests without a signature, and follows no redirect."""

    def __init__(self, answered: Answered) -> None:
        self._answered = answered
        self._pool = urllib3.PoolManager(timeout=_SECONDS, retries=False)

    def get(self, url: str, headers: Mapping[str, str] | None = None, what: str = "") -> Page:
        """Return the answer to a GET. ``what`` names it on the page of the check, in place of the path."""
        answer = self._send(url, headers, what)
        try:
            content = answer.read(_MOST_SHOWN, decode_content=True)
        finally:
            answer.release_conn()
        return Page(answer.status, {name.lower(): value for name, value in answer.headers.items()}, content)

    def download(self, url: str, into: IO[bytes], what: str) -> tuple[int, str, int]:
        """Write the body of an answer to a file; return the status, the SHA-256 and the size of the body."""
        answer, digest, size = self._send(url, None, what), sha256(), 0
        try:
            # As it is stored: S3 sends no file compressed that is not.
            for piece in answer.stream(_PIECE, decode_content=False):
                into.write(piece)
                digest.update(piece)
                size += len(piece)
        finally:
            answer.release_conn()
        return answer.status, digest.hexdigest(), size

    def _send(self, url: str, headers: Mapping[str, str] | None, what: str) -> urllib3.BaseHTTPResponse:
        try:
            answer = self._pool.request("GET", url, headers=dict(headers or {}), preload_content=False, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            raise ToolError(f"there is no answer: {error}") from error
        self._answered(what or f"GET {urlsplit(url).path or '/'}", answer.status, answer.headers)
        return answer
