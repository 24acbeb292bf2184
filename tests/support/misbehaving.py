"""A real HTTP server, or a proxy before one, that behaves as servers and networks do on bad days."""

import http.client
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

Reply = Callable[[socket.socket, bytes], None]
"""Takes a connection and a whole request, and replies, or not. The connection is closed afterwards."""

_SECONDS: Final = 60
_PIECE: Final = 1 << 16


@contextmanager
def serving(reply: Reply) -> Iterator[str]:
    """Reply to each request on a port of this machine; yield the address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=handle, args=(connection,), daemon=True).start()

    def handle(connection: socket.socket) -> None:
        connection.settimeout(_SECONDS)
        with connection:
            try:
                while request := whole_request(connection):
                    reply(connection, request)
            except OSError:
                pass

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def whole_request(connection: socket.socket) -> bytes:
    """Read a request with its body; empty if the client closes the connection."""
    content = b""
    while b"\r\n\r\n" not in content:
        piece = connection.recv(_PIECE)
        if not piece:
            return b""
        content += piece
    head, _, body = content.partition(b"\r\n\r\n")
    length = next((int(row[15:]) for row in head.lower().split(b"\r\n") if row.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(_PIECE)
    return head + b"\r\n\r\n" + body


def forwarded(url: str, request: bytes) -> bytes:
    """Send a request to a server, and return its answer with the head that a client needs."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=_SECONDS)
    head, _, body = request.partition(b"\r\n\r\n")
    first, *rows = head.decode().split("\r\n")
    method, path, _ = first.split(" ")
    connection.request(method, path, body, dict(row.split(": ", 1) for row in rows if not row.startswith("Host")))
    found = connection.getresponse()
    content = found.read()
    connection.close()
    return response(f"{found.status} {found.reason}", content, found.headers["content-type"])


def response(status: str, content: bytes, content_type: str = "application/json", *more: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"content-type: {content_type}", f"content-length: {len(content)}", *more]
    return "\r\n".join([*head, "", ""]).encode() + content


def reset(connection: socket.socket) -> None:
    """Close a connection as a crashed host does: the client gets a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
