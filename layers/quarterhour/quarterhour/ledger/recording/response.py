"""The response to a request with events: the outcome of each."""

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.model.errors import UnavailableError

if TYPE_CHECKING:
    from quarterhour.ledger.recording import api


def response_parts(
    outcomes: Sequence[Outcome], lines: Sequence[int] = ()
) -> "tuple[int, dict[str, str], api.Recording]":
    """Return the status, the headers and the body of the response with these outcomes.

    ``lines``: the number of the line of each one, if the request had lines.
    """
    counts = Counter(outcome.verdict.value for outcome in outcomes)
    status = status_of({outcome.verdict for outcome in outcomes})
    headers = {"retry-after": str(UnavailableError.retry_after)} if counts[Verdict.UNAVAILABLE.value] else {}
    body: api.Recording = {
        "items": [outcome.as_dict(index, line) for index, (outcome, line) in enumerate(zip_longest(outcomes, lines))],
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
