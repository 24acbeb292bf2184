"""Errors of clients of AWS as sentences that say what to do."""

import sys
from typing import Any, Final
from urllib.parse import urlsplit

_EXPIRED: Final = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException"}
)
_REFUSED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403"})
_MISSING: Final = "NoSuchBucket"


def sentence_of(error: Exception) -> str | None:
    """Return what an error of a client of AWS says; ``None`` for any other error.

    Commands that have no client do not load botocore.
    """
    loaded: Any = sys.modules.get("botocore.exceptions")
    if loaded is None:
        return None
    if isinstance(error, loaded.ClientError):
        return _of_answer(error)
    if not isinstance(error, loaded.BotoCoreError):
        return None
    if isinstance(error, loaded.HTTPClientError | loaded.ConnectionError):
        address = urlsplit(str(getattr(error, "kwargs", {}).get("endpoint_url", "")))
        where = f"{address.scheme}://{address.netloc}" if address.netloc else "the address of AWS"
        return f"nothing answers at {where}: is it running, and can this machine reach it?"
    return {
        "NoCredentialsError": "there are no credentials for AWS: sign in, or set AWS_PROFILE",
        "NoRegionError": "no region of AWS is chosen: set AWS_REGION, or name one in your profile",
    }.get(type(error).__name__, f"AWS cannot be called: {error}")


def _of_answer(error: Any) -> str:  # noqa: ANN401 - botocore is not loaded with this module
    """Return what an answer of AWS says."""
    answer, operation = error.response.get("Error", {}), error.operation_name
    code, message = str(answer.get("Code", "")), str(answer.get("Message", ""))
    if code == _MISSING:
        return f"there is no S3 bucket {answer.get('BucketName') or 'of that name'}: is the stack deployed and running?"
    if code in _EXPIRED:
        return "AWS does not know these credentials, or they have expired: sign in again"
    if code in _REFUSED:
        return f"you may not call {operation}: {message}"
    return f"{operation} was answered with {code}: {message}"
