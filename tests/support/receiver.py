"""A receiver of webhooks, built on the library of Standard Webhooks, that misbehaves by a script."""

import socket
import ssl
import struct
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from standardwebhooks import Webhook

OK, HANG, DRIP, RESET, CLOSE, REDIRECT, HUGE, GARBAGE, OTHER_NAME, NO_TLS = range(10)
"""What a receiver does with a connection. Any other number is the status of its answer."""
_REDIRECT = b"HTTP/1.1 302 Found\r\nlocation: https://localhost:%d/elsewhere\r\ncontent-length: 0\r\n\r\n"


@dataclass(slots=True)
class Receiver:
    """Takes deliveries on a port of this machine, with a certificate of its own authority."""

    port: int
    authority: Path
    script: deque[int] = field(default_factory=deque)
    """What to do with the next connections; after them, everything is taken."""
    secret: str = ""
    taken: list[dict[str, Any]] = field(default_factory=list)
    """The deliveries with a good signature that were answered with 200, each as parsed, with its ``id``."""
    connections: int = 0
    stopped: Event = field(default_factory=Event)

    @property
    def address(self) -> str:
        """The address to subscribe."""
        return f"https://localhost:{self.port}/hook"

    @property
    def trust(self) -> ssl.SSLContext:
        """TLS that trusts the receiver's authority."""
        return ssl.create_default_context(cafile=str(self.authority))

    def serve(self, listening: socket.socket, good: ssl.SSLContext, other: ssl.SSLContext) -> None:
        """Serve connections until the socket is closed."""
        while True:
            try:
                plain, _ = listening.accept()
            except OSError:
                return
            self.connections += 1
            what = self.script.popleft() if self.script else OK
            Thread(target=self._guarded, args=(plain, what, other if what == OTHER_NAME else good), daemon=True).start()

    def _guarded(self, plain: socket.socket, what: int, context: ssl.SSLContext) -> None:
        with suppress(OSError):
            self._handle(plain, what, context)
        plain.close()

    def _handle(self, plain: socket.socket, what: int, context: ssl.SSLContext) -> None:
        if what == NO_TLS:
            plain.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            return
        with context.wrap_socket(plain, server_side=True) as tls:
            if what == HANG:
                self.stopped.wait()
            elif what == RESET:
                tls.recv(1)
                tls.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif what != CLOSE:
                self._answer(tls, what)

    def _answer(self, tls: ssl.SSLSocket, what: int) -> None:
        headers, body = _read(tls)
        if what == REDIRECT:
            tls.sendall(_REDIRECT % self.port)
        elif what == GARBAGE:
            tls.sendall(b"\x00\x01 no HTTP \xff\r\n\r\n")
        elif what == DRIP:
            for byte in b"HTTP/1.1 200 OK\r\n" + b"x-slow: 1\r\n" * 1000:
                tls.sendall(bytes([byte]))
                if self.stopped.wait(0.02):
                    return
        elif what in {OK, HUGE}:
            content = Webhook(self.secret).verify(body, headers)
            self.taken.append({**content, "id": headers["webhook-id"]})
            tls.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n")
            while what == HUGE and not self.stopped.is_set():
                tls.sendall(bytes(1 << 16))
        else:
            tls.sendall(f"HTTP/1.1 {what} No\r\ncontent-length: 0\r\n\r\n".encode())


def _read(tls: ssl.SSLSocket) -> tuple[dict[str, str], bytes]:
    """Read a request; return its headers by their names in lower case, and its body."""
    with tls.makefile("rb") as file:
        file.readline()
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.decode().partition(":") for line in iter(file.readline, b"\r\n"))
        }
        return headers, file.read(int(headers["content-length"]))


@contextmanager
def receiving(folder: Path) -> Iterator[Receiver]:
    """Run a receiver for the length of the block; ``folder`` is for its certificates."""
    authority = _authority(folder)
    good, other = (_server(folder, authority, name) for name in ("localhost", "other.shop.com"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        receiver = Receiver(listening.getsockname()[1], folder / "authority.pem")
        thread = Thread(target=receiver.serve, args=(listening, good, other), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.stopped.set()
            listening.shutdown(socket.SHUT_RDWR)
    thread.join()


Authority = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def _authority(folder: Path) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    made = _certificate("Test authority", None, key, x509.BasicConstraints(ca=True, path_length=None))
    (folder / "authority.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return made, key


def _server(folder: Path, authority: Authority, name: str) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    made = _certificate(name, authority, key, x509.SubjectAlternativeName([x509.DNSName(name)]))
    no_password = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, no_password)
    file = folder / f"{name}.pem"
    file.write_bytes(pem + made.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def _certificate(
    name: str, authority: Authority | None, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signer, signing = authority or (None, key)
    now = datetime.now(UTC)
    usage = x509.KeyUsage(True, False, False, False, False, authority is None, authority is None, False, False)  # noqa: FBT003
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer.subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(extension, critical=authority is None)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
    )
    return builder.sign(signing, hashes.SHA256())
