"""Whether a request is signed for IAM, as API Gateway finds out."""

import re
from typing import Final
from urllib.parse import parse_qsl

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

KEYS: Final = Credentials("AKID", "secret", "token")


def is_signed(request: httpx.Request) -> bool:
    """Return whether a request is signed with our keys for the API of this region: method, address, headers, body."""
    scope = r"AWS4-HMAC-SHA256 Credential=AKID/\d{8}/eu-west-1/execute-api/aws4_request, "
    pattern = scope + r"SignedHeaders=([a-z;-]+), Signature=([0-9a-f]{64})"
    found = re.fullmatch(pattern, request.headers["authorization"])
    assert found, request.headers["authorization"]
    signed = {name: request.headers[name] for name in found[1].split(";") if name != "host"}
    # The parameters go by themselves, as botocore encodes them.
    address, _, query = str(request.url).partition("?")
    again = AWSRequest(request.method, address, signed, request.content, params=dict(parse_qsl(query)))
    again.context["timestamp"] = request.headers["x-amz-date"]
    auth = SigV4Auth(KEYS, "execute-api", "eu-west-1")
    return bool(auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again) == found[2])
