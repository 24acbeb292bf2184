"""The JSON that a request carries: its type, size and text, each refused with the field that is to blame."""

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


def read_json(content_type: str, body: bytes, kinds: dict[str, str], most: int) -> tuple[str, Any]:
    """Return which of the content types a body is of, and its JSON, the numbers as exact decimals.

    ``kinds`` are the content types, each with what it is for; ``most`` is how many bytes a body may have.
    Raises ``UnsupportedMediaTypeError``, ``TooLargeError`` or ``MalformedError``.
    """
    kind, _, parameters = content_type.lower().partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
    if kind.strip() not in kinds or charset not in {"", "utf-8"}:
        problem = f"is {shown(content_type)}" if content_type else "is missing"
        expected = " or ".join(f"{name} for {what}" for name, what in kinds.items())
        raise refusal(UnsupportedMediaTypeError, problem, f"{expected}, in UTF-8", _CONTENT_TYPE)
    if len(body) > most:
        raise refusal(TooLargeError, f"has {len(body)} bytes", f"at most {most} in one request")
    try:
        return kind.strip(), exact_json.parse(body.decode())
    except UnicodeDecodeError as error:
        raise refusal(MalformedError, f"is no JSON: byte {error.start} is no UTF-8", "JSON in UTF-8") from error
    except ValueError as error:
        raise refusal(MalformedError, f"is no JSON: {error}", "JSON") from error


def refusal(kind: type[RequestError], problem: str, expected: str, field: str = BODY) -> RequestError:
    """Return the error that tells what is wrong with a body, or another part of a request, as a whole."""
    return kind(f"the {field} {problem}; send {expected}", FieldProblem(field, problem, expected))
