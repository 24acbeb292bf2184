"""Sends events to the HTTP API in batches, and again until each event has another verdict than unavailable."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import HTTPClientError

from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_file import BATCH, Line
from quarterhour_tools.operations.remote import Remote, reasons

MOST: Final = 500
"""The most events of a request."""

_LARGEST_BODY: Final = 4_000_000
_ATTEMPTS: Final = 10
_PAUSE: Final = 5.0
"""Seconds before an event without an answer is sent again."""
_TOO_MANY: Final = 429
_SERVER_FAULT: Final = 500
_UNAVAILABLE: Final = "unavailable"


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict of the event in a line of the file, and the reasons if it is not in the ledger."""

    number: int
    verdict: str
    reasons: str


def batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Yield the lines in batches that fit in a request."""
    batch: list[Line] = []
    size = 0
    for line in lines:
        if batch and (len(batch) == MOST or size + len(line.text) > _LARGEST_BODY):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line.text) + 1
    if batch:
        yield batch


def send(remote: Remote, batch: Sequence[Line]) -> list[Answer]:
    """Send a batch, and again the events that could not be written; return the answer to each line, in their order.

    Raises ``ToolError`` if the API does not answer or refuses the whole request. Sending the same lines again is
    harmless: each event is recorded once.
    """
    answers: dict[int, Answer] = {}
    waiting = list(batch)
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        status, content = _post(remote, waiting)
        if status == _TOO_MANY or (status >= _SERVER_FAULT and "items" not in content):
            continue
        if "items" not in content:
            raise ToolError(f"POST /events failed with {status}: {content}")
        for line, item in zip(waiting, content["items"], strict=True):
            answers[line.number] = Answer(line.number, item["verdict"], reasons(item))
        waiting = [line for line in waiting if answers[line.number].verdict == _UNAVAILABLE]
        if not waiting:
            break
    if len(answers) < len(batch):
        raise ToolError(f"POST /events had no answer {_ATTEMPTS} times: run it again to continue")
    return [answers[line.number] for line in batch]


def _post(remote: Remote, lines: Sequence[Line]) -> tuple[int, Any]:
    # The unchanged texts, so that numbers keep all their digits.
    body = f"[{','.join(line.text for line in lines)}]".encode()
    try:
        return remote.post_text("/events", BATCH, body)
    except HTTPClientError as error:
        return _SERVER_FAULT, {"detail": str(error)}
