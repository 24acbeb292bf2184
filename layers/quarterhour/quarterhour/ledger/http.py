"""The HTTP form of recording: a request with one CloudEvent or a batch, a response with an outcome for each."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from quarterhour.ledger.plan import Outcome, Verdict
from quarterhour.model.errors import MalformedError, TooLargeError, UnavailableError
from quarterhour.web.bodies import read_json, refusal

MAX_BATCH: Final = 500
ONE: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
MAX_BODY: Final = 4_000_000
"""Bytes of a request: enough for a full batch of large events, and below Lambda's limit (6 MB) even in Base64."""
_KINDS: Final = {ONE: "one event", BATCH: "a batch of them"}


def read_items(content_type: str, body: bytes) -> list[object]:
    """Return the items of a request's body, not validated yet.

    Raises ``UnsupportedMediaTypeError``, ``MalformedError`` or ``TooLargeError``.
    """
    kind, parsed = read_json(content_type, body, _KINDS, MAX_BODY)
    if kind == ONE:
        if isinstance(parsed, list):
            raise refusal(MalformedError, "is a list", f"it as {BATCH}")
        return [parsed]
    if not isinstance(parsed, list):
        raise refusal(MalformedError, "is no list", f"a single event as {ONE}")
    if not parsed:
        raise refusal(MalformedError, "is an empty batch", f"1 to {MAX_BATCH} events")
    if len(parsed) > MAX_BATCH:
        raise refusal(TooLargeError, f"holds {len(parsed)} events", f"at most {MAX_BATCH} in one request")
    return parsed


def response_parts(outcomes: Sequence[Outcome]) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return the status, the headers and the body of the response with these outcomes."""
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
    if verdicts <= {Verdict.RECORDED, Verdict.DUPLICATE, Verdict.HELD}:
        return 202
    if verdicts == {Verdict.UNAVAILABLE}:
        return 503
    if verdicts == {Verdict.CONFLICT}:
        return 409
    if verdicts <= {Verdict.REJECTED, Verdict.CONFLICT}:
        return 422
    return 207
