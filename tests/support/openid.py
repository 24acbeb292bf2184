"""An OpenID Connect issuer: signs people in by the authorization code flow with PKCE, without asking them anything."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

CLIENT: Final = "console"
AUDIENCE: Final = "quarterhour"


@dataclass
class Issuer:
    """The issuer of one person's tokens; ``grants`` holds the kinds of requests for tokens that it has met."""

    url: str = ""
    subject: str = "ann"
    agency: str | list[str] = "42"
    role: str = ""
    """The claim of the person's role; none if it is empty."""
    name: str = "Zoë Quine"
    seconds: int = 3600
    """Lifetime of an access token, in seconds."""
    nonce: str = ""
    """The nonce to return; empty: the one that was sent."""
    grants: list[str] = field(default_factory=list)
    error: str = ""
    """The error to return in place of a code; empty: a code."""
    refreshes: bool = True
    """Whether it gives refresh tokens."""
    ends_sessions: bool = True
    """Whether it publishes an address at which people sign out."""
    signed_out: list[dict[str, str]] = field(default_factory=list)
    _key: RSAPrivateKey = field(default_factory=lambda: generate_private_key(65537, 2048))
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of a stack whose people sign in here, all with the role agency."""
        return {"JwtIssuer": self.url, "JwtAudience": AUDIENCE, "ConsoleClientId": CLIENT}

    @property
    def with_roles(self) -> dict[str, str]:
        """The parameters of a stack whose people sign in here, with the role of their tokens."""
        return {**self.parameters, "JwtRoleClaim": "role"}

    def configuration(self) -> dict[str, str]:
        """Return the issuer's configuration (OpenID Connect Discovery)."""
        ends = {"authorization": "authorize", "token": "token"}
        if self.ends_sessions:
            ends["end_session"] = "sign-out"
        addresses = {f"{name}_endpoint": f"{self.url}/{path}" for name, path in ends.items()}
        return {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **addresses}

    def keys(self) -> dict[str, Any]:
        """Return the public keys."""
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
        return {"keys": [{**public, "kid": "one", "use": "sig"}]}

    def authorized(self, query: dict[str, str]) -> str:
        """Return the address at which the browser continues, with a code."""
        assert (query["response_type"], query["client_id"], query["scope"]) == ("code", CLIENT, "openid")
        assert query["code_challenge_method"] == "S256"
        if self.error:
            return self._response(query, {"error": self.error})
        code = f"code-{next(self._numbers)}"
        self._codes[code] = query
        return self._response(query, {"code": code})

    def _response(self, query: dict[str, str], result: dict[str, str]) -> str:
        return f"{query['redirect_uri']}?{urlencode({**result, 'state': query['state'], 'iss': self.url})}"

    def tokens(self, form: dict[str, str]) -> dict[str, Any]:
        """Return the tokens for a code or a refresh token; each code can be used once, with its verifier."""
        self.grants.append(form["grant_type"])
        assert form["client_id"] == CLIENT
        found = {
            "access_token": self._token(aud=AUDIENCE, agency=self.agency, **({"role": self.role} if self.role else {})),
            "expires_in": self.seconds,
        }
        if self.refreshes:
            found["refresh_token"] = f"refresh-{next(self._numbers)}"
        if form["grant_type"] == "refresh_token":
            return found
        query = self._codes.pop(form["code"])
        challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        assert (challenge, form["redirect_uri"]) == (query["code_challenge"], query["redirect_uri"])
        return {**found, "id_token": self._token(aud=CLIENT, nonce=self.nonce or query["nonce"], name=self.name)}

    def _token(self, **claims: str | list[str]) -> str:
        expires = datetime.now(UTC) + timedelta(hours=1)
        return jwt.encode(
            {"iss": self.url, "sub": self.subject, "exp": expires, **claims}, self._key, "RS256", {"kid": "one"}
        )


@contextmanager
def signing_in() -> Iterator[Issuer]:
    """Serve an issuer on this machine for the length of the block."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query))
            match parts.path:
                case "/authorize":
                    self._sent(302, {}, issuer.authorized(query))
                case "/sign-out":
                    issuer.signed_out.append(query)
                    self._sent(200, {"signed": "out"})
                case "/keys":
                    self._sent(200, issuer.keys())
                case _:
                    self._sent(200, issuer.configuration())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            self._sent(200, issuer.tokens(dict(parse_qsl(body))))

        def _sent(self, status: int, content: dict[str, Any], location: str = "") -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("access-control-allow-origin", "*")
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            if location:
                self.send_header("location", location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
