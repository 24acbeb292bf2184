"""API Gateway's authorizers: the caller of a request, in the form in which API Gateway passes it to a function."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import jwt

from quarterhour_tools.emulator.http_api import Request

ALGORITHMS: Final = ("RS256", "RS384", "RS512")
"""API Gateway accepts no others."""
MACHINE: Final = {
    "iam": {
        "accessKey": "none",
        "accountId": "123456789012",
        "callerId": "local",
        "cognitoIdentity": None,
        "principalOrgId": None,
        "userArn": "arn:aws:iam::123456789012:user/local",
        "userId": "local",
    }
}
"""The caller of a request without a token: the machine's user."""


class UnauthorizedError(Exception):
    """API Gateway would refuse the token."""


def bearer(request: Request) -> str | None:
    """Return the request's bearer token; ``None`` without one."""
    kind, token = _authorization(request)
    return token if kind == "bearer" else None


def is_signed(request: Request) -> bool:
    """Return whether a request has a signature for IAM, which is not checked."""
    kind, _ = _authorization(request)
    return kind == "aws4-hmac-sha256"


def _authorization(request: Request) -> tuple[str, str]:
    """Return the scheme in lower case and the credentials of the header ``Authorization``."""
    text = next((value for name, value in request.headers if name.lower() == "authorization"), "")
    kind, _, credentials = text.partition(" ")
    return kind.lower(), credentials.strip()


@dataclass(frozen=True)
class JwtAuthorizer:
    """Checks an issuer's tokens; it fetches the issuer's keys once."""

    issuer: str
    audiences: tuple[str, ...]

    def authorize(self, token: str) -> dict[str, Any]:
        """Return the function's authorizer context for a valid token; raise ``UnauthorizedError`` for any other."""
        try:
            claims = jwt.decode(
                token,
                self._keys.get_signing_key_from_jwt(token).key,
                algorithms=ALGORITHMS,
                issuer=self.issuer,
                options={"require": ["exp", "iss"], "verify_aud": False},
            )
        except jwt.PyJWTError as error:
            raise UnauthorizedError(str(error)) from error
        # Cognito's access tokens have the claim client_id instead of aud.
        audience = claims.get("aud", claims.get("client_id"))
        named = audience if isinstance(audience, list) else [audience]
        if not any(one in named for one in self.audiences):
            raise UnauthorizedError("the token is for another audience")
        texts = {name: _text(value) for name, value in claims.items() if value is not None}
        return {"jwt": {"claims": texts, "scopes": None}}

    @cached_property
    def _keys(self) -> jwt.PyJWKClient:
        return jwt.PyJWKClient(self._configuration()["jwks_uri"])

    def _configuration(self) -> dict[str, str]:
        """Return the issuer's configuration (OpenID Connect Discovery)."""
        client = jwt.PyJWKClient(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration", cache_jwk_set=False)
        configuration: dict[str, str] = client.fetch_data()
        return configuration


def _text(value: object) -> str:
    """Return a claim as API Gateway passes it: text, with a list in brackets."""
    if isinstance(value, list):
        return f"[{' '.join(map(_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
