"""The providers' signatures of webhooks, checked over the raw bytes before anything of them is read. Pure functions."""

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final

from quarterhour.file_formats.webhooks.delivery import Provider

Headers = Mapping[str, str]
"""The headers of a request, by their names in lower case."""

TOLERANCE_SECONDS: Final = 300
"""How far a signed timestamp may be from now, either way; the providers' own libraries have the same."""
SHOPIFY_SIGNATURE: Final = "x-shopify-hmac-sha256"
WOOCOMMERCE_SIGNATURE: Final = "x-wc-webhook-signature"
STRIPE_SIGNATURE: Final = "stripe-signature"
WEBHOOK_ID: Final = "webhook-id"
WEBHOOK_TIMESTAMP: Final = "webhook-timestamp"
WEBHOOK_SIGNATURE: Final = "webhook-signature"
WHSEC: Final = "whsec_"
_MOST_SIGNATURES: Final = 20
_SECONDS: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_WEBHOOK_ID: Final = re.compile(r"[!-~]{1,256}", re.ASCII)


def is_signed(provider: Provider, headers: Headers, body: bytes, secrets: Sequence[str], now: datetime) -> bool:
    """Return whether a request has a signature by one of the secrets, and a timestamp of now if it signs one."""
    expected, given = _CHECKS[provider](headers, body, secrets, now)
    # All pairs, each in constant time: the time says nothing about which one is near.
    return sum(hmac.compare_digest(one, other) for one in expected for other in given[:_MOST_SIGNATURES]) > 0


def signed_headers(provider: Provider, secret: str, body: bytes, id_: str, now: datetime) -> dict[str, str]:
    """Return the headers with which a provider signs a body."""
    seconds = str(int(now.timestamp()))
    match provider:
        case Provider.SHOPIFY:
            return {SHOPIFY_SIGNATURE: base64_hmac(secret.encode(), body).decode()}
        case Provider.WOOCOMMERCE:
            return {WOOCOMMERCE_SIGNATURE: base64_hmac(secret.encode(), body).decode()}
        case Provider.STRIPE:
            return {STRIPE_SIGNATURE: f"t={seconds},v1={_hex_hmac(secret, seconds, body).decode()}"}
        case Provider.GENERIC:
            signature = base64_hmac(webhook_key(secret), _webhook_content(id_, seconds, body)).decode()
            return {WEBHOOK_ID: id_, WEBHOOK_TIMESTAMP: seconds, WEBHOOK_SIGNATURE: f"v1,{signature}"}


def webhook_key(secret: str) -> bytes:
    """Return the key in a secret of Standard Webhooks; raise ``ValueError`` if it is none."""
    if not secret.startswith(WHSEC):
        raise ValueError(secret)
    return b64decode(secret.removeprefix(WHSEC), validate=True)


def base64_hmac(key: bytes, content: bytes) -> bytes:
    """Return the HMAC of a content in Base64."""
    return b64encode(hmac.digest(key, content, sha256))


_Check = Callable[[Headers, bytes, Sequence[str], datetime], tuple[list[bytes], list[bytes]]]
"""Returns the signatures that are expected, one for each secret, and those that a request has."""


def _of_header(name: str) -> _Check:
    """Return the check of a header that is the HMAC of the body in Base64."""

    def check(headers: Headers, body: bytes, secrets: Sequence[str], _now: datetime) -> tuple[list[bytes], list[bytes]]:
        return [base64_hmac(one.encode(), body) for one in secrets], _texts([headers.get(name, "").strip()])

    return check


def _of_stripe(headers: Headers, body: bytes, secrets: Sequence[str], now: datetime) -> tuple[list[bytes], list[bytes]]:
    """Check ``t=1700000000,v1=…,v1=…``: the timestamp is signed with the body, by the secret as it is written."""
    parts = [one.strip().partition("=") for one in headers.get(STRIPE_SIGNATURE, "").split(",")]
    times = [value for name, _, value in parts if name == "t"]
    if len(times) != 1 or not _is_near(times[0], now):
        return [], []
    return (
        [_hex_hmac(one, times[0], body) for one in secrets],
        _texts([value for name, _, value in parts if name == "v1"]),
    )


def _of_standard_webhooks(
    headers: Headers, body: bytes, secrets: Sequence[str], now: datetime
) -> tuple[list[bytes], list[bytes]]:
    """Check the headers of the Standard Webhooks specification: the id and the timestamp are signed with the body."""
    id_, seconds = headers.get(WEBHOOK_ID, ""), headers.get(WEBHOOK_TIMESTAMP, "")
    # With a full stop in the id, two ids, timestamps and bodies could be the same signed content.
    if not _WEBHOOK_ID.fullmatch(id_) or "." in id_ or not _is_near(seconds, now):
        return [], []
    parts = [one.partition(",") for one in headers.get(WEBHOOK_SIGNATURE, "").split(" ")]
    return (
        [base64_hmac(webhook_key(one), _webhook_content(id_, seconds, body)) for one in secrets],
        _texts([value for version, _, value in parts if version == "v1"]),
    )


_CHECKS: Final[Mapping[Provider, _Check]] = {
    Provider.SHOPIFY: _of_header(SHOPIFY_SIGNATURE),
    Provider.WOOCOMMERCE: _of_header(WOOCOMMERCE_SIGNATURE),
    Provider.STRIPE: _of_stripe,
    Provider.GENERIC: _of_standard_webhooks,
}


def _is_near(seconds: str, now: datetime) -> bool:
    return bool(_SECONDS.fullmatch(seconds)) and abs(now.timestamp() - int(seconds)) <= TOLERANCE_SECONDS


def _hex_hmac(secret: str, seconds: str, body: bytes) -> bytes:
    return hmac.digest(secret.encode(), f"{seconds}.".encode() + body, sha256).hex().encode()


def _webhook_content(id_: str, seconds: str, body: bytes) -> bytes:
    return f"{id_}.{seconds}.".encode() + body


def _texts(values: Sequence[str]) -> list[bytes]:
    return [value.encode(errors="surrogatepass") for value in values]
