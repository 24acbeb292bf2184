"""API Gateway's authorizers: whom a request is from, told to the function as API Gateway tells it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import jwt

from quarterhour_tools.emulator.http_api import Request

ALGORITHMS: Final = ("RS256", "RS384", "RS512")
"""API Gateway takes no others."""
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
"""The caller of a request without a token: on one machine, its user; nothing is signed here."""


class UnauthorizedError(Exception):
    """A token that API Gateway would refuse."""


def bearer(request: Request) -> str | None:
    """Return the token that a request carries; ``None`` where it has no authorization, or another kind."""
    text = next((value for name, value in request.headers if name.lower() == "authorization"), "")
    kind, _, token = text.partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


@dataclass(frozen=True)
class JwtAuthorizer:
    """Checks the tokens of an issuer, whose keys it fetches once."""

    issuer: str
    audiences: tuple[str, ...]

    def authorize(self, token: str) -> dict[str, Any]:
        """Return the context that a good token gives a function; raise ``UnauthorizedError`` for any other."""
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
        # Cognito's access tokens name the client in a claim of its own.
        audience = claims.get("aud", claims.get("client_id"))
        if set(self.audiences).isdisjoint(audience if isinstance(audience, list) else [audience]):
            raise UnauthorizedError("the token is for another audience")
        return {"jwt": {"claims": {name: _text(value) for name, value in claims.items()}, "scopes": None}}

    @cached_property
    def _keys(self) -> jwt.PyJWKClient:
        return jwt.PyJWKClient(self._described()["jwks_uri"])

    def _described(self) -> dict[str, str]:
        """Return what the issuer says of itself (OpenID Connect Discovery)."""
        client = jwt.PyJWKClient(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration", cache_jwk_set=False)
        described: dict[str, str] = client.fetch_data()
        return described


def _text(value: object) -> str:
    """Return a claim as API Gateway hands it on: as text, a list in brackets."""
    if isinstance(value, list):
        return f"[{' '.join(map(_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
