"""Reads the events of a message of the queue, and writes and reads what is parked of it. Pure functions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quarterhour.ledger.events.event import Event, Rejection, read_event
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.model import exact_json
from quarterhour.model.errors import FieldProblem, in_words

BY: Final = "intake"
"""The name under which events are parked."""
PARKED: Final = frozenset({Verdict.REJECTED, Verdict.CONFLICT})
"""The verdicts of events that can never be recorded as they are."""

_EXPECTED: Final = "an event, a list of events, or an event of EventBridge whose detail is one, as JSON"
_LONGEST_REASON: Final = 1000
_OF_EVENTBRIDGE: Final = frozenset({"detail-type", "detail"})


@dataclass(frozen=True, slots=True)
class SentEvent:
    """An event of a message: its place there, its content as parsed JSON or text, and what it was read as."""

    message: str
    index: int
    content: object
    event: Event | Rejection


def events_of(message: str, body: str) -> list[SentEvent]:
    """Return the events of a message by its id and body; what is no event is a rejection.

    A body is one CloudEvent, a list of them, or an event of EventBridge that has one as its ``detail``.
    """
    try:
        parsed = exact_json.parse(body)
    except ValueError as error:
        return [SentEvent(message, 0, body, _rejected(f"is not JSON: {error}"))]
    if isinstance(parsed, dict) and parsed.keys() >= _OF_EVENTBRIDGE and "specversion" not in parsed:
        parsed = parsed["detail"]
    items = parsed if isinstance(parsed, list) else [parsed]
    if not items:
        return [SentEvent(message, 0, parsed, _rejected("is an empty list"))]
    return [SentEvent(message, index, one, read_event(one)) for index, one in enumerate(items)]


def _rejected(problem: str) -> Rejection:
    return Rejection(None, None, (FieldProblem("body", problem, _EXPECTED),))


def parked_body(sent: SentEvent, outcome: Outcome, queue: str) -> str:
    """Return the body of the message that parks an event with the reason, in ASCII.

    Content that canonical JSON cannot hold, such as ``NaN``, is kept as text.
    """
    reason = in_words(outcome.problems)[:_LONGEST_REASON]
    try:
        content = exact_json.canonical(sent.content)
    except ValueError:
        content = json.dumps(json.dumps(sent.content, default=str))
    known = {"verdict": outcome.verdict.value, "queue": queue, "message": sent.message, "index": sent.index}
    return f'{{"by":"{BY}","reason":{json.dumps(reason)},"record":{json.dumps(known)[:-1]},"event":{content}}}}}'


def parked_event(record: Mapping[str, Any]) -> Event | Rejection:
    """Return the event of a parked record, read again."""
    return read_event(record["event"])
