"""Recording over HTTP: CloudEvents in (one, or a batch), an answer for each item out."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from quarterhour import jsontext
from quarterhour.errors import (
    FieldProblem,
    MalformedError,
    TooLargeError,
    UnavailableError,
    UnsupportedMediaTypeError,
)
from quarterhour.ledger.recording import Outcome, Verdict

MAX_BATCH: Final = 500
ONE: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"


def read_items(content_type: str, body: bytes) -> list[object]:
    """Return the items of a request's body, not yet looked into.

    Raises ``UnsupportedMediaTypeError``, ``MalformedError`` or ``TooLargeError``.
    """
    kind, _, parameters = content_type.lower().partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
    if kind.strip() not in {ONE, BATCH} or charset not in {"", "utf-8"}:
        raise UnsupportedMediaTypeError(f"send {ONE} for one event or {BATCH} for a batch of them, in UTF-8")
    try:
        parsed = jsontext.parse(body.decode())
    except ValueError as error:
        raise MalformedError(f"the body is no JSON: {error}", FieldProblem("", "is no JSON", "a JSON text")) from error
    if kind.strip() == ONE:
        if isinstance(parsed, list):
            raise MalformedError(f"the body is a list: send it as {BATCH}")
        return [parsed]
    if not isinstance(parsed, list):
        raise MalformedError(f"the body is no list: send a single event as {ONE}")
    if not parsed:
        raise MalformedError("the batch is empty")
    if len(parsed) > MAX_BATCH:
        raise TooLargeError(f"the batch holds {len(parsed)} events: send at most {MAX_BATCH} in one request")
    return parsed


def answer(outcomes: Sequence[Outcome]) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, the headers and the body that answer a request with these outcomes."""
    counts = Counter(outcome.verdict.value for outcome in outcomes)
    status = status_of({outcome.verdict for outcome in outcomes})
    headers = {"retry-after": str(UnavailableError.retry_after)} if counts[Verdict.UNAVAILABLE.value] else {}
    body = {
        "items": [outcome.as_dict(index) for index, outcome in enumerate(outcomes)],
        "counts": dict(counts),
    }
    return status, headers, body


def status_of(verdicts: set[Verdict]) -> int:
    """Return the HTTP status for the verdicts of a request."""
    if verdicts <= {Verdict.RECORDED, Verdict.DUPLICATE}:
        return 202
    if verdicts == {Verdict.UNAVAILABLE}:
        return 503
    if verdicts == {Verdict.CONFLICT}:
        return 409
    if verdicts <= {Verdict.REJECTED, Verdict.CONFLICT}:
        return 422
    return 207
