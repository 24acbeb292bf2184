"""The JSON body of a request: checks of its content type, size and text."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from quarterhour.model import exact_json
from quarterhour.model.errors import (
    FieldProblem,
    MalformedError,
    RequestError,
    TooLargeError,
    UnsupportedMediaTypeError,
)
from quarterhour.model.fields import shown

MAX_FILE: Final = 700_000
"""Bytes of a file, or of a part of one: in Base64, it fits into the body of a request."""
BODY: Final = "body"
_CONTENT_TYPE: Final = "content-type"


def read_json(content_type: str, body: bytes, accepted: Mapping[str, str], max_bytes: int) -> tuple[str, Any]:
    """Return the media type of a body and its parsed JSON, with numbers as exact decimals.

    ``accepted``: the media types that the route accepts, each with a description of its content.
    Raises ``UnsupportedMediaTypeError``, ``TooLargeError`` or ``MalformedError``.
    """
    kind = media_type(content_type)
    if kind not in accepted:
        raise unsupported(content_type, accepted)
    check_size(body, max_bytes)
    return kind, parse(body)


def media_type(content_type: str) -> str:
    """Return the media type of a content type in lower case; empty if its character set is not UTF-8."""
    kind, _, parameters = content_type.lower().partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
    return kind.strip() if charset in {"", "utf-8"} else ""


def unsupported(content_type: str, accepted: Mapping[str, str]) -> RequestError:
    """Return the error for a content type; ``accepted``: those that the route accepts, as in ``read_json``."""
    problem = f"is {shown(content_type)}" if content_type else "is missing"
    expected = " or ".join(f"{name} for {content}" for name, content in accepted.items())
    return refusal(UnsupportedMediaTypeError, problem, f"{expected}, in UTF-8", _CONTENT_TYPE)


def check_size(body: bytes, max_bytes: int) -> None:
    """Raise ``TooLargeError`` for a body of more bytes."""
    if len(body) > max_bytes:
        raise refusal(TooLargeError, f"has {len(body)} bytes", f"at most {max_bytes} in one request")


def parse(body: bytes) -> Any:  # noqa: ANN401 - JSON is any value
    """Return the parsed JSON of a body, with numbers as exact decimals; raise ``MalformedError`` if it is not JSON."""
    try:
        return exact_json.parse(body.decode())
    except UnicodeDecodeError as error:
        raise refusal(MalformedError, f"is not JSON: byte {error.start} is not UTF-8", "JSON in UTF-8") from error
    except ValueError as error:
        raise refusal(MalformedError, f"is not JSON: {error}", "JSON") from error


def file_content(value: object) -> bytes | None:
    """Return the bytes of a file in a body, which are in Base64; ``None`` if the value is no text.

    Raises ``ValueError``, which names the problem, for a text that is not Base64, and for too many bytes.
    """
    if not isinstance(value, str):
        return None
    try:
        content = base64.b64decode(value, validate=True)
    except ValueError as error:
        raise ValueError("is not Base64") from error
    if len(content) > MAX_FILE:
        raise ValueError(f"has {len(content)} bytes")
    return content


def refusal(kind: type[RequestError], problem: str, expected: str, field: str = BODY) -> RequestError:
    """Return the error for a problem of the whole body, or of another whole part of a request."""
    return kind(f"the {field} {problem}; send {expected}", FieldProblem(field, problem, expected))
