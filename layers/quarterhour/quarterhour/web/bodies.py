"""The JSON body of a request: checks of its content type, size and text."""

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

BODY: Final = "body"
_CONTENT_TYPE: Final = "content-type"


def read_json(content_type: str, body: bytes, accepted: dict[str, str], max_bytes: int) -> tuple[str, Any]:
    """Return the media type of a body and its parsed JSON, with numbers as exact decimals.

    ``accepted``: the media types that the route accepts, each with a description of its content.
    Raises ``UnsupportedMediaTypeError``, ``TooLargeError`` or ``MalformedError``.
    """
    media_type, _, parameters = content_type.lower().partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
    if media_type.strip() not in accepted or charset not in {"", "utf-8"}:
        problem = f"is {shown(content_type)}" if content_type else "is missing"
        expected = " or ".join(f"{name} for {content}" for name, content in accepted.items())
        raise refusal(UnsupportedMediaTypeError, problem, f"{expected}, in UTF-8", _CONTENT_TYPE)
    if len(body) > max_bytes:
        raise refusal(TooLargeError, f"has {len(body)} bytes", f"at most {max_bytes} in one request")
    try:
        return media_type.strip(), exact_json.parse(body.decode())
    except UnicodeDecodeError as error:
        raise refusal(MalformedError, f"is not JSON: byte {error.start} is not UTF-8", "JSON in UTF-8") from error
    except ValueError as error:
        raise refusal(MalformedError, f"is not JSON: {error}", "JSON") from error


def refusal(kind: type[RequestError], problem: str, expected: str, field: str = BODY) -> RequestError:
    """Return the error for a problem of the whole body, or of another whole part of a request."""
    return kind(f"the {field} {problem}; send {expected}", FieldProblem(field, problem, expected))
