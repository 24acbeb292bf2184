"""Sends a notification to an address, signed by the Standard Webhooks specification; every failure has an outcome."""

import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from threading import Timer
from typing import Final

from standardwebhooks import Webhook

from quarterhour.model import clock
from quarterhour.notifications.addresses import HTTPS, Address, checked, read_address
from quarterhour.notifications.notification import Logged
from quarterhour.notifications.subscription import Attempt, DeliveryOutcome

SECONDS: Final = 10.0
"""How long an attempt may take from the connection on."""
_CONNECT_SECONDS: Final = 3.0
_MOST_TRIED: Final = 4
"""Addresses of a name."""
_REDIRECTS: Final = range(300, 400)
_SUCCESSES: Final = range(200, 300)

Resolve = Callable[[str, int], Sequence[str]]
"""Returns the IP addresses of a name, or raises ``OSError``."""


def resolve(host: str, port: int) -> Sequence[str]:
    """Return the IP addresses of a name; raise ``OSError`` if it has none."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def trusted() -> ssl.SSLContext:
    """Return the settings of TLS: certificates of the public authorities, checked with their names."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def signed_headers(logged: Logged, body: str, secrets: Sequence[str]) -> dict[str, str]:
    """Return the headers of a delivery: id, instant of the attempt, and a signature by each secret."""
    now = clock.now()
    id_ = logged.notification.id
    signatures = [Webhook(one).sign(id_, now, body) for one in secrets]
    return {
        "content-type": "application/json",
        "user-agent": "quarterhour",
        "webhook-id": id_,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


@dataclass(frozen=True, slots=True)
class WebhookSender:
    """Sends webhooks. ``local``: addresses of this machine are allowed, which no deployment on AWS may set."""

    context: ssl.SSLContext
    local: bool = False
    resolve: Resolve = resolve
    seconds: float = SECONDS

    def send(self, address: str, logged: Logged, secrets: Sequence[str]) -> Attempt:
        """Send a notification once; return the outcome. No redirect is followed, and no body of an answer is read."""
        if not secrets:
            return Attempt(DeliveryOutcome.NO_SECRET)
        parts = read_address(address, local=self.local)
        if parts is None:
            return Attempt(DeliveryOutcome.REFUSED_ADDRESS)
        body = logged.body()
        try:
            allowed = self._allowed(parts)
            status = self._post(parts, allowed, body.encode(), signed_headers(logged, body, secrets))
        except (OSError, HTTPException, ValueError) as error:
            return Attempt(_outcome(error))
        if status in _SUCCESSES:
            return Attempt(DeliveryOutcome.DELIVERED, status)
        return Attempt(DeliveryOutcome.REDIRECTED if status in _REDIRECTS else DeliveryOutcome.BAD_STATUS, status)

    def _allowed(self, address: Address) -> Sequence[str]:
        """Return the IP addresses of a name, all of them public; raise ``PermissionError`` if one is not."""
        found = self.resolve(address.host, address.port)
        allowed = found if address.local else checked(found)
        if not allowed:
            raise PermissionError
        return allowed

    def _secured(self, plain: socket.socket, host: str) -> ssl.SSLSocket:
        return self.context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)

    def _post(self, address: Address, allowed: Sequence[str], body: bytes, headers: dict[str, str]) -> int:
        """Return the status of the answer; raise what the attempt failed with, ``TimeoutError`` if it took too long."""
        plain = _connected(allowed, address.port)
        connected = plain if address.plain else self._secured(plain, address.host)
        connection = HTTPConnection(address.host, address.port)
        connection.sock = connected
        # Each read has a time limit. A receiver that sends a byte now and then needs one for all of them.
        ended: list[bool] = []

        def end() -> None:
            ended.append(True)
            socket.socket.shutdown(connected, socket.SHUT_RDWR)

        timer = Timer(self.seconds, end)
        connected.settimeout(self.seconds)
        timer.start()
        try:
            if isinstance(connected, ssl.SSLSocket):
                connected.do_handshake()
            connection.request("POST", address.target, body, {"host": _host(address), **headers})
            status = connection.getresponse().status
        except (OSError, HTTPException, ValueError):
            if ended:
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()
            connection.close()
            connected.close()
        if ended:
            # What was cut off looks like the end of the headers.
            raise TimeoutError
        return status


_OUTCOMES: Final[Sequence[tuple[type[Exception], DeliveryOutcome]]] = (
    (PermissionError, DeliveryOutcome.REFUSED_ADDRESS),
    (socket.gaierror, DeliveryOutcome.UNKNOWN_HOST),
    (TimeoutError, DeliveryOutcome.TIMED_OUT),
    (ssl.SSLCertVerificationError, DeliveryOutcome.BAD_CERTIFICATE),
    (ssl.SSLEOFError, DeliveryOutcome.DISCONNECTED),
    (ssl.SSLZeroReturnError, DeliveryOutcome.DISCONNECTED),
    (ssl.SSLError, DeliveryOutcome.TLS_FAILED),
    (OSError, DeliveryOutcome.DISCONNECTED),
)
"""The outcomes of errors; the first that fits. Any other error is an answer that is no HTTP."""


def _outcome(error: Exception) -> DeliveryOutcome:
    return next((outcome for kind, outcome in _OUTCOMES if isinstance(error, kind)), DeliveryOutcome.BAD_ANSWER)


def _host(address: Address) -> str:
    return address.host if address.port == HTTPS else f"{address.host}:{address.port}"


def _connected(allowed: Sequence[str], port: int) -> socket.socket:
    """Connect to the first of the addresses that takes a connection; raise the error of the last one."""
    last: OSError = ConnectionError("no address")
    for one in allowed[:_MOST_TRIED]:
        try:
            return socket.create_connection((one, port), timeout=_CONNECT_SECONDS)
        except OSError as error:
            last = error
    raise last
